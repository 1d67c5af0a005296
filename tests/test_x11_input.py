"""The pointer and keyboard of the X11 platform; what arrived is judged by the applications."""

from __future__ import annotations

import asyncio
import itertools
import random
import subprocess
import sys
import threading
import time

import pytest
from x11_support import Display, TextWindow, arrives, desk, until

from alongside.core.errors import Invalid
from alongside.core.geometry import Point
from alongside.platforms.linux.x11 import keymap
from alongside.platforms.linux.x11.input import path

TEXT = "Привет 漢字 ñ😀 _-/:;@\\^~\"'ñßçЙ中é"


def keyboard_of(display: Display) -> str:
    return subprocess.run(["xkbcomp", display.name, "-"], capture_output=True, check=True, text=True).stdout


@pytest.mark.parametrize("toolkit", ["gtk3", "qt5"])
def test_typed_text_arrives_and_the_keymap_is_left_as_it_was(display: Display, toolkit: str) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            window = TextWindow(display, toolkit)
            await ours.ready(f"Text {toolkit}")
            before = keyboard_of(display)
            wanted = TEXT * 5
            for _ in range(5):
                await ours.input.type(TEXT)
            await arrives(window, wanted)
            await ours.input.type("\tone\r\ntwo\n")
            wanted += "\tone\ntwo\n"
            await arrives(window, wanted)
            # More different characters than there are spare keycodes.
            many = "".join(chr(0x4E00 + number) for number in range(50)) + "x" * 1000
            await ours.input.type(many)
            await arrives(window, wanted + many)
            assert keyboard_of(display) == before
            assert not ours.held

    asyncio.run(go())


def test_typing_on_another_layout_with_caps_lock_on(display: Display) -> None:
    subprocess.run(["setxkbmap", "-display", display.name, "de,ru"], check=True)

    async def go() -> None:
        async with desk(display) as ours:
            window = TextWindow(display)
            await ours.ready("Text gtk3")
            before = keyboard_of(display)
            await ours.input.keys("caps_lock")
            await ours.input.type("yz ÄÖü@\\^~ é ж Q")
            await arrives(window, "yz ÄÖü@\\^~ é ж Q")
            await ours.input.keys("caps_lock")
            await ours.input.type("a")
            await until(lambda: window.text().endswith("Qa"))
            assert keyboard_of(display) == before
            assert "+lock:caps" in ours.told

    asyncio.run(go())


def test_a_slow_application_gets_the_right_characters(display: Display) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            window = TextWindow(display)
            await ours.ready("Text gtk3")
            window.do("stall 1")
            began = time.monotonic()
            await ours.input.type(TEXT)
            assert time.monotonic() - began > 0.5
            await arrives(window, TEXT)

    asyncio.run(go())


def test_cancelled_typing_gives_the_keymap_back(display: Display) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            window = TextWindow(display)
            await ours.ready("Text gtk3")
            before = keyboard_of(display)
            window.do("stall 0.5")
            typing = asyncio.create_task(ours.input.type(TEXT))
            await until(lambda: any(what.startswith("keymap") for what in ours.held))
            typing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await typing
            await ours.x.run(ours.x.sync)
            assert not ours.held
            assert keyboard_of(display) == before

    asyncio.run(go())


def test_what_a_dead_driver_held_is_let_go_of(display: Display) -> None:
    async def go() -> None:
        before = keyboard_of(display)
        async with desk(display) as dead:
            await dead.x.run(dead.input._keyboard.borrow, "漢")
            await dead.input.hold(["ctrl", "shift"])
            await dead.input.press("left")
            left = list(dead.held)
        async with desk(display) as ours:
            assert left[-1] == "button:1"
            assert any(what.startswith("keymap:") for what in left)
            await ours.input.undo(left[::-1])
            await ours.input.release_all()
            core = ours.x.connection.core
            assert not any(core.QueryKeymap().reply().keys)
            assert not core.QueryPointer(ours.x.root).reply().mask
        assert keyboard_of(display) == before

    asyncio.run(go())


