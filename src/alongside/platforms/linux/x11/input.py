"""The pointer and the keyboard of a desktop that is the agent's own."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING

import xcffib
import xcffib.xproto
import xcffib.xtest

from alongside.core.errors import AppHung
from alongside.core.geometry import Point
from alongside.platforms.linux.x11.keyboard import Keyboard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from alongside.core.steps import Button
    from alongside.platforms.linux.x11.connection import X11
    from alongside.platforms.linux.x11.events import Events

_PRESS, _RELEASE, _MOTION = 4, 5, 6
BUTTONS: dict[Button, int] = {"left": 1, "middle": 2, "right": 3}
WHEEL = {"up": 4, "down": 5, "left": 6, "right": 7}
BUTTON_MASKS = {1: 0x100, 2: 0x200, 3: 0x400, 4: 0x800, 5: 0x1000}
_FRAME = 1 / 60
_SPEED = 2000  # pixels a second
_LONGEST = 0.5  # seconds of a drag
_FEWEST = 12  # frames: with less GTK 3 and Chromium do not take a short drag for one (measured over 50 pixels)
_SETTLE = 0.05  # after the press and after the last frame of a drag: measured, toolkits lose shorter ones
# Seconds between two clicks: measured, without it up to 8 of 150 double clicks lost the second one, with 0.01 none.
_BETWEEN = 0.02
_REPEAT = 0.008  # seconds between repeated keys
_ANSWER = 5.0  # seconds an application gets to handle what was typed
_NO_ANSWER = 0.3  # seconds for one that does not answer pings (Tk, xterm, Xaw)


class Input:
    """The port of the same name, ``click``, ``drag`` and ``undo``.

    What was begun on the thread is done to its end, also when the caller is cancelled.

    ``hold`` is told before something is taken hold of, ``released`` after it was let go, both on the connection's
    thread: ``button:1``, ``key:37``, ``keymap:97,105`` (keycodes with borrowed meanings), ``lock:caps``.
    """

    def __init__(self, x: X11, events: Events, hold: Callable[[str], None], released: Callable[[str], None]) -> None:
        self._x = x
        self._events = events
        self._hold = hold
        self._released = released
        self._keyboard = Keyboard(x, hold, released)
        self._xtest = x.connection(xcffib.xtest.key)
        self._released_at = 0.0
        self.wheeled_at = 0.0  # monotonic seconds, of the last wheel click

    @classmethod
    async def open(cls, x: X11, events: Events, hold: Callable[[str], None], released: Callable[[str], None]) -> Input:
        self = cls(x, events, hold, released)
        await x.run(self._keyboard.prepare)
        return self

    async def move(self, point: Point) -> None:
        await self._x.run(self._move, point)

    async def press(self, button: Button) -> None:
        await asyncio.sleep(self._released_at + _BETWEEN - time.monotonic())
        await self._x.run(self._press, BUTTONS[button])

    async def release(self, button: Button) -> None:
        await self._x.run(self._release, BUTTONS[button])

    async def click(self, point: Point, button: Button = "left") -> None:
        """Move there, press and let go at once: nothing that cancels this comes in between."""
        await asyncio.sleep(self._released_at + _BETWEEN - time.monotonic())
        await self._x.run(self._click, point, BUTTONS[button])

    async def wheel(self, direction: str, clicks: int) -> None:
        await self._x.run(self._wheel, WHEEL[direction], clicks)

    async def drag(self, start: Point, end: Point, button: Button = "left") -> None:
        """Press at one point, glide to the other, let go; also when cancelled it is let go of."""
        await self.move(start)
        await asyncio.sleep(_SETTLE)
        try:
            await self.press(button)
            await asyncio.sleep(_SETTLE)
            for point in path(start, end):
                await self.move(point)
                await asyncio.sleep(_FRAME)
            await asyncio.sleep(_SETTLE)
        finally:
            await asyncio.wrap_future(self._x.post(self._release, BUTTONS[button]))

    async def keys(self, chord: str, repeat: int = 1) -> None:
        try:
            for turn in range(repeat):
                if turn:
                    await asyncio.sleep(_REPEAT)
                await self._x.run(self._keyboard.chord, chord)
            await self._taken()
        finally:
            await asyncio.wrap_future(self._x.post(self._keyboard.restore))

    async def hold(self, modifiers: Sequence[str]) -> None:
        await self._x.run(self._keyboard.hold, modifiers)

    async def let_go(self, modifiers: Sequence[str]) -> None:
        await self._x.run(self._keyboard.let_go, modifiers)

    async def can_write(self, text: str) -> None:
        await self._x.run(self._keyboard.bursts, text)

    async def type(self, text: str) -> None:
        for burst in await self._x.run(self._keyboard.bursts, text):
            try:
                reader = await self._x.run(self._keyboard.borrow, burst)
                # Chromium loses a key that comes right after the keymap changed (measured: 15 of 120).
                if reader is not None and not await self._events.ping(reader, _ANSWER):
                    raise AppHung(f"The application did not answer in {_ANSWER:g} s; nothing more was typed.")
                await self._x.run(self._keyboard.type, burst)
                await self._taken()
            finally:
                # Posted before it is waited for: the keymap is given back also when this is cancelled again.
                await asyncio.wrap_future(self._x.post(self._keyboard.restore))

    async def release_all(self) -> None:
        """Let go of every key and button that is down, by whomever, and give back the keymap."""
        await self._x.run(self._release_all)

    async def undo(self, taken: Sequence[str]) -> None:
        """Let go of what an earlier driver took and did not give back: what it told ``hold``, latest first."""
        await self._x.run(self._undo, taken)

    async def _taken(self) -> None:
        """Wait until the application has handled the keys: it looks up what a key means only then."""
        reader = await self._x.run(self._keyboard.reader)
        if reader is not None:
            if not await self._events.ping(reader, _ANSWER):
                raise AppHung(f"The application did not handle the keys in {_ANSWER:g} s; some may arrive later.")
        elif self._keyboard.borrows:
            await asyncio.sleep(_NO_ANSWER)

    def _move(self, point: Point) -> None:
        self._xtest.FakeInput(_MOTION, 0, 0, self._x.root, *point, 0)
        self._x.sync()

    def _press(self, button: int) -> None:
        self._hold(f"button:{button}")
        self._xtest.FakeInput(_PRESS, button, 0, 0, 0, 0, 0)
        self._x.sync()

    def _release(self, button: int) -> None:
        self._xtest.FakeInput(_RELEASE, button, 0, 0, 0, 0, 0)
        self._x.sync()
        self._released_at = time.monotonic()
        self._released(f"button:{button}")

    def _click(self, point: Point, button: int) -> None:
        self._move(point)
        try:
            self._press(button)
        finally:
            self._release(button)

    def _wheel(self, button: int, clicks: int) -> None:
        for _ in range(clicks):
            self._press(button)
            self._release(button)
        self.wheeled_at = time.monotonic()

    def _release_all(self) -> None:
        mask = self._x.connection.core.QueryPointer(self._x.root).reply().mask
        for button, bit in BUTTON_MASKS.items():
            if mask & bit:
                self._release(button)
        self._keyboard.release_all()

    def _undo(self, taken: Sequence[str]) -> None:
        for what in taken:
            kind, _, detail = what.partition(":")
            match kind:
                case "button":
                    self._release(int(detail))
                case "key":
                    self._keyboard.release(int(detail))
                case "keymap":
                    self._keyboard.clear([int(code) for code in detail.split(",")])
                case "lock":
                    self._keyboard.lock_caps(True)
                case _:
                    continue
            self._released(what)
        self._x.sync()


def path(start: Point, end: Point) -> list[Point]:
    """The frames of a drag, 60 a second: fast at first, then slower (cubic), 2000 pixels a second, 0.5 s at most."""
    distance = math.dist(start, end)
    frames = max(_FEWEST, round(min(_LONGEST, distance / _SPEED) / _FRAME))
    if distance < 1:
        return []
    eased = [1 - (1 - frame / frames) ** 3 for frame in range(1, frames)]
    return [
        *(
            Point(round(start.x + part * (end.x - start.x)), round(start.y + part * (end.y - start.y)))
            for part in eased
        ),
        end,
    ]
