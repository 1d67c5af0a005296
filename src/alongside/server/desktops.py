"""Which driver serves which desktop: the person's, and the sandboxes that were started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from alongside.core.errors import AlongsideError, Invalid, NotFound, TimedOut, Unavailable
from alongside.server.child import COMMAND, HeadStart
from alongside.server.drivers import Driver, End
from alongside.server.person.permit import Permit
from alongside.server.person.stop import POLL

if TYPE_CHECKING:
    from pathlib import Path

    from alongside.link.channel import Reply, Say
    from alongside.sandbox.desktop import Sandbox

USER = "user"
LIMIT = 50.0
"""Seconds a call may take without a sign of progress; clients give up at 60."""
_START = 'desktop(action="start")'
_STOP = 12.0
_OWNER = re.compile(r"(user|s\d+)\.\d+")


@dataclass(eq=False)
class Desktop:
    """A place with windows, its driver, and what it stands in where it is a sandbox."""

    id: str
    driver: Driver
    permit: Permit
    sandbox: Sandbox | None = None
    size: tuple[int, int] | None = None
    acting: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Acts on one desktop run one after another."""

    async def call(
        self, method: str, params: dict[str, Any], *, heard: Say | None = None, patient: bool = False
    ) -> Reply:
        """Ask the driver, for ``LIMIT`` seconds; where ``patient``, for so long after its last sign of progress.

        ``Stopped`` or ``Policy`` where the person does not allow it: then nothing was sent.
        """
        self.permit.request(method, params)
        said: dict[str, Any] = {}
        loop = asyncio.get_running_loop()

        def hear(event: dict[str, Any]) -> None:
            said.update(event)
            if patient:
                limit.reschedule(loop.time() + LIMIT)
            if heard:
                heard(event)

        try:
            async with asyncio.timeout(LIMIT) as limit:
                if method != "act":
                    return await self.driver.call(method, params, heard=hear)
                async with self.acting:
                    said["step"] = 0
                    self.permit.request(method, params)  # once more: it may have waited
                    return await self.driver.call(method, params, heard=hear)
        except Unavailable:
            if self.ended:
                raise NotFound(
                    f"The sandbox {self.id} ended during this {method}, with everything in it.", next=_START
                ) from None
            raise
        except TimeoutError:
            if method == "act" and "step" not in said:
                raise TimedOut(f"Another act on {self.id} is still running; nothing was sent.") from None
            reached = (
                f" Step {said['step']} of {said['of']} was under way." if said.get("step") and "of" in said else ""
            )
            raise TimedOut(
                f"No answer to this {method} in {LIMIT:.0f} s; it was cancelled.{reached} What was done is unknown.",
                next="look, and see what is there now; send fewer steps at once",
            ) from None

    @property
    def ended(self) -> bool:
        """A sandbox that died without being asked to."""
        return self.sandbox is not None and not self.sandbox.alive


