from __future__ import annotations

from itertools import combinations_with_replacement

import pytest

from alongside.core.outcomes import Mark, Outcome, tally


def test_only_what_was_read_back_or_held_already_is_ok() -> None:
    assert [mark for mark in Mark if Outcome(mark, "click").ok] == [Mark.CONFIRMED, Mark.ALREADY]


def test_an_outcome_on_the_wire_leaves_away_what_is_empty() -> None:
    assert Outcome(Mark.CONFIRMED, "click [1]", ms=1.26).to_wire() == {"mark": "✓", "what": "click [1]", "ms": 1.3}
    full = Outcome(Mark.FAILED, "set [1]", "it shows x", "atspi.text", 2, "rejected", "look", ("atspi.value: no",))
    assert full.to_wire() == {
        "mark": "✗",
        "what": "set [1]",
        "ms": 2,
        "told": "it shows x",
        "technique": "atspi.text",
        "reason": "rejected",
        "next": "look",
        "passed_over": ["atspi.value: no"],
    }


@pytest.mark.parametrize(
    ("marks", "line"),
    [("✓", "1 ✓ of 1"), ("✓✓=~✗--", "2 ✓ · 1 = · 1 ~ · 1 ✗ of 7"), ("✗-", "1 ✗ of 2")],
)
def test_a_tally_counts_what_was_carried_out_of_all(marks: str, line: str) -> None:
    assert tally([Outcome(Mark(mark), "click") for mark in marks]) == line


def test_a_tally_never_loses_a_step() -> None:
    for marks in combinations_with_replacement(Mark, 4):
        told = tally([Outcome(mark, "click") for mark in marks])
        counted = sum(int(part.split()[0]) for part in told.split(" of ")[0].split(" · ") if part)
        assert counted + marks.count(Mark.NOT_EXECUTED) == 4
