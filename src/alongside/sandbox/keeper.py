"""The keeper of one sandbox, a program of its own: makes the container, starts its first process, ends it.

Run by the server as `python -I -S keeper.py run LIFELINE CONTROL`. LIFELINE is the read end of a pipe whose only write
end the server holds: however the server ends, the kernel closes it, and the keeper kills the first process and waits
until nothing is left. It is executed, not forked (a threaded server cannot be), and closes every other descriptor, else
one sandbox's keeper would hold another's lifeline open. Parent-death signals bind keeper and first process only: they
are tied to the parent's *thread*, and the keeper has one.
"""
# The imports of pathlib cost every start milliseconds. Inside, /tmp is private.
# ruff: noqa: PTH100, PTH119, PTH120, PTH123, PTH208, PTH211, S108

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
from typing import TYPE_CHECKING, NoReturn

if __name__ == "__main__":
    # -I and -S keep site-packages and the working folder out; of the package itself only the standard library is used.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from alongside.sandbox import display, kernel, view
from alongside.sandbox.first import First, prepare

if TYPE_CHECKING:
    from alongside.sandbox.plan import Plan

_PLAN_BYTES = 1 << 18
_LISTENING = 0x00010000


class RefusedError(Exception):
    """The machine does not allow the asked kind of containment."""


def main(arguments: list[str]) -> None:
    """Keep one sandbox until its end, or (`first CONTROL KEEPER PLAN`) be the first process in bubblewrap."""
    role, *numbers = arguments
    descriptors = [int(number) for number in numbers]
    _hold_only(descriptors)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.umask(0o022)
    if role == "first":
        inherited, keeper, handed = descriptors
        with os.fdopen(handed, "rb") as file:
            plan, notes = json.load(file)
        _be_first(plan, notes, socket.socket(fileno=inherited), keeper)
    os.setsid()
    lifeline, control = descriptors[0], socket.socket(fileno=descriptors[1])
    packet = control.recv(_PLAN_BYTES)
    if not packet:
        return  # the server ended before it sent the plan
    plan = json.loads(packet)
    keepers = {"namespaces": _keep_namespaces, "bubblewrap": _keep_bubblewrap, "best effort": _keep_best_effort}
    try:
        keepers[plan["mode"]](plan, lifeline, control)
    except (OSError, RefusedError) as error:
        _refuse(control, error)


