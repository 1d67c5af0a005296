"""The first process of a sandbox: starts the desktop's services, starts programs on request, reaps, reports.

In a PID namespace it is process 1, so its end is the end of everything in it. It ends when the server's end of the
control socket is closed or the keeper is gone. Nobody waits for anybody except for the two sockets: measured, that
order makes an application readable 80 ms earlier than starting one service after the other.

Requests and events are JSON, one packet each, on a SOCK_SEQPACKET socket; descriptors travel with the request.
"""
# The imports of pathlib cost every start milliseconds.
# ruff: noqa: PTH110, PTH119, PTH123

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import time
from typing import TYPE_CHECKING, Any

from alongside.sandbox import display, kernel

if TYPE_CHECKING:
    from alongside.sandbox.plan import Plan

# Descriptors for a new program are moved here first, so that none is overwritten by another one's wanted number.
_PARKING = 200
_REQUEST_BYTES = 1 << 18
_MAX_DESCRIPTORS = 16
_LOG_TAIL_BYTES = 600
_POLL_MS = 2
# With a /tmp of its own every sandbox can have the same number, but not one that X servers of the host use: libxcb
# tries their abstract socket first, and takes the kernel's "not permitted" for the last word.
_OWN_DISPLAY = 4000
_FIRST_FREE_DISPLAY, _DISPLAYS = 70, 100


class First:
    """The desktop as its first process sees it."""

    def __init__(self, plan: Plan, control: socket.socket, layout: display.Layout, keeper: int) -> None:
        """Take the plan, the control socket and a descriptor of the keeper that becomes readable when it ends."""
        self._plan = plan
        self._control = control
        self._layout = layout
        self._keeper = keeper
        self._names: dict[int, str] = {}
        self._commands: dict[str, list[str]] = {}
        # What is still to be started, by the socket it waits for.
        self._waiting: dict[str, str] = {}

    def run(self, notes: list[str]) -> None:
        """Start the desktop, report it as contained with these notes, and serve until server or keeper is gone."""
        wake = self._take_signals()
        os.chdir(self._layout.home)
        display.write_settings(self._plan, self._layout)
        number = self._start_display() if self._plan["mark"] else _OWN_DISPLAY
        self._set_display(number)
        if not self._plan["mark"]:
            self._start("Xvfb")
        self._start("dbus-daemon")
        self._waiting = {
            f"{self._layout.runtime}/bus": "at-spi-bus-launcher",
            display.display_socket(number): "openbox",
        }
        self._tell(event="contained", notes=notes, home=self._layout.home, runtime=self._layout.runtime, display=number)
        poll = select.poll()
        for descriptor in (self._control.fileno(), self._keeper, wake):
            poll.register(descriptor, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll(_POLL_MS if self._waiting else None)}
            if self._keeper in ready:
                return
            if self._control.fileno() in ready and not self._serve():
                return
            if wake in ready:
                os.read(wake, 4096)
                self._reap()
            self._start_what_can()

    def _take_signals(self) -> int:
        """Ignore what would end this process; returns a descriptor that is readable when a child has ended."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        readable, writable = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
        return readable

    def _set_display(self, number: int) -> None:
        environment = display.environment(self._plan, self._layout, number)
        os.environ.clear()
        os.environ.update(environment)
        self._commands = display.commands(self._plan, self._layout, number)

    def _start_display(self) -> int:
        """Start Xvfb on a display that is free on this host; returns the number."""
        for number in range(_FIRST_FREE_DISPLAY, _FIRST_FREE_DISPLAY + _DISPLAYS):
            if os.path.exists(display.display_lock(number)) or os.path.exists(display.display_socket(number)):
                continue
            self._set_display(number)
            pid = self._start("Xvfb")
            # It takes the lock file first, or ends when another server was faster.
            while not os.waitpid(pid, os.WNOHANG)[0]:
                if display.display_holder(number) == pid:
                    display.note_display(self._layout.base, number, pid)
                    return number
                time.sleep(_POLL_MS / 1000)
            del self._names[pid]
        raise OSError(f"no free X display between :{_FIRST_FREE_DISPLAY} and :{_FIRST_FREE_DISPLAY + _DISPLAYS - 1}")

    def _start_what_can(self) -> None:
        for path, name in list(self._waiting.items()):
            if _accepts(path):
                del self._waiting[path]
                self._start(name)
                if not self._waiting:
                    self._tell(event="ready")

    def _start(self, name: str, descriptors: dict[int, int] | None = None) -> int:
        return self._spawn(name, self._commands[name], dict(os.environ), self._layout.home, descriptors or {})

    def _spawn(
        self, name: str, argv: list[str], environment: dict[str, str], folder: str, descriptors: dict[int, int]
    ) -> int:
        """Start a program with these descriptors and no others, in a session of its own; OSError when it cannot be."""
        log = f"{self._layout.base}/log/{name}"
        actions: list[tuple[Any, ...]] = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
            *((os.POSIX_SPAWN_DUP2, parked, wanted) for wanted, parked in descriptors.items()),
        ]
        os.chdir(folder)
        try:
            pid = os.posix_spawnp(
                *(argv[0], argv, environment),
                file_actions=actions,
                setsid=True,
                setsigmask=(),
                setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
            )
        finally:
            os.chdir(self._layout.home)
        self._names[pid] = name
        return pid

    def _serve(self) -> bool:
        """Answer one request; False once the server's end is closed."""
        try:
            packet, descriptors, _, _ = socket.recv_fds(
                self._control, _REQUEST_BYTES, _MAX_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionResetError:
            return False
        if not packet:
            return False
        request = json.loads(packet)
        parked = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _PARKING) for descriptor in descriptors]
        for descriptor in descriptors:
            os.close(descriptor)
        try:
            self._tell(event="done", request=request["request"], pid=self._do(request, parked))
        except OSError as error:
            subject = error.filename or request.get("argv", ["signal"])[0]
            self._tell(
                event="failed", request=request["request"], errno=error.errno, text=f"{subject}: {error.strerror}"
            )
        finally:
            for descriptor in parked:
                os.close(descriptor)
        return True

    def _do(self, request: dict[str, Any], parked: list[int]) -> int:
        if "kill" in request:
            pid: int = request["kill"]
            # Only what is known not to be reaped yet, so that the number cannot name something else.
            if pid in self._names:
                os.killpg(pid, request["signal"])
            return pid
        argv = request["argv"]
        environment = {**os.environ, **request["environment"]}
        folder = request["folder"] or self._layout.home
        return self._spawn(
            os.path.basename(argv[0]), argv, environment, folder, dict(zip(request["descriptors"], parked, strict=True))
        )

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            name = self._names.pop(pid, None)
            # Without a name it is an orphan that some program left behind.
            if name is not None:
                code = os.waitstatus_to_exitcode(status)
                self._tell(event="exit", pid=pid, name=name, code=code, said=_tail(f"{self._layout.base}/log/{name}"))

    def _tell(self, **event: object) -> None:
        try:
            self._control.send(json.dumps(event).encode())
        except (BrokenPipeError, ConnectionResetError):
            # The server is gone; the loop sees the same and ends.
            return


def prepare(plan: Plan) -> None:
    """Give up, for this process and all it will start, what a sandbox has no use for."""
    kernel.leave_keyring()
    kernel.give_up_privileges()
    if plan["scope"] and kernel.can_scope_abstract_sockets():
        kernel.scope_abstract_sockets()


def _accepts(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _tail(path: str) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LOG_TAIL_BYTES))
            return file.read().decode(errors="replace").strip()
    except OSError:
        return ""
