"""Widgets that mislead whoever acts on them: none may be told as done that was not, and nothing else may be hit."""

from __future__ import annotations

import asyncio
import re
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from desktop.support import App, Place, Step

pytestmark = pytest.mark.anyio

KINDS = ("gtk3", "qt5", "page")
NOTHING: Step = {"do": "click", "target": "Nothing"}


@pytest.fixture(params=KINDS)
async def app(place: Place, request: pytest.FixtureRequest) -> App:
    return await place.app(str(request.param), "--set", "hostile")


@pytest.fixture(params=KINDS)
async def normal(place: Place, request: pytest.FixtureRequest) -> App:
    return await place.app(str(request.param))


@pytest.fixture(params=KINDS)
async def fresh(place: Place, request: pytest.FixtureRequest) -> AsyncIterator[App]:
    """A hostile window of its own, which has never been looked at."""
    app = await place.open(str(request.param), "--set", "hostile")
    yield app
    await place.close(app)


async def eventually(read: Callable[[], Awaitable[Any]], holds: Callable[[Any], bool]) -> None:
    """Read until it holds."""
    end = time.monotonic() + 5
    while not holds(now := await read()):
        assert time.monotonic() < end, now


def rows(outline: str) -> list[str]:
    return re.findall(r'"(Ant|Bee|Cat|Dog|Eel|Fox)"', outline)


def reordered(order: list[str], outline: str) -> bool:
    return rows(outline) != order


async def clicks(app: App, widget: str, after: int) -> list[Any]:
    return [one.value for one in await app.saw(after) if (one.widget, one.event) == (widget, "clicked")]


async def test_nothing_is_unverified_in_a_window_never_looked_at(fresh: App) -> None:
    answer = await fresh.act(NOTHING, NOTHING, NOTHING)
    assert answer.marks == "~~~", answer.text
    assert len(await clicks(fresh, "nothing", 0)) == 3


@pytest.mark.parametrize("via", ["atspi.action", "xtest.pointer"])
async def test_nothing_is_unverified_in_a_batch(app: App, via: str) -> None:
    mark = app.log.mark()
    answer = await app.act(*[{**NOTHING, "via": via, "settle": 200}] * 4)
    assert answer.marks == "~~~~", answer.text
    assert len(await clicks(app, "nothing", mark)) == 4


async def test_nothing_is_unverified_at_any_moment_of_the_clock(app: App) -> None:
    answers = []
    for turn in range(10):
        if turn % 3 == 0:
            await app.look()
        answers.append(await app.act({**NOTHING, "settle": 250}))
        # The clock ticks once a second: the clicks fall on all its phases.
        await asyncio.sleep(0.07 * (turn % 4))
    assert "".join(one.marks for one in answers) == "~" * 10, "\n".join(one.text for one in answers)


async def test_nothing_is_unverified_after_a_wait(app: App) -> None:
    answer = await app.act({"do": "wait", "seconds": 1.3}, NOTHING, {"do": "wait", "seconds": 0.6}, NOTHING)
    assert answer.marks == "✓~✓~", answer.text


@pytest.mark.parametrize("do", ["check", "click", "toggle"])
async def test_what_reverts_itself_is_not_confirmed(app: App, do: str) -> None:
    mark = app.log.mark()
    answer = await app.act({"do": do, "target": "Stubborn"}, NOTHING)
    # Where it was not seen in the short time that it was checked, nothing is known of it.
    assert answer.marks in {"✗-", "~~"}, answer.text
    if answer.marks == "✗-":
        assert answer.reason in {"rejected", "no_effect"}
        assert "nothing" not in {one.widget for one in await app.saw(mark)}


async def test_what_reverts_itself_is_not_confirmed_with_a_check(app: App) -> None:
    answer = await app.act({"do": "click", "target": "Stubborn", "check": {"checked": True}, "timeout": 1})
    assert answer.marks in {"✗", "~"}, answer.text


async def test_a_twin_is_another(app: App) -> None:
    ref = await app.ref('button "Twin"')
    await app.poke("twin")
    if app.kind == "page":  # a browser tells of it a little later
        await eventually(lambda: app.ref('button "Twin"'), lambda now: now != ref)
    mark = app.log.mark()
    answer = await app.act({"do": "click", "target": ref})
    assert answer.marks == "✗", answer.text
    assert answer.reason == "stale"
    assert not await clicks(app, "twin", mark)
    answer = await app.act({"do": "click", "target": "Twin"})
    assert answer.marks == "~", answer.text
    assert len(await clicks(app, "twin", mark)) == 1
    assert await app.ref('button "Twin"') > ref


