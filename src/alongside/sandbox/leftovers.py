"""A sandbox without namespaces: folders on the host, processes found by parentage, and what a killed keeper left."""
# The imports of pathlib cost every start milliseconds. X servers listen below /tmp.
# ruff: noqa: PTH102, PTH104, PTH108, PTH110, PTH116, PTH123, PTH208, S108

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
import time
from typing import TYPE_CHECKING

from alongside.sandbox import display

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "ALONGSIDE_SANDBOX"
_PREFIX = "alongside-sandbox-"
# A folder is locked this soon after it was made; one without a lock that is older was left by a killed keeper.
_UNLOCKED_AGE_S = 60
_SWEEP_S = 2.0
_PAUSE_S = 0.0005


def claim(root: str) -> display.Layout:
    """Make the folders of one sandbox below a root, locked for as long as this process or a child of it lives."""
    _children()  # an OSError, and so no sandbox, where the kernel does not list them
    base = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getuid()}-", dir=root)
    for name in ("home", "run", "tmp", "log"):
        os.mkdir(f"{base}/{name}", 0o700)
    # Locked before it bears its name, so that no other sandbox finds it unlocked.
    lock = os.open(f"{base}/lock.new", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(f"{base}/lock.new", f"{base}/lock")
    return display.Layout(base, f"{base}/home", f"{base}/run", f"{base}/tmp")


def sweep(root: str) -> None:
    """End the processes and remove the folders of sandboxes whose keeper and first process are gone."""
    own = f"{_PREFIX}{os.getuid()}-"
    for entry in list(os.scandir(root)):
        if entry.name.startswith(own) and entry.is_dir(follow_symlinks=False) and _is_left(entry.path):
            deadline = time.monotonic() + _SWEEP_S
            while (left := list(_marked(entry.path))) and time.monotonic() < deadline:
                _kill(left)
            remove(entry.path)


def remove(base: str) -> None:
    """Remove a sandbox's folders and the socket and lock file of its X server."""
    try:
        with open(f"{base}/display", encoding="ascii") as file:
            number, pid = map(int, file.read().split())
        if display.display_holder(number) == pid:
            for path in (display.display_socket(number), display.display_lock(number)):
                if os.path.exists(path):
                    os.unlink(path)
    except (OSError, ValueError):
        pass  # no display was started, or somebody else cleaned up
    shutil.rmtree(base, ignore_errors=True)


def end_descendants() -> None:
    """Kill the children of this process, which adopts their orphans as its next children, until it has none.

    Reading only its own children is faster than any process can change its pid.
    """
    while True:
        _kill(_children())
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_PAUSE_S)


def _is_left(base: str) -> bool:
    try:
        lock = os.open(f"{base}/lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return time.time() - os.stat(base).st_mtime > _UNLOCKED_AGE_S
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def _kill(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _processes() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _marked(base: str) -> Iterator[int]:
    mark = f"{MARK}={base}".encode()
    for pid in _processes():
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    yield pid
        except OSError:
            continue


def _children() -> list[int]:
    pid = os.getpid()
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(text) for text in file.read().split()]