def test_chords_are_pressed_in_order_and_released_in_reverse(display: Display) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            window = TextWindow(display)
            await ours.ready("Text gtk3")
            ours.told.clear()
            await ours.input.keys("Ctrl+Shift+S")
            codes = [int(told.split(":", maxsplit=1)[1]) for told in ours.told]
            assert [told[0] for told in ours.told] == ["+", "+", "+", "-", "-", "-"]
            assert codes[:3] == codes[:2:-1]
            for chord in ("Page_Up", "pageup", "F5", "ctrl+plus", "ctrl+я", "ENTER"):
                await ours.input.keys(chord)
            await ours.input.keys("x", repeat=3)
            await until(lambda: window.text().endswith("xxx"))
            pressed = [line for line in window.lines("keys") if "Control" not in line and "Shift" not in line]
            assert pressed == [
                "S 5", "Page_Up 0", "Page_Up 0", "F5 0", "plus 5", "U+044F 4", "Return 0", "x 0", "x 0", "x 0",
            ]  # fmt: skip
            for chord in ("ctrl+nonsense", "hyper+x", "a+b", "\x07"):
                with pytest.raises(Invalid):
                    await ours.input.keys(chord)
            with pytest.raises(Invalid):
                await ours.input.type("a\x07")
            assert not ours.held

    asyncio.run(go())


def test_dragging_and_the_wheel(display: Display) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            window = TextWindow(display)
            found = await ours.ready("Text gtk3")
            start = Point(found.bounds.x + 20, found.bounds.y + 250)
            await ours.input.drag(start, Point(start.x + 300, start.y))
            await ours.input.wheel("down", 3)
            await until(lambda: sum("scroll" in line for line in window.lines("pointer")) >= 3)
            lines = window.lines("pointer")
            assert lines[0] == "button-press 20,50"
            assert sum("motion" in line for line in lines) >= 5
            assert "button-release 320,50" in lines
            dragging = asyncio.create_task(ours.input.drag(start, Point(start.x + 300, start.y)))
            await until(lambda: ours.held == ["button:1"])
            dragging.cancel()
            with pytest.raises(asyncio.CancelledError):
                await dragging
            await ours.x.run(ours.x.sync)
            assert not ours.held

    asyncio.run(go())


def test_cancelled_clicks_leave_nothing_down(display: Display) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            chance = random.Random(25)
            for _ in range(500):
                clicking = asyncio.create_task(ours.input.click(Point(10, 10)))
                await asyncio.sleep(chance.random() * 0.024)
                clicking.cancel()
                await asyncio.wait([clicking])
                await ours.x.run(ours.x.sync)
                assert not ours.held
            assert not ours.x.connection.core.QueryPointer(ours.x.root).reply().mask

    asyncio.run(go())


def test_cancelled_holding_leaves_nothing_down(display: Display) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            chance = random.Random(25)

            async def holding() -> None:
                try:
                    await ours.input.hold(["ctrl"])
                    await asyncio.sleep(0.001)
                finally:
                    await ours.input.let_go(["ctrl"])

            for _ in range(300):
                held = asyncio.create_task(holding())
                await asyncio.sleep(chance.random() * 0.004)
                held.cancel()
                await asyncio.wait([held])
                await ours.x.run(ours.x.sync)
                assert not ours.held

    asyncio.run(go())


def test_what_was_posted_is_done_though_its_waiter_is_cancelled(display: Display) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            free = threading.Event()
            ours.x.post(free.wait, 5)
            done: list[int] = []
            waiters = [
                asyncio.create_task(ours.x.run(done.append, 1)),
                asyncio.ensure_future(asyncio.wrap_future(ours.x.post(done.append, 2))),
            ]
            await asyncio.sleep(0)
            for waiter in waiters:
                waiter.cancel()
            await asyncio.wait(waiters)
            free.set()
            await ours.x.run(ours.x.sync)
            assert sorted(done) == [1, 2]

    asyncio.run(go())


def test_frames_of_a_drag() -> None:
    assert path(Point(5, 5), Point(5, 5)) == []
    short = path(Point(0, 0), Point(20, 0))
    assert len(short) == 12
    assert short[-1] == Point(20, 0)
    frames = path(Point(0, 0), Point(4000, 0))
    steps = [after.x - before.x for before, after in itertools.pairwise(frames)]
    assert len(frames) == 30
    assert steps == sorted(steps, reverse=True)


def test_names_of_keys() -> None:
    assert keymap.named("Page_Up") == keymap.named("pageup") == keymap.named("Prior")
    assert keymap.named("enter") == keymap.named("RETURN") == 0xFF0D
    assert keymap.parse("ctrl++") == (["ctrl"], ord("+"))
    assert keymap.parse("+") == ([], ord("+"))
    assert keymap.parse("super") == ([], 0xFFEB)
    assert keymap.parse("A") == ([], ord("A"))
    assert keymap.parse("control+A") == (["ctrl"], ord("a"))


def test_nothing_of_pillow_or_numpy_is_loaded() -> None:
    code = (
        "import sys, alongside.platforms.linux.x11.input, alongside.platforms.linux.x11.screen, alongside.vision.image;"
        "import alongside.platforms.linux.x11.windows; sys.exit(bool({'PIL', 'numpy'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
