"""What a driver holds of its desktop, written down before it is taken.

The server opens the file (in memory) and passes it to every driver of the desktop, one after the other: the next one
first lets go of what is still written there. An entry is a line such as ``button:1``, ``key:37``, ``keymap:...``.
"""

from __future__ import annotations

import os


class Ledger:
    """The entries, in the order in which they were taken; without a file they live in this process alone."""

    def __init__(self, fd: int | None = None) -> None:
        self._fd = fd
        self.entries: list[str] = self._read()

    def hold(self, what: str) -> None:
        """Write down what is about to be taken."""
        self.entries.append(what)
        self._write()

    def released(self, what: str) -> None:
        """Strike out what was let go of."""
        if what in self.entries:
            self.entries.remove(what)
            self._write()

    def _read(self) -> list[str]:
        if self._fd is None:
            return []
        size = os.fstat(self._fd).st_size
        return [line for line in os.pread(self._fd, size, 0).decode(errors="replace").splitlines() if line]

    def _write(self) -> None:
        if self._fd is None:
            return
        lines = "".join(f"{entry}\n" for entry in self.entries).encode()
        # Written before it is cut: a driver that dies between the two leaves too much, never too little.
        os.pwrite(self._fd, lines, 0)
        os.ftruncate(self._fd, len(lines))
