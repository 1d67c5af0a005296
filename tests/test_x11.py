"""Windows and pictures of the X11 platform, on a display of its own with openbox."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from alongside.core.errors import Minimised, NotFound, Unavailable
from alongside.core.geometry import Rect
from alongside.platforms.linux.x11.windows import is_covered

if TYPE_CHECKING:
    from alongside.core.ports import NativeWindow, Pixels
    from alongside.platforms.linux.x11.guard import Kind
from x11_support import Desk, Display, TextWindow, desk

COLOUR = (32, 96, 160)  # of the band at the bottom of text_window.py


def test_windows_are_listed_with_what_they_are(display: Display) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            first, second = TextWindow(display), TextWindow(display, "qt5")
            gtk = await ours.find("Text gtk3")
            qt = await ours.find("Text qt5")
            assert (gtk.pid, qt.pid, gtk.kind) == (first.pid, second.pid, "normal")
            assert gtk.wm_class == "Text_window.py"
            assert gtk.bounds[2:] == (400, 300)
            assert gtk.frame.overlap(gtk.bounds) == gtk.bounds
            assert gtk.frame.height > gtk.bounds.height
            first.do("title Änderung ☂ " + "x" * 300)
            renamed = await ours.find("Änderung ☂ " + "x" * 300)
            assert renamed.native == gtk.native
            first.do("title Text gtk3")
            first.do("dialog")
            dialog = await ours.find("A dialog", kind="dialog", states={"modal"})
            assert dialog.owner == gtk.native
            first.do("undialog")
            await ours.windows.activate(gtk.native)
            first.do("menu")
            menu = await popup(ours)
            assert (menu.owner, menu.pid) == (gtk.native, first.pid)
            assert await ours.windows.at(menu.bounds.centre) == menu.native
            await ours.input.keys("escape")
            first.do("minimise")
            await ours.find("Text gtk3", states={"minimised"})
            await until_minimised(ours, gtk)
            await ours.windows.activate(gtk.native)
            active = await ours.find("Text gtk3", states={"active"})
            assert "minimised" not in active.states
            for one in (gtk, qt):
                await ours.windows.activate(one.native)
            second_frame = (await ours.find("Text qt5", states={"active"})).frame
            first.do(f"move {second_frame.x + 2} {second_frame.y}")
            first.do("resize 200 100")
            covered = await ours.find("Text gtk3", states={"covered"})
            assert await ours.windows.at(covered.bounds.centre) == qt.native
            assert [one.title for one in await ours.windows.list()] == ["Text gtk3", "Text qt5"]
            with pytest.raises(NotFound):
                await ours.windows.activate(0x7FFFFFF)

    asyncio.run(go())


async def until_minimised(ours: Desk, window: NativeWindow) -> None:
    """Openbox says it first, then shows an animation, then unmaps the window."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            await ours.screen.window(window.native)
        except Minimised:
            return
    pytest.fail("its picture could still be taken")


async def popup(ours: Desk) -> NativeWindow:
    found: list[NativeWindow] = []
    deadline = time.monotonic() + 5
    while not found:
        assert time.monotonic() < deadline
        seen = ours.events.number
        found = [one for one in await ours.windows.list() if one.kind == "popup"]
        await ours.events.wait_change(seen, 0.05)
    return found[0]


def test_windows_and_pictures_without_a_manager(bare: Display) -> None:
    async def go() -> None:
        async with desk(bare) as ours:
            window = TextWindow(bare)
            found = await ours.find("Text gtk3")
            assert found.frame == found.bounds
            assert found.kind == "normal"
            await picture_of(ours, found)
            with pytest.raises(Unavailable, match="window manager"):
                await ours.windows.activate(found.native)
            seen = ours.events.number
            window.do("title Other")
            assert await ours.events.wait_change(seen, 5) > seen
            assert await ours.events.wait_change(ours.events.number, 0) == ours.events.number

    asyncio.run(go())


def test_what_is_left_uncovered() -> None:
    window = Rect(10, 10, 100, 100)
    assert is_covered(window, [Rect(0, 0, 60, 200), Rect(60, 0, 60, 200)])
    assert not is_covered(window, [Rect(0, 0, 60, 200), Rect(61, 0, 60, 200)])
    assert not is_covered(window, [Rect(20, 20, 50, 50)])
    assert not is_covered(window, [])


# --- Pictures


def colour(pixels: Pixels, x: int, y: int) -> tuple[int, ...]:
    at = 4 * (y * pixels.width + x)
    return tuple(pixels.data[at : at + 3][::-1])


async def picture_of(ours: Desk, window: NativeWindow) -> Pixels:
    """The window's picture once it is painted."""
    deadline = time.monotonic() + 5
    while True:
        pixels = await ours.screen.window(window.native)
        if colour(pixels, 20, pixels.height - 20) == COLOUR:
            return pixels
        assert time.monotonic() < deadline, "the band is not in the picture"
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", ["own", "user"])
def test_pictures_of_covered_and_resized_windows(display: Display, kind: Kind) -> None:
    async def go() -> None:
        async with desk(display, kind) as ours:
            first = TextWindow(display)
            window = await ours.find("Text gtk3")
            TextWindow(display, "qt5")
            cover = await ours.find("Text qt5")
            first.do(f"move {cover.frame.x} {cover.frame.y}")
            await ours.find("Text gtk3", states={"covered"} if kind == "own" else set())
            pixels = await picture_of(ours, window)
            assert (pixels.width, pixels.height) == window.bounds[2:]
            first.do("resize 500 350")
            while (await ours.find("Text gtk3")).bounds[2:] != (500, 350):
                await ours.events.wait_change(ours.events.number, 0.1)
            grown = await picture_of(ours, window)
            assert (grown.width, grown.height) == (500, 350)
            # Partly beyond the edge of the display.
            first.do("move 800 500")
            beyond = await picture_of(ours, window)
            assert (beyond.width, beyond.height) == (500, 350)
            whole = await ours.screen.display()
            assert (whole.width, whole.height) == await ours.screen.size() == (1000, 700)
            image, hot, _ = await ours.screen.pointer()
            assert len(image.data) == 4 * image.width * image.height
            assert hot.x < image.width
            with pytest.raises(NotFound):
                await ours.screen.window(0x7FFFFFF)

    before = segments()
    asyncio.run(go())
    assert segments() == before


def segments() -> set[str]:
    ours = f" {os.getpid()} "
    return {line for line in Path("/proc/sysvipc/shm").read_text().splitlines() if ours in line}


def test_picture_of_a_menu(display: Display) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            window = TextWindow(display)
            await ours.find("Text gtk3")
            window.do("menu")
            menu = await popup(ours)
            pixels = await ours.screen.window(menu.native)
            assert (pixels.width, pixels.height) == menu.bounds[2:]

    asyncio.run(go())
