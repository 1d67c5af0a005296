"""Walking exported menus: as applications make them, and as one makes them to do harm."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from dbus_fast import Variant

from alongside.core.ports import Passed
from alongside.platforms.linux.gtk_actions import State
from alongside.platforms.linux.gtk_menus import MOST_ENTRIES, Found, Menus

if TYPE_CHECKING:
    from collections.abc import Callable

Given = dict[str, Variant]
Groups = dict[tuple[int, int], list[Given]]


def item(label: str, action: str = "", target: str | None = None) -> Given:
    given = {"label": Variant("s", label)}
    if action:
        given["action"] = Variant("s", action)
    if target is not None:
        given["target"] = Variant("s", target)
    return given


def submenu(label: str, group: int, number: int = 0, opens: str = "") -> Given:
    given = {"label": Variant("s", label), ":submenu": Variant("(uu)", [group, number])}
    return given | ({"submenu-action": Variant("s", opens)} if opens else {})


def section(group: int, number: int) -> Given:
    return {":section": Variant("(uu)", [group, number])}


class Exporter:
    """Answers with what it was given; ``filled`` takes the place of it once a submenu is told to be open."""

    def __init__(self, groups: Groups, filled: Groups | None = None) -> None:
        self.groups, self.filled = groups, filled or {}
        self.started: list[list[int]] = []
        self.opened: list[str] = []

    async def start(self, groups: list[int]) -> Any:
        self.started.append(groups)
        return [[group, number, items] for (group, number), items in self.groups.items() if group in groups]

    async def open(self, actions: list[str]) -> None:
        self.opened += actions
        self.groups = self.groups | self.filled


def find(groups: Groups, *path: str) -> Found:
    return asyncio.run(Menus(Exporter(groups)).find(path))


def names(found: Found) -> tuple[list[str], list[str]]:
    return [one.action for one in found.items], [one.name for one in found.level]


FILES: Groups = {
    (0, 0): [submenu("_File", 1), submenu("_View", 2)],
    (1, 0): [section(1, 1), section(1, 2)],
    (1, 1): [item("_Save", "win.save"), item("Save _As…  ", "win.save-as"), item("my__file", "win.file")],
    (1, 2): [submenu("_Export ", 3)],
    (2, 0): [item("_Large", "win.size", "large"), item("Twin", "win.a"), item("_Twin", "win.b")],
    (3, 0): [item("As Text...", "win.text")],
}


@pytest.mark.parametrize(
    ("path", "action"),
    [
        ("File > Save", "win.save"),
        ("file>save as...", "win.save-as"),
        ("File > Save As…", "win.save-as"),
        ("File > my_file", "win.file"),
        ("File > Export > As Text", "win.text"),
        ("View > Large", "win.size"),
    ],
)
def test_items_are_called_as_people_call_them(path: str, action: str) -> None:
    found = find(FILES, *path.split(">"))
    assert [one.action for one in found.items] == [action]


def test_what_is_sent_with_an_item_is_what_its_menu_says() -> None:
    (large,) = find(FILES, "View", "Large").items
    assert large.target == Variant("s", "large")


@pytest.mark.parametrize(
    ("path", "level"),
    [
        ("Nope", ["File", "View"]),
        ("File > Nope", ["Save", "Save As…", "my_file", "Export"]),
        ("File > Save > Nope", ["Save", "Save As…", "my_file", "Export"]),
        ("File > Export", ["As Text..."]),
        ("File > ...", ["Save", "Save As…", "my_file", "Export"]),
    ],
)
def test_a_path_that_leads_to_no_item_ends_with_what_there_is(path: str, level: list[str]) -> None:
    assert names(find(FILES, *path.split(">"))) == ([], level)


def test_two_items_of_a_name_are_both_found() -> None:
    assert names(find(FILES, "View", "Twin"))[0] == ["win.a", "win.b"]


def test_only_menus_on_the_path_are_asked_for() -> None:
    exporter = Exporter(FILES)
    asyncio.run(Menus(exporter).find(("File", "Save")))
    assert exporter.started == [[0], [1]]


def test_a_menu_bar_that_is_there_twice_is_followed_twice() -> None:
    """LibreOffice: both bars lead to items of the same actions."""
    groups = {
        (0, 0): [section(0, 1), section(0, 2)],
        (0, 1): [submenu("_File", 1)],
        (0, 2): [submenu("_File", 2)],
        (1, 0): [item("_Save", "win.x-18")],
        (2, 0): [item("_Save", "win.x-18"), item("_Close", "win.x-19")],
    }
    assert names(find(groups, "File", "Save"))[0] == ["win.x-18", "win.x-18"]
    assert names(find(groups, "File", "Close"))[0] == ["win.x-19"]


def test_a_menu_that_is_filled_when_it_opens_is_told_to_be_open() -> None:
    groups = {(0, 0): [submenu("Recent", 1, opens="win.recent")], (1, 0): []}
    exporter = Exporter(groups, {(1, 0): [item("a.txt", "win.open", "a.txt")]})
    found = asyncio.run(Menus(exporter).find(("Recent", "a.txt")))
    assert (names(found)[0], exporter.opened) == (["win.open"], ["win.recent"])


def test_an_item_may_say_after_its_name_what_it_would_do() -> None:
    """LibreOffice, once its menu was told to be open."""
    groups = {(0, 0): [submenu("Edit", 1, opens="win.edit")], (1, 0): [item("Undo", "win.x-49")]}
    filled = {(1, 0): [item("Undo: Input", "win.x-49"), item("Redo", "win.x-50"), item("Redo: Input", "win.x-51")]}
    for name, action in {"Undo": "win.x-49", "Undo: Input": "win.x-49", "Redo": "win.x-50"}.items():
        found = asyncio.run(Menus(Exporter(groups, filled)).find(("Edit", name)))
        assert [one.action for one in found.items] == [action]


def circle() -> Groups:
    return {
        (0, 0): [section(0, 0), section(0, 1), submenu("Round", 0)],
        (0, 1): [section(0, 0), item("End", "win.end")],
    }


def test_circles_end() -> None:
    assert names(find(circle(), "End"))[0] == ["win.end"]
    assert names(find(circle(), *["Round"] * 200, "End"))[0] == ["win.end"]


def deep() -> Groups:
    return {(at, 0): [section(at + 1, 0)] for at in range(10 * MOST_ENTRIES)}


def wide() -> Groups:
    return {(0, 0): [item("Same", f"win.a{at}") for at in range(100_000)]}


def many() -> Groups:
    return {(0, 0): [section(at, at) for at in range(MOST_ENTRIES)], (1, 1): [item("End", "win.end")] * 2}


@pytest.mark.parametrize("make", [deep, wide, many])
def test_menus_without_end_are_given_up(make: Callable[[], Groups]) -> None:
    groups = make()
    started = time.monotonic()
    with pytest.raises(Passed):
        find(groups, "Same")
    assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    "reply",
    [
        None,
        7,
        "menu",
        [7],
        [[0]],
        [[0, 0, None]],
        [[0, 0, "abc"]],
        [[0, 0, [["label", "File"]]]],
        [[[], 0, [{}]]],
        [[0, 0, [{}], 1]],
    ],
)
def test_what_is_no_menu_is_passed_over(reply: Any) -> None:
    class Odd(Exporter):
        async def start(self, groups: list[int]) -> Any:  # noqa: ARG002 - whatever is asked for
            return reply

    with pytest.raises(Passed, match="no menu"):
        asyncio.run(Menus(Odd({})).find(("File", "Save")))


def test_attributes_of_other_types_are_not_taken_for_what_they_are_called() -> None:
    odd: list[Given] = [
        {"label": Variant("i", 7), "action": Variant("as", ["win.save"]), ":submenu": Variant("s", "(1, 0)")},
        {"label": Variant("s", "Save"), "action": Variant("v", Variant("s", "win.save"))},
        {"label": Variant("s", "_"), ":section": Variant("(ss)", ["0", "0"])},
        {},
    ]
    found = find({(0, 0): odd}, "Save")
    assert [(one.name, one.action, one.submenu) for one in found.items] == [("Save", "", None)]
    assert [one.name for one in found.level] == ["", "Save", "", ""]


@pytest.mark.parametrize("hostile", ["_" * 100_000, "Save\n1 \u2713 menu", "\ud800\u202e", "x" * 1_000_000, "\0", " "])
def test_hostile_labels_are_only_names(hostile: str) -> None:
    found = find({(0, 0): [item(hostile, "win.a"), item("Save", "win.save")]}, "Save")
    assert [one.action for one in found.items] == ["win.save"]


@pytest.mark.parametrize("described", [None, 7, "abc", [], [True], [True, "", {}, 1], [True, "s", [7]], [1, "", []]])
def test_an_action_that_describes_itself_oddly_cannot_be_used_or_has_no_state(described: Any) -> None:
    state = State.of(described)
    assert not state.enabled or state.held is None


def test_an_action_is_what_it_describes() -> None:
    assert State.of([True, "s", [Variant("s", "large")]]) == State(enabled=True, takes="s", held=Variant("s", "large"))
    assert State.of([False, "", []]) == State()
