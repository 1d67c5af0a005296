"""One thread owns the connection to a display; everybody else awaits it."""

from __future__ import annotations

import asyncio
import os
import queue
import socket
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import xcffib

from alongside.core.errors import TimedOut, Unavailable
from alongside.platforms.linux.x11.guard import Guarded, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")


class X11:
    """A guarded connection and its thread.

    A job that gets no answer within ``patience`` seconds ends the connection: it raises ``TimedOut`` (its requests may
    still be carried out), and every later one raises ``Unavailable``.
    """

    connection: Any
    root: int

    def __init__(self, display: str, kind: Kind, patience: float = 5.0) -> None:
        self.display = display
        self.kind: Kind = kind
        self._patience = patience
        self._broken = ""
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._atoms: dict[str, int] = {}

    @classmethod
    async def open(cls, display: str, kind: Kind, patience: float = 5.0) -> X11:
        """Connect; ``Unavailable`` where nothing answers at that display."""
        self = cls(display, kind, patience)
        # A daemon: a thread that hangs in a dead display must not keep the process from ending.
        threading.Thread(target=_work, args=(self._jobs,), name=f"x11 {display}", daemon=True).start()
        self.connection = await self.run(self.connect)
        self.root = self.connection.setup.roots[self.connection.pref_screen].root
        return self

    @property
    def connected(self) -> bool:
        """Whether the server has answered so far."""
        return not self._broken

    def connect(self) -> Any:
        """Another connection to the same display, guarded as this one; blocks."""
        try:
            return Guarded(self.display, self.kind)
        except xcffib.ConnectionException:
            raise Unavailable(f"No X server answers at display {self.display}.") from None

    def post(self, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have the thread do it, after all that was posted before; also when whoever waits for it is cancelled."""
        future: Future[T] = Future()
        # Running from now on: a future that waits can be cancelled, and its job would be left out.
        future.set_running_or_notify_cancel()
        self._jobs.put((future, lambda: job(*args, **kwargs)))
        return future

    async def run(self, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do it on the thread and wait for its result; it is done also when the waiting is cancelled."""
        if self._broken:
            raise Unavailable(self._broken)
        try:
            async with asyncio.timeout(self._patience):
                return await asyncio.wrap_future(self.post(job, *args, **kwargs))
        except TimeoutError:
            self._give_up(f"The X server at {self.display} did not answer in {self._patience:g} s.")
            raise TimedOut(self._broken) from None
        except xcffib.Error:
            raise  # the answer to one request, not the end of the connection
        except xcffib.XcffibException:
            self._give_up(f"The X server at {self.display} is gone.")
            raise Unavailable(self._broken) from None

    def atom(self, name: str) -> int:
        """Look up the number of a name; on the thread."""
        if name not in self._atoms:
            self._atoms[name] = self.connection.core.InternAtom(False, len(name), name).reply().atom
        return self._atoms[name]

    def name(self, atom: int) -> str:
        """Look up the name of a number; on the thread."""
        for known, number in self._atoms.items():
            if number == atom:
                return known
        reply = answer(self.connection.core.GetAtomName(atom))
        found = bytes(reply.name.raw).decode("latin-1") if reply else ""
        self._atoms[found] = atom
        return found

    def sync(self) -> None:
        """Return when the server has carried out all that was sent; on the thread."""
        self.connection.core.GetInputFocus().reply()

    async def close(self) -> None:
        if not self._broken:
            self._broken = f"The connection to {self.display} is closed."
            await asyncio.wrap_future(self.post(self.connection.disconnect))
        self._jobs.put(None)

    def _give_up(self, why: str) -> None:
        self._broken = why
        if hasattr(self, "connection") and not self.connection.has_error():
            # Ends the wait that the thread hangs in.
            with socket.socket(fileno=os.dup(self.connection.get_file_descriptor())) as ours:
                ours.shutdown(socket.SHUT_RDWR)


def answer(cookie: Any) -> Any:
    """Wait for the reply, or None where the window (or what else was asked about) has gone since."""
    try:
        return cookie.reply()
    except xcffib.Error:
        return None


def _work(jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]) -> None:
    while job := jobs.get():
        future, do = job
        try:
            result = do()
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is awaited
            future.set_exception(error)
        else:
            future.set_result(result)
