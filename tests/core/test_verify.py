from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from alongside.core.checks import Check
from alongside.core.elements import Element, Snapshot
from alongside.core.steps import Step
from alongside.core.verify import apart, changes, computed, differing, implied, impossible, is_formula, typed

if TYPE_CHECKING:
    from collections.abc import Callable

BUTTON = Element("b", "button", "Save")
BOX = Element("c", "checkbox", "Subscribe", knows=frozenset({"checked"}))
TICKED = replace(BOX, states=frozenset({"checked"}))
TOGGLE = Element("t", "button", "Bold", knows=frozenset({"pressed"}))
CELL = Element("cell", "cell", "B2", "3")


@pytest.mark.parametrize(
    ("do", "target", "wanted"),
    [
        ({"do": "set", "value": "Ada"}, BUTTON, Check(value="Ada")),
        ({"do": "set", "value": "=A1+1"}, BUTTON, Check(value="=A1+1")),
        ({"do": "set", "value": "=A1+1"}, CELL, None),
        ({"do": "set", "value": "4"}, CELL, Check(value="4")),
        ({"do": "clear"}, BUTTON, Check(value="")),
        ({"do": "check"}, BOX, Check(checked=True)),
        ({"do": "uncheck"}, BOX, Check(checked=False)),
        ({"do": "check"}, TOGGLE, Check(checked=True)),
        ({"do": "click"}, TOGGLE, Check(checked=True)),
        ({"do": "check"}, BUTTON, Check(checked=True)),
        ({"do": "check"}, replace(BOX, knows=frozenset({"pressed"})), Check(checked=True)),
        ({"do": "check"}, None, None),
        ({"do": "select", "value": "Green"}, BUTTON, Check(value="Green")),
        ({"do": "select"}, BUTTON, Check(selected=True)),
        ({"do": "select"}, BOX, Check(checked=True)),
        ({"do": "select"}, None, Check(selected=True)),
        ({"do": "expand"}, BUTTON, Check(expanded=True)),
        ({"do": "collapse"}, BUTTON, Check(expanded=False)),
        ({"do": "focus"}, BUTTON, Check(focused=True)),
        ({"do": "click"}, BOX, Check(checked=True)),
        ({"do": "click"}, TICKED, Check(checked=False)),
        ({"do": "toggle"}, TICKED, Check(checked=False)),
        ({"do": "click"}, replace(TICKED, role="radio"), Check(checked=True)),
        ({"do": "click"}, Element("r", "menuitemradio"), Check(checked=True)),
        ({"do": "click"}, Element("m", "menuitemcheckbox"), None),
        ({"do": "click"}, Element("p", "tab", "More"), Check(selected=True)),
        ({"do": "invoke"}, BUTTON, None),
        ({"do": "click"}, None, None),
        ({"do": "hover"}, BOX, None),
        ({"do": "right_click"}, BOX, None),
        ({"do": "double_click"}, BOX, None),
    ],
)
def test_what_a_step_asks_of_its_target(do: dict[str, Any], target: Element | None, wanted: Check | None) -> None:
    assert implied(Step.parse({"target": 12, **do}), target) == wanted


@pytest.mark.parametrize(
    ("do", "target", "formula"),
    [
        ({"do": "set", "value": "=A1"}, CELL, True),
        ({"do": "set", "value": "A1"}, CELL, False),
        ({"do": "set", "value": "=A1"}, BUTTON, False),
        ({"do": "set", "value": "=A1"}, None, False),
        ({"do": "select"}, CELL, False),
    ],
)
def test_only_a_cell_takes_a_formula(do: dict[str, Any], target: Element | None, formula: bool) -> None:
    assert is_formula(Step.parse({"target": 12, **do}), target) is formula


@pytest.mark.parametrize(
    ("shown", "judged"), [("7", True), ("3", None), ("", None), (None, None), ("#DIV/0!", True), ("=A1", True)]
)
def test_a_formula_is_believed_by_its_result(shown: str | None, judged: bool | None) -> None:
    assert computed(CELL, replace(CELL, value=shown)) is judged


