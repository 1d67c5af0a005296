"""An X server of the test's own, a window on it that writes down its text, and the ports that are tested."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alongside.core.geometry import Point
from alongside.platforms.linux.x11 import properties
from alongside.platforms.linux.x11.connection import X11
from alongside.platforms.linux.x11.events import Events
from alongside.platforms.linux.x11.input import Input
from alongside.platforms.linux.x11.screen import Screen
from alongside.platforms.linux.x11.windows import Windows

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from alongside.core.ports import NativeWindow
    from alongside.platforms.linux.x11.guard import Kind

HERE = Path(__file__).resolve().parent


class Display:
    """An X server of the test's own."""

    def __init__(self, folder: Path, *, manager: bool = True) -> None:
        ours, theirs = os.pipe()
        command = ["Xvfb", "-displayfd", str(theirs), "-screen", "0", "1000x700x24", "-nolisten", "tcp", "-noreset"]
        self.server = subprocess.Popen(command, pass_fds=[theirs], stderr=subprocess.DEVNULL)
        os.close(theirs)
        with os.fdopen(ours) as told:
            self.name = f":{told.readline().strip()}"
        self.folder = folder
        self.environment = {**os.environ, "DISPLAY": self.name, "HOME": str(folder), "GSETTINGS_BACKEND": "memory"}
        self.environment.pop("DBUS_SESSION_BUS_ADDRESS", None)
        self.environment.pop("WAYLAND_DISPLAY", None)
        self.processes = [self.server]
        self.manager = manager
        if manager:
            self.start("openbox")

    def start(self, *command: str, **options: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(command, env=self.environment, stderr=subprocess.DEVNULL, **options)
        self.processes.append(process)
        return process

    def end(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()


class TextWindow:
    """A window of text_window.py and what it wrote down."""

    def __init__(self, display: Display, toolkit: str = "gtk3") -> None:
        self.out = display.folder / f"{len(display.processes)}.txt"
        self._process = display.start(
            "/usr/bin/python3", str(HERE / "text_window.py"), toolkit, str(self.out),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.pid = self._process.pid
        self._said()

    def do(self, command: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{command}\n".encode())
        self._process.stdin.flush()
        assert self._said() == command.split(maxsplit=1)[0]

    def text(self) -> str:
        return self.out.read_text(encoding="utf-8") if self.out.exists() else ""

    def lines(self, of: str) -> list[str]:
        return self.out.with_suffix(f".{of}").read_text().splitlines()

    def _said(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().decode().strip()


class Desk:
    """All ports on a display, and what the ledger was told."""

    x: X11
    events: Events
    windows: Windows
    screen: Screen
    input: Input

    def __init__(self) -> None:
        self.held: list[str] = []
        self.told: list[str] = []

    def hold(self, what: str) -> None:
        self.held.append(what)
        self.told.append(f"+{what}")

    def released(self, what: str) -> None:
        if what in self.held:
            self.held.remove(what)
        self.told.append(f"-{what}")

    async def find(self, title: str, **wanted: Any) -> NativeWindow:
        """The window of a title, once it is what is wanted: ``kind``, or ``states`` it must have."""
        deadline = time.monotonic() + 5
        while True:
            seen = self.events.number
            listed = await self.windows.list()
            for one in listed:
                fits = one.kind == wanted.get("kind", one.kind) and wanted.get("states", set()) <= one.states
                if one.title == title and fits:
                    return one
            assert time.monotonic() < deadline, f"no {title} {wanted} in {listed}"
            await self.events.wait_change(seen, 0.2)

    async def ready(self, title: str) -> NativeWindow:
        """A window in front with the focus, and the pointer in its text."""
        await self.windows.activate((await self.find(title)).native)
        # Read again: the window manager places a new window only after it is listed.
        found = await self.find(title, states={"active"})
        await self.input.move(Point(found.bounds.x + 50, found.bounds.y + 50))
        await self.input.press("left")
        await self.input.release("left")
        return found


@contextlib.asynccontextmanager
async def desk(display: Display, kind: Kind = "own") -> AsyncIterator[Desk]:
    out = Desk()
    out.x = await X11.open(display.name, kind)
    out.events = await Events.open(out.x)
    out.windows = Windows(out.x, out.events)
    if display.manager:
        await managed(out.x)
    out.screen = await Screen.open(out.x)
    if kind == "own":
        out.input = await Input.open(out.x, out.events, out.hold, out.released)
    try:
        yield out
    finally:
        await out.screen.close()
        out.events.close()
        await out.x.close()


async def managed(x: X11) -> None:
    """Wait for the window manager; a window mapped before it comes up moves."""
    deadline = time.monotonic() + 5
    while not await x.run(lambda: properties.first(properties.ask(x, x.root, "_NET_SUPPORTING_WM_CHECK").reply())):
        assert time.monotonic() < deadline, "no window manager came up"
        await asyncio.sleep(0.005)


async def until(true: Callable[[], bool], within: float = 5.0) -> None:
    """Wait for what another process does; there is nothing to await."""
    deadline = time.monotonic() + within
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.005)


async def arrives(window: TextWindow, text: str) -> None:
    with contextlib.suppress(AssertionError):
        await until(lambda: window.text() == text)
    assert window.text() == text
