"""The keyboard of a desktop that is the agent's own, pressed through the XTEST extension.

All of it runs on the connection's thread. A character that no key makes is put on a spare keycode while it is typed.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import xcffib
import xcffib.xkb
import xcffib.xproto
import xcffib.xtest

from alongside.core.errors import Invalid
from alongside.platforms.linux.x11 import properties
from alongside.platforms.linux.x11.connection import answer
from alongside.platforms.linux.x11.keymap import CORE_KEYBOARD, SYMS, Keymap, Stroke, keysym, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from alongside.platforms.linux.x11.connection import X11

_PRESS, _RELEASE = 2, 3
_CAPS_LOCK = 2
_SET_MAP = 9  # the opcode; xcffib cannot write the keysyms of this request
_BURST = 40  # characters sent at once; between bursts the application catches up and the caller may stop


class Keyboard:
    """``hold`` is told what is going to be taken hold of, ``released`` what was let go; on the connection's thread.

    What is taken: ``key:37``; ``keymap:97,105``, keycodes with borrowed meanings; ``lock:caps``, Caps Lock that was
    on and is to be on again.
    """

    def __init__(self, x: X11, hold: Callable[[str], None], released: Callable[[str], None]) -> None:
        self._x = x
        self._hold = hold
        self._released = released
        self._borrowed: list[int] = []
        self._unlocked = False
        self._xtest = x.connection(xcffib.xtest.key)
        self._xkb = x.connection(xcffib.xkb.key)

    def prepare(self) -> None:
        self._xtest.GetVersion(2, 2).reply()
        self._xkb.UseExtension(1, 0).reply()

    def press(self, code: int) -> None:
        self._hold(f"key:{code}")
        self._xtest.FakeInput(_PRESS, code, 0, 0, 0, 0, 0)

    def release(self, code: int) -> None:
        self._xtest.FakeInput(_RELEASE, code, 0, 0, 0, 0, 0)
        self._released(f"key:{code}")

    def chord(self, chord: str) -> None:
        modifiers, sym = parse(chord)
        keymap = self.keymap()
        stroke = keymap.strokes.get(sym)
        try:
            if stroke is None:
                stroke = self._borrow(keymap, [sym])[sym]
            self._stroke([keymap.modifier(name) for name in dict.fromkeys((*modifiers, *stroke.held))], stroke.code)
        finally:
            self._x.sync()

    def hold(self, modifiers: Sequence[str]) -> None:
        keymap = self.keymap()
        for code in [keymap.modifier(name) for name in modifiers]:
            self.press(code)
        self._x.sync()

    def let_go(self, modifiers: Sequence[str]) -> None:
        keymap = self.keymap()
        for name in reversed(modifiers):
            self.release(keymap.modifier(name))
        self._x.sync()

    def bursts(self, text: str) -> list[str]:
        """The text in pieces, each of which the spare keycodes suffice for."""
        keymap = self.keymap()
        found: list[str] = []
        piece, borrowed = "", set[int]()
        for character in text.replace("\r\n", "\n"):
            sym = keysym(character)
            wanted = borrowed if sym in keymap.strokes else borrowed | {sym}
            if len(piece) == _BURST or len(wanted) > len(keymap.spare):
                found.append(piece)
                piece, wanted = "", wanted - borrowed if sym not in borrowed else {sym}
            piece, borrowed = piece + character, wanted
        return [*found, piece] if piece else found

    def borrow(self, burst: str) -> int | None:
        """Give spare keycodes the meanings that a piece lacks; the window that is to learn of it, if any were."""
        keymap = self.keymap()
        syms = {keysym(character) for character in burst}
        self._borrow(keymap, sorted(syms - keymap.strokes.keys()))
        return self.reader() if self._borrowed else None

    def type(self, burst: str) -> None:
        """Type a piece that ``borrow`` was called for; borrowed keycodes stay as they are until ``restore``."""
        keymap = self.keymap()
        strokes = keymap.strokes
        syms = [keysym(character) for character in burst]
        self._unlock()
        for sym in syms:
            stroke = strokes[sym]
            self._stroke([keymap.modifier(name) for name in stroke.held], stroke.code)
        self._x.sync()

    @property
    def borrows(self) -> bool:
        return bool(self._borrowed)

    def restore(self) -> None:
        """Give the borrowed keycodes back, and lock again what was locked."""
        if self._borrowed:
            self.clear(self._borrowed)
            self._released("keymap:" + ",".join(map(str, self._borrowed)))
            self._borrowed = []
        if self._unlocked:
            self.lock_caps(True)
            self._released("lock:caps")
            self._unlocked = False

    def keymap(self) -> Keymap:
        state = self._xkb.GetState(CORE_KEYBOARD)
        asked = self._xkb.GetMap(CORE_KEYBOARD, SYMS, 0, *[0] * 8, 0, *[0] * 6)
        group = state.reply().group
        return Keymap.parse(bytes(self._x.connection.wait_for_reply(asked.sequence).buf), group)

    def clear(self, codes: Sequence[int]) -> None:
        """Take all meaning from keycodes."""
        self._give(dict.fromkeys(codes, 0))
        self._x.sync()

    def lock_caps(self, locked: bool) -> None:
        self._xkb.LatchLockState(CORE_KEYBOARD, _CAPS_LOCK, _CAPS_LOCK * locked, 0, 0, 0, 0, 0)
        self._x.sync()

    def release_all(self) -> None:
        """Let go of every key that is down, whoever pressed it."""
        bits = self._x.connection.core.QueryKeymap().reply().keys
        for code in (8 * byte + bit for byte in range(32) for bit in range(8) if bits[byte] >> bit & 1):
            self.release(code)
        self.restore()
        self._x.sync()

    def reader(self) -> int | None:
        """The application's window that keys go to, if it answers pings.

        No other may be sent one: xterm takes any message of WM_PROTOCOLS for the wish to close (measured).
        """
        x, core = self._x, self._x.connection.core
        ping = x.atom("_NET_WM_PING")
        window: int = core.GetInputFocus().reply().focus
        while window not in (0, 1, x.root):
            protocols, tree = properties.ask(x, window, "WM_PROTOCOLS"), core.QueryTree(window)
            if ping in properties.numbers(answer(protocols)):
                return window
            above = answer(tree)
            window = above.parent if above else 0
        return None

    def _stroke(self, held: Iterable[int], code: int) -> None:
        pressed: list[int] = []
        try:
            for one in (*held, code):
                pressed.append(one)
                self.press(one)
        finally:
            for one in reversed(pressed):
                self.release(one)

    def _borrow(self, keymap: Keymap, syms: Sequence[int]) -> dict[int, Stroke]:
        if not syms:
            return {}
        codes = keymap.spare[: len(syms)]
        if len(codes) < len(syms):
            raise Invalid("The keyboard has no spare key for this character.")
        self._hold("keymap:" + ",".join(map(str, codes)))
        self._borrowed = codes
        self._give(dict(zip(codes, syms, strict=True)))
        return {sym: Stroke(code) for sym, code in zip(syms, codes, strict=True)}

    def _give(self, meanings: dict[int, int]) -> None:
        arguments = self.keymap().with_meanings(meanings)
        self._xkb.send_request(_SET_MAP, io.BytesIO(arguments), is_checked=True).check()

    def _unlock(self) -> None:
        if not self._unlocked and self._xkb.GetState(CORE_KEYBOARD).reply().lockedMods & _CAPS_LOCK:
            self._hold("lock:caps")
            self._unlocked = True
            self.lock_caps(False)
