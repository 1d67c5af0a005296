"""A pointer and a keyboard made of events that are sent to one window: the display's own never move.

An application that is told that it has the focus, that the pointer came in and that a button went down acts as if it
were so, also when it is covered, on another workspace or minimised; no window manager and no other client sees any of
it (measured on GTK 3, Qt 5, Qt 6, Chromium, Firefox and Tk under eight window managers).
"""

from __future__ import annotations

import asyncio
import struct
import time
from typing import TYPE_CHECKING, NamedTuple, Self

import xcffib.xkb
import xcffib.xproto

from alongside.core.errors import AppHung
from alongside.core.geometry import Point
from alongside.core.outline import quote
from alongside.core.ports import Passed
from alongside.platforms.linux.x11 import properties
from alongside.platforms.linux.x11.connection import answer
from alongside.platforms.linux.x11.input import BUTTON_MASKS, BUTTONS, WHEEL, path
from alongside.platforms.linux.x11.keymap import CORE_KEYBOARD, SYMS, Keymap, keysym, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from alongside.core.ports import Ledger
    from alongside.core.steps import Button
    from alongside.platforms.linux.x11.connection import X11
    from alongside.platforms.linux.x11.events import Events

_KEY_PRESS, _KEY_RELEASE, _PRESS, _RELEASE, _MOTION, _ENTER, _LEAVE, _FOCUS_IN, _FOCUS_OUT = range(2, 11)
_NONLINEAR = 3  # the detail of a focus that came from another application's window
_SAME_SCREEN, _FOCUSED = 0x01, 0x02  # the flags of a crossing
# The state that goes with a modifier; of AltGr the usual one.
_BITS = {"shift": 0x01, "ctrl": 0x04, "alt": 0x08, "super": 0x40, "altgr": 0x80}
_PRESSED = sum(BUTTON_MASKS.values())
_GROUP = 13  # the place of the layout's number in a state
# Events tell a time ten minutes ago, in milliseconds: a window that an application opens because of them asks for the
# focus as of then, and window managers that prevent the stealing of focus do not give it (measured).
_AGO = 600_000
# Seconds an application gets to handle what it was sent, and one that does not answer pings (Xaw, xterm).
_ANSWER, _NO_ANSWER = 5.0, 0.05
_BURST = 40  # characters sent at once: a stop comes between two such
_FRAME = 1 / 60
_SETTLE = 0.05


class Key(NamedTuple):
    """A key and the state of modifiers and layout in which it is pressed."""

    code: int
    state: int


class Where(NamedTuple):
    """A point in a window, and the same of the display."""

    window: int
    at: Point
    root: Point


