"""A driver as an ordinary child process with the person's environment, as the ``user`` desktop has it.

Apart from ``drivers`` because the first one starts before asyncio is loaded.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading

COMMAND = [sys.executable, "-P", "-m", "alongside.driver"]
"""Starts a driver; ``-P`` because the folder the server runs in may hold anything."""

LINK, LEDGER = "ALONGSIDE_LINK_FD", "ALONGSIDE_LEDGER_FD"


class Child:
    """The process, and our end of its link in ``link``."""

    def __init__(self, ledger: int | None) -> None:
        self.link, theirs = socket.socketpair()
        told = {} if ledger is None else {LEDGER: str(ledger)}
        with theirs:
            try:
                self._process = subprocess.Popen(
                    COMMAND,
                    env={**os.environ, LINK: str(theirs.fileno()), **told},
                    pass_fds=[theirs.fileno(), *([] if ledger is None else [ledger])],
                    stdin=subprocess.DEVNULL,
                    stdout=2,
                )
            except BaseException:
                self.link.close()
                raise

    def end(self, grace: float) -> None:
        """Wait ``grace`` seconds for it to go by itself, then kill it; its link must be closed."""
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class HeadStart:
    """A child that may be started, from any thread, before the server that will use it is there.

    What one of them tells applications and has not taken back when it dies is in the ledger that the next one gets.
    """

    def __init__(self) -> None:
        self._ledger = os.memfd_create("alongside-ledger-user") if sys.platform == "linux" else None
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._taken = False

    def start(self) -> None:
        # What goes wrong here goes wrong again, and is told, when the child is needed.
        with self._lock, contextlib.suppress(OSError):
            if not self._taken and self._child is None:
                self._child = Child(self._ledger)

    def take(self) -> Child:
        """The child that was started ahead; a new one from the second call on."""
        with self._lock:
            self._taken = True
            child, self._child = self._child, None
        return child or Child(self._ledger)

    def close(self) -> None:
        """Let go of the ledger; no child is started any more."""
        if self._ledger is not None:
            os.close(self._ledger)
            self._ledger = None
