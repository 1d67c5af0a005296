from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from alongside.core.elements import Element, Snapshot
from alongside.core.errors import Invalid
from alongside.core.ladder import EVERYTHING, LADDERS, REPEATABLE, TECHNIQUES, Disturbs, ladder, opens
from alongside.core.steps import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable


def test_every_step_but_waiting_has_a_ladder_of_known_techniques() -> None:
    assert set(LADDERS) == set(FORMS) - {"wait"}
    assert {name for names in LADDERS.values() for name in names} == set(TECHNIQUES)
    assert set(LADDERS) >= REPEATABLE
    assert ladder("wait", EVERYTHING) == ([], [])


@pytest.mark.parametrize("do", LADDERS)
def test_in_a_sandbox_the_whole_ladder_may_be_climbed(do: str) -> None:
    tried, passed = ladder(do, EVERYTHING)
    assert tuple(one.name for one in tried) == LADDERS[do]
    assert passed == []


@pytest.mark.parametrize("do", LADDERS)
def test_beside_the_person_only_what_disturbs_nothing_runs_and_the_rest_says_why(do: str) -> None:
    tried, passed = ladder(do, Disturbs.NOTHING)
    assert all(one.disturbs is Disturbs.NOTHING for one in tried)
    assert len(tried) + len(passed) == len(LADDERS[do])
    assert all(": disturbs " in line for line in passed)


def test_the_reason_names_only_what_may_not_be_disturbed() -> None:
    assert ladder("key", Disturbs.FOCUS | Disturbs.STACKING)[1] == ["xtest.keys: disturbs keyboard"]
    assert ladder("hover", Disturbs.NOTHING)[1] == ["xtest.pointer: disturbs focus and stacking and pointer"]


def test_a_pinned_technique_is_the_only_one() -> None:
    tried, passed = ladder("click", EVERYTHING, via="xtest.pointer")
    assert [one.name for one in tried] == ["xtest.pointer"]
    assert passed == []
    assert ladder("click", Disturbs.NOTHING, via="xtest.pointer")[0] == []


@pytest.mark.parametrize(
    ("via", "told", "right"),
    [
        ("telepathy", "There is no technique 'telepathy'", "atspi.action"),
        ("x" * 100_000, "There is no technique", "atspi.action"),
        ("atspi.text", "`click` has no technique atspi.text", "via: one of atspi.action, xtest.pointer"),
    ],
)
def test_a_pin_that_cannot_be_is_told_with_those_that_can(via: str, told: str, right: str) -> None:
    with pytest.raises(Invalid, match=told) as caught:
        ladder("click", EVERYTHING, via=via)
    assert right in (caught.value.next or "")
    assert len(str(caught.value)) < 400


def test_every_technique_tells_people_what_it_is() -> None:
    assert all(one.told and "\n" not in one.told for one in TECHNIQUES.values())


def test_a_button_of_qt_is_clicked_by_the_pointer_where_there_is_one() -> None:
    """Its own action takes effect only 100 ms later."""
    tried, _ = ladder("click", EVERYTHING, toolkit="Qt", role="button")
    assert [one.name for one in tried] == ["xtest.pointer", "atspi.action"]
    tried, _ = ladder("click", Disturbs.NOTHING, toolkit="Qt", role="button")
    assert [one.name for one in tried] == ["atspi.action"]


@pytest.mark.parametrize(
    ("element", "inside", "does"),
    [
        (Element("b", "button", "Save"), (), False),
        (Element("b", "button", "More", states=frozenset({"haspopup"})), (), True),
        (Element("b", "button", "More"), (Element("i", "menuitem", "One", parent="b"),), True),
        (Element("b", "menuitem", "File"), (Element("i", "menu", "", parent="b"),), True),
        (Element("b", "menuitem", "Save"), (), False),
        (Element("b", "combobox", "Colour"), (), True),
    ],
)
def test_what_opens_a_menu_disturbs_the_keyboard(
    element: Element, inside: tuple[Element, ...], does: bool, snapshot_of: Callable[..., Snapshot]
) -> None:
    assert opens(element, snapshot_of(element, *inside)) is does
    tried, passed = ladder("click", Disturbs.NOTHING, role=element.role, opens=does)
    assert [one.name for one in tried] == ([] if does else ["atspi.action"])
    assert any("keyboard" in why for why in passed if why.startswith("atspi.action")) is does
    assert [one.name for one in ladder("click", EVERYTHING, opens=does)[0]] == ["atspi.action", "xtest.pointer"]
    # What needs no menu opened disturbs nothing: choosing an option, or a closed menu's item.
    assert [one.name for one in ladder("menu", Disturbs.NOTHING, opens=does)[0]] == ["atspi.action"]
