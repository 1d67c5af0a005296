from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from alongside.core.elements import Element

if TYPE_CHECKING:
    from collections.abc import Callable

    from alongside.core.elements import Snapshot

TREE = (
    Element("w", "window", "Settings"),
    Element("p", "group", parent="w"),
    Element("b", "button", "Save", parent="p"),
    Element("l", "label", "Save", parent="b"),
    Element("o", "button", "Open", parent="w"),
)


def test_a_state_that_is_not_published_is_unknown_and_never_false() -> None:
    box = Element("k", "checkbox", states=frozenset({"checked"}), knows=frozenset({"checked", "focused"}))
    assert [box.state(name) for name in ("checked", "focused", "selected")] == [True, False, None]


@pytest.mark.parametrize(
    ("role", "states", "editable"),
    [
        ("textbox", (), True),
        ("spinbutton", ("focused",), True),
        ("textbox", ("readonly",), False),
        ("combobox", ("disabled",), False),
        ("button", (), False),
    ],
)
def test_one_can_type_into_text_that_is_neither_locked_nor_disabled(
    role: str, states: tuple[str, ...], editable: bool
) -> None:
    assert Element("k", role, states=frozenset(states)).editable is editable


def test_password_fields_and_disabled_elements_say_so() -> None:
    assert Element("k", "textbox", states=frozenset({"secret"})).secret
    assert not Element("k", "textbox").secret
    assert Element("k", "button").enabled
    assert not Element("k", "button", states=frozenset({"disabled"})).enabled


def test_a_snapshot_knows_what_is_in_what(snapshot_of: Callable[..., Snapshot]) -> None:
    snapshot = snapshot_of(*TREE)
    assert [one.key for one in snapshot] == ["w", "p", "b", "l", "o"]
    assert [one.key for one in snapshot.below(TREE[0])] == ["p", "b", "l", "o"]
    assert [one.key for one in snapshot.below(TREE[1])] == ["b", "l"]
    assert list(snapshot.below(TREE[4])) == []
    assert [one.key for one in snapshot.ancestors(TREE[3])] == ["b", "p", "w"]
    assert list(snapshot.ancestors(TREE[0])) == []


def test_an_element_whose_parent_was_not_read_has_no_ancestors(snapshot_of: Callable[..., Snapshot]) -> None:
    lost = Element("x", "button", parent="never read")
    assert list(snapshot_of(lost).ancestors(lost)) == []


def test_a_tree_may_be_as_deep_as_an_application_likes(snapshot_of: Callable[..., Snapshot]) -> None:
    deep = [Element(str(n), "group", parent=str(n - 1) if n else None) for n in range(5_000)]
    snapshot = snapshot_of(*deep)
    assert [one.key for one in snapshot.below(deep[0])] == [one.key for one in deep[1:]]
    assert sum(1 for _ in snapshot.ancestors(deep[-1])) == 4_999


def test_an_element_read_again_takes_its_place_in_a_new_snapshot(snapshot_of: Callable[..., Snapshot]) -> None:
    old = snapshot_of(*TREE)
    new = old.with_element(Element("b", "button", "Saved", parent="p"))
    assert new.by_key["b"].name == "Saved"
    assert [one.key for one in new.below(TREE[0])] == ["p", "b", "l", "o"]
    assert old.by_key["b"].name == "Save"


def test_a_cell_that_was_not_read_can_be_added(snapshot_of: Callable[..., Snapshot]) -> None:
    old = snapshot_of(*TREE)
    list(old.below(TREE[0]))
    new = old.with_more(Element("c", "cell", "B2", parent="p"))
    assert [one.key for one in new.below(TREE[1])] == ["b", "l", "c"]
    assert "c" in new.by_key
    assert "c" not in old.by_key