@pytest.mark.parametrize(
    ("before", "text", "after", "holds"),
    [
        ("", "hello", "hello", True),
        ("ac", "b", "abc", True),
        ("aa", "a", "aaa", True),
        ("ab c", "ab", "ab cab", True),
        ("old", "new", "newold", True),
        ("selected", "x", "x", True),
        ("", "hello", "Hello", False),
        ("", "hello", "hell", False),
        ("", "aa", "ab", False),
        ("abc", "x", "xbcd", False),
        ("abc", "z", "abcz and completed", True),
        ("abc", "abc", "abc", False),
        ("", "hello\n", "hello", True),
        ("", "a\r\nb", "a\nb", True),
        (None, "hello", "hello", True),
        ("", "hello", None, None),
        ("", "👩\u200d👧 e\u0301", "👩\u200d👧 e\u0301", True),
    ],
)
def test_a_field_holds_what_was_typed(before: str | None, text: str, after: str | None, holds: bool | None) -> None:
    field = Element("f", "textbox", value=before)
    assert typed(field, replace(field, value=after), text) is holds


def test_new_lines_count_where_there_are_several_lines_and_passwords_are_never_read() -> None:
    area = Element("f", "textbox", value="", states=frozenset({"multiline"}))
    assert typed(area, replace(area, value="a\n"), "a\n") is True
    assert typed(area, replace(area, value="a"), "a\n") is False
    secret = Element("f", "textbox", value="", states=frozenset({"secret"}))
    assert typed(secret, replace(secret, value="hunter2"), "hunter2") is None


PANEL = Element("panel", "group")
LABEL = Element("label", "label", "Ready", parent="panel")
CLOCK = Element("clock", "label", "14:05", parent="panel")
ROW = Element("row", "option", "Ada", parent="panel")


def with_(element: Element, *states: str, **change: Any) -> Element:
    return replace(element, states=frozenset(states), **change)


def still(_: Element) -> bool:
    return False


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param([LABEL], [LABEL], [], id="nothing"),
        pytest.param([LABEL], [with_(LABEL, name="Saved")], [("changed", "label", True)], id="a text"),
        pytest.param([LABEL], [with_(LABEL, value="x")], [("changed", "label", True)], id="a value"),
        pytest.param([BOX], [TICKED], [("changed", "c", False)], id="a state"),
        pytest.param([LABEL], [with_(LABEL, role="alert")], [("changed", "label", False)], id="a role"),
        pytest.param([LABEL], [LABEL, ROW], [("added", "row", False)], id="a new row"),
        pytest.param([LABEL, ROW], [LABEL], [("removed", "row", False)], id="a row less"),
        pytest.param([LABEL], [LABEL, Element("x", "group")], [], id="a new element that says nothing"),
        pytest.param([LABEL, Element("x", "group")], [LABEL], [], id="one less that said nothing"),
        pytest.param([BUTTON], [with_(BUTTON, "focused")], [], id="the focus"),
        pytest.param([BUTTON], [with_(BUTTON, "pressed", "active", "busy")], [], id="what any click does"),
        pytest.param([LABEL], [with_(LABEL, "offscreen")], [], id="scrolled away"),
        pytest.param([with_(LABEL, "hidden")], [LABEL], [], id="shown again"),
        pytest.param([CLOCK], [with_(CLOCK, name="14:06")], [], id="a clock"),
        pytest.param([CLOCK], [with_(CLOCK, "focused", name="14:06")], [], id="a clock with the focus"),
        pytest.param(
            [CLOCK], [with_(CLOCK, "checked", name="14:06")], [("changed", "clock", False)], id="a ticked time"
        ),
        pytest.param([CLOCK], [with_(CLOCK, name="Alarm off")], [("changed", "clock", True)], id="no clock any more"),
        pytest.param([LABEL, ROW], [LABEL, replace(ROW, key="row again")], [], id="the same by another key"),
        pytest.param(
            [ROW, replace(ROW, key="twin")],
            [replace(ROW, key="new")],
            [("removed", "twin", False)],
            id="one of two twins gone",
        ),
        pytest.param(
            [LABEL, BOX, ROW],
            [with_(LABEL, name="Saved"), TICKED, Element("n", "label", "New")],
            [("changed", "c", False), ("removed", "row", False), ("changed", "label", True), ("added", "n", True)],
            id="the surest first",
        ),
    ],
)
def test_what_counts_as_a_change(
    old: list[Element], new: list[Element], told: list[tuple[str, str, bool]], snapshot_of: Callable[..., Snapshot]
) -> None:
    found = changes(snapshot_of(*old), snapshot_of(*new), still)
    assert [(one.kind, one.element.key, one.text) for one in found] == told


