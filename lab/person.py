"""The person of a test: an editor in which a script types and clicks, and a recorder of what disturbs them.

As a program it prints `ready` once the editor has the focus, and works until stdin closes. For each line on stdin, and
at the end, it prints one JSON line of what happened since the last one.
X11 only. The recorder only reads: probing a grab would itself be a disturbance.
"""

# mypy: allow-untyped-calls
# ^ xcffib has no types.

import argparse
import json
import os
import select
import struct
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import xcffib
import xcffib.xproto as xp
import xcffib.xtest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lab import common  # the checkout is found by the path above

TITLE = "Person's editor"
TEXT = "The quick brown fox jumps over the lazy dog 0123456789\n"
CLICK = "\u25cf"  # stands for a click in what was typed and in what arrived
KEY_S = 0.03
KEYS_BETWEEN_CLICKS = 20
POLL_S = 0.004
FOCUS_DEADLINE_S = 5.0
STILL_S = 0.2
ARRIVAL_DEADLINE_S = 0.5
KEY_PRESS, KEY_RELEASE, BUTTON_PRESS, BUTTON_RELEASE, MOTION = 2, 3, 4, 5, 6  # X event codes, which XTEST takes
RETURN, SHIFT_L = 0xFF0D, 0xFFE1  # keysyms


@dataclass(frozen=True)
class Sight:
    """What one poll sees; windows are X ids, the stacking is bottom to top."""

    pointer: tuple[int, int]
    focus: int
    active: int
    stacking: tuple[int, ...]


def connect() -> Any:
    return xcffib.connect()


