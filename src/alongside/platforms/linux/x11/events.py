"""What changes among the windows, told by the server: a second connection that only listens, read by the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import struct
from typing import TYPE_CHECKING, Any

import xcffib
import xcffib.xproto

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alongside.platforms.linux.x11.connection import X11

_TELLING = ("_NET_CLIENT_LIST_STACKING", "_NET_ACTIVE_WINDOW", "_NET_WM_NAME", "WM_NAME", "_NET_WM_STATE", "WM_STATE")
_CLIENT_MESSAGE = 33


class Events:
    """Counts changes: windows mapped, unmapped, destroyed, moved, restacked, renamed, activated."""

    def __init__(self, x: X11, connection: Any, telling: frozenset[int]) -> None:
        self.number = 0
        self._x = x
        self._connection = connection
        self._telling = telling
        self._heard: set[int] = set()
        self._changed = asyncio.Event()
        self._pings: dict[int, asyncio.Future[None]] = {}
        self._ping_numbers = itertools.count(1)
        # Kept: a connection that broke does not tell it any more, and its reader would be called for ever.
        self._descriptor: int = connection.get_file_descriptor()
        asyncio.get_running_loop().add_reader(self._descriptor, self._read)

    @classmethod
    async def open(cls, x: X11) -> Events:
        connection, telling = await x.run(_listening, x)
        return cls(x, connection, telling)

    async def wait_change(self, seen: int, timeout: float) -> int:
        """Return once ``number`` is no longer ``seen``, or after ``timeout`` seconds; the number there is then."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while self.number == seen:
                    await self._changed.wait()
        return self.number

    async def ping(self, window: int, timeout: float) -> bool:
        """Ask whether an application has handled all events sent to it before; on desktops of the agent's own.

        ``window`` is one that lists ``_NET_WM_PING`` among its protocols. False where no answer came in ``timeout`` s.
        """
        number = next(self._ping_numbers)
        self._pings[number] = answered = asyncio.get_running_loop().create_future()
        try:
            await self._x.run(self._send_ping, window, number)
            async with asyncio.timeout(timeout):
                await answered
        except TimeoutError:
            return False
        else:
            return True
        finally:
            del self._pings[number]

    def listen_to(self, windows: Iterable[int]) -> None:
        """Count changes of these windows' titles and states too."""
        current = set(windows)
        for window in current - self._heard:
            self._connection.core.ChangeWindowAttributes(
                window, xcffib.xproto.CW.EventMask, [xcffib.xproto.EventMask.PropertyChange]
            )
        self._connection.flush()
        self._heard = current

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        self._connection.disconnect()

    def _send_ping(self, window: int, number: int) -> None:
        x = self._x
        message = struct.pack(
            "=BBHII5I",
            _CLIENT_MESSAGE,
            32,
            0,
            window,
            x.atom("WM_PROTOCOLS"),
            x.atom("_NET_WM_PING"),
            number,
            window,
            0,
            0,
        )
        x.connection.core.SendEvent(False, window, xcffib.xproto.EventMask.NoEvent, message)
        x.connection.flush()

    def _read(self) -> None:
        before = self.number
        try:
            while True:
                try:
                    event = self._connection.poll_for_event()
                except xcffib.Error:
                    continue  # a window that we wanted to listen to has gone
                if event is None:
                    break
                self._take(event)
        except xcffib.XcffibException:
            # The server is gone: the next job on the other connection says so.
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self.number += 1
        if self.number != before:
            self._changed.set()
            self._changed = asyncio.Event()

    def _take(self, event: Any) -> None:
        if isinstance(event, xcffib.xproto.ClientMessageEvent):
            waiting = self._pings.get(event.data.data32[1])
            if waiting is not None and not waiting.done():
                waiting.set_result(None)
        elif not isinstance(event, xcffib.xproto.PropertyNotifyEvent) or event.atom in self._telling:
            self.number += 1


def _listening(x: X11) -> tuple[Any, frozenset[int]]:
    connection = x.connect()
    masks = xcffib.xproto.EventMask
    connection.core.ChangeWindowAttributes(
        x.root,
        xcffib.xproto.CW.EventMask,
        [masks.StructureNotify | masks.SubstructureNotify | masks.PropertyChange],
    )
    connection.flush()
    return connection, frozenset(map(x.atom, _TELLING))
