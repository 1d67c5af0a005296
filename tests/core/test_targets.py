from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from alongside.core.elements import CONTROL_ROLES, LAYOUT_ROLES, ROLE_ALIASES, TEXT_ROLES, Element
from alongside.core.errors import Ambiguous, Invalid, NotFound, Stale
from alongside.core.geometry import Point
from alongside.core.refs import RefBook
from alongside.core.targets import ByCell, ByName, ByPoint, ByRef, canonical_role, parse, plain, resolve
from alongside.platforms.linux.atspi.names import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from alongside.core.elements import Snapshot


@pytest.mark.parametrize("spelling", [12, "12", "[12]", "e12", "@e12", "[@e12]", " [12] ", "ref:12", "ref: [12]"])
def test_a_ref_in_every_spelling(spelling: object) -> None:
    assert parse(spelling) == ByRef(12)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Save", ByName("Save")),
        ("  Save as... ", ByName("Save as...")),
        ("button:Save", ByName("Save", "button")),
        ("Push Button : Save", ByName("Save", "button")),
        ("check box: Subscribe", ByName("Subscribe", "checkbox")),
        ("check-box:Subscribe", ByName("Subscribe", "checkbox")),
        ("drop-down:Colour", ByName("Colour", "combobox")),
        ("button:", ByName("", "button")),
        ('button:"Save: all"', ByName("Save: all", "button")),
        ("button:a:b", ByName("a:b", "button")),
        ("Name:", ByName("Name:")),
        ("name:12", ByName("12")),
        ('name:"12"', ByName("12")),
        ('"12"', ByName("12")),
        ('"B2"', ByName("B2")),
        ('"button:Save"', ByName("button:Save")),
        (r'"a \"quoted\" name"', ByName('a "quoted" name')),
        ('"a "sloppily quoted" name"', ByName('a "sloppily quoted" name')),
        ('"', ByName('"')),
        ("https://example.org", ByName("https://example.org")),
        ("Error: disk full", ByName("Error: disk full")),
        ("ref:Save", ByName("ref:Save")),
        ("cell:Save", ByName("Save", "cell")),
        (0, ByRef(0)),
        (999_999_999, ByRef(999_999_999)),
        ([-999_999, 999_999], ByPoint(Point(-999_999, 999_999))),
        ("12 files", ByName("12 files")),
        ("-1", ByName("-1")),
        ("\u0661\u0662", ByName("\u0661\u0662")),
        ("e\u0661", ByName("e\u0661")),
        ("1234567890123", ByName("1234567890123")),
        ("[12][13]", ByName("[12][13]")),
        ('[12] button "OK"', ByName('[12] button "OK"')),
        ("120,80", ByPoint(Point(120, 80))),
        ("(120, 80)", ByPoint(Point(120, 80))),
        ("-5,-6", ByPoint(Point(-5, -6))),
        ([120, 80], ByPoint(Point(120, 80))),
        ((119.6, 80.4), ByPoint(Point(120, 80))),
        ("B2", ByCell("B2", 1, 1)),
        ("a1", ByCell("a1", 0, 0)),
        ("AA10", ByCell("AA10", 9, 26)),
        ("XFD1048576", ByCell("XFD1048576", 1_048_575, 16_383)),
        ("cell:B2", ByCell("B2", 1, 1)),
        ("A0", ByName("A0")),
        ("ABCD1", ByName("ABCD1")),
    ],
)
def test_what_a_target_means(said: object, meant: object) -> None:
    assert parse(said) == meant


@pytest.mark.parametrize(
    "nothing",
    [
        *(None, True, False, 1.5, {"ref": 12}, b"12", object()),
        *("", "  \n", '""', -1, 10**10, 10**400),
        *([], [1], [1, 2, 3], [[1, 2]], ["1", "2"], [True, False], [None, 1]),
        *([float("nan"), 1], [1, float("inf")], [10**400, 1], [1e300, 1], ["x" * 100_000], [[[[]]]]),
    ],
)
def test_what_names_nothing_is_told_the_right_form(nothing: object) -> None:
    with pytest.raises(Invalid) as caught:
        parse(nothing)
    assert caught.value.next
    assert len(str(caught.value)) < 300


