"""What steps take: targets in every spelling, checks, expectations, routes, batches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from desktop.support import step

if TYPE_CHECKING:
    from desktop.support import Place

pytestmark = pytest.mark.anyio

TOOLKITS = ("gtk3", "qt5", "qt6", "page")


@pytest.mark.parametrize("kind", TOOLKITS)
async def test_a_ref_in_every_spelling(place: Place, kind: str) -> None:
    app = await place.app(kind)
    ref = await app.ref('button "Save"')
    for spelled in (ref, str(ref), f"[{ref}]", f"e{ref}", f"@e{ref}", f"ref:{ref}"):
        mark = app.log.mark()
        answer = await app.act(step("click", spelled))
        assert answer.marks == "✓", answer.text
        assert [one.widget for one in await app.saw(mark)] == ["save"]


@pytest.mark.parametrize("kind", TOOLKITS)
async def test_a_name_in_every_spelling(place: Place, kind: str) -> None:
    app = await place.app(kind)
    for spelled in ("Save", "save", "button:Save", 'button:"Save"', '"Save"', "name:Save", "Save..."):
        mark = app.log.mark()
        answer = await app.act(step("click", spelled))
        assert answer.marks == "✓", f"{spelled}: {answer.text}"
        assert [one.widget for one in await app.saw(mark)] == ["save"]


@pytest.mark.parametrize(
    ("kind", "cell", "chosen"), [("gtk3", "A5", ("prices", "Eggs")), ("page", "B3", ("prices", "Bread"))]
)
async def test_a_cell(place: Place, kind: str, cell: str, chosen: tuple[str, str]) -> None:
    app = await place.app(kind)
    mark = app.log.mark()
    answer = await app.act(step("click", f"cell:{cell}"))
    assert answer.marks in {"✓", "~"}, answer.text
    seen = [(one.widget, one.value) for one in await app.saw(mark) if one.event == "selected"]
    assert seen == [chosen], answer.text


@pytest.mark.parametrize("kind", TOOLKITS)
async def test_a_list_is_scrolled(place: Place, kind: str) -> None:
    app = await place.app(kind)
    await app.act(step("select", "Fruit 1"), step("scroll", "Fruit 3", direction="up", amount=50))
    mark = app.log.mark()
    answer = await app.act(step("scroll", "Fruit 3", amount=3))
    assert answer.marks == "✓", answer.text
    assert "scrolled" in {one.event for one in await app.saw(mark) if one.widget == "fruits"}
    await app.act(step("scroll", "Fruit 8", direction="up", amount=50))
    mark = app.log.mark()
    answer = await app.act(step("scroll", "Fruit 3", direction="up", amount=3))
    assert answer.marks == "~", answer.text
    assert not await app.saw(mark)


@pytest.mark.parametrize("kind", TOOLKITS)
async def test_what_is_expected_and_checked(place: Place, kind: str) -> None:
    app = await place.app(kind)
    saved = len(app.log.events("save", "clicked"))
    answer = await app.act(step("click", "Save", expect=f"Saved {saved + 1}"))
    assert answer.marks == "✓", answer.text
    assert "appeared" in answer.text
    await app.act(step("check", "Subscribe"))
    mark = app.log.mark()
    answer = await app.act(step("click", "Save", check={"target": "Subscribe", "checked": True}))
    assert answer.marks == "=", answer.text
    assert not await app.saw(mark)
    answer = await app.act(step("click", "Save", check={"target": "Subscribe", "checked": False}, timeout=0.3))
    assert answer.marks == "✗", answer.text
    assert [one.widget for one in await app.saw(mark)] == ["save"]
    answer = await app.act(step("click", "Subscribe", check={"checked": False}))
    assert answer.marks == "✓", answer.text
    last = app.log.last("subscribe", "toggled")
    assert last is not None
    assert last.value is False
    for name, exists, marks in (("Nonsense", False, "="), ("Nonsense", True, "✗"), ("Status", False, "=")):
        check = {"target": name, "exists": exists}
        answer = await app.act(step("click", "Save", check=check, timeout=0.3))
        assert answer.marks == marks, answer.text
    saved = len(app.log.events("save", "clicked"))
    answer = await app.act(step("click", "Save", check={"target": f"Saved {saved + 1}", "exists": True}))
    assert answer.marks == "✓", answer.text


@pytest.mark.parametrize("kind", TOOLKITS)
async def test_a_route_that_is_pinned_is_the_one_taken(place: Place, kind: str) -> None:
    app = await place.app(kind)
    for via in ("atspi.action", "xtest.pointer"):
        mark = app.log.mark()
        answer = await app.act(step("click", "Save", via=via))
        assert answer.outcomes[0]["technique"] == via
        assert answer.marks == "✓", answer.text
        assert [one.widget for one in await app.saw(mark)] == ["save"]
    answer = await app.act(step("set", "Name", value="x", via="atspi.value"))
    assert answer.marks == "✗", answer.text
    assert answer.reason == "background_unavailable"


@pytest.mark.parametrize("kind", TOOLKITS)
async def test_a_form_in_one_batch(place: Place, kind: str) -> None:
    app = await place.app(kind)
    await app.act(step("set", "Name", value="-"), step("set", "City", value="-"), step("uncheck", "Subscribe"))
    answer = await app.act(
        step("set", "Name", value="Ada"),
        step("set", "City", value="London"),
        step("check", "Subscribe"),
        step("check", "Large"),
        step("check", "Small"),
        step("expand", "Europe"),
        step("collapse", "Europe"),
        step("click", "Save"),
    )
    assert re.fullmatch("[✓=]+", answer.marks), answer.text
    for widget, value in (("name", "Ada"), ("city", "London"), ("subscribe", True), ("size", "Small")):
        assert [one.value for one in app.log.events(widget)][-1] == value
