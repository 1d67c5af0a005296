from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from alongside.core.elements import Element, Snapshot
from alongside.core.errors import Invalid
from alongside.core.ladder import EVERYTHING, LADDERS, REPEATABLE, TECHNIQUES, Disturbs, Technique, ladder, opens
from alongside.core.steps import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable


ALL = ("GTK 3", "Qt", "Chromium", "GTK 4", "")


def runs(rungs: list[tuple[Technique, str]]) -> list[str]:
    return [one.name for one, why_not in rungs if not why_not]


def test_every_step_but_waiting_has_a_ladder_of_known_techniques() -> None:
    assert set(LADDERS) == set(FORMS) - {"wait"}
    assert {name for names in LADDERS.values() for name in names} == set(TECHNIQUES)
    assert set(LADDERS) >= REPEATABLE
    assert ladder("wait", EVERYTHING) == []


@pytest.mark.parametrize("toolkit", ALL)
@pytest.mark.parametrize("do", LADDERS)
def test_in_a_sandbox_all_that_the_toolkit_takes_may_run(do: str, toolkit: str) -> None:
    rungs = ladder(do, EVERYTHING, toolkit=toolkit)
    assert tuple(one.name for one, _ in rungs) == LADDERS[do]
    for one, why_not in rungs:
        if one.toolkits and toolkit not in one.toolkits:
            assert why_not == f"{toolkit or 'an unknown toolkit'} does not take it"
        else:
            assert why_not == ('only where it is asked for: "via": "clipboard"' if one.name == "clipboard" else "")


@pytest.mark.parametrize("do", LADDERS)
def test_beside_the_person_only_what_disturbs_nothing_runs_and_the_rest_says_why(do: str) -> None:
    for one, why_not in ladder(do, Disturbs.NOTHING, toolkit="Chromium"):
        if one.disturbs:
            assert why_not.startswith("only where it is asked for" if one.name == "clipboard" else "disturbs ")
        else:
            assert not why_not or "does not take it" in why_not


def test_events_sent_to_a_window_are_for_toolkits_that_take_them() -> None:
    assert runs(ladder("key", Disturbs.NOTHING, toolkit="GTK 3")) == ["x11.keys"]
    assert runs(ladder("key", Disturbs.NOTHING, toolkit="GTK 4")) == []
    assert runs(ladder("key", EVERYTHING, toolkit="GTK 4")) == ["xtest.keys"]


def test_the_reason_names_only_what_may_not_be_disturbed() -> None:
    def why_not(do: str, allowed: Disturbs) -> str:
        return ladder(do, allowed)[0][1]

    assert why_not("key", Disturbs.FOCUS | Disturbs.STACKING) == "disturbs keyboard"
    assert why_not("hover", Disturbs.NOTHING) == "disturbs focus and stacking and pointer"


def test_a_pinned_technique_is_the_only_one() -> None:
    assert ladder("click", EVERYTHING, via="xtest.pointer") == [(TECHNIQUES["xtest.pointer"], "")]
    assert runs(ladder("click", Disturbs.NOTHING, via="xtest.pointer")) == []


@pytest.mark.parametrize("allowed", [Disturbs.NOTHING, EVERYTHING])
@pytest.mark.parametrize("do", ["type", "set"])
def test_the_clipboard_is_taken_only_where_it_is_asked_for(do: str, allowed: Disturbs) -> None:
    assert "clipboard" not in runs(ladder(do, allowed, toolkit="Qt"))
    assert runs(ladder(do, allowed, via="clipboard", toolkit="Qt")) == ["clipboard"]
    assert runs(ladder(do, allowed, via="clipboard", toolkit="GTK 4")) == []
    # It is the leave for the clipboard alone.
    assert runs(ladder(do, Disturbs.NOTHING, via="xtest.keys", toolkit="Qt")) == []
    assert all("clipboard" not in LADDERS[other] for other in set(LADDERS) - {"type", "set"})


def test_a_text_is_dropped_only_where_it_was_measured_to_be_harmless() -> None:
    for toolkit in ("GTK 3", "GTK 4", "Qt", "Firefox", "LibreOffice"):
        assert runs(ladder("type", Disturbs.NOTHING, toolkit=toolkit))[-1] == "x11.drop"
    for toolkit in ("Chromium", "Swing", ""):
        assert "x11.drop" not in runs(ladder("type", EVERYTHING, toolkit=toolkit))


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
    assert runs(ladder("click", EVERYTHING, toolkit="Qt", role="button"))[0] == "xtest.pointer"
    assert runs(ladder("click", Disturbs.NOTHING, toolkit="Qt", role="button"))[0] == "x11.activation"


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
    rungs = ladder("click", Disturbs.NOTHING, role=element.role, opens=does, toolkit="GTK 3")
    assert runs(rungs) == ([] if does else ["atspi.action", "x11.activation"])
    assert ("keyboard" in rungs[0][1]) is does
    everywhere = ladder("click", EVERYTHING, opens=does, toolkit="GTK 3")
    assert runs(everywhere) == ["atspi.action", "xtest.pointer", "x11.activation"]
    # What needs no menu opened disturbs nothing: choosing an option, or a closed menu's item.
    assert runs(ladder("menu", Disturbs.NOTHING, opens=does, toolkit="GTK 3")) == ["gtk.action", "atspi.action"]


def test_a_menu_of_a_page_is_a_part_of_the_page(snapshot_of: Callable[..., Snapshot]) -> None:
    elements = (
        Element("d", "document", "Form"),
        Element("m", "button", "Menu", states=frozenset({"haspopup"}), parent="d"),
        Element("c", "combobox", "Colour", parent="d"),
        Element("n", "button", "Browser's own", states=frozenset({"haspopup"})),
    )
    snapshot = replace(snapshot_of(*elements), toolkit="Chromium")
    assert [opens(one, snapshot) for one in elements] == [False, False, True, True]
