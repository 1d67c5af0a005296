from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from alongside.core.elements import Element, Snapshot, Window
from alongside.core.geometry import Rect
from alongside.core.outcomes import Mark, Outcome
from alongside.core.outline import (
    DATA_LINE,
    MOST_NAME,
    element_line,
    outcomes_text,
    outline,
    quote,
    visible,
    window_line,
    windows_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def states(*names: str) -> frozenset[str]:
    return frozenset(names)


def is_harmless(line: str) -> bool:
    """Whether a line is one, and shows all that is in it."""
    return all(unicodedata.category(sign)[0] != "C" and sign not in "\u2028\u2029\u3164\u2800" for sign in line)


def test_a_quoted_text_is_one_harmless_line_that_reads_back(hostile: str) -> None:
    quoted = quote(hostile)
    assert is_harmless(quoted)
    quoted.encode()
    clipped = len(hostile) > MOST_NAME
    assert quoted.endswith(f" (of {len(hostile)} characters)") is clipped
    assert json.loads(quoted.removesuffix(f" (of {len(hostile)} characters)")) == hostile[:MOST_NAME]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("Save", '"Save"'),
        ("", '""'),
        ("Grün, 日本語, עברית, ❤\ufe0f", '"Grün, 日本語, עברית, ❤\ufe0f"'),
        ('say "hi" \\', r'"say \"hi\" \\"'),
        ("a\nb\u202ec", r'"a\nb\u202ec"'),
        ("\U000f0000\ud800", r'"\udb80\udc00\ud800"'),
    ],
)
def test_letters_stay_readable_and_what_hides_is_escaped(text: str, quoted: str) -> None:
    assert quote(text) == quoted


def test_a_long_text_is_clipped_and_tells_its_length() -> None:
    assert quote("abcdef", 3) == '"abc" (of 6 characters)'
    assert quote("abc", 3) == '"abc"'


def test_one_element_is_one_line_whatever_the_application_writes(
    hostile: str, snapshot_of: Callable[..., Snapshot]
) -> None:
    element = Element("k", "textbox", hostile, hostile + "!")
    snapshot = snapshot_of(element, Element("b", "button", "OK"))
    snapshot = replace(snapshot, toolkit=hostile, window=replace(snapshot.window, title=hostile, app=hostile))
    lines = outline(snapshot, lambda one: 12 if one is element else 13).split("\n")
    assert len(lines) == 4
    assert lines[0].startswith('s1.2 "')
    assert lines[2].startswith('[12] textbox "')
    assert lines[3] == '[13] button "OK"'
    assert all(is_harmless(line) and len(line) < 5_000 for line in lines)
    listed = windows_text("s1", [snapshot.window, snapshot.window])
    assert len(listed.split("\n")) == 2
    assert all(map(is_harmless, listed.split("\n")))


def test_one_outcome_is_one_line_whatever_came_into_it(hostile: str) -> None:
    hostile = hostile[:1_000]
    outcomes = [
        Outcome(Mark.FAILED, hostile, hostile, "atspi.text", 3, hostile, hostile, (hostile, hostile)),
        Outcome(Mark.NOT_EXECUTED, hostile),
    ]
    lines = outcomes_text(outcomes).split("\n")
    assert [line.split(" ")[:2] for line in lines if not line.startswith("    ")] == [
        ["1", "✗"],
        ["2", "-"],
        ["1", "✗"],
    ]
    assert len(lines) == 5
    assert all(map(is_harmless, lines))