@pytest.mark.parametrize("restless", ["label", "panel"])
@pytest.mark.parametrize(
    ("old", "new"),
    [([LABEL], [with_(LABEL, name="Saved")]), ([], [LABEL]), ([LABEL], [])],
    ids=["changed", "added", "removed"],
)
def test_what_moves_by_itself_or_stands_in_what_does_never_counts(
    old: list[Element], new: list[Element], restless: str, snapshot_of: Callable[..., Snapshot]
) -> None:
    before, after = snapshot_of(PANEL, *old), snapshot_of(PANEL, *new)
    assert changes(before, after, lambda one: one.key == restless) == []
    assert len(changes(before, after, still)) == 1


def test_no_change_is_lost_and_none_is_made_up(snapshot_of: Callable[..., Snapshot]) -> None:
    many = [Element(f"k{n}", "option", f"row {n}") for n in range(200)]
    new = [replace(one, name="x") if n % 7 == 0 else one for n, one in enumerate(many) if n % 10]
    found = changes(snapshot_of(*many), snapshot_of(*new), still)
    assert {one.element.key for one in found if one.kind == "removed"} == {f"k{n}" for n in range(0, 200, 10)}
    assert {one.element.key for one in found if one.kind == "changed"} == {f"k{n}" for n in range(0, 200, 7) if n % 10}
    assert [one for one in found if one.kind == "added"] == []


def test_what_came_and_went(snapshot_of: Callable[..., Snapshot]) -> None:
    twin = replace(ROW, key="twin")
    came, went = apart(snapshot_of(PANEL, ROW), snapshot_of(PANEL, twin, replace(ROW, key="third"), LABEL))
    assert [one.key for one in came] == ["third", "label"]
    assert went == []


def test_what_differs_is_told_by_key_and_by_the_parent_of_what_came_or_went(
    snapshot_of: Callable[..., Snapshot],
) -> None:
    before = snapshot_of(PANEL, LABEL, ROW, Element("top", "label", "x"))
    after = snapshot_of(
        PANEL, with_(LABEL, name="Saved"), replace(ROW, key="n", name="Bob"), Element("new", "label", "y")
    )
    assert sorted(differing(before, after)) == ["label", "new", "panel", "panel", "top"]
    assert differing(before, before) == []


@pytest.mark.parametrize(
    ("do", "target", "can"),
    [
        ({"do": "check"}, BUTTON, False),
        ({"do": "check"}, TOGGLE, True),
        ({"do": "check"}, BOX, True),
        ({"do": "toggle"}, BUTTON, False),
        ({"do": "select"}, BUTTON, False),
        ({"do": "select"}, Element("r", "option", "Red"), True),
        ({"do": "select", "value": "Red"}, BUTTON, True),
        ({"do": "expand"}, BUTTON, False),
        ({"do": "expand"}, Element("r", "treeitem", "Europe"), True),
        ({"do": "click"}, BUTTON, True),
        ({"do": "check", "check": {"value": "1"}}, BUTTON, True),
        ({"do": "check"}, None, True),
    ],
)
def test_a_step_that_makes_no_sense_for_its_target_is_not_sent(
    do: dict[str, Any], target: Element | None, can: bool
) -> None:
    assert (impossible(Step.parse({"target": 12, **do}), target) == "") is can


def test_a_progress_bar_is_no_evidence(snapshot_of: Callable[..., Snapshot]) -> None:
    bar = Element("bar", "progressbar", "Loading", value="3")
    assert changes(snapshot_of(bar), snapshot_of(replace(bar, value="4")), still) == []


@pytest.mark.parametrize("do", ["set", "clear"])
@pytest.mark.parametrize(("role", "can"), [("label", False), ("menuitem", False), ("textbox", True), ("cell", True)])
def test_a_label_is_not_set(do: str, role: str, can: bool) -> None:
    step = Step.parse({"do": do, "target": 12, **({"value": "x"} if do == "set" else {})})
    assert (impossible(step, Element("e", role, "Name")) == "") is can


def test_what_is_hidden_is_no_evidence(snapshot_of: Callable[..., Snapshot]) -> None:
    """An application changes the items of its closed menus as it likes."""
    item = Element("item", "menuitem", "Save All", states=frozenset({"hidden", "disabled"}))
    now = replace(item, states=frozenset({"hidden"}))
    assert changes(snapshot_of(item), snapshot_of(now), still) == []
    assert changes(snapshot_of(), snapshot_of(now), still) == []
    assert changes(snapshot_of(now), snapshot_of(), still) == []
