"""The windows of the acting benchmark on their display: the lab's, where they are put, and where the person works."""

# mypy: allow-untyped-calls
# ^ xcffib has no types.

from __future__ import annotations

import asyncio
import json
import os
import shutil
import struct
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import xcffib
import xcffib.xproto as xp
from lab_support import LAB, SYSTEM_PYTHON, LabLog, lab_command

from alongside.platforms.linux.apps import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from place import Place

SCREEN = "1600x1000"
PLACED = "1080x600+490+60"
EDITORS = {
    "side": "440x820+10+40",
    "covered": "1580x940+0+0",
    "minimised": "440x820+10+40",
    "workspace": "440x820+10+40",
}
TOOLKITS = {"gtk3": "gtk3.py", "qt5": "qt.py", "qt6": "qt.py", "chromium": "Chromium"}  # their names for libatspi
# As a person starts them who wants them readable; Chromium goes on drawing what is covered.
FLAGS = {
    "gtk3": (),
    "qt5": ("-nograb",),
    "qt6": ("-nograb",),
    "chromium": ("--force-renderer-accessibility", "--disable-backgrounding-occluded-windows"),
}
MANAGERS = {"openbox": ("openbox",), "xfwm4": ("xfwm4",), "kwin_x11": ("kwin_x11",)}
TITLE = "Person's editor"
_READY_S = 30.0
_PLACED_S = 5.0
_ICONIC = 3  # of WM_STATE
_BY_PAGER = 2  # who asks, in EWMH's words


@dataclass
class LabWindow:
    """One window of the lab: its X id, its process, its log."""

    toolkit: str
    title: str
    id: int
    pid: int
    log: LabLog
    processes: list[subprocess.Popen[bytes]]

    @property
    def ended(self) -> int | None:
        """The status with which the application ended; None while it runs."""
        return self.processes[-1].poll()


class Screen:
    """A connection that puts windows where a layout has them, and tells where they are."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._connection: Any = xcffib.connect(display=place.environment["DISPLAY"])
        self._root = self._connection.get_setup().roots[self._connection.pref_screen].root

    def close(self) -> None:
        self._connection.disconnect()

    async def managed(self, manager: str) -> None:
        """Wait for that window manager and two workspaces; TimeoutError where another one answers."""
        await until(lambda: self._numbers(self._root, "_NET_SUPPORTING_WM_CHECK"), "a window manager", _READY_S)
        check = self._numbers(self._root, "_NET_SUPPORTING_WM_CHECK")[0]
        self._tell_root("_NET_NUMBER_OF_DESKTOPS", self._root, 2)
        await until(
            lambda: self._numbers(self._root, "_NET_NUMBER_OF_DESKTOPS")[:1] >= (2,), "two workspaces", _READY_S
        )
        name = self._text(check, "_NET_WM_NAME")
        if manager.partition("_")[0] not in name.casefold():
            raise TimeoutError(f"{manager} did not start; {name} did")

    def window(self, title: str) -> int | None:
        for window in self._numbers(self._root, "_NET_CLIENT_LIST"):
            if self._text(window, "_NET_WM_NAME") == title or self._text(window, "WM_NAME") == title:
                return window
        return None

    def origin(self, window: int) -> tuple[int, int]:
        at = self._connection.core.TranslateCoordinates(window, self._root, 0, 0).reply()
        return at.dst_x, at.dst_y

    async def arrange(self, window: int, layout: str) -> None:
        """Put the window on the current workspace, or where the layout has it."""
        if layout == "minimised":
            self._tell_root("WM_CHANGE_STATE", window, _ICONIC)
            await until(lambda: self._minimised(window), "minimising", _PLACED_S)
        elif layout == "workspace":
            here = self._numbers(self._root, "_NET_CURRENT_DESKTOP")[0]
            self._tell_root("_NET_WM_DESKTOP", window, 1 - here, _BY_PAGER)
            await until(lambda: self._elsewhere(window), "the other workspace", _PLACED_S)

    async def check(self, window: int, layout: str) -> None:
        """TimeoutError unless the window is to the person's editor as the layout says."""
        editor = self.window(TITLE)
        if editor is None:
            raise TimeoutError("the person's editor is not among the windows")
        holds = {
            "side": lambda: self._covers(editor, window) is False,
            "covered": lambda: self._covers(editor, window) is True,
            "minimised": lambda: self._minimised(window),
            "workspace": lambda: self._elsewhere(window),
        }
        await until(holds[layout], f"the layout {layout}", _PLACED_S)

    def _minimised(self, window: int) -> bool:
        return self._numbers(window, "WM_STATE")[:1] == (_ICONIC,)

    def _elsewhere(self, window: int) -> bool:
        there, here = self._numbers(window, "_NET_WM_DESKTOP"), self._numbers(self._root, "_NET_CURRENT_DESKTOP")
        return bool(there) and there[:1] != here[:1]

    def _covers(self, editor: int, window: int) -> bool | None:
        """Whether all of the window is under the editor; None where a part is, or it lies above."""
        stacking = self._numbers(self._root, "_NET_CLIENT_LIST_STACKING")
        (left, top, right, bottom), (x, y, end_x, end_y) = self._edges(editor), self._edges(window)
        if left <= x and top <= y and right >= end_x and bottom >= end_y:
            return True if stacking.index(editor) > stacking.index(window) else None
        return None if left < end_x and x < right and top < end_y and y < bottom else False

    def _edges(self, window: int) -> tuple[int, int, int, int]:
        size = self._connection.core.GetGeometry(window).reply()
        x, y = self.origin(window)
        return x, y, x + size.width, y + size.height

    def activate(self, window: int) -> None:
        """Bring the window in front, as a pager does."""
        self._tell_root("_NET_ACTIVE_WINDOW", window, _BY_PAGER)

    @property
    def active(self) -> int:
        return (*self._numbers(self._root, "_NET_ACTIVE_WINDOW"), 0)[0]

    def _atom(self, name: str) -> int:
        return int(self._connection.core.InternAtom(False, len(name), name).reply().atom)

    def _numbers(self, window: int, name: str) -> tuple[int, ...]:
        try:
            reply = self._connection.core.GetProperty(False, window, self._atom(name), 0, 0, 1024).reply()
        except xp.WindowError:
            return ()
        return tuple(reply.value.to_atoms()) if reply.format == 32 else ()

    def _text(self, window: int, name: str) -> str:
        try:
            reply = self._connection.core.GetProperty(False, window, self._atom(name), 0, 0, 1024).reply()
        except xp.WindowError:
            return ""
        return bytes(reply.value.buf()).decode(errors="replace") if reply.format == 8 else ""

    def _tell_root(self, name: str, window: int, *values: int) -> None:
        data = struct.pack("=5I", *values, *[0] * (5 - len(values)))
        event = struct.pack("=BBHII", 33, 32, 0, window, self._atom(name)) + data
        mask = xp.EventMask.SubstructureRedirect | xp.EventMask.SubstructureNotify
        self._connection.core.SendEvent(False, self._root, mask, event)
        self._connection.flush()


