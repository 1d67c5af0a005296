"""What stands in a password field is the person's: no step changes it, and nothing we say or keep holds it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from desktop.support import step

from alongside.core.errors import AlongsideError
from alongside.server.person.journal import kept_step

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from desktop.support import App, Place

pytestmark = pytest.mark.anyio

THEIRS, OURS = "Tr0ub4dor", "hunter2"
VIEWS = ("controls", "content", "raw")
KINDS = ("gtk3", "qt5", "qt6", "page")


@pytest.fixture(scope="module", params=KINDS)
async def app(place: Place, request: pytest.FixtureRequest) -> AsyncIterator[App]:
    """A window in which the person has typed a password, with its field in focus."""
    app = await place.open(str(request.param))
    looked = await app.look(find="Password")
    found = re.search(r'\[(\d+)\] textbox "Password" \(secret\)', looked)
    assert found, looked
    answer = await app.act(step("click", int(found[1]), via="xtest.pointer"))
    assert "✗" not in answer.marks, answer.text
    mark = app.log.mark()
    await place.run("xdotool", "type", THEIRS)
    await app.log.wait_for("password", "text", THEIRS, after=mark)
    yield app
    await place.close(app)


WRITING: tuple[dict[str, Any], ...] = (
    *(step("set", "Password", value=OURS, via=via) for via in (None, "atspi.text", "xtest.keys")),
    *(step("type", "Password", text=OURS, via=via) for via in (None, "atspi.text", "xtest.keys")),
    step("type", text=OURS),
    step("type", text=OURS, via="xtest.keys"),
    step("type", "Name", text=f"{OURS}\t{OURS}\t{OURS}"),
    step("type", "Name", text=f"{OURS}\n{OURS}"),
    *(step("clear", "Password", via=via) for via in (None, "atspi.text", "xtest.keys")),
    *(
        step("key", target, keys=keys)
        for keys in ("x", "X", "shift+x", "at", "exclam", "space", "ctrl+v", "shift+insert", "BackSpace", "delete")
        for target in (None, "Password")
    ),
    *(step("key", keys=keys) for keys in ("ctrl+shift+u", "ctrl+x", "ctrl+z", "+", "eacute", "kp_1", "ctrl+a")),
    step("click", "Password", button="middle"),
    step("click", "Password", button="middle", via="xtest.pointer"),
    step("drag", "Token", to="Password"),
)


@pytest.mark.parametrize("wanted", WRITING, ids=lambda one: " ".join(map(str, one.values())).replace("\n", "\\n"))
async def test_it_is_not_written_to(app: App, wanted: dict[str, Any]) -> None:
    wanted = {name: value for name, value in wanted.items() if value is not None}
    mark = app.log.mark()
    answer = await app.act(wanted)
    assert (answer.marks, answer.reason) == ("✗", "secret_field"), answer.text
    assert OURS not in json.dumps(answer.outcomes)
    assert THEIRS not in json.dumps(answer.outcomes)
    assert [one for one in await app.saw(mark) if one.event == "text"] == []


async def test_it_is_not_written_to_at_a_point_of_an_image(place: Place, app: App) -> None:
    x, y = await middle(place, app, "Password")
    await app.look(image="high")
    for one in (step("type", [x, y], text=OURS), step("key", [x, y], keys="x"), step("click", [x, y], button="middle")):
        mark = app.log.mark()
        answer = await app.act(one)
        assert (answer.marks, answer.reason) == ("✗", "secret_field"), answer.text
        assert OURS not in json.dumps(answer.outcomes)
        assert [event for event in await app.saw(mark) if event.event == "text"] == []


async def middle(place: Place, app: App, name: str) -> list[int]:
    """Where an element is clicked, in its window."""
    answer = await app.act(step("click", name, via="xtest.pointer"))
    assert "✗" not in answer.marks, answer.text
    pointer = await place.run("xdotool", "getmouselocation", "--shell")
    window = await place.run("xwininfo", "-name", app.title)
    x, y = (int(one) for one in re.findall(r"^[XY]=(\d+)$", pointer, re.MULTILINE))
    left, top = (int(one) for one in re.findall(r"Absolute upper-left [XY]: +(-?\d+)", window))
    return [x - left, y - top]


async def test_nothing_holds_it(app: App) -> None:
    # What is asked for is a part of it: what is told then is not what was asked.
    told = [await app.look(view=view, **find) for view in VIEWS for find in ({}, {"find": THEIRS[1:]})]
    for one in (
        step("wait", text=THEIRS[:-1], timeout=0.2),
        step("click", "Password", expect=THEIRS[1:], timeout=0.2),
        step("wait", "Password", check={"contains": THEIRS[1:]}, timeout=0.2),
        step("click", "Password", check={"contains": THEIRS[1:]}, timeout=0.2),
        step("wait", "Password", check={"value": THEIRS[1:]}, timeout=0.2),
        step("hover", "Password"),
    ):
        answer = await app.act(one)
        told += [answer.text, json.dumps([kept_step(one, outcome) for outcome in answer.outcomes])]
        assert "✓" not in answer.marks or one["do"] == "hover", answer.text
    answer = await app.act(step("wait", "Password", check={"value": THEIRS}, timeout=0.2))
    assert answer.marks == "✗", answer.text
    answer = await app.act(step("key", keys="End"), step("key", keys="Tab"), step("key", keys="shift+Tab"))
    assert "secret_field" not in answer.text
    told.append(answer.text)
    assert not any(THEIRS in one for one in told)


async def test_other_fields_are_typed_into_as_ever(app: App) -> None:
    answer = await app.act(step("type", "Name", text="Ada"), step("key", "Name", keys="x"))
    assert answer.marks in {"✓✓", "✓~"}, answer.text
    for wanted in (step("type", "Notes", text="one\ntwo"), step("type", "Name", text="B\n")):
        answer = await app.act(wanted)
        assert answer.marks in {"✓", "~"}, answer.text


async def test_errors_hold_no_text(app: App) -> None:
    with pytest.raises(AlongsideError) as wrong:
        await app.act(step("type", "Password", text=OURS, unknown=1))
    assert OURS not in str(wrong.value)