def test_any_text_is_a_target_and_is_told_in_one_line(hostile: str) -> None:
    if not hostile.strip():
        return
    target = parse(hostile)
    told = str(target)
    assert len(told) < 1_000
    assert told.isprintable()
    assert parse(json.dumps(hostile)) == ByName(hostile)


@pytest.mark.parametrize(
    ("target", "told"),
    [(12, "[12]"), ("Save", '"Save"'), ("button:Save", 'button "Save"'), ("button:", "button"), ("1,2", "1,2")],
)
def test_a_target_is_told_as_it_would_be_written(target: object, told: str) -> None:
    assert str(parse(target)) == told
    assert str(parse("B2")) == "B2"


def test_every_role_that_an_outline_can_show_can_be_named() -> None:
    shown = set(ROLES.values()) | CONTROL_ROLES | LAYOUT_ROLES | TEXT_ROLES
    unnamed = {role for role in shown if canonical_role(role) is None} - {"presentation", "section", "panel"}
    assert unnamed == set()
    assert {canonical_role(alias) for alias in ROLE_ALIASES} <= {canonical_role(role) for role in shown}
    assert canonical_role("flying saucer") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Save", "save"),
        ("Save As…", "Save As..."),
        ("Name:", "Name"),
        ("Save\tCtrl+S", "Save"),
        ("  Save \n all ", "Save all"),
        ("Cafe\u0301", "CAFÉ"),
        ("STRASSE", "Straße"),
    ],
)
def test_names_are_the_same_as_people_say_them(one: str, other: str) -> None:
    assert plain(one) == plain(other)


def hidden(element: Element) -> Element:
    return Element(element.key, element.role, element.name, states=frozenset({"hidden"}), parent=element.parent)


SAVE = Element("save", "button", "Save")
SAVE_AS = Element("save as", "button", "Save as...")
LABEL = Element("label", "label", "Name:")
FIELD = Element("field", "textbox", "Name:")
ROW = Element("row", "row", "Ada", parent="table")
CELL = Element("cell", "label", "Ada", parent="row")
UNNAMED = Element("unnamed", "button")
DATE = Element("date", "date")
DATE_FIELD = Element("date field", "textbox", "Date:")


@pytest.mark.parametrize(
    ("target", "elements", "found"),
    [
        pytest.param("Save", [SAVE, SAVE_AS], SAVE, id="as written"),
        pytest.param("save as", [SAVE, SAVE_AS], SAVE_AS, id="as people say it"),
        pytest.param(
            "save", [Element("x", "button", "SAVE"), Element("y", "button", "save")], "y", id="as written first"
        ),
        pytest.param("Name", [LABEL, FIELD], FIELD, id="a field rather than its label"),
        pytest.param("label:Name", [LABEL, FIELD], LABEL, id="the label if that is asked for"),
        pytest.param("Ada", [ROW, CELL], ROW, id="a row rather than the text in it"),
        pytest.param("Save", [hidden(SAVE), Element("s", "button", "Save")], "s", id="in sight before hidden"),
        pytest.param("Save", [hidden(SAVE)], "save", id="hidden if it is the only one"),
        pytest.param(
            "Save",
            [Element("far", "button", "Save", states=frozenset({"offscreen"})), hidden(SAVE)],
            "far",
            id="off screen before hidden",
        ),
        pytest.param("textbox:", [SAVE, FIELD], FIELD, id="the only one of its role"),
        pytest.param("Date:", [DATE, DATE_FIELD], DATE_FIELD, id="a name that looks like a role"),
        pytest.param("date:", [DATE, DATE_FIELD], DATE, id="a role that looks like a name"),
        pytest.param("date: of birth", [Element("d", "textbox", "Date: of Birth")], "d", id="such a name, loosely"),
        pytest.param(
            "Go",
            [Element("g", "group", "Go"), Element("x", "heading", "Go", parent="g")],
            "x",
            id="what is in a group of the same name",
        ),
        pytest.param(
            "Tools",
            [Element("m", "menuitem", "Tools"), Element("x", "menuitem", "Tools", parent="m")],
            "x",
            id="the innermost of one name",
        ),
        pytest.param("Save", [SAVE, Element("s", "button", "Save")], Ambiguous, id="two of one name"),
        pytest.param("button:", [SAVE, SAVE_AS], Ambiguous, id="two of one role"),
        pytest.param("Delete", [SAVE], NotFound, id="not there"),
        pytest.param("link:Save", [SAVE], NotFound, id="not of that role"),
        pytest.param("...", [UNNAMED], NotFound, id="punctuation is no element without a name"),
        pytest.param(":", [UNNAMED], NotFound, id="a colon neither"),
        pytest.param("...", [UNNAMED, Element("dots", "button", "...")], "dots", id="but it may be a name"),
        pytest.param("Save", [], NotFound, id="an empty window"),
    ],
)
def test_which_element_a_name_means(
    target: str, elements: list[Element], found: Any, snapshot_of: Callable[..., Snapshot]
) -> None:
    def resolved() -> Element:
        meant = parse(target)
        assert isinstance(meant, ByName)
        return resolve(meant, snapshot_of(*elements), RefBook())

    if isinstance(found, type):
        with pytest.raises(found):
            resolved()
    else:
        assert resolved().key == (found.key if isinstance(found, Element) else found)