async def test_a_renamed_button_is_another(fresh: App) -> None:
    ref = await fresh.ref('button "Before"')
    await fresh.poke("rename")
    if fresh.kind == "page":
        await fresh.act({"do": "wait", "text": "After"})
    mark = fresh.log.mark()
    answer = await fresh.act({"do": "click", "target": ref})
    assert answer.marks == "✗", answer.text
    assert answer.reason in {"identity_changed", "stale"}
    assert not await fresh.saw(mark)


async def test_resorted_rows_are_not_mistaken(app: App) -> None:
    for name in ("Bee", "Eel", "Ant"):
        ref = int(re.findall(rf'\[(\d+)\] \w+ "{name}"', await app.look(find=name))[-1])
        order = rows(await app.look())
        await app.poke("sort")
        if app.kind == "page":
            await eventually(app.look, partial(reordered, order))
        mark = app.log.mark()
        answer = await app.act({"do": "select", "target": ref})
        chosen = [one.value for one in await app.saw(mark) if one.event == "selected" and one.value]
        if answer.marks == "✗":
            assert answer.reason in {"identity_changed", "stale"}, answer.text
            assert not chosen, answer.text
        else:
            assert chosen in ([name], []), answer.text
        by_name = await app.act({"do": "select", "target": name})
        assert by_name.marks in {"✓", "="}, by_name.text
        assert app.log.last("sorted", "selected").value == name  # type: ignore[union-attr]


async def test_the_first_action_is_not_just_taken(place: Place) -> None:
    app = await place.app("gtk3", "--set", "hostile")
    for do in ("click", "invoke"):
        answer = await app.act({"do": do, "target": "Fragile"})
        assert answer.marks == "~", answer.text
    await app.act({"do": "select", "target": "Fragile"}), await app.act({"do": "toggle", "target": "Fragile"})
    assert "destroyed" not in {one.event for one in await app.saw(0)}


async def test_a_modal_dialog_is_told_and_covers_its_window(app: App) -> None:
    answer = await app.act({"do": "click", "target": "Modal"})
    assert answer.marks == "✓", answer.text
    assert "dialog" in answer.text
    mark = app.log.mark()
    refused = await app.act(NOTHING)
    assert refused.marks == "✗", refused.text
    assert not await app.saw(mark)
    if app.kind == "page":  # its dialog is part of the page
        answer = await app.act({"do": "set", "target": "Reason", "value": "tired"}, {"do": "click", "target": "OK"})
    else:
        assert refused.reason == "covered_by_dialog"
        (dialog,) = re.findall(r'dialog (s\d+\.\d+) "Reason"', refused.text)
        assert f"in front of it: dialog {dialog}" in await app.look()
        answer = await app.on(dialog).act(
            {"do": "set", "target": "Reason", "value": "tired"}, {"do": "click", "target": "OK"}
        )
    assert answer.marks == "✓✓", answer.text
    assert ("dialog", "closed", "OK") in [(one.widget, one.event, one.value) for one in await app.saw(mark)]
    answer = await app.act(NOTHING)
    assert answer.marks == "~", answer.text


async def test_a_slow_effect(fresh: App) -> None:
    answer = await fresh.act({"do": "click", "target": "Slow", "expect": "Done", "timeout": 4})
    assert answer.marks == "✓", answer.text
    assert fresh.log.last("slow", "done") is not None


async def test_a_slow_effect_is_unverified_at_first(fresh: App) -> None:
    await fresh.look()
    answer = await fresh.act({"do": "click", "target": "Slow"})
    assert answer.marks == "~", answer.text
    assert answer.seconds < 2  # the effect takes that long
    answer = await fresh.act({"do": "wait", "text": "Done", "timeout": 4})
    assert answer.marks == "✓", answer.text