class Desk:
    """The person's connection and window: what they see, and what their hands do (XTEST)."""

    def __init__(self, size: tuple[int, int], position: tuple[int, int]) -> None:
        self.connection = connect()
        self._core = self.connection.core
        self._xtest = self.connection(xcffib.xtest.key)
        self._screen = self.connection.get_setup().roots[self.connection.pref_screen]
        self._root = self._screen.root
        self._size = size
        self._atoms: dict[str, int] = {}
        self._read_keymap()
        self._core.ChangeWindowAttributes(self._root, xp.CW.EventMask, [xp.EventMask.PropertyChange])
        self.window = self._open(size, position)
        self.connection.flush()

    def _atom(self, name: str) -> int:
        if name not in self._atoms:
            self._atoms[name] = self._core.InternAtom(False, len(name), name).reply().atom
        return self._atoms[name]

    def _read_keymap(self) -> None:
        setup = self.connection.get_setup()
        count = setup.max_keycode - setup.min_keycode + 1
        reply = self._core.GetKeyboardMapping(setup.min_keycode, count).reply()
        self.keysyms: dict[tuple[int, int], int] = {}
        self._keycodes: dict[int, tuple[int, int]] = {}
        for index, keysym in enumerate(reply.keysyms):
            code, level = divmod(index, reply.keysyms_per_keycode)
            if level < 2 and keysym:  # without and with Shift
                self.keysyms[setup.min_keycode + code, level] = keysym
                self._keycodes.setdefault(keysym, (setup.min_keycode + code, level))

    def _open(self, size: tuple[int, int], position: tuple[int, int]) -> int:
        window = int(self.connection.generate_id())
        mask = xp.EventMask.KeyPress | xp.EventMask.ButtonPress | xp.EventMask.FocusChange
        depth, border, look = 0, 0, [self._screen.white_pixel, mask]
        kind, visual = xp.WindowClass.InputOutput, self._screen.root_visual
        values = xp.CW.BackPixel | xp.CW.EventMask
        self._core.CreateWindow(depth, window, self._root, *position, *size, border, kind, visual, values, look)
        self._set_text(window, xp.Atom.WM_NAME, TITLE)
        self._set_text(window, xp.Atom.WM_CLASS, "person\0Person\0")
        self._set_numbers(window, self._atom("_NET_WM_PID"), xp.Atom.CARDINAL, os.getpid())
        us_position, us_size = 1, 2
        hints = (us_position | us_size, *position, *size, *[0] * 13)
        self._set_numbers(window, xp.Atom.WM_NORMAL_HINTS, xp.Atom.WM_SIZE_HINTS, *hints)
        input_hint = 1
        self._set_numbers(window, xp.Atom.WM_HINTS, xp.Atom.WM_HINTS, input_hint, 1, *[0] * 7)
        self._core.MapWindow(window)
        return window

    def _set_text(self, window: int, name: int, text: str) -> None:
        self._core.ChangeProperty(xp.PropMode.Replace, window, name, xp.Atom.STRING, 8, len(text), text.encode())

    def _set_numbers(self, window: int, name: int, kind: int, *values: int) -> None:
        data = struct.pack(f"={len(values)}I", *values)
        self._core.ChangeProperty(xp.PropMode.Replace, window, name, kind, 32, len(values), data)

    def say_used(self, server_time: int) -> None:
        """Set _NET_WM_USER_TIME as every editor does: window managers judge by it who may take the focus."""
        self._set_numbers(self.window, self._atom("_NET_WM_USER_TIME"), xp.Atom.CARDINAL, server_time)

    def look(self) -> Sight:
        """One poll, in one round trip."""
        pointer, focus = self._core.QueryPointer(self._root), self._core.GetInputFocus()
        active, stacking = self._windows("_NET_ACTIVE_WINDOW"), self._windows("_NET_CLIENT_LIST_STACKING")
        at = pointer.reply()
        return Sight((at.root_x, at.root_y), focus.reply().focus, (*active(), 0)[0], stacking())

    def _windows(self, name: str) -> Callable[[], tuple[int, ...]]:
        most = 1024
        cookie = self._core.GetProperty(False, self._root, self._atom(name), xp.Atom.WINDOW, 0, most)
        return lambda: tuple(cookie.reply().value.to_atoms())

    def _fake(self, kind: int, detail: int, x: int = 0, y: int = 0) -> None:
        self._xtest.FakeInput(kind, detail, 0, self._root, x, y, 0)

    def press_key(self, character: str) -> None:
        code, level = self._keycodes[RETURN if character == "\n" else ord(character)]
        shift = self._keycodes[SHIFT_L][0]
        keys = [shift, code] if level else [code]
        for key in keys:
            self._fake(KEY_PRESS, key)
        for key in reversed(keys):
            self._fake(KEY_RELEASE, key)
        self.connection.flush()

    def click(self, share: float) -> tuple[int, int]:
        """Move the pointer to that share of the editor's width and click; answer the point."""
        width, height = self._size
        inside = (int(width * share), height // 2)
        at = self._core.TranslateCoordinates(self.window, self._root, *inside).reply()
        self._fake(MOTION, 0, at.dst_x, at.dst_y)
        self._fake(BUTTON_PRESS, 1)
        self._fake(BUTTON_RELEASE, 1)
        self.connection.flush()
        return at.dst_x, at.dst_y


def script() -> Iterator[str]:
    """What the person does, one key or click at a time, without end."""
    while True:
        for index, character in enumerate(TEXT):
            yield character
            if index % KEYS_BETWEEN_CLICKS == KEYS_BETWEEN_CLICKS - 1:
                yield CLICK


class Person:
    def __init__(self, desk: Desk, log: common.EventLog) -> None:
        self._desk = desk
        self._log = log
        self.typed: list[str] = []
        self.arrived: list[str] = []
        self.disturbances: list[dict[str, object]] = []
        self._known = self._settle()

    def _settle(self) -> Sight:
        """Wait until the editor has the focus and nothing moves; click into it as a person would, if need be."""
        deadline = time.monotonic() + FOCUS_DEADLINE_S
        clicked, seen, since = False, self._desk.look(), time.monotonic()
        while time.monotonic() < deadline:
            select.select([self._desk.connection.get_file_descriptor()], [], [], POLL_S)
            while self._desk.connection.poll_for_event():
                pass
            now = self._desk.look()
            if now != seen:
                seen, since = now, time.monotonic()
            if time.monotonic() - since > STILL_S:
                if now.focus == now.active == self._desk.window:
                    self._log("person", "ready")
                    return now
                if not clicked:
                    self._desk.click(0.5)
                    clicked = True
        raise SystemExit("The editor did not get the focus: is a window manager running on this display?")

    def _disturbed(self, what: str, before: object, after: object) -> None:
        found = {"what": what, "from": before, "to": after, "t": time.monotonic()}
        self.disturbances.append(found)
        self._log("person", "disturbed", found)

    def watch(self) -> None:
        """Take in what arrived at the editor, and report what changed around it."""
        while event := self._desk.connection.poll_for_event():
            if isinstance(event, xp.KeyPressEvent):
                # Shift is no character: counted as one, the last key would not be waited for.
                self.arrived += filter(None, [self._character(event)])
                self._desk.say_used(event.time)
            elif isinstance(event, xp.ButtonPressEvent):
                self.arrived.append(CLICK if event.detail == 1 else f"<button {event.detail}>")
                self._desk.say_used(event.time)
            elif isinstance(event, xp.FocusOutEvent):
                self._lost_focus(event.mode)
        now = self._desk.look()
        for what in ("pointer", "focus", "active", "stacking"):
            before, after = getattr(self._known, what), getattr(now, what)
            if before != after:
                self._disturbed(what, before, after)
        self._known = now

    def _character(self, event: xp.KeyPressEvent) -> str:
        keysym = self._desk.keysyms.get((event.detail, event.state & xp.ModMask.Shift), 0)
        if keysym in (RETURN, SHIFT_L):
            return "\n" if keysym == RETURN else ""
        return chr(keysym) if 0x20 <= keysym < 0x7F else f"<key {keysym:#x}>"

    def _lost_focus(self, mode: int) -> None:
        """Report what a poll cannot see: a keyboard grab, and a focus that is back already."""
        if mode == xp.NotifyMode.Grab:
            self._disturbed("focus", self._desk.window, "grabbed")
        elif mode == xp.NotifyMode.Normal and self._desk.look().focus == self._known.focus:
            self._disturbed("focus", self._desk.window, "lost for a moment")

    def do(self, action: str) -> None:
        self.watch()  # what changed before the own deed is somebody else's
        self.typed.append(action)
        if action == CLICK:
            share = 0.25 if self.typed.count(CLICK) % 2 else 0.75
            self._known = replace(self._known, pointer=self._desk.click(share))
        else:
            self._desk.press_key(action)

    def work(self, until_closed: int, tell: Callable[[str], object]) -> None:
        """Type and click until that file descriptor closes; tell what happened at each line from it, and at the end."""
        actions, due = script(), time.monotonic()
        own = self._desk.connection.get_file_descriptor()
        while True:
            ready, _, _ = select.select([own, until_closed], [], [], POLL_S)
            if until_closed in ready:
                asked = os.read(until_closed, 4096)
                tell(self._report())
                if not asked:
                    break
            if time.monotonic() >= due:
                self.do(next(actions))
                due = time.monotonic() + KEY_S
            self.watch()

    def _report(self) -> str:
        """What happened since the last report, once the last keys arrived."""
        own = self._desk.connection.get_file_descriptor()
        deadline = time.monotonic() + ARRIVAL_DEADLINE_S
        while len(self.arrived) < len(self.typed) and time.monotonic() < deadline:
            select.select([own], [], [], POLL_S)
            self.watch()
        text = {"typed": "".join(self.typed), "arrived": "".join(self.arrived)}
        told = json.dumps({**text, "disturbances": self.disturbances})
        self.typed, self.arrived, self.disturbances = [], [], []
        return told


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--geometry", type=common.geometry, default="480x320+0+0", metavar="WxH+X+Y")
    arguments = parser.parse_args()
    size, position = arguments.geometry
    person = Person(Desk(size, position or (0, 0)), common.EventLog(arguments.log))
    say("ready")
    person.work(sys.stdin.fileno(), say)


if __name__ == "__main__":
    main()