@pytest.mark.parametrize(
    ("element", "line"),
    [
        (Element("k", "button", "Save"), '[12] button "Save"'),
        (Element("k", "textbox", "Name", "Ada", states("focused")), '[12] textbox "Name" = "Ada" focused'),
        (Element("k", "textbox", "Name", ""), '[12] textbox "Name" = ""'),
        (Element("k", "option", "Green", "Green", states("selected")), '[12] option "Green" selected'),
        (Element("k", "textbox", "PIN", "1234", states("secret")), '[12] textbox "PIN" (secret)'),
        (
            Element("k", "checkbox", "Mail", states=states("disabled", "checked", "multiselectable")),
            '[12] checkbox "Mail" checked disabled',
        ),
        (Element("k", "combobox", "Colour", "Red", states("readonly")), '[12] combobox "Colour" = "Red"'),
        (Element("k", "textbox", "Log", "a", states("readonly")), '[12] textbox "Log" = "a" readonly'),
        (Element("k", "menuitem", "Save", states=states("hidden")), '[12] menuitem "Save"'),
        (Element("k", "group"), "[12] group"),
        (Element("k", "canvas", actions=("press", 'x"\n[1]')), r'[12] canvas actions "press", "x\"\n[1]"'),
        (Element("k", "textbox", value="x", description="9 characters"), '[12] textbox = "x" (9 characters)'),
    ],
)
def test_an_element_is_told_by_its_role_name_value_and_states(element: Element, line: str) -> None:
    assert element_line(element, 12) == line
    assert element_line(element, None) == line.removeprefix("[12] ")


def test_a_window_is_told_by_its_id_title_application_toolkit_and_size(window: Window) -> None:
    assert window_line(window, "GTK 3", 14) == 's1.2 "Settings" (window of "settings-app", GTK 3, 640x480) 14 elements'
    dialog = replace(window, kind="dialog", states=states("modal", "active", "covered"))
    assert window_line(dialog, "", 1) == 's1.2 "Settings" (dialog of "settings-app", 640x480) covered modal 1 elements'
    sly = 'GTK 3) [1] button "OK"'
    assert r'"GTK 3) [1] button \"OK\""' in window_line(window, sly, 1)


def test_windows_are_listed_one_a_line(window: Window) -> None:
    dialog = replace(window, id="s1.3", title="Sure?", kind="dialog", states=states("active", "modal"))
    assert windows_text("s1", [dialog, replace(window, bounds=Rect(-5, 0, 10, 10))]).split("\n") == [
        's1.3 "Sure?" ("settings-app", pid 4711) dialog 640x480 at 10,20 active modal',
        's1.2 "Settings" ("settings-app", pid 4711) 10x10 at -5,0',
    ]
    assert windows_text("s1", []) == "s1: no windows"


FORM = (
    Element("w", "window", "Settings"),
    Element("bar", "menubar", parent="w"),
    Element("file", "menu", "File", parent="bar"),
    Element("quit", "menuitem", "Quit", parent="file", states=states("hidden")),
    Element("sub", "menuitem", "Deeper", parent="quit", states=states("hidden")),
    Element("box", "group", parent="w"),
    Element("l", "label", "Name", parent="box"),
    Element("n", "textbox", "Name", "Ada", parent="box"),
    Element("c", "combobox", "Colour", "Red", parent="box", states=states("collapsed")),
    Element("red", "option", "Red", parent="c"),
    Element("g", "group", "Address", parent="box"),
    Element("t", "textbox", "Town", "Rome", parent="g"),
    Element("note", "paragraph", "All fields are needed.", parent="w"),
    Element("save", "button", "Save", parent="w"),
    Element("savel", "label", "Save", parent="save"),
    Element("gone", "button", "Later", parent="w", states=states("hidden")),
    Element("scroll", "scrollbar", parent="w", value="0"),
    Element("list", "list", parent="w", more=312),
)
HEAD = f's1.2 "Settings" (window of "settings-app", GTK 3, 640x480) {len(FORM)} elements\n  ({DATA_LINE})'


