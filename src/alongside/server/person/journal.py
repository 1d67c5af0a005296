"""What was done, kept for the person: one JSON line for each call, one file a day, 14 days.

What an application shows and what was typed are not in it: a typed text is there as its length.
"""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from alongside.core.ladder import TECHNIQUES
from alongside.server import state

if TYPE_CHECKING:
    from pathlib import Path

KEPT = timedelta(days=14)
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.jsonl")


class Journal:
    """Writes the lines; where it cannot, it says so once on stderr and the work goes on."""

    def __init__(self) -> None:
        self._file = ""
        self._complained = False

    def write(self, entry: dict[str, Any]) -> None:
        """Add a line; the time (UTC) is put in front."""
        now = datetime.now(UTC)
        line = json.dumps({"at": now.isoformat(timespec="milliseconds"), **entry}, separators=(",", ":"))
        try:
            place = state.folder("journal")
            name = f"{now:%Y-%m-%d}.jsonl"
            if name != self._file:
                _forget(place, f"{now - KEPT:%Y-%m-%d}.jsonl")
                self._file = name
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            file = os.open(place / name, flags, 0o600)
            try:
                os.write(file, line.encode() + b"\n")  # one write: several servers may share the file
            finally:
                os.close(file)
        except OSError as wrong:
            if not self._complained:
                self._complained = True
                print(f"alongside: the journal cannot be written: {wrong}", file=sys.stderr)  # noqa: T201


def kept_step(step: dict[str, Any], outcome: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a step and of how it ended, as far as that is known: no name, no text, no key."""
    kept: dict[str, Any] = {name: outcome[name] for name in ("mark", "technique", "ms", "reason") if name in outcome}
    kept["do"] = step["do"]
    if step.get("via") in TECHNIQUES:
        kept["via"] = step["via"]
    typed = [step[name] for name in ("text", "value") if isinstance(step.get(name), str)]
    return {**kept, "characters": sum(map(len, typed))} if typed else kept


def _forget(place: Path, oldest: str) -> None:
    for file in place.iterdir():
        if _DAY.fullmatch(file.name) and file.name <= oldest:
            file.unlink(missing_ok=True)
