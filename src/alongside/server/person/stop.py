"""The emergency stop: for two minutes no agent acts, whatever it was doing; reading goes on.

The protocol is a file, ``stop`` in the state folder, so that any program, and any hand, can stop every server of that
folder: ``{"by", "pid", "at", "hold_s": 120, "nonce"}``, written whole (``press``). A new nonce is a new press and
starts the time again. What stands at that path and is not such a file (something empty, broken, huge, a folder, a link)
is a press as well, each time it changes: someone wanted to stop us.

A server latches a press in memory, on a clock that nobody can set: deleting the file or setting the time of day lifts
nothing. One that starts later takes the press from the file, by the time since boot that ``press`` adds to it.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alongside.core.errors import Stopped
from alongside.core.outline import quote
from alongside.server import state
from alongside.server.machine import Row

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "stop"
HOLD = 120.0
"""Seconds for which a press refuses all acting."""
POLL = 0.05
"""Seconds between two looks at the file (measured: 0.25 % of one core)."""
_MOST = 4096
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class _Press:
    """What a file says: who pressed, under which nonce, and how many seconds ago as far as that can be known."""

    by: str
    nonce: str
    ago: float


class Stop:
    """The stop as one server knows it; ``pressed`` is called at every new press, with who it was."""

    def __init__(self) -> None:
        self.pressed: Callable[[str], object] = lambda _: None
        self._seen: tuple[int, ...] | None = None
        self._nonce = ""
        self._by = ""
        self._until = -1.0

    def prepare(self) -> None:
        """Take over a press from before this start: what is left of it."""
        self._seen = _signature(state.place() / NAME)
        if self._seen is not None:
            press = _read(state.place() / NAME)
            self._nonce, self._by = press.nonce, press.by
            self._until = _clock() + HOLD - press.ago

    def look(self) -> None:
        """Read the file, if it has changed."""
        path = state.place() / NAME
        seen = _signature(path)
        if seen == self._seen:
            return
        self._seen = seen
        if seen is None:
            return
        press = _read(path)
        if press.nonce and press.nonce == self._nonce:
            return
        self._nonce, self._by = press.nonce, press.by
        self._until = _clock() + HOLD
        self.pressed(press.by)

    @property
    def left(self) -> float:
        """For how many seconds still nothing acts; 0 where nothing is stopped."""
        return max(0.0, self._until - _clock())

    @property
    def by(self) -> str:
        return self._by

    def check(self) -> None:
        """``Stopped`` where acting is stopped, after another look at the file."""
        self.look()
        if left := self.left:
            raise Stopped(
                f"All acting is stopped, by {self._by}, for {left:.0f} s more; nothing was sent.",
                next="tell the person; looking still works. Go on only if they want you to, after that time",
            )

    def row(self) -> Row:
        """How it stands, for doctor and status."""
        if self._until < 0:
            self.prepare()
        self.look()
        if left := self.left:
            told = f"pressed by {self._by}: no agent acts for {left:.0f} s more; looking works"
            return Row("emergency stop", ok=False, told=told, needed=True, mend="wait; nothing lifts it before")
        return Row("emergency stop", ok=True, told="not pressed; `alongside stop` does it", needed=True)


def press(by: str) -> None:
    """Stop every server of this state folder. ``OSError`` where it cannot be told to them."""
    path = state.folder() / NAME
    told = {
        "by": by,
        "pid": os.getpid(),
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "hold_s": int(HOLD),
        "nonce": secrets.token_hex(8),
        "boot": _boot(),
        "since_boot_s": round(_clock(), 3),
    }
    try:
        state.write(path, json.dumps(told).encode() + b"\n", over=True)
    except OSError:
        # On a full disk, or where a folder stands in the way: any change at that path is a press.
        path.touch()


def _clock() -> float:
    """Seconds on a clock that nobody can set; time asleep counts where the system knows it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


def _boot() -> str:
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _signature(path: Path) -> tuple[int, ...] | None:
    """What is different after every change of what stands at a path; None where nothing does."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as wrong:
        return (wrong.errno or -1,)  # whether somebody pressed cannot be known: taken as if
    return found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read(path: Path) -> _Press:
    try:
        told = _told(path)
    except (OSError, ValueError, RecursionError):
        return _Press("something that was put there", "", _age(path))
    by = f"{quote(str(told.get('by', '')), 60)} (pid {told.get('pid')!s:.10})"
    nonce = told["nonce"]
    since, now = told.get("since_boot_s"), _clock()
    if _boot() and told.get("boot") == _boot() and isinstance(since, int | float) and since <= now:
        return _Press(by, nonce, now - since)
    return _Press(by, nonce, _age(path))


def _told(path: Path) -> dict[str, Any]:
    told = json.loads(state.read(path, _MOST, follow=False)[0])
    if not isinstance(told, dict) or not isinstance(told.get("nonce"), str) or not told["nonce"]:
        raise ValueError("no press")
    return told


def _age(path: Path) -> float:
    """Seconds since a file was last changed, by the time of day; 0 where that cannot be so."""
    try:
        return max(0.0, time.time() - path.lstat().st_ctime)
    except OSError:
        return 0.0