@pytest.fixture
def told(snapshot_of: Callable[..., Snapshot]) -> Callable[..., str]:
    """The lines below the head of an outline of the form, each ref being the place of its element."""
    refs = {one.key: number for number, one in enumerate(FORM)}

    def lines(elements: tuple[Element, ...] = FORM, cuts: tuple[str, ...] = (), **how: object) -> str:
        snapshot = snapshot_of(*elements, cuts=cuts)
        text = outline(snapshot, lambda one: refs.get(one.key, 99), **how)  # type: ignore[arg-type]
        return "\n".join(text.split("\n")[2:])

    return lines


def test_an_outline_starts_with_its_window_and_a_word_of_warning(snapshot_of: Callable[..., Snapshot]) -> None:
    assert outline(snapshot_of(*FORM), lambda _: 1).startswith(HEAD + "\n")


def test_the_controls_of_a_window(told: Callable[..., str]) -> None:
    assert told().split("\n") == [
        '[2] menu "File"',
        '[7] textbox "Name" = "Ada"',
        '[8] combobox "Colour" = "Red" collapsed',
        '[10] group "Address"',
        '  [11] textbox "Town" = "Rome"',
        '[12] paragraph "All fields are needed."',
        '[13] button "Save"',
        "[17] list",
        "  cut: 312 more under [17]; scroll it and look again",
    ]


def test_the_content_of_a_window_has_labels_and_closed_lists_too(told: Callable[..., str]) -> None:
    lines = told(view="content").split("\n")
    assert '[6] label "Name"' in lines
    assert '  [9] option "Red"' in lines
    assert '[15] button "Later"' not in "".join(lines)


def test_the_raw_view_has_everything_indented_by_what_it_is_in(told: Callable[..., str]) -> None:
    lines = told(view="raw").split("\n")
    assert len(lines) == len(FORM) + 1
    assert lines[:5] == [
        '[0] window "Settings"',
        "  [1] menubar",
        '    [2] menu "File"',
        '      [3] menuitem "Quit"',
        '        [4] menuitem "Deeper"',
    ]


@pytest.mark.parametrize(
    ("how", "lines"),
    [
        ({"find": "TOWN"}, ['[10] group "Address"', '  [11] textbox "Town" = "Rome"']),
        ({"find": "rome"}, ['[10] group "Address"', '  [11] textbox "Town" = "Rome"']),
        ({"find": "option"}, ['[8] combobox "Colour" = "Red" collapsed', '  [9] option "Red"']),
        ({"find": "Later"}, ['  nothing matches "Later"']),
        ({"find": "zzz\n"}, [r'  nothing matches "zzz\n"']),
        (
            {"find": "Town", "view": "raw"},
            [
                '[0] window "Settings"',
                "  [5] group",
                '    [10] group "Address"',
                '      [11] textbox "Town" = "Rome"',
            ],
        ),
    ],
)
def test_finding_shows_the_matches_in_their_surroundings(
    how: dict[str, str], lines: list[str], told: Callable[..., str]
) -> None:
    assert told(**how).split("\n") == lines


def test_looking_under_an_element_shows_it_and_what_is_in_it(told: Callable[..., str]) -> None:
    group = FORM[10]
    assert told(under=group) == '[10] group "Address"\n  [11] textbox "Town" = "Rome"'
    assert told(under=FORM[5], view="raw").split("\n")[0] == "[5] group"
    assert told(under=group, find="Name") == '  nothing matches "Name"'
    assert told(under=group, find="Address") == '[10] group "Address"'
    assert told(under=group, find="Rome", view="raw") == '[10] group "Address"\n  [11] textbox "Town" = "Rome"'


def test_what_is_cut_is_said_with_how_to_get_it(told: Callable[..., str]) -> None:
    assert told(most=2, cuts=("the walk took too long; look again",)).split("\n") == [
        '[2] menu "File"',
        '[7] textbox "Name" = "Ada"',
        '  cut: 6 more elements; look(find="...") or look(under=ref)',
        "  cut: the walk took too long; look again",
    ]
    assert "more elements" not in told(most=8)


