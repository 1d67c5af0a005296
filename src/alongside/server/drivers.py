"""The process that serves one desktop, kept alive: started, watched, started again."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from alongside.core.errors import AlongsideError, TimedOut, Unavailable
from alongside.link.channel import Link, LinkClosed, Reply

if TYPE_CHECKING:
    from alongside.link.channel import Handler, Say

BEAT = 1 / 3
"""Seconds between heartbeats; a driver that misses ``BEATS`` of them is ended."""
BEATS = 3
_HELLO = 15.0

End = Callable[[float], Awaitable[None]]
"""Ends the process of a driver, after so many seconds by force, and comes back when it is gone."""

Spawn = Callable[[], Awaitable[tuple[socket.socket, End]]]
"""Starts the process of a driver; our end of its link, and what ends it."""

_GRACE = 1.0


class Driver:
    """The driver of one desktop.

    The highest numbers it gave to elements and windows, and which window has which id, are kept here and handed to the
    next process: no number ever names something else, and a window keeps its id. ``answer`` is for what it asks us.
    """

    def __init__(self, desktop: str, kind: str, spawn: Spawn, answer: Handler, *, acting: bool = True) -> None:
        self.desktop, self.kind, self._acting = desktop, kind, acting
        self.pid = 0
        self.restarts = 0
        self._spawn, self._answer = spawn, answer
        self._first = {"first_ref": 1, "first_window": 1}
        self._ids: list[Any] = []
        self._link: Link | None = None
        self._starting: asyncio.Task[Link] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._closed = False

    async def ready(self) -> Link:
        """The link to the driver, which is started where it is not running."""
        if self._link and not self._link.closed.is_set():
            return self._link
        if self._closed:
            raise Unavailable(f"The desktop {self.desktop} is closed.", next='desktop(action="list")')
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start())
        return await asyncio.shield(self._starting)

    async def call(self, method: str, params: dict[str, Any], *, heard: Say | None = None) -> Reply:
        """Ask the driver; ``heard`` gets what it tells meanwhile.

        ``Unavailable`` where it died during the call: then it is not known what was done, and nothing is sent again.
        """
        link = await self.ready()

        def hear(event: dict[str, Any]) -> None:
            self._note(event)
            if heard:
                heard(event)

        try:
            return await link.call(method, params, heard=hear)
        except LinkClosed:
            raise Unavailable(
                f"The driver of {self.desktop} died during this {method}. Whether it was carried out is unknown; "
                "nothing is sent again. The next call finds a new driver; refs from before are stale.",
                next="look, and see what is there now",
            ) from None

    async def halt(self, by: str) -> None:
        """End whatever acts now and let go of what is held; a driver that does not is ended by its heartbeats."""
        if self._link and not self._link.closed.is_set():
            with contextlib.suppress(AlongsideError):
                await self._link.call("stop", {"by": by}, timeout=BEAT * BEATS)

    def _note(self, told: dict[str, Any]) -> None:
        """Keep the numbers that a driver tells of, however its call ends."""
        for name in self._first:
            self._first[name] = max(self._first[name], int(told.get(name.replace("first", "next"), 0)))
        self._ids = told.get("ids", self._ids)

    async def close(self) -> None:
        """End the process; it is not started again."""
        self._closed = True
        if self._starting and not self._starting.done():
            with contextlib.suppress(AlongsideError):
                await self._starting
        if self._link:
            await self._link.close()
        if self._watching:
            await self._watching

    async def _start(self) -> Link:
        try:
            sock, end = await self._spawn()
        except OSError as wrong:
            raise Unavailable(f"The driver of {self.desktop} cannot be started: {wrong}", next="status()") from None
        link = await Link.over(sock, self._answer)
        greeting = {
            "desktop": self.desktop,
            "kind": self.kind,
            "acting": self._acting,
            "ids": self._ids,
            **self._first,
        }
        try:
            self.pid = int((await link.call("hello", greeting, timeout=_HELLO)).result["pid"])
        except (AlongsideError, KeyError, TypeError, ValueError) as wrong:
            await link.close()
            await end(0)
            told = wrong.message if isinstance(wrong, AlongsideError) else repr(wrong)
            raise Unavailable(f"The driver of {self.desktop} does not start: {told}", next="status()") from None
        self._link = link
        self._watching = asyncio.create_task(self._watch(link, end))
        return link

    async def _watch(self, link: Link, end: End) -> None:
        missed = 0
        while missed < BEATS and not link.closed.is_set():
            try:
                await link.call("ping", timeout=BEAT)
            except TimedOut:
                missed += 1
                continue
            except AlongsideError:
                break
            missed = 0
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(link.closed.wait(), BEAT)
        await link.close()
        await end(0 if missed else _GRACE)
        if not self._closed:
            self.restarts += 1
            why = f"missed {missed} heartbeats" if missed else "ended"
            _say(f"the driver of {self.desktop} {why}; starting it again")
            # Where this fails the next call tries again, and its caller hears why.
            with contextlib.suppress(AlongsideError):
                await self.ready()


def _say(text: str) -> None:
    print(f"alongside: {text}", file=sys.stderr, flush=True)  # noqa: T201
