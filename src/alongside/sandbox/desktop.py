"""A sandbox desktop as the server holds it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from alongside.core.errors import Unavailable
from alongside.sandbox import plan as plans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

LINK_VARIABLE = "ALONGSIDE_LINK_FD"
LEDGER_VARIABLE = "ALONGSIDE_LEDGER_FD"
_LINK_DESCRIPTOR, _LEDGER_DESCRIPTOR = 3, 4
_START_S = 10.0
_STOP_S = 10.0
_EVENT_BYTES = 1 << 16

_AWAITED = ("Xvfb", "dbus-daemon")


class Exit(NamedTuple):
    """The end of a process that was started in a sandbox, or of one of the desktop's services."""

    pid: int
    """number inside the sandbox"""
    name: str
    """`Xvfb`, `dbus-daemon`, `at-spi-bus-launcher`, `openbox`, else the program's file name"""
    code: int
    """exit code; negative: the signal that ended it"""
    said: str
    """end of what it and its namesakes wrote to their log: text of applications, not to be trusted"""


class _RefusedError(Exception):
    """A kind of containment is refused by the machine; the message says why."""


class Sandbox:
    """A hidden desktop of its own: display, window manager, session and accessibility bus, home, processes.

    What is private to the person is not in it, and it ends with the server, by the kernel (see keeper.py).
    """

    def __init__(self, name: str, containment: plans.Containment, size: tuple[int, int]) -> None:
        """Describe a sandbox that is not running yet; `start` makes one that is."""
        self.id = name
        self.containment = containment
        self.size = size
        self.notes: list[str] = []
        """What is weaker here than it could be, and why."""
        self.home = ""
        """HOME, as programs inside see it."""
        self.runtime = ""
        self.display = ""
        self.on_exit: Callable[[Exit], None] = lambda _: None
        """Called in the event loop when something that was started inside has ended."""
        self.on_end: Callable[[], None] = lambda: None
        """Called once, when the whole sandbox is gone, for whatever reason."""
        self._loop = asyncio.get_running_loop()
        self._contained = self._loop.create_future()
        self._ready = self._loop.create_future()
        self._ended = asyncio.Event()
        self._answers: dict[int, asyncio.Future[int]] = {}
        self._requests = 0
        # Nobody but this process ever holds the write end: its end, however it comes, is the sandbox's.
        self._lifeline = -1
        self._control: socket.socket | None = None

    @classmethod
    async def start(
        cls,
        name: str,
        *,
        size: tuple[int, int] = (1280, 800),
        folder: plans.Folder | None = None,
        mode: plans.Containment | None = None,
        visible: Sequence[Path] = (),
    ) -> Sandbox:
        """Start a sandbox with the strongest containment this machine allows, or exactly with `mode`.

        `folder` appears in its home under its own name; `visible` are host paths shown read-only where they are.
        Returns once the container exists: `spawn_driver` works at once, `spawn` waits for display and bus.
        Raises Unavailable (programs missing, no containment possible, none that keeps the folder read-only) and Invalid
        (the folder).
        """
        plan = plans.make(name, size, folder, visible)
        refusals: list[str] = []
        for containment in (mode,) if mode else get_args(plans.Containment):
            if containment == "best effort" and folder and not folder.writable:
                why = f" ({'; '.join(refusals)})" if refusals else ""
                raise Unavailable(
                    f"folder {folder.path}: nothing can keep it read-only on this machine{why}; no sandbox was started",
                    next="share it with writable=true if it may be changed, or start without a folder",
                )
            plan["mode"] = containment
            sandbox = cls(name, containment, size)
            try:
                await sandbox._contain(plan)
            except _RefusedError as error:
                refusals.append(f"{containment}: {error}")
            else:
                sandbox.notes[:0] = refusals
                return sandbox
        raise Unavailable("no sandbox can be made on this machine: " + "; ".join(refusals))

    @property
    def alive(self) -> bool:
        """Whether anything of it may still run."""
        return not self._ended.is_set()

    async def spawn_driver(self, argv: Sequence[str], sock: socket.socket, ledger: int) -> int:
        """Start the driver with its end of the link and the ledger's file, without waiting for the display.

        Their numbers are in ALONGSIDE_LINK_FD and ALONGSIDE_LEDGER_FD. The caller closes its own copy of `sock`.
        Returns the pid inside the sandbox.
        """
        numbers = {LINK_VARIABLE: str(_LINK_DESCRIPTOR), LEDGER_VARIABLE: str(_LEDGER_DESCRIPTOR)}
        return await self._spawn(argv, numbers, {_LINK_DESCRIPTOR: sock.fileno(), _LEDGER_DESCRIPTOR: ledger}, None)

    async def spawn(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        fds: Mapping[int, int] | None = None,
        cwd: str | None = None,
    ) -> int:
        """Start a program once display and bus accept; `fds` maps the number inside (3 to 99) to a descriptor of ours.

        Returns the pid inside the sandbox; OSError (as from exec) when the program cannot be started.
        """
        await self.ready()
        return await self._spawn(argv, env or {}, fds or {}, cwd)

    async def ready(self) -> None:
        """Wait until display and session bus accept connections; Unavailable names the service that does not."""
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), _START_S)
        except TimeoutError:
            raise Unavailable(f"display and bus of {self.id} did not start within {_START_S:g} s") from None

    async def kill(self, pid: int, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to a process that was spawned here and to its group; one that has ended is no error."""
        await self._request({"kill": pid, "signal": number}, [])

    async def stop(self) -> None:
        """End it; returns when none of its processes is left. Cancelling this does not stop the end."""
        self._let_go()
        try:
            await asyncio.wait_for(self._ended.wait(), _STOP_S)
        except TimeoutError:
            raise Unavailable(f"after {_STOP_S:g} s its keeper has not said that nothing is left") from None

    async def _contain(self, plan: plans.Plan) -> None:
        if plan["mode"] == "bubblewrap" and "bwrap" not in plan["programs"]:
            raise _RefusedError("bwrap is not installed")
        self._control, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        watched, self._lifeline = os.pipe()
        program = str(Path(__file__).with_name("keeper.py"))
        passed = (watched, inside.fileno())
        try:
            self._control.send(json.dumps(plan).encode())
            keeper = subprocess.Popen(  # noqa: ASYNC220 - 1 ms; asyncio's own has a thread for each
                [sys.executable, "-I", "-S", program, "run", *map(str, passed)],
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        except BaseException:
            self._let_go()
            raise
        finally:
            os.close(watched)
            inside.close()
        pidfd = os.pidfd_open(keeper.pid)
        self._loop.add_reader(pidfd, self._on_keeper_end, keeper, pidfd)
        self._loop.add_reader(self._control, self._on_packet, self._control)
        try:
            await asyncio.wait_for(asyncio.shield(self._contained), _START_S)
        except TimeoutError:
            self._let_go()
            raise _RefusedError(f"not contained within {_START_S:g} s") from None
        except BaseException:
            self._let_go()
            raise

    async def _spawn(self, argv: Sequence[str], env: Mapping[str, str], fds: Mapping[int, int], cwd: str | None) -> int:
        request = {"argv": list(argv), "environment": dict(env), "folder": cwd, "descriptors": list(fds)}
        return await self._request(request, fds.values())

    async def _request(self, request: dict[str, Any], descriptors: Iterable[int]) -> int:
        if self._control is None:
            raise Unavailable(f"sandbox {self.id} has ended")
        self._requests += 1
        number = self._requests
        answer = self._answers[number] = self._loop.create_future()
        try:
            socket.send_fds(self._control, [json.dumps({"request": number, **request}).encode()], list(descriptors))
            return await asyncio.wait_for(answer, _START_S)
        except (BlockingIOError, BrokenPipeError, ConnectionResetError, TimeoutError):
            raise Unavailable(f"the first process of sandbox {self.id} does not answer") from None
        finally:
            del self._answers[number]

    def _on_packet(self, control: socket.socket) -> bool:
        """Handle one event; False when there is none."""
        try:
            packet = control.recv(_EVENT_BYTES)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            packet = b""
        if not packet:
            self._loop.remove_reader(control)  # the keeper's end, which follows, tells the rest
            return False
        self._on_event(json.loads(packet))
        return True

    def _on_event(self, event: dict[str, Any]) -> None:
        match event["event"]:
            case "contained":
                self.notes = event["notes"]
                self.home, self.runtime, self.display = event["home"], event["runtime"], f":{event['display']}"
                _settle(self._contained, None)
            case "refused":
                _settle(self._contained, _RefusedError(event["text"]))
            case "ready":
                _settle(self._ready, None)
            case "done" if answer := self._answers.get(event["request"]):
                _settle(answer, event["pid"])
            case "failed" if answer := self._answers.get(event["request"]):
                _settle(answer, OSError(event["errno"], event["text"]))
            case "exit":
                ended = Exit(event["pid"], event["name"], event["code"], event["said"])
                if ended.name in _AWAITED:
                    told = f"{ended.name} of sandbox {self.id} ended ({ended.code}): {ended.said}"
                    _settle(self._ready, Unavailable(told))
                self.on_exit(ended)

    def _on_keeper_end(self, keeper: subprocess.Popen[bytes], pidfd: int) -> None:
        self._loop.remove_reader(pidfd)
        os.close(pidfd)
        keeper.wait()
        while self._control is not None and self._on_packet(self._control):
            pass  # what the first process said last
        self._let_go()
        _settle(self._contained, _RefusedError(f"the keeper ended ({keeper.returncode})"))
        gone = Unavailable(f"sandbox {self.id} has ended")
        for waiting in (self._ready, *self._answers.values()):
            _settle(waiting, gone)
        self._ended.set()
        self.on_end()

    def _let_go(self) -> None:
        """Close what holds the sandbox alive; the keeper does the rest."""
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
        if self._control is not None:
            self._loop.remove_reader(self._control)
            self._control.close()
            self._control = None


def _settle(future: asyncio.Future[Any], result: object) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
        future.exception()  # whoever waits gets it; when nobody does, that is no error
    else:
        future.set_result(result)