def test_a_ref_finds_its_element_and_refuses_one_that_is_gone(snapshot_of: Callable[..., Snapshot]) -> None:
    refs = RefBook()
    snapshot = snapshot_of(SAVE)
    ref = ByRef(refs.give("save", "s1.2"))
    assert resolve(ref, snapshot, refs) is SAVE
    with pytest.raises(NotFound, match=r"\[1\] is not in the last look at s1\.2") as caught:
        resolve(ref, snapshot_of(SAVE_AS), refs)
    assert caught.value.next == 'look("s1.2")'
    refs.retire("save")
    with pytest.raises(Stale):
        resolve(ref, snapshot, refs)


def test_several_matches_are_listed_with_the_refs_to_name_them_by(snapshot_of: Callable[..., Snapshot]) -> None:
    several = [Element(f"k{n}", "button", "Delete") for n in range(9)]
    with pytest.raises(Ambiguous) as caught:
        resolve(ByName("Delete"), snapshot_of(*several), RefBook())
    listed = ", ".join(f'[{n}] button "Delete"' for n in range(1, 7))
    assert caught.value.message == f'9 elements match "Delete": {listed}, .... Name one by its ref.'
    with pytest.raises(Ambiguous, match=r'\[6\] button "Delete"\. Name one by its ref'):
        resolve(ByName("Delete"), snapshot_of(*several[:6]), RefBook())
    with pytest.raises(Ambiguous, match="one in row k0, one in row k1"):
        resolve(ByName("Delete"), snapshot_of(*several[:2]), RefBook(), describe=lambda one: f"one in row {one.key}")


def test_a_name_that_is_not_there_is_told_those_that_are_near(snapshot_of: Callable[..., Snapshot]) -> None:
    here = snapshot_of(SAVE, SAVE_AS, Element("l", "link", "Safe"), LABEL)
    with pytest.raises(NotFound) as caught:
        resolve(ByName("Sav"), here, RefBook())
    assert caught.value.message == 'Nothing here is named "Sav". Near: "Safe", "Save", "Save as...".'
    with pytest.raises(NotFound, match=r'^Nothing here is named link "Sav"\. Near: "Safe"\. \(not_found\)'):
        resolve(ByName("Sav", "link"), here, RefBook())
    many = snapshot_of(*(Element(f"k{n}", "button", f"Save {n}") for n in range(9)))
    with pytest.raises(NotFound, match=r'Near: "Save \d", "Save \d", "Save \d"\. \(not_found\)'):
        resolve(ByName("Save"), many, RefBook())
    with pytest.raises(NotFound, match=r'^Nothing here is named "Quit"\. \(not_found\)'):
        resolve(ByName("Quit"), here, RefBook())


def test_names_of_applications_cannot_break_an_error(hostile: str, snapshot_of: Callable[..., Snapshot]) -> None:
    near = Element("near", "button", hostile[:50])
    with pytest.raises(NotFound) as caught:
        resolve(ByName("e" + hostile[:50]), snapshot_of(near), RefBook())
    with pytest.raises(Ambiguous) as two:
        resolve(
            ByName(hostile), snapshot_of(Element("a", "button", hostile), Element("b", "button", hostile)), RefBook()
        )
    for message in (caught.value.message, two.value.message):
        assert message.isprintable()
        assert len(message) < 5_000