def test_only_as_deep_as_is_asked_for(told: Callable[..., str]) -> None:
    assert told(view="raw", depth=2).split("\n") == [
        '[0] window "Settings"',
        "  [1] menubar",
        "  [5] group",
        '  [12] paragraph "All fields are needed."',
        '  [13] button "Save"',
        '  [15] button "Later" hidden',
        '  [16] scrollbar = "0"',
        "  [17] list",
        "    cut: 312 more under [17]; scroll it and look again",
        "  cut: 10 more elements deeper than 2; look(under=ref) or a larger depth",
    ]


HEIGHT = 20


def long_list(count: int, frame: Rect | None) -> tuple[Element, ...]:
    """A list whose rows stand one below the other, each with a text in it."""
    rows = [
        (
            Element(f"r{n}", "option", f"row {n}", parent="list", bounds=Rect(0, n * HEIGHT, 100, HEIGHT)),
            Element(f"t{n}", "img", f"picture {n}", parent=f"r{n}"),
        )
        for n in range(count)
    ]
    return (Element("list", "listbox", "Names", bounds=frame), *(one for pair in rows for one in pair))


@pytest.mark.parametrize(
    ("frame", "first", "last"),
    [
        (Rect(0, 40, 100, 5 * HEIGHT), 2, 6),
        (Rect(0, 0, 100, 90 * HEIGHT), 0, 59),
        (Rect(500, 0, 100, 100), 0, 59),
        (None, 0, 59),
    ],
    ids=["in sight", "more in sight than fit", "none in sight", "no place known"],
)
def test_a_long_list_is_shown_as_far_as_it_is_in_sight(
    frame: Rect | None, first: int, last: int, told: Callable[..., str]
) -> None:
    lines = told(long_list(100, frame)).split("\n")
    kept = range(first, last + 1)
    expected = [line for n in kept for line in (f'  [99] option "row {n}"', f'    [99] img "picture {n}"')]
    cut = f"  cut: {100 - len(kept)} more of these; look(under=17), look(find=...) or a name"
    assert lines == ['[17] listbox "Names"', *expected[:-1], cut, expected[-1]]


def test_a_list_of_usual_length_one_looked_under_and_what_was_found_are_whole(told: Callable[..., str]) -> None:
    usual, long = long_list(60, Rect(0, 0, 100, 40)), long_list(100, Rect(0, 0, 100, 40))
    assert "cut" not in told(usual)
    assert "cut" not in told(long, under=long[0])
    assert told(long, find="row 99").split("\n") == ['[17] listbox "Names"', '  [99] option "row 99"']


def test_rows_out_of_sight_count_among_those_that_are_too_deep(told: Callable[..., str]) -> None:
    lines = told(long_list(100, None), depth=1).split("\n")
    assert lines[1:] == ["  cut: 160 more elements deeper than 1; look(under=ref) or a larger depth"]


def test_a_window_that_publishes_almost_nothing_says_what_to_do(told: Callable[..., str]) -> None:
    poor = (Element("w", "window", "Game"), Element("c", "canvas"))
    assert "publishes almost nothing" in told(poor)
    assert "publishes almost nothing" not in told(poor, find="Game")
    assert "publishes almost nothing" not in told()


@pytest.mark.parametrize(
    ("element", "view", "shown"),
    [
        (Element("k", "row"), "controls", False),
        (Element("k", "row", "Ada"), "controls", True),
        (Element("k", "menu"), "controls", False),
        (Element("k", "scrollbar", "Scroll"), "controls", False),
        (Element("k", "label", "Ready"), "controls", True),
        (Element("k", "label", value="Ready"), "controls", True),
        (Element("k", "label"), "controls", False),
        (Element("k", "group"), "controls", False),
        (Element("k", "section", value="Text"), "controls", False),
        (Element("k", "section", value="Text"), "content", True),
        (Element("k", "application", "gedit"), "controls", False),
        (Element("k", "img", "Logo"), "controls", True),
        (Element("k", "img"), "controls", False),
        (Element("k", "button", "Save", states=states("hidden")), "controls", False),
    ],
)
def test_which_elements_a_view_shows(
    element: Element, view: str, shown: bool, snapshot_of: Callable[..., Snapshot]
) -> None:
    unnamed = Element("u", "button")
    assert (element in visible(snapshot_of(unnamed, element), view)) is shown