class Desktops:
    """All of them. Leaving it as a context manager ends every driver and sandbox."""

    def __init__(self, *, user_acting: bool = False, head_start: HeadStart | None = None) -> None:
        self.user_acting = user_acting
        self.permit = Permit()
        self._head_start = head_start or HeadStart()
        self._last = 0
        self._open: dict[str, Desktop] = {}
        self._gone: dict[str, str] = {}
        self._starts: set[asyncio.Task[Desktop]] = set()

    async def __aenter__(self) -> Self:
        self.permit.prepare()
        self.permit.stop.pressed = self._halt
        self._watching = asyncio.create_task(self._watch())
        driver = Driver(USER, "user", self._child, self.permit.answer, acting=self.user_acting)
        self._open[USER] = Desktop(USER, driver, self.permit)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watching.cancel()
        for starting in self._starts:
            starting.cancel()
        closing = [self._close(one) for one in list(self._open.values())]
        await _finished(asyncio.gather(*self._starts, *closing, return_exceptions=True))
        self._head_start.close()

    @property
    def sandboxes(self) -> list[Desktop]:
        """Those that run, in the order of their start."""
        for one in list(self._open.values()):
            if one.ended:
                del self._open[one.id]
                self._gone[one.id] = "it ended by itself, with everything in it"
                self._ending = asyncio.create_task(self._close(one))
        return [one for one in self._open.values() if one.sandbox]

    @property
    def user(self) -> Desktop:
        return self._open[USER]

    @property
    def gone(self) -> dict[str, str]:
        """How the sandboxes that are no more came to their end, by id."""
        return dict(self._gone)

    def get(self, desktop: str) -> Desktop:
        running = self.sandboxes
        if found := self._open.get(desktop):
            return found
        if desktop in self._gone:
            raise NotFound(
                f"The sandbox {desktop} is gone: {self._gone[desktop]}. Its id is not used again.", next=_START
            )
        known = ", ".join([USER, *(one.id for one in running)])
        raise NotFound(f"There is no desktop `{desktop:.40}`; there are: {known}.", next=_START)

    def of_window(self, window: str, desktop: str | None) -> Desktop:
        """The desktop a window is on: the one named, else that of its id, else the only one that can be meant."""
        owner = _OWNER.fullmatch(window.strip())
        if owner and desktop and owner[1] != desktop:
            raise Invalid(f"The window {owner[0]} is not on the desktop `{desktop:.40}`.", next="leave out `desktop`")
        return self.get(owner[1]) if owner else self.chosen(desktop)

    def chosen(self, desktop: str | None) -> Desktop:
        """The desktop named, else the only sandbox that runs, else the person's."""
        if desktop:
            return self.get(desktop.strip())
        return self._only_sandbox() or self.user

    def for_launch(self, desktop: str | None) -> Desktop:
        if desktop:
            return self.get(desktop.strip())
        found = self._only_sandbox()
        if found is None:
            gone = "".join(f" ({one} is gone: {why})" for one, why in self._gone.items())
            raise Unavailable(f"No sandbox is running{gone}; applications are launched in one.", next=_START)
        return found

    async def start(self, size: tuple[int, int], folder: Path | None = None, *, writable: bool = False) -> Desktop:
        """A new sandbox with its driver ready; given up by the caller, it is stopped as soon as it has started."""
        self.permit.request("start", {})
        self._last += 1
        starting = asyncio.create_task(self._start(f"s{self._last}", size, folder, writable=writable))
        self._starts.add(starting)
        starting.add_done_callback(self._starts.discard)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(self._unwanted)
            raise

    async def stop(self, desktop: str) -> None:
        """End a sandbox; ``Unavailable`` where something of it may still run."""
        found = self.get(desktop)
        if found.sandbox is None:
            raise Invalid("The person's desktop cannot be stopped.", next='desktop(action="list")')
        del self._open[found.id]
        self._gone[found.id] = "it was stopped"
        closing = asyncio.create_task(self._close(found))
        await _finished(closing)
        if wrong := closing.result():
            self._gone[found.id] = "it was stopped, but whether everything in it has ended is not known"
            raise Unavailable(f"{found.id} was told to stop, but its end was not confirmed: {wrong}", next="status()")

    async def _start(self, name: str, size: tuple[int, int], folder: Path | None, *, writable: bool) -> Desktop:
        # Only where a sandbox is wanted: a machine that has none still lists its tools.
        from alongside.sandbox.desktop import Sandbox  # noqa: PLC0415
        from alongside.sandbox.plan import Folder  # noqa: PLC0415

        shared = Folder(folder, writable) if folder else None
        sandbox = await Sandbox.start(name, size=size, folder=shared)
        exits: dict[int, asyncio.Event] = {}
        sandbox.on_exit = lambda one: exits[one.pid].set() if one.pid in exits else None
        # What a driver holds, for the next one to let go of if it dies.
        ledger = os.memfd_create(f"alongside-ledger-{name}")

        def ended() -> None:
            os.close(ledger)
            for one in exits.values():
                one.set()

        sandbox.on_end = ended

        async def spawn() -> tuple[socket.socket, End]:
            return await _inside(sandbox, exits, ledger)

        driver = Driver(name, "own", spawn, self.permit.answer)
        desktop = self._open[name] = Desktop(name, driver, self.permit, sandbox, size)
        try:
            await desktop.driver.ready()
        except AlongsideError:
            with contextlib.suppress(AlongsideError):  # why it did not start is what the caller has to hear
                await self.stop(name)
            raise
        return desktop

    async def _watch(self) -> None:
        """Look at the stop file for as long as the server runs."""
        while True:
            self.permit.stop.look()
            await asyncio.sleep(POLL)

    def _halt(self, by: str) -> None:
        """End whatever acts now, on every desktop at once."""
        self._halting = asyncio.gather(*(one.driver.halt(by) for one in self._open.values()))

    def _unwanted(self, starting: asyncio.Task[Desktop]) -> None:
        async def stop(desktop: str) -> None:
            with contextlib.suppress(AlongsideError):  # nobody waits for it; what went wrong is on stderr
                await self.stop(desktop)

        if not starting.cancelled() and not starting.exception():
            self._stopping = asyncio.create_task(stop(starting.result().id))

    async def _child(self) -> tuple[socket.socket, End]:
        child = await asyncio.to_thread(self._head_start.take)

        async def end(grace: float) -> None:
            await asyncio.to_thread(child.end, grace)

        return child.link, end

    def _only_sandbox(self) -> Desktop | None:
        running = self.sandboxes
        if len(running) > 1:
            listed = ", ".join(one.id for one in running)
            raise Invalid(f"Several sandboxes run: {listed}.", next=f'name one: desktop="{running[-1].id}"')
        return running[0] if running else None

    @staticmethod
    async def _close(desktop: Desktop) -> str:
        """End its driver and sandbox; what may be left of them, where something may."""
        # The driver first: it must know that it is not to be started again. The sandbox does not wait for it.
        works = [desktop.driver.close(), *([desktop.sandbox.stop()] if desktop.sandbox else [])]
        try:
            async with asyncio.timeout(_STOP):
                await asyncio.gather(*works)
        except (AlongsideError, OSError, TimeoutError) as wrong:
            print(f"alongside: {desktop.id} did not end as it should: {wrong!r}", file=sys.stderr)  # noqa: T201
            # With a sandbox everything in it has ended, whatever was wrong with its driver.
            if desktop.sandbox is None or desktop.sandbox.alive:
                return wrong.message if isinstance(wrong, AlongsideError) else f"not within {_STOP:g} s"
        return ""


async def _inside(sandbox: Sandbox, exits: dict[int, asyncio.Event], ledger: int) -> tuple[socket.socket, End]:
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            pid = await sandbox.spawn_driver(COMMAND, theirs, ledger)
    except BaseException:
        ours.close()
        raise
    ended = exits[pid] = asyncio.Event()

    async def end(grace: float) -> None:
        for seconds in (grace, _STOP):
            try:
                await asyncio.wait_for(ended.wait(), seconds)
            except TimeoutError:
                with contextlib.suppress(AlongsideError, OSError):  # the sandbox is gone, and the driver with it
                    await sandbox.kill(pid)
                if not sandbox.alive:
                    return

    return ours, end


async def _finished(work: asyncio.Future[Any]) -> None:
    """Wait until it is done, whatever cancels the waiting meanwhile."""
    cancelled = False
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
