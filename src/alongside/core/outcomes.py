"""How a step ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Mark(StrEnum):
    CONFIRMED = "✓"  # the effect was read back from the application
    ALREADY = "="  # the wanted state held; nothing was sent
    UNVERIFIED = "~"  # sent; the effect could not be read
    FAILED = "✗"  # failed or refused; the batch stops
    NOT_EXECUTED = "-"  # an earlier step failed


@dataclass(frozen=True, slots=True)
class Outcome:
    """One step's end: what was done to what, how, how it is known, and what was passed over on the way.

    ``what`` and ``told`` are single lines in our own words; what an application wrote is quoted in them.
    """

    mark: Mark
    what: str
    told: str = ""
    technique: str = ""
    ms: float = 0.0
    reason: str = ""
    next: str = ""
    passed_over: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.mark in {Mark.CONFIRMED, Mark.ALREADY}

    def to_wire(self) -> dict[str, object]:
        wire: dict[str, object] = {"mark": str(self.mark), "what": self.what, "ms": round(self.ms, 1)}
        for name in ("told", "technique", "reason", "next"):
            if getattr(self, name):
                wire[name] = getattr(self, name)
        if self.passed_over:
            wire["passed_over"] = list(self.passed_over)
        return wire


def tally(outcomes: list[Outcome]) -> str:
    """``2 ✓ · 1 ✗ of 4``."""
    marks = [mark for mark in Mark if mark is not Mark.NOT_EXECUTED]
    counts = [(mark, sum(one.mark is mark for one in outcomes)) for mark in marks]
    return " · ".join(f"{count} {mark}" for mark, count in counts if count) + f" of {len(outcomes)}"
