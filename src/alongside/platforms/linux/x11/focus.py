"""The person's focus while somebody works behind it: what an application takes by itself is given back at once."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from alongside.core.errors import AlongsideError
from alongside.core.geometry import Point
from alongside.core.outline import quote
from alongside.platforms.linux.x11 import properties
from alongside.platforms.linux.x11.connection import answer

if TYPE_CHECKING:
    from alongside.core.elements import Window
    from alongside.core.ports import NativeWindow
    from alongside.platforms.linux.x11.connection import X11
    from alongside.platforms.linux.x11.events import Events
    from alongside.platforms.linux.x11.windows import Windows

# How long a step may take at most, and how long after it windows may still come because of it (seconds).
_LONGEST, _LINGERS = 120.0, 1.0
# How long a window manager may take to give the focus back, and how often it is asked (seconds).
_GIVES, _ASKS = 0.5, 0.05
# How long after a window is there it may be given the focus (seconds).
_TAKES = 0.15
_BUTTONS, _MODIFIERS = 0x1F00, 0x4C  # the pointer's; ctrl, alt and super


class FocusKeeper:
    """Watches from the begin of a step until a second after it; ``taken`` says what was taken since it began."""

    def __init__(self, x: X11, windows: Windows, events: Events) -> None:
        self._x, self._windows, self._events = x, windows, events
        self._had = 0
        self._before: set[int] = set()
        self._until = 0.0
        self._pid = 0
        self._task: asyncio.Task[None] | None = None
        self.taken = ""
        self._took = asyncio.Event()

    async def begin(self, window: Window) -> None:
        """A step on a window begins: whoever has the focus now is to keep it."""
        self.taken = ""
        self._took.clear()
        if self._task is None or self._task.done() or self._pid != window.pid:
            await self.stop()
            listed = await self._windows.list()
            active = next((one.native for one in listed if "active" in one.states), None)
            if active in {None, window.native}:
                return  # nobody has it, or the person works in this very window
            self._had, self._pid, self._before = active or 0, window.pid, {one.native for one in listed}
            self._task = asyncio.create_task(self._watch())
        self._until = time.monotonic() + _LONGEST

    async def settled(self) -> None:
        """Where the step made the application open a window, return when it is plain whether that took the focus."""
        if self._task is None or self._task.done():
            return
        listed = {one.native for one in await self._windows.list() if one.pid == self._pid}
        if listed - self._before and not self.taken:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TAKES):
                    await self._took.wait()
        self._before |= listed

    def end(self) -> None:
        """The step has ended; what comes of it may come a little later."""
        self._until = time.monotonic() + _LINGERS

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _watch(self) -> None:
        self._until = time.monotonic() + _LONGEST
        seen = self._events.number
        with contextlib.suppress(AlongsideError):
            while (left := self._until - time.monotonic()) > 0:
                seen = await self._events.wait_change(seen, min(left, _LINGERS))
                active = await self._x.run(self._active)
                if active not in {self._had, 0}:
                    await self._changed(active)

    async def _changed(self, active: int) -> None:
        """Something else is active: by the application itself, or by the person."""
        now = next((one for one in await self._windows.list() if one.native == active), None)
        if now is None:
            return
        if now.pid != self._pid or await self._x.run(self._was_the_person, now):
            self._had = active
            return
        began = time.monotonic()
        while time.monotonic() < began + _GIVES:
            await self._x.run(self._give_back)
            seen = self._events.number
            if await self._x.run(self._active) == self._had:
                break
            await self._events.wait_change(seen, _ASKS)
        back = (time.monotonic() - began) * 1000
        self.taken = (
            f"{now.kind} {quote(now.title, 60)} took the focus by itself; it was given back after {back:.0f} ms"
        )
        self._took.set()

    def _was_the_person(self, now: NativeWindow) -> bool:
        """Whether the person went to a window themselves: it was there before, and their hand is on it."""
        if now.native not in self._before:
            return False
        pointer = self._x.connection.core.QueryPointer(self._x.root).reply()
        return now.frame.holds(Point(pointer.root_x, pointer.root_y)) or bool(pointer.mask & (_BUTTONS | _MODIFIERS))

    def _active(self) -> int:
        return properties.first(answer(properties.ask(self._x, self._x.root, "_NET_ACTIVE_WINDOW"))) or 0

    def _give_back(self) -> None:
        connection = self._x.connection
        connection.returns_to = self._had
        try:
            self._windows.ask_to_activate(self._had)
        finally:
            connection.returns_to = None