def test_of_a_sheet_only_the_filled_cells_are_shown_and_the_rest_is_named_by_address(
    told: Callable[..., str], snapshot_of: Callable[..., Snapshot]
) -> None:
    sheet = Element("list", "table", "Sheet1", more=1_000)
    cells = (
        Element("0", "cell", "A1", parent="list"),
        Element("1", "cell", "B1", "7", parent="list"),
        Element("2", "cell", "C1", parent="list", states=states("focused")),
    )
    assert told((sheet, *cells)).split("\n") == [
        '[17] table "Sheet1"',
        "  cut: 1000 more under [17]; cells are named by address, such as B2",
        '  [99] cell "B1" = "7"',
        '  [99] cell "C1" focused',
    ]
    assert visible(snapshot_of(replace(sheet, more=0), *cells), "controls") == [replace(sheet, more=0), *cells]
    assert visible(snapshot_of(cells[0]), "controls") == [cells[0]]


def test_a_label_that_repeats_what_it_is_in_is_left_away(snapshot_of: Callable[..., Snapshot]) -> None:
    heading, group = Element("h", "heading", "News"), Element("g", "group", "News")
    for above, shown in ((heading, 1), (group, 2)):
        label = Element("l", "label", "News", parent=above.key)
        assert len(visible(snapshot_of(above, label), "content")) == shown


def test_a_dialog_is_told_once(snapshot_of: Callable[..., Snapshot]) -> None:
    top, inner = Element("d", "dialog", "Sure?"), Element("i", "alert", "Really", parent="d")
    assert visible(snapshot_of(top, inner), "controls") == [inner]


def test_an_open_menu_shows_its_items(snapshot_of: Callable[..., Snapshot]) -> None:
    menu, item = Element("m", "menu", "File"), Element("i", "menuitem", "Save", parent="m")
    assert visible(snapshot_of(menu, item), "controls") == [menu, item]
    line = Element("s", "separator", "-", parent="m")
    assert visible(snapshot_of(menu, replace(item, states=states("hidden")), line), "controls") == [menu]
    shut = replace(menu, states=states("hidden"))
    assert visible(snapshot_of(shut, replace(item, states=states("hidden"))), "controls") == [shut]


def test_outcomes_are_told_a_line_a_step() -> None:
    outcomes = [
        Outcome(Mark.CONFIRMED, 'set [13] textbox "Name" to "Ada"', "", "atspi.text", 8.4),
        Outcome(Mark.ALREADY, 'check [14] checkbox "Subscribe"', "checked true already", ms=2),
        Outcome(Mark.UNVERIFIED, 'click [12] button "Save"', "sent", "atspi.action", 362, passed_over=("x: no",)),
        Outcome(Mark.FAILED, 'click "Delete"', "2 match", ms=1, reason="ambiguous", next='look("s1.2")'),
        Outcome(Mark.NOT_EXECUTED, "click"),
    ]
    assert outcomes_text(outcomes).split("\n") == [
        '1 ✓ set [13] textbox "Name" to "Ada"  atspi.text 8 ms',
        '2 = check [14] checkbox "Subscribe": checked true already  2 ms',
        '3 ~ click [12] button "Save": sent  atspi.action 362 ms',
        "    passed over: x: no",
        '4 ✗ click "Delete": 2 match  (ambiguous)  1 ms',
        '    next: look("s1.2")',
        "5 - not executed: click",
        "1 ✓ · 1 = · 1 ~ · 1 ✗ of 5",
    ]
