"""The agent's pointer and keyboard never press what was not meant: judged by the applications' own logs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from desktop.support import DEADLINE_S, PROGRAMS, step

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from desktop.support import App, Place

pytestmark = pytest.mark.anyio

BINDINGS = ("PyQt5", "PyQt6")
POINTER = "xtest.pointer"
PROGRAMS.update({f"traps {binding}": ("traps.py", "--binding", binding) for binding in BINDINGS})


@pytest.fixture(params=BINDINGS)
async def traps(place: Place, request: pytest.FixtureRequest) -> AsyncIterator[App]:
    app = await place.open(f"traps {request.param}")
    yield app
    await place.close(app)


async def seen(app: App, after: int) -> list[tuple[str, str, Any]]:
    return [(one.widget, one.event, one.value) for one in await app.saw(after)]


async def listed(app: App) -> list[dict[str, Any]]:
    windows: list[dict[str, Any]] = (await app.place.call("windows"))["windows"]
    return windows


@pytest.mark.parametrize("do", ["click", "double_click", "right_click"])
async def test_what_an_open_list_covers_is_not_pressed_through_it(traps: App, do: str) -> None:
    refs = {name: await traps.ref(f'button "{name}"') for name in ("Pay", "Delete", "Save")}
    for name, ref in refs.items():
        await traps.act(step("click", "combobox:Colour", via=POINTER))
        mark = traps.log.mark()
        answer = await traps.act(step(do, ref, via=POINTER))
        assert answer.marks == "✗", answer.text
        assert "menu or list" in answer.text, answer.text
        assert await seen(traps, mark) == []
        await traps.act(step("key", keys="Escape"))
        mark = traps.log.mark()
        answer = await traps.act(step("click", ref, via=POINTER))
        assert await seen(traps, mark) == [(name.lower(), "clicked", None)], answer.text


async def test_a_click_under_an_open_list_takes_another_way(traps: App) -> None:
    await traps.act(step("click", "combobox:Colour", via=POINTER))
    mark = traps.log.mark()
    answer = await traps.act(step("click", "button:Pay"))
    assert answer.outcomes[0]["technique"] == "atspi.action", answer.text
    assert await seen(traps, mark) == [("pay", "clicked", None)], answer.text


async def test_what_an_open_menu_covers_is_not_pressed_through_it(place: Place) -> None:
    app = await place.open("gtk3")
    await app.look()
    opened = await app.act(step("click", "menu:File", via=POINTER))
    assert "opened" in opened.text, opened.text
    mark = app.log.mark()
    answer = await app.act(step("click", "button:Save", via=POINTER))
    assert answer.marks == "✗", answer.text
    assert await seen(app, mark) == []
    await app.act(step("key", keys="Escape"))
    await place.close(app)


async def test_what_lies_in_an_open_list_is_pressed(traps: App) -> None:
    await traps.act(step("click", "combobox:Colour", via=POINTER))
    await traps.look()
    mark = traps.log.mark()
    answer = await traps.act(step("click", "Colour 3", via=POINTER))
    assert await seen(traps, mark) == [("colour", "selected", [2, "Colour 3"])], answer.text


async def test_a_button_that_moves_is_pressed_where_it_is(traps: App) -> None:
    await traps.look()
    mark = traps.log.mark()
    for _ in range(10):
        # Between two steps: one that changes places in the middle of a press is pressed by whoever clicks.
        await traps.poke("swap")
        await traps.act(step("click", "button:Keep", via=POINTER, settle=0))
    pressed = [one for one in await seen(traps, mark) if one[0] != "window"]
    assert pressed == [("keep", "clicked", None)] * 10


async def test_a_window_that_moved_is_pressed_where_it_is(traps: App) -> None:
    await traps.look()
    await traps.poke("move")
    mark = traps.log.mark()
    answer = await traps.act(step("click", "button:Pay", via=POINTER))
    assert await seen(traps, mark) == [("pay", "clicked", None)], answer.text


@pytest.mark.parametrize(
    ("kind", "target"),
    [("gtk4", "button:Save"), ("gtk4", "checkbox:Subscribe"), ("page", "Subscribe"), ("qt5", "button:Save")],
)
async def test_a_key_or_the_focus_presses_nothing(place: Place, kind: str, target: str) -> None:
    app = await place.app(kind)
    await app.look()
    mark = app.log.mark()
    for one in (step("key", target, keys="F8"), step("focus", target)):
        answer = await app.act(one)
        assert "clicked" not in answer.text, answer.text
        if answer.marks == "✗":
            assert "focus" in answer.text, answer.text
    assert await seen(app, mark) == []


async def test_a_dialog_outlives_a_list_that_does_not_open(traps: App) -> None:
    await traps.poke("stuck")
    end = time.monotonic() + DEADLINE_S
    while not (ids := [str(one["id"]) for one in await listed(traps) if one["title"] == "Stuck dialog"]):
        assert time.monotonic() < end
    stuck = traps.on(ids[0])
    await stuck.look()
    mark = traps.log.mark()
    for via in ("xtest.choose", None):
        answer = await stuck.act(step("select", "combobox:Stuck", value="Three", **({"via": via} if via else {})))
        assert answer.marks == "✗", answer.text
    assert ("dialog", "closed", None) not in await seen(traps, mark)


@pytest.mark.parametrize("via", ["atspi.action", "xtest.choose", "atspi.selection", None])
async def test_an_exact_name_comes_first(traps: App, via: str | None) -> None:
    await traps.look()
    mark = traps.log.mark()
    answer = await traps.act(step("select", "combobox:Twins", value="ant", **({"via": via} if via else {})))
    chosen = await seen(traps, mark)
    assert chosen in ([], [("twins", "selected", [2, "ant"])]), answer.text
    assert (answer.marks == "✗") is (chosen == []), answer.text


async def test_two_options_of_a_name_are_ambiguous(traps: App) -> None:
    await traps.look()
    for via in ("xtest.choose", "atspi.selection"):
        mark = traps.log.mark()
        answer = await traps.act(step("select", "combobox:Twins", value="Bee", via=via))
        assert answer.marks == "✗", answer.text
        assert await seen(traps, mark) == []
        assert answer.reason in {"ambiguous", "background_unavailable"}, answer.text
    # A list that was opened is closed again.
    mark = traps.log.mark()
    await traps.act(step("click", "button:Pay", via=POINTER))
    assert await seen(traps, mark) == [("pay", "clicked", None)]


@pytest.mark.parametrize("given", ["nan", "Infinity", "-inf", "1_000", "٣", "0x10", "1e400"])
async def test_what_is_no_number_is_not_set_as_one(traps: App, given: str) -> None:
    await traps.look()
    mark = traps.log.mark()
    answer = await traps.act(step("set", "Volume", value=given, via="atspi.value"))
    assert answer.marks == "✗", answer.text
    assert await seen(traps, mark) == []


@pytest.mark.parametrize("do", ["check", "uncheck", "toggle", "select"])
async def test_a_button_is_not_checked_or_chosen(traps: App, do: str) -> None:
    await traps.look()
    mark = traps.log.mark()
    answer = await traps.act(step(do, "button:Pay"))
    assert answer.marks == "✗", answer.text
    assert await seen(traps, mark) == []


@pytest.mark.parametrize("kind", ["page", "qt5"])
async def test_what_was_scrolled_into_view_is_pressed_where_it_is(place: Place, kind: str) -> None:
    app = await place.app(kind)
    for number in (61, 140, 155, 17, 121, 4):
        mark = app.log.mark()
        answer = await app.act(step("select", f"Fruit {number}", via=POINTER))
        chosen = [one for one in await seen(app, mark) if one[1] == "selected" and one[2]]
        assert chosen == [("fruits", "selected", f"Fruit {number}")], answer.text


async def test_the_first_character_of_another_script_arrives(place: Place) -> None:
    app = await place.app("page")
    for _ in range(20):
        await app.act(step("set", "Name", value="Ada"))
        answer = await app.act(step("set", "Name", value="Ада 漢字"))
        assert answer.marks == "✓", answer.text