async def until(holds: Callable[[], Any], what: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come in {seconds:g} s")
        await asyncio.sleep(0.01)


async def open_lab(place: Place, screen: Screen, toolkit: str, title: str) -> LabWindow:
    """A window of the lab, shown and ready."""
    log = place.folder / f"{title}.log"
    options = ("--title", title, "--geometry", PLACED, "--tell")
    if toolkit == "chromium":
        command = lab_command("page", log, *options)
        server = place.start(*command, output=subprocess.PIPE)
        assert server.stdout is not None  # noqa: S101 - it was asked for
        address = (await asyncio.to_thread(server.stdout.readline)).decode().strip()
        size, x, y = PLACED.replace("x", ",").split("+")
        kind = kind_of("chromium")
        assert kind is not None  # noqa: S101 - it is in the table
        flags = {*kind.flags, *FLAGS[toolkit], *(kind.root_flags if os.geteuid() == 0 else ())}
        profile = f"--user-data-dir={place.folder / title}"
        placed = (f"--window-size={size}", f"--window-position={x},{y}")
        processes = [server, place.start("chromium", *sorted(flags), *placed, profile, f"--app={address}")]
    else:
        processes = [place.start(*lab_command(toolkit, log, *options, *FLAGS[toolkit]))]
    lab_log = LabLog(log)
    await until(lambda: lab_log.events("window", "ready"), title, _READY_S)
    await until(lambda: screen.window(title), f"the window of {title}", _READY_S)
    window = screen.window(title)
    assert window is not None  # noqa: S101 - just waited for
    return LabWindow(toolkit, title, window, processes[-1].pid, lab_log, processes)


def close_lab(place: Place, window: LabWindow) -> None:
    for process in reversed(window.processes):
        place.stop(process)


class Eyes:
    """Where the elements of a lab window are: perfect eyes, for tools that are given coordinates."""

    def __init__(self, place: Place, toolkit: str) -> None:
        self._environment = {**os.environ, **place.environment}
        self._name = TOOLKITS[toolkit]
        self._seen: list[Any] = []

    async def look(self) -> None:
        """Read where everything is. Seldom: Chromium 156 crashed in reads of libatspi while somebody typed into it."""
        reader = await asyncio.create_subprocess_exec(
            *(SYSTEM_PYTHON, str(LAB / "tree.py"), self._name), env=self._environment, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await reader.communicate()
        self._seen = json.loads(out or b"[]")

    async def centre(self, name: str, role: str = "") -> tuple[int, int] | None:
        """The middle of the visible element of that name on the display; the field rather than its label.

        Nothing in the lab moves: what was seen once is where it was. Only for what was not, the window is read again.
        """
        if not self._known(name, role):
            await self.look()
        return self._known(name, role)

    def _known(self, name: str, role: str) -> tuple[int, int] | None:
        found = [(kind, at) for other, kind, at in self._seen if other == name and _shown(at)]
        fits = [at for kind, at in found if role in kind and kind not in {"label", "static"}]
        if not fits:
            return None
        x, y, width, height = fits[-1]
        return x + width // 2, y + height // 2


def _shown(at: list[int]) -> bool:
    x, y, width, height = at
    return width > 1 and height > 1 and x >= 0 and y >= 0


def missing(program: str) -> bool:
    return shutil.which(program) is None
