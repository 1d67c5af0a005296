from __future__ import annotations

import json

import pytest

from alongside.core import errors
from alongside.core.errors import AlongsideError, Invalid, Stale, Unavailable

# The codes of the product's one list that a request can end with today.
CODES = {
    "invalid", "unavailable", "not_found", "ambiguous", "stale", "identity_changed", "offscreen", "disabled",
    "covered_by_dialog", "minimised", "resized", "secret_field", "needs_sandbox", "needs_foreground",
    "background_unavailable", "needs_privilege", "policy", "rejected", "no_effect", "timeout", "app_gone", "app_hung",
    "opened_elsewhere", "blank", "stopped",
}  # fmt: skip
GROUPS = {"TargetError", "Refused", "Undone"}
KINDS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, AlongsideError) and name not in {"AlongsideError", *GROUPS}
}


def test_there_is_one_error_for_each_reason_code() -> None:
    assert sorted(kind.reason for kind in KINDS.values()) == sorted(CODES)


@pytest.mark.parametrize("kind", KINDS.values())
def test_an_error_crosses_the_link_as_itself(kind: type[AlongsideError]) -> None:
    sent = kind('No "Säve"\n here.', next='look("s1.2")')
    got = AlongsideError.from_wire(json.loads(json.dumps(sent.to_wire())))
    assert type(got) is kind
    assert (got.message, got.next, str(got)) == (sent.message, sent.next, str(sent))


def test_an_error_says_what_was_wrong_its_code_and_the_next_call() -> None:
    assert str(Stale("[3] is gone.")) == "[3] is gone. (stale)"
    assert str(Stale("[3] is gone.", next='look("s1.2")')) == '[3] is gone. (stale)\nnext: look("s1.2")'
    assert Stale("[3] is gone.").to_wire() == {"reason": "stale", "message": "[3] is gone."}


@pytest.mark.parametrize("wire", [{}, {"reason": "from_the_future", "message": "?"}])
def test_an_unknown_error_is_still_one(wire: dict[str, str]) -> None:
    assert type(AlongsideError.from_wire(wire)) is Unavailable


def test_the_docstring_draws_the_whole_tree() -> None:
    drawn = errors.__doc__ or ""
    for name, kind in KINDS.items():
        assert f"── {name} " in drawn
        assert f" {kind.reason} " in " ".join(drawn.split()) + " ", name
    assert all(name in drawn for name in GROUPS)


def test_groups_can_be_caught_together() -> None:
    assert issubclass(Stale, errors.TargetError)
    assert issubclass(errors.NeedsSandbox, errors.Refused)
    assert issubclass(errors.TimedOut, errors.Undone)
    assert not issubclass(Invalid, errors.TargetError)