class Activation:
    """Devices of one window, for one step: ``async with`` tells the application at the end that all is as it was.

    ``hold`` is told before the application is told that it has the focus or that a button is down, ``released`` after
    it was told the opposite: ``told-focus:WINDOW``, ``told-button:WINDOW,BUTTON``.
    """

    def __init__(
        self, x: X11, events: Events, window: int, hold: Callable[[str], None], released: Callable[[str], None]
    ) -> None:
        self._x, self._events, self._window = x, events, window
        self._hold, self._released = hold, released
        self._active = False
        self._pings = False
        # Where the pointer is told to be.
        self._inside: Where | None = None
        # The modifiers and buttons that are told to be down.
        self._state = 0
        self.wheeled_at = 0.0  # monotonic seconds, of the last wheel click

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Posted before it is waited for: it is done also when this is cancelled.
        await asyncio.wrap_future(self._x.post(self._leave))

    async def move(self, point: Point) -> None:
        await self.activate()
        await self._x.run(self._move, point)

    async def click(self, point: Point, button: Button = "left") -> None:
        await self.activate()
        # Two motions: Qt takes the first one only as having arrived (measured).
        await self._x.run(self._move, Point(point.x - 2, point.y - 2))
        await self._x.run(self._move, point)
        await self._x.run(self._clicks, BUTTONS[button], 1)
        await self._handled("the click")

    async def wheel(self, direction: str, clicks: int) -> None:
        await self.activate()
        await self._x.run(self._clicks, WHEEL[direction], clicks)
        await self._handled("the wheel")
        self.wheeled_at = time.monotonic()

    async def drag(self, start: Point, end: Point, button: Button = "left") -> None:
        """Press at one point, glide to the other, let go; also when cancelled it is let go of."""
        await self.move(start)
        try:
            await self._x.run(self._press, BUTTONS[button])
            await asyncio.sleep(_SETTLE)
            for point in path(start, end):
                await self._x.run(self._move, point)
                await asyncio.sleep(_FRAME)
            await asyncio.sleep(_SETTLE)
        finally:
            await asyncio.wrap_future(self._x.post(self._release, BUTTONS[button]))
        await self._handled("the drag")

    async def keys(self, chord: str, repeat: int = 1) -> None:
        modifiers, sym = parse(chord)
        held = sum(_BITS[name] for name in set(modifiers))
        key = (await self._x.run(self._keyboard)).get(sym)
        if key is None:
            raise Passed(f"no key of this keyboard makes {quote(chord, 40)}")
        await self._strokes([Key(key.code, key.state | held)] * repeat)

    async def can_write(self, text: str) -> None:
        """``Passed`` names the characters that the person's own layouts do not have: their keymap stays as it is."""
        keyboard = await self._x.run(self._keyboard)
        lacking = dict.fromkeys(one for one in text.replace("\r\n", "\n") if keysym(one) not in keyboard)
        if lacking:
            raise Passed(f"no key of this keyboard writes {quote(''.join(lacking)[:12], 40)}")

    async def type(self, text: str) -> None:
        keyboard = await self._x.run(self._keyboard)
        await self._strokes([keyboard[keysym(one)] for one in text.replace("\r\n", "\n")])

    async def hold(self, modifiers: Sequence[str]) -> None:
        self._state |= sum(_BITS[name] for name in modifiers)

    async def let_go(self, modifiers: Sequence[str]) -> None:
        self._state &= ~sum(_BITS[name] for name in modifiers)

    async def _strokes(self, keys: Sequence[Key]) -> None:
        await self.activate()
        for at in range(0, len(keys), _BURST):
            await self._x.run(self._send_keys, keys[at : at + _BURST])
            await self._handled("the keys")

    async def activate(self) -> None:
        """Tell the application that it has the focus, and wait until it has taken that in.

        Qt asks for the real focus where a press is handled together with what came before it (measured: 1 of 8).
        """
        if not self._active:
            self._active = True
            await self._x.run(self._focus)
            await self._handled("that it has the focus")

    async def _handled(self, what: str) -> None:
        if not self._pings:
            await asyncio.sleep(_NO_ANSWER)
        elif not await self._events.ping(self._window, _ANSWER):
            raise AppHung(f"The application did not take {what} in {_ANSWER:g} s; it may do so later.")

    def _focus(self) -> None:
        x = self._x
        protocols = answer(properties.ask(x, self._window, "WM_PROTOCOLS"))
        self._pings = x.atom("_NET_WM_PING") in properties.numbers(protocols)
        if not _has_focus(x, self._window):
            self._hold(f"told-focus:{self._window}")
            _tell_focus(x, self._window, _FOCUS_IN)
            x.connection.flush()

    def _leave(self) -> None:
        if self._inside is not None:
            self._cross(_LEAVE, self._inside)
        if self._active:
            _tell_unfocused(self._x, self._window)
            self._released(f"told-focus:{self._window}")
        self._x.sync()

    def _move(self, point: Point) -> None:
        # What is pressed gets all of a drag, wherever it goes.
        where = self._under(point) if self._inside is None or not self._state & _PRESSED else self._at(point)
        if self._inside is None or self._inside.window != where.window:
            if self._inside is not None:
                self._cross(_LEAVE, self._inside)
            self._cross(_ENTER, where)
        self._inside = where
        self._point(_MOTION, 0)
        self._x.connection.flush()

    def _under(self, point: Point) -> Where:
        """The window at a point of the display: some toolkits have one for each widget."""
        window = self._window
        while True:
            there = self._x.connection.core.TranslateCoordinates(self._x.root, window, *point).reply()
            if not there.child:
                return Where(window, Point(there.dst_x, there.dst_y), point)
            window = there.child

    def _at(self, point: Point) -> Where:
        """A point of the display in the window that the pointer is told to be in."""
        assert self._inside is not None  # noqa: S101 - asked for in the middle of a drag
        window = self._inside.window
        there = self._x.connection.core.TranslateCoordinates(self._x.root, window, *point).reply()
        return Where(window, Point(there.dst_x, there.dst_y), point)

    def _clicks(self, button: int, count: int) -> None:
        # At once: Chromium holds the person's pointer in between (measured).
        for _ in range(count):
            self._press(button)
            self._release(button)

    def _press(self, button: int) -> None:
        if self._inside is not None:
            self._hold(f"told-button:{self._inside.window},{button}")
        self._point(_PRESS, button)
        self._state |= BUTTON_MASKS.get(button, 0)
        self._x.connection.flush()

    def _release(self, button: int) -> None:
        self._point(_RELEASE, button)
        self._state &= ~BUTTON_MASKS.get(button, 0)
        self._x.sync()
        if self._inside is not None:
            self._released(f"told-button:{self._inside.window},{button}")

    def _cross(self, code: int, where: Where) -> None:
        send(self._x, where.window, _device(self._x, code, 0, where, self._state) + bytes([0, _SAME_SCREEN | _FOCUSED]))

    def _point(self, code: int, button: int) -> None:
        assert self._inside is not None  # noqa: S101 - `move` comes first
        where = self._inside
        send(self._x, where.window, _device(self._x, code, button, where, self._state) + bytes([_SAME_SCREEN]))

    def _send_keys(self, keys: Sequence[Key]) -> None:
        where = Where(self._window, Point(1, 1), Point(1, 1))
        for key in keys:
            for code in (_KEY_PRESS, _KEY_RELEASE):
                event = _device(self._x, code, key.code, where, key.state | self._state)
                send(self._x, self._window, event + bytes([_SAME_SCREEN]))
        self._x.sync()

    def _keyboard(self) -> dict[int, Key]:
        """For each keysym the key and state that make it, in the active layout first; the keymap is only read."""
        xkb = self._x.connection(xcffib.xkb.key)
        xkb.UseExtension(1, 0).reply()
        active = xkb.GetState(CORE_KEYBOARD)
        asked = xkb.GetMap(CORE_KEYBOARD, SYMS, 0, *[0] * 8, 0, *[0] * 6)
        group = active.reply().group
        reply = bytes(self._x.connection.wait_for_reply(asked.sequence).buf)
        found: dict[int, Key] = {}
        for layout in dict.fromkeys((group, 0, 1, 2, 3)):
            for sym, stroke in Keymap.parse(reply, layout).strokes.items():
                state = sum(_BITS[name] for name in stroke.held) | layout << _GROUP
                found.setdefault(sym, Key(stroke.code, state))
        return found