def _hold_only(descriptors: list[int]) -> None:
    """Close every descriptor but these and standard error; input and output lead nowhere."""
    kept = {2, *descriptors}
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                continue  # the one that listed them
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    nowhere = os.open("/dev/null", os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    if nowhere > 2:
        os.close(nowhere)


def _refuse(control: socket.socket, error: Exception) -> NoReturn:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # nobody waits for the start any more
        control.send(json.dumps({"event": "refused", "text": str(error)}).encode())
    os._exit(1)


def _keep_namespaces(plan: Plan, lifeline: int, control: socket.socket) -> None:
    own_network, notes = _network(plan)
    flags = kernel.CLONE_NEWPID | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC | (kernel.CLONE_NEWNET if own_network else 0)
    _unshare(flags)
    keeper = os.pidfd_open(os.getpid())
    pid = os.fork()
    if pid == 0:
        try:
            kernel.die_with_parent()
            os.close(lifeline)
            view.build(plan)
            if own_network:
                kernel.raise_loopback()
            kernel.drop_capabilities()
        except OSError as error:
            _refuse(control, error)
        _be_first(plan, notes, control, keeper)
    control.close()
    _watch(lifeline, pid, pid)


def _unshare(flags: int) -> None:
    """Leave the host's namespaces, as root directly where that is allowed, else by a user namespace."""
    if os.geteuid() == 0:
        try:
            kernel.unshare(flags)
        except PermissionError:
            pass  # root in a container without CAP_SYS_ADMIN: as any user
        else:
            return
    uid, gid = os.geteuid(), os.getegid()
    kernel.unshare(flags | kernel.CLONE_NEWUSER)
    kernel.map_own_ids(uid, gid)


def _network(plan: Plan) -> tuple[bool, list[str]]:
    """Whether only a network of its own hides the person's abstract sockets from the sandbox; and a note."""
    if plan["scope"] and kernel.can_scope_abstract_sockets():
        return False, []
    if _abstract_listeners():
        return True, ["network: off (this kernel cannot scope abstract sockets, and the host has some; Linux 6.12 can)"]
    return False, ["abstract sockets that the host makes later can be reached (Linux 6.12 can prevent it)"]


def _abstract_listeners() -> bool:
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        rows = [line.split() for line in file]
    # Num RefCount Protocol Flags Type St Inode Path
    return any(len(row) > 7 and row[7].startswith("@") and int(row[3], 16) & _LISTENING for row in rows[1:])


def _keep_bubblewrap(plan: Plan, lifeline: int, control: socket.socket) -> None:
    own_network, notes = _network(plan)
    handed = _memory_file("plan", json.dumps([plan, notes]).encode())
    messages = _memory_file("messages")
    told, tell = os.pipe()
    passed = [control.fileno(), os.pidfd_open(os.getpid()), handed]
    argv = [plan["programs"]["bwrap"], "--die-with-parent", "--as-pid-1", "--unshare-user-try", "--unshare-pid"]
    argv += ["--unshare-ipc", *(["--unshare-net"] if own_network else []), "--cap-drop", "ALL", "--info-fd", str(tell)]
    argv += [*view.bubblewrap_arguments(plan), "--", sys.executable, "-I", "-S", os.path.abspath(__file__), "first"]
    argv += [str(descriptor) for descriptor in passed]
    for descriptor in (tell, *passed):
        os.set_inheritable(descriptor, True)
    pid = os.posix_spawn(argv[0], argv, {}, file_actions=[(os.POSIX_SPAWN_DUP2, messages, 2)])
    os.close(tell)
    with os.fdopen(told, "rb") as answer:
        text = answer.read()
    if text:
        # Process 1 is what is killed: bubblewrap itself ends only after the whole namespace has.
        _watch(lifeline, json.loads(text)["child-pid"], pid)
    else:
        os.waitpid(pid, 0)
    # Of interest only while the server still waits for the start.
    raise RefusedError(os.pread(messages, 2000, 0).decode(errors="replace").strip() or "bwrap ended without a word")


def _keep_best_effort(plan: Plan, lifeline: int, control: socket.socket) -> None:
    # Its imports cost 6 ms, which the other kinds save.
    from alongside.sandbox import leftovers  # noqa: PLC0415

    notes = [
        "privacy of the person's files is not kept: without namespaces programs see what their user sees",
        "a kill -9 of the keeper and its child at once leaves processes until the next start",
    ]
    if not (plan["scope"] and kernel.can_scope_abstract_sockets()):
        notes.append("the host's abstract sockets can be reached")
    leftovers.sweep(plan["folders"])
    layout = leftovers.claim(plan["folders"])
    plan["mark"] = layout.base
    if plan["folder"]:
        os.symlink(plan["folder"][0], f"{layout.home}/{os.path.basename(plan['folder'][0])}")
    # Keeper and first process both adopt, so that either can end what the other one started.
    kernel.adopt_orphans()
    keeper = os.pidfd_open(os.getpid())
    pid = os.fork()
    if pid == 0:
        os.close(lifeline)
        kernel.adopt_orphans()
        try:
            prepare(plan)
            First(plan, control, layout, keeper).run(notes)
        except OSError as error:
            control.send(json.dumps({"event": "refused", "text": str(error)}).encode())
        leftovers.end_descendants()
        leftovers.remove(layout.base)
        os._exit(0)
    control.close()
    _watch(lifeline, pid, pid)
    leftovers.end_descendants()
    leftovers.remove(layout.base)


def _be_first(plan: Plan, notes: list[str], control: socket.socket, keeper: int) -> NoReturn:
    """Be process 1 of the namespace until server or keeper is gone."""
    layout = display.Layout(view.BASE, plan["home"], plan["runtime"], "/tmp")
    try:
        prepare(plan)
        First(plan, control, layout, keeper).run(notes)
    except OSError as error:
        _refuse(control, error)
    os._exit(0)


def _watch(lifeline: int, first: int, waited: int) -> None:
    """Return once the first process is gone, of itself or because the server is, and its namespace is empty."""
    ended = os.pidfd_open(waited)
    try:
        target = os.pidfd_open(first)
    except ProcessLookupError:
        target = ended
    select.select([lifeline, ended], [], [])
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(target, signal.SIGKILL)
    os.waitpid(waited, 0)


def _memory_file(name: str, content: bytes = b"") -> int:
    descriptor = os.memfd_create(name)
    os.pwrite(descriptor, content, 0)
    return descriptor


if __name__ == "__main__":
    main(sys.argv[1:])
