"""Launching: success is a window of the application on this desktop, not a process id."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from alongside.core.errors import AppGone, OpenedElsewhere, TimedOut
from alongside.core.outline import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alongside.core.elements import Window
    from alongside.driver.desktop import Desktop

_POLL = 0.05
# A launcher that ended without a window may have handed over to an instance that opens one (seconds).
_HANDED_OVER = 3.0
# A window of another process is the application's only if its own has ended and shows none for this long (seconds).
_STRANGER = 0.5


async def launch(desktop: Desktop, application: str, arguments: Sequence[str], deadline: float) -> Window:
    """Start an application and wait for its window, at most ``deadline`` seconds."""
    before = {one.id for one in await desktop.windows()}
    pid = await desktop.platform.launch(application, arguments)
    desktop.launched.add(pid)
    end = time.monotonic() + deadline
    ended_at = 0.0
    while True:
        new = [one for one in await desktop.windows() if one.id not in before and one.bounds.area > 1]
        now = time.monotonic()
        own = [one for one in new if _descends(one.pid, {pid})]
        # What an instance that was running opens is ours, unless it belongs to another launch.
        others = [one for one in new if not _descends(one.pid, desktop.launched - {pid})]
        told = desktop.platform.ended(pid)
        if own or (others and ended_at and now - ended_at > _STRANGER):
            desktop.launched.discard(pid)  # a window that it opens later may be what it was handed by another launch
            return max(own or others, key=lambda one: (one.kind == "normal", one.bounds.area))
        if told is not None:
            ended_at = ended_at or now
            if "exit code 0" not in told:
                raise AppGone(f"{quote(application, 80)} ended without a window: {quote(told, 600)}")
            if now - ended_at > _HANDED_OVER:
                raise OpenedElsewhere(
                    f"{quote(application, 80)} ended ({quote(told, 400)}) and no window came up here: it may have "
                    "failed, or an instance that was already running has taken it over.",
                    next="windows()",
                )
        if now > end:
            raise TimedOut(
                f"{quote(application, 80)} was started (pid {pid}) and has no window after {deadline:g} s.",
                next="windows() a little later; it is not started again",
            )
        await desktop.platform.windows.changed(_POLL)


def _descends(pid: int, ancestors: set[int]) -> bool:
    """Whether a process is one of some others, or a child of theirs, or its child's."""
    for _ in range(16):
        if pid in ancestors:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
    return False