async def undo_told(x: X11, ledger: Ledger) -> None:
    """Tell windows the opposite of what they were told and that did not end: its driver died, or is ending."""
    for what in ledger.entries[::-1]:
        kind, _, detail = what.partition(":")
        if kind == "told-button":
            await x.run(_tell_released, x, *map(int, detail.split(",")))
        elif kind == "told-focus":
            await x.run(_tell_unfocused, x, int(detail))
        else:
            continue
        ledger.released(what)


def _tell_unfocused(x: X11, window: int) -> None:
    """Tell an application that a window has no focus, if that is so.

    Where another of its windows has the focus, that one is told so again: applications know of one at a time.
    """
    if _has_focus(x, window):
        return
    _tell_focus(x, window, _FOCUS_OUT)
    focus: int = x.connection.core.GetInputFocus().reply().focus
    mask = x.connection.setup.resource_id_mask
    if focus not in (0, 1, x.root) and focus & ~mask == window & ~mask:
        _tell_focus(x, focus, _FOCUS_IN)


def _tell_released(x: X11, window: int, button: int) -> None:
    """Tell a window that a button went up in its corner, away from what was pressed.

    GTK 3 takes no release outside of its windows (measured).
    """
    corner = Where(window, Point(0, 0), Point(0, 0))
    send(x, window, _device(x, _RELEASE, button, corner, BUTTON_MASKS.get(button, 0)) + bytes([_SAME_SCREEN]))
    x.sync()


def send(x: X11, window: int, event: bytes) -> None:
    """Send one event to the client that made a window, and to nobody else; on the thread."""
    x.connection.core.SendEvent(False, window, xcffib.xproto.EventMask.NoEvent, event.ljust(32, b"\0"))


def _has_focus(x: X11, window: int) -> bool:
    """Whether a window has the real focus: then a person works in it, and it is told nothing of a focus."""
    core = x.connection.core
    focus: int = core.GetInputFocus().reply().focus
    while focus not in (0, 1, x.root, window):
        above = answer(core.QueryTree(focus))
        focus = above.parent if above else 0
    return focus == window


def _tell_focus(x: X11, window: int, code: int) -> None:
    send(x, window, struct.pack("=BBHIB", code, _NONLINEAR, 0, window, 0))


def _device(x: X11, code: int, detail: int, where: Where, state: int) -> bytes:
    """What the events of pointer and keyboard have in common."""
    return struct.pack("=BBHIIIIhhhhH", code, detail, 0, _now(), x.root, where.window, 0, *where.root, *where.at, state)


def _now() -> int:
    """The server's time, ten minutes ago: it counts as the system's clock does (measured within 1 ms)."""
    return max(1, int(time.monotonic() * 1000) - _AGO) & 0xFFFFFFFF
