"""What is dropped and pasted, and what becomes of the clipboard: judged by Qt and GTK."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
import xcffib
import xcffib.xproto
from x11_support import HERE, Desk, Display, TextWindow, arrives, desk, until

from alongside.core.errors import NoEffect, Unavailable
from alongside.core.geometry import Point
from alongside.core.ports import Passed
from alongside.driver.ledger import Ledger
from alongside.platforms.linux.x11 import clipboard as lending
from alongside.platforms.linux.x11.clipboard import Clipboard
from alongside.platforms.linux.x11.drop import drop, undo_drags
from alongside.platforms.linux.x11.selection import Selections, text_content

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TEXT = "Привет 漢字 ñ😀 tab\tnew\nline"
LARGE = 10_000_000


class User:
    """Somebody who copies and pastes by themselves."""

    def __init__(self, display: Display) -> None:
        self.process = display.start(
            *("/usr/bin/python3", str(HERE / "clipboard_user.py")), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._said() == "ready"

    async def ask(self, command: str) -> Any:
        """What it answers; meanwhile others are served."""
        assert self.process.stdin
        self.process.stdin.write(f"{command}\n".encode())
        self.process.stdin.flush()
        return await asyncio.to_thread(self._said)

    async def finds(self, command: str, wanted: object) -> None:
        """It comes to answer this: Qt learns a little later that something else was copied."""
        end = time.monotonic() + 5
        while (found := await self.ask(command)) != wanted:
            assert time.monotonic() < end, found

    def _said(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())


class Ours:
    """What is tested, on a display."""

    def __init__(self, selections: Selections, ledger: Ledger) -> None:
        self.selections, self.ledger = selections, ledger
        self.clipboard = Clipboard(selections, ledger)


@contextlib.asynccontextmanager
async def ours(display: Display) -> AsyncIterator[Ours]:
    selections = await Selections.open(display.name, "user")
    try:
        yield Ours(selections, Ledger())
    finally:
        await selections.close()


async def paste(mine: Ours, desktop: Desk, window: int, text: str) -> None:
    async with mine.clipboard.lent(text) as lent:
        await desktop.input.keys("ctrl+v")
        await mine.clipboard.fetched(lent, window)


# --- The clipboard


@pytest.mark.parametrize("size", [1000, LARGE])
def test_what_was_copied_is_there_again_in_all_its_forms(display: Display, size: int) -> None:
    async def go() -> None:
        owner, other = User(display), User(display)
        await owner.ask(f"copy-all {size}")
        await owner.ask("select marked")
        before = await other.ask("forms")
        assert {"text/plain", "text/uri-list", "image/png", "application/x-lab"} <= set(before)
        async with ours(display) as mine:
            async with mine.clipboard.lent(TEXT):
                await other.finds("text", TEXT)
            await other.finds("forms", before)
            owner.process.kill()
            owner.process.wait()
            # It is ours to serve now, also when it is lent again.
            async with mine.clipboard.lent("again"):
                await other.finds("text", "again")
            await other.finds("forms", before)

    asyncio.run(go())


def test_the_primary_selection_is_left_alone(display: Display) -> None:
    async def go() -> None:
        owner, other = User(display), User(display)
        await owner.ask("select marked")
        async with ours(display) as mine:
            async with mine.clipboard.lent(TEXT):
                await other.finds("selected", "marked")
            await other.finds("selected", "marked")
            await other.finds("text", "")
            assert mine.ledger.entries == []

    asyncio.run(go())


def test_a_large_text_is_handed_over_in_parts(display: Display) -> None:
    async def go() -> None:
        other = User(display)
        text = "漢字 and more\n" * (LARGE // 16)
        async with ours(display) as mine, mine.clipboard.lent(text):
            await other.finds("text", text)

    asyncio.run(go())


def test_it_is_put_back_100_ms_after_a_slow_application_has_fetched_it(display: Display) -> None:
    async def go() -> None:
        owner, other, window = User(display), User(display), TextWindow(display)
        await owner.ask("copy before")
        async with desk(display) as desktop, ours(display) as mine:
            found = await desktop.ready("Text gtk3")
            window.do("stall 0.8")
            began = time.monotonic()
            await paste(mine, desktop, found.native, TEXT)
            assert 0.8 < time.monotonic() - began < 2
            await arrives(window, TEXT)
            await other.finds("text", "before")

    asyncio.run(go())


def test_what_nobody_fetches_is_told_and_put_back(display: Display, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lending, "_FETCHES", 0.3)

    async def go() -> None:
        owner, other, window = User(display), User(display), TextWindow(display)
        await owner.ask("copy before")
        async with desk(display) as desktop, ours(display) as mine:
            found = await desktop.ready("Text gtk3")

            async def somebody_else_fetches() -> None:
                async with mine.clipboard.lent(TEXT) as lent:
                    await other.finds("text", TEXT)
                    await mine.clipboard.fetched(lent, found.native)

            with pytest.raises(NoEffect, match="did not fetch"):
                await somebody_else_fetches()
            await other.finds("text", "before")
            assert window.text() == ""

    asyncio.run(go())


def test_an_owner_that_says_nothing_does_not_stop_it(display: Display) -> None:
    async def go() -> None:
        owner, other = User(display), User(display)
        await owner.ask("copy before")
        owner.process.send_signal(signal.SIGSTOP)
        async with ours(display) as mine:
            began = time.monotonic()
            async with mine.clipboard.lent(TEXT):
                assert time.monotonic() - began < 1.5
                assert "could not all be saved" in mine.clipboard.lost
                await other.finds("text", TEXT)
            await other.finds("text", "")
        owner.process.send_signal(signal.SIGCONT)

    asyncio.run(go())


def test_what_is_not_read_back_is_not_pasted(display: Display, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lending, "text_content", lambda selections, text: text_content(selections, text + "!"))

    async def go() -> None:
        owner, other = User(display), User(display)
        await owner.ask("copy before")
        async with ours(display) as mine:
            with pytest.raises(Unavailable, match="not what can be read"):
                async with mine.clipboard.lent(TEXT):
                    pytest.fail("it would have been pasted")
            await other.finds("text", "before")

    asyncio.run(go())


def test_what_is_copied_meanwhile_stays(display: Display) -> None:
    async def go() -> None:
        owner, other = User(display), User(display)
        await owner.ask("copy before")
        async with ours(display) as mine:

            async def somebody_copies() -> None:
                async with mine.clipboard.lent(TEXT) as lent:
                    await owner.ask("copy the person's own")
                    await mine.clipboard.fetched(lent, 0)

            with pytest.raises(NoEffect, match="copied"):
                await somebody_copies()
            await other.finds("text", "the person's own")
            async with mine.clipboard.lent(TEXT):
                pass
            await other.finds("text", "the person's own")
            assert len(mine.ledger.entries) == 1
            await owner.ask("copy after")
            await other.finds("text", "after")
            await until(lambda: not mine.ledger.entries)

    asyncio.run(go())


def test_a_clipboard_manager_keeps_nothing_of_ours(display: Display) -> None:
    """One that takes over what was copied has our text; it gets the old one again."""

    async def go() -> None:
        owner, other, manager = User(display), User(display), User(display)
        await owner.ask("copy before")
        await manager.ask("manage")
        async with ours(display) as mine:
            async with mine.clipboard.lent(TEXT) as lent:
                await until(lambda: lent.lost)
                await other.finds("text", TEXT)
            await until(lambda: not mine.ledger.entries)
            await other.finds("text", "before")

    asyncio.run(go())


def test_the_next_driver_puts_back_what_a_dead_one_had_saved(display: Display) -> None:
    async def go() -> None:
        owner, other = User(display), User(display)
        await owner.ask("copy-all 1000")
        before = await other.ask("forms")
        async with ours(display) as mine:
            lent = mine.clipboard.lent(TEXT)
            await lent.__aenter__()
            owner.process.kill()
            owner.process.wait()
            entries = ["clipboard:[half", *mine.ledger.entries]
        # Its connection has gone, as that of one that was killed.
        with pytest.raises(Unavailable):
            await lent.__aexit__(None, None, None)
        await other.finds("text", "")
        async with ours(display) as mine:
            for entry in entries:
                mine.ledger.hold(entry)
            await mine.clipboard.undo()
            await other.finds("forms", before)
            assert mine.ledger.entries == entries[1:]
        await other.ask("copy since")
        async with ours(display) as mine:
            for entry in entries:
                mine.ledger.hold(entry)
            await mine.clipboard.undo()
            await other.finds("text", "since")
            assert mine.ledger.entries == []

    asyncio.run(go())


# --- Dropping


async def middle(desktop: Desk, title: str) -> tuple[int, Point]:
    found = await desktop.find(title)
    return found.native, Point(found.bounds.x + 60, found.bounds.y + 10)


def owner_of_drag(display: Display) -> int:
    seen: Any = xcffib.Connection(display.name)  # type: ignore[no-untyped-call]
    atom = seen.core.InternAtom(False, 13, "XdndSelection").reply().atom
    owner = int(seen.core.GetSelectionOwner(atom).reply().owner)
    seen.disconnect()
    return owner


@pytest.mark.parametrize("toolkit", ["gtk3", "qt5"])
def test_a_text_is_dropped(display: Display, toolkit: str) -> None:
    async def go() -> None:
        window = TextWindow(display, toolkit)
        async with desk(display) as desktop, ours(display) as mine:
            await drop(mine.selections, mine.ledger, *(await middle(desktop, f"Text {toolkit}")), TEXT)
            await arrives(window, TEXT)
            assert mine.ledger.entries == []
        assert not owner_of_drag(display)

    asyncio.run(go())


def test_a_large_text_is_dropped(display: Display) -> None:
    async def go() -> None:
        window = TextWindow(display)
        text = "漢字 and more\n" * 20_000
        async with desk(display) as desktop, ours(display) as mine:
            await drop(mine.selections, mine.ledger, *(await middle(desktop, "Text gtk3")), text)
            await arrives(window, text)

    asyncio.run(go())


def test_nothing_is_dropped_while_the_person_drags(display: Display) -> None:
    async def go() -> None:
        window = TextWindow(display)
        person: Any = xcffib.Connection(display.name)  # type: ignore[no-untyped-call]
        source = person.generate_id()
        person.core.CreateWindow(0, source, person.setup.roots[0].root, 0, 0, 1, 1, 0, 2, 0, 0, [])
        atom = person.core.InternAtom(False, 13, "XdndSelection").reply().atom
        person.core.SetSelectionOwner(source, atom, 0)
        person.core.GetInputFocus().reply()
        async with desk(display) as desktop, ours(display) as mine:
            found = await middle(desktop, "Text gtk3")
            await desktop.input.move(Point(999, 699))
            await desktop.input.press("left")
            with pytest.raises(Passed, match="dragged"):
                await drop(mine.selections, mine.ledger, *found, TEXT)
            assert owner_of_drag(display) == source
            assert window.text() == ""
            # Qt owns it until it ends: what was dropped by then has long been fetched.
            await desktop.input.release("left")
            await drop(mine.selections, mine.ledger, *found, TEXT)
            await arrives(window, TEXT)
        person.disconnect()

    asyncio.run(go())


def test_a_window_that_takes_no_drops_gets_no_message(display: Display) -> None:
    async def go() -> None:
        plain: Any = xcffib.Connection(display.name)  # type: ignore[no-untyped-call]
        window = plain.generate_id()
        plain.core.CreateWindow(0, window, plain.setup.roots[0].root, 0, 0, 50, 50, 0, 1, 0, 0, [])
        plain.core.GetInputFocus().reply()
        async with ours(display) as mine:
            with pytest.raises(Passed, match="takes no drops"):
                await drop(mine.selections, mine.ledger, window, Point(10, 10), TEXT)
        plain.core.GetInputFocus().reply()
        assert plain.poll_for_event() is None
        plain.disconnect()

    asyncio.run(go())


def test_what_takes_no_text_there_and_who_does_not_answer_are_left_as_they_were(display: Display) -> None:
    async def go() -> None:
        window = TextWindow(display)
        async with desk(display) as desktop, ours(display) as mine:
            found = await desktop.find("Text gtk3")
            band = Point(found.bounds.x + 60, found.bounds.y + found.bounds.height - 20)
            with pytest.raises(Passed, match="no dropped text there"):
                await drop(mine.selections, mine.ledger, found.native, band, TEXT)
            window.do("stall 1.5")
            began = time.monotonic()
            with pytest.raises(Passed, match="said nothing"):
                await drop(mine.selections, mine.ledger, found.native, Point(band.x, found.bounds.y + 10), TEXT)
            assert time.monotonic() - began < 1.3
            assert not owner_of_drag(display)
            assert mine.ledger.entries == []
            window.do("clear")  # it has handled all of that
            assert window.text() == ""
            await drop(mine.selections, mine.ledger, found.native, Point(band.x, found.bounds.y + 10), "now")
            await arrives(window, "now")

    asyncio.run(go())


def test_a_drag_that_a_dead_driver_left_is_ended(display: Display) -> None:
    async def go() -> None:
        plain: Any = xcffib.Connection(display.name)  # type: ignore[no-untyped-call]
        window = plain.generate_id()
        plain.core.CreateWindow(0, window, plain.setup.roots[0].root, 0, 0, 50, 50, 0, 1, 0, 0, [])
        leave = plain.core.InternAtom(False, 9, "XdndLeave").reply().atom
        ledger = Ledger()
        ledger.hold(f"told-drag:{window},77")
        async with desk(display, "user") as desktop:
            await undo_drags(desktop.x, ledger)
        event = plain.wait_for_event()
        assert (event.type, event.data.data32[0]) == (leave, 77)
        assert ledger.entries == []
        plain.disconnect()

    asyncio.run(go())
