"""Dropping a text on a window, by the messages of a drag that no pointer makes (XDND)."""

from __future__ import annotations

import asyncio
import struct
import time
from typing import TYPE_CHECKING, Any

from alongside.core.errors import AppHung, NoEffect
from alongside.core.ports import Passed
from alongside.platforms.linux.x11.selection import text_content

if TYPE_CHECKING:
    from alongside.core.geometry import Point
    from alongside.core.ports import Ledger
    from alongside.platforms.linux.x11.connection import X11
    from alongside.platforms.linux.x11.selection import Owned, Selections

_CLIENT_MESSAGE = 33
_VERSION = 5
# Seconds for an answer to a position, and for the text to be taken.
_ANSWER, _TAKEN = 1.0, 3.0
# How often a place is named until it is accepted; the first time never counts: some have to enter first.
_MOST_POSITIONS = 4
# How long after a drag its text may still be fetched, and how often is looked whether another one begins (seconds).
_HANDED_OVER, _POLL = 0.5, 0.02


async def drop(selections: Selections, ledger: Ledger, window: int, at: Point, text: str) -> None:
    """Drop a text on a top-level window at a point of the display, also where other windows cover it.

    Qt 5 and 6, GTK 3 and 4, Firefox and LibreOffice insert it there, and nobody's focus changes (measured: 43 to 182
    ms). ``Passed`` where the window takes none there, or while the person drags something: nothing has changed then.
    """
    version = await selections.property(window, "XdndAware")
    if not version or await selections.property(window, "XdndProxy"):
        raise Passed("the window takes no drops")
    await _nobody_drags(selections)
    held = f"told-drag:{window},{selections.window}"
    drag = _Drag(selections, window)
    ledger.hold(held)
    try:
        await drag.enter(min(version, _VERSION), text)
        await drag.find(at)
        await drag.drop()
    finally:
        # Also when this is cancelled: it is told that it is over, and finds no text if it asks later.
        await asyncio.shield(drag.end())
        ledger.released(held)


async def _nobody_drags(selections: Selections) -> None:
    """Return where nothing is being dragged and what was dropped has been handed over.

    Qt keeps the selection after a drag until its application ends (measured): whoever owns it drags only while a button
    is down.
    """
    end = time.monotonic() + _HANDED_OVER
    while await selections.owner(selections.atom("XdndSelection")):
        if await selections.pressed():
            raise Passed("something is being dragged on this desktop")
        if time.monotonic() > end:
            return
        await asyncio.sleep(_POLL)


class _Drag:
    """One drag: in, to a place, and dropped or out again."""

    _owned: Owned

    def __init__(self, selections: Selections, window: int) -> None:
        self._selections, self._window = selections, window
        # Whether the application knows of it, and has not been told of its end.
        self._inside = False

    async def enter(self, version: int, text: str) -> None:
        content = text_content(self._selections, text)
        self._owned = await self._selections.take(self._selections.atom("XdndSelection"), content)
        self._inside = True
        names = ("UTF8_STRING", "text/plain;charset=utf-8", "text/plain")
        await self._tell("XdndEnter", version << 24, *map(self._selections.atom, names))

    async def find(self, at: Point) -> None:
        """Name the place until it is accepted."""
        copy = self._selections.atom("XdndActionCopy")
        for turn in range(_MOST_POSITIONS):
            place = (at.x & 0xFFFF) << 16 | (at.y & 0xFFFF)
            await self._tell("XdndPosition", 0, place, self._owned.time, copy)
            try:
                words = await self._told("XdndStatus", _ANSWER)
            except TimeoutError:
                raise Passed(f"the application said nothing to a drag in {_ANSWER:g} s") from None
            if turn and words[1] & 1:
                return
        raise Passed("it takes no dropped text there")

    async def drop(self) -> None:
        """Let it go, and wait until the application has done with it."""
        self._inside = False
        await self._tell("XdndDrop", 0, self._owned.time)
        try:
            await self._told("XdndFinished", _TAKEN)
        except TimeoutError:
            if self._owned.had:
                raise AppHung(
                    f"The application took the dropped text and did not say in {_TAKEN:g} s that it has it."
                ) from None
            raise NoEffect(
                f"The application did not take the dropped text in {_TAKEN:g} s; it was withdrawn."
            ) from None

    async def end(self) -> None:
        if self._inside:
            await self._tell("XdndLeave", 0)
        await self._selections.give_up(self._selections.atom("XdndSelection"))

    async def _tell(self, name: str, *words: int) -> None:
        kind = self._selections.atom(name)
        await self._selections.send(self._window, message(self._window, kind, self._selections.window, *words))

    async def _told(self, name: str, seconds: float) -> tuple[int, ...]:
        """The next message of a name from the window; ``TimeoutError`` where none came."""
        kind = self._selections.atom(name)
        async with asyncio.timeout(seconds):
            while True:
                told: Any = await self._selections.messages.get()
                words = tuple(told.data.data32)
                if told.type == kind and words[0] == self._window:
                    return words


async def undo_drags(x: X11, ledger: Ledger) -> None:
    """Tell windows that a drag is over which an earlier driver did not end."""
    for what in [one for one in ledger.entries if one.startswith("told-drag:")]:
        window, source = map(int, what.partition(":")[2].split(","))
        await x.run(_leave, x, window, source)
        ledger.released(what)


def _leave(x: X11, window: int, source: int) -> None:
    x.connection.core.SendEvent(False, window, 0, message(window, x.atom("XdndLeave"), source))
    x.sync()


def message(window: int, kind: int, *words: int) -> bytes:
    """A client message to a window."""
    return struct.pack("=BBHII5I", _CLIENT_MESSAGE, 32, 0, window, kind, *words, *[0] * (5 - len(words)))