@pytest.mark.parametrize(
    ("step", "shows"),
    [
        ({"do": "set", "target": "Picky", "value": "abc"}, ""),
        ({"do": "set", "target": "Shout", "value": "abc"}, "ABC"),
        ({"do": "set", "target": "Short", "value": "abcdefgh"}, "abcde"),
        ({"do": "type", "target": "Picky", "text": "xyz"}, ""),
    ],
    ids=["refused", "changed", "cut", "typed and refused"],
)
async def test_input_that_is_not_taken_is_rejected_with_what_is_shown(app: App, step: Step, shows: str) -> None:
    await app.act({"do": "clear", "target": step["target"]})
    answer = await app.act(step)
    assert answer.marks == "✗", answer.text
    assert answer.reason == "rejected"
    assert f'it shows "{shows}"' in answer.text


async def test_good_input_is_taken(app: App) -> None:
    await app.act(*({"do": "clear", "target": name} for name in ("Picky", "Shout", "Short")))
    answer = await app.act(
        {"do": "set", "target": "Picky", "value": "12"},
        {"do": "set", "target": "Shout", "value": "ABC"},
        {"do": "set", "target": "Short", "value": "abc"},
    )
    assert answer.marks == "✓✓✓", answer.text


async def test_a_forged_name_makes_no_line(app: App) -> None:
    text = await app.look()
    (line,) = [line for line in text.splitlines() if "desrever" in line]
    assert re.match(r'\s*\[\d+\] (label|text) "\[12\] button \\"OK\\"\\n1 ✓ click \\u202e', line), line
    assert not re.search(r'^\s*\[12\] button "OK"|^1 ✓ click', text, re.MULTILINE)
    assert text.isprintable() or not re.search(r"[\u202a-\u202e\u2066-\u2069\u2028\x07\x1b]", text)


async def test_disabled_is_refused(normal: App) -> None:
    mark = normal.log.mark()
    answer = await normal.act({"do": "click", "target": "Locked"}, {"do": "click", "target": "Save"})
    assert answer.marks == "✗-", answer.text
    assert answer.reason == "disabled"
    assert not await normal.saw(mark)


async def test_two_of_a_name_are_told_apart_by_their_rows(normal: App) -> None:
    mark = normal.log.mark()
    answer = await normal.act({"do": "click", "target": "Delete"})
    assert answer.marks == "✗", answer.text
    assert answer.reason == "ambiguous"
    assert not await normal.saw(mark)
    told = dict(re.findall(r'\[(\d+)\] button in \S+ "(Ada|Bob)"', answer.text))
    assert sorted(told.values()) == ["Ada", "Bob"], answer.text
    for ref, name in told.items():
        mark = normal.log.mark()
        await normal.act({"do": "click", "target": int(ref)})
        assert await clicks(normal, "delete", mark) == [name]


async def test_a_ref_of_another_window_is_refused(place: Place, app: App) -> None:
    other = await place.app("qt6")
    ref = await other.ref('button "Save"')
    marks = app.log.mark(), other.log.mark()
    answer = await app.act({"do": "click", "target": ref})
    assert answer.marks == "✗", answer.text
    assert not await app.saw(marks[0])
    assert not await other.saw(marks[1])


async def test_a_window_that_was_replaced_is_refused(place: Place) -> None:
    first = await place.open("gtk3")
    ref = await first.ref('button "Save"')
    await place.close(first)
    second = await place.open("gtk3", "--title", first.title)
    assert second.window != first.window
    with pytest.raises(Exception, match="gone"):
        await first.act({"do": "click", "target": ref})
    answer = await second.act({"do": "click", "target": ref})
    assert answer.marks == "✗", answer.text
    assert not await second.saw(0) or {one.event for one in await second.saw(0)} == {"ready"}
    await place.close(second)


async def test_a_password_is_neither_shown_nor_typed(normal: App) -> None:
    mark = normal.log.mark()
    for step in ({"do": "set", "value": "hunter2"}, {"do": "type", "text": "hunter2"}, {"do": "clear"}):
        answer = await normal.act({"target": "Password", **step})
        assert answer.marks == "✗", answer.text
        assert answer.reason == "secret_field"
        assert "hunter2" not in answer.text
    answer = await normal.act({"do": "focus", "target": "Password"}, {"do": "type", "text": "hunter2"})
    assert answer.marks == "✓✗", answer.text
    answer = await normal.act({"do": "key", "target": "Password", "keys": "x"})
    assert answer.marks == "✗", answer.text
    assert "password" not in {one.widget for one in await normal.saw(mark)}
    assert '"hunter2"' not in await normal.look(view="raw")
