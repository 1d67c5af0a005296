"""Applications that hang, die or change under us, and drivers that are killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from desktop.support import until

from alongside.core.errors import AlongsideError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from desktop.support import App, Place, Step

pytestmark = pytest.mark.anyio

KINDS = ("gtk3", "qt5", "page")
SAVE: Step = {"do": "click", "target": "Save"}
QUIET: Step = {"do": "click", "target": "button:Quiet"}
ROWS = 2000
HELD = """
import json, xcffib, xcffib.xproto
connection = xcffib.connect()
setup, keys = connection.get_setup(), connection.core.QueryKeymap().reply().keys
meanings = connection.core.GetKeyboardMapping(setup.min_keycode, setup.max_keycode - setup.min_keycode + 1).reply()
mask = connection.core.QueryPointer(setup.roots[0].root).reply().mask
borrowed = sum(keysym >> 24 == 1 for keysym in meanings.keysyms)
print(json.dumps({"keys": sum(keys), "buttons and modifiers": mask, "borrowed keys": borrowed}))
"""
RESIZE = """
import struct, sys, xcffib, xcffib.xproto as xp
connection = xcffib.connect()
core, root = connection.core, connection.get_setup().roots[0].root
atom = lambda name: core.InternAtom(False, len(name), name).reply().atom
listed = core.GetProperty(False, root, atom("_NET_CLIENT_LIST"), 0, 0, 100).reply().value.to_atoms()
for window in listed:
    title = core.GetProperty(False, window, atom("_NET_WM_NAME"), 0, 0, 100).reply().value.to_utf8()
    if title == sys.argv[1]:
        core.ConfigureWindow(window, xp.ConfigWindow.Width, [int(sys.argv[2])])
connection.flush()
core.GetInputFocus().reply()
"""


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def held(place: Place) -> dict[str, int]:
    found: dict[str, int] = json.loads(await place.run(sys.executable, "-c", HELD))
    return found


async def timed(call: Any) -> tuple[str, float]:
    """What a call answered, or its error, and how long it took."""
    started = time.monotonic()
    try:
        told = str(await call)
    except AlongsideError as error:
        told = error.reason
    return told, time.monotonic() - started


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stopped_application_is_told_in_time(place: Place, kind: str) -> None:
    app, other = await place.app(kind), await place.app("qt6")
    await app.look()
    await other.look()
    await other.act(SAVE)
    with stopped(await place.process(app)):
        for step in (SAVE, {"do": "set", "target": "Name", "value": str(time.monotonic())}):
            answer = await app.act({**step, "timeout": 1})
            assert answer.marks in {"✗", "~"}, answer.text
            assert answer.reason in {"app_hung", "timeout"}, answer.text
            assert answer.seconds < 2.5, answer.text
        told, seconds = await timed(app.look(timeout=1))
        assert told == "app_hung", told
        assert seconds < 2.5
        slow = asyncio.create_task(app.act({**SAVE, "timeout": 1}))
        for _ in range(3):
            look, seconds = await timed(other.look())
            assert "Save" in look
            assert seconds < 0.5
        await slow
        answer = await other.act(SAVE)
        assert answer.marks == "✓", answer.text
        assert answer.seconds < 0.5
    mark = app.log.mark()
    await app.settled()
    answer = await app.act({"do": "set", "target": "Name", "value": "awake"})
    assert answer.marks == "✓", answer.text
    await app.log.wait_for("name", "text", "awake", after=mark)


@pytest.mark.parametrize("kind", KINDS)
async def test_stopped_after_delivery_is_unverified(place: Place, kind: str) -> None:
    app = await place.app(kind)
    await app.act(QUIET)
    pid, mark = await place.process(app), app.log.mark()
    acting = asyncio.create_task(app.act({**QUIET, "settle": 1500}))
    await app.log.wait_for("quiet", "clicked", after=mark)
    with stopped(pid):
        answer = await acting
    assert answer.marks == "~", answer.text
    assert answer.seconds < 4
    await app.settled()
    assert len([one for one in app.log.events("quiet", "clicked")[-5:] if one in app.log.events()[mark:]]) == 1


@pytest.mark.parametrize(
    ("kind", "delay"), [("gtk3", 0.0), ("gtk3", 0.02), ("gtk3", 0.08), ("qt5", 0.05), ("page", 0.05)]
)
async def test_killed_while_it_is_read_it_is_gone(place: Place, kind: str, delay: float) -> None:
    app = await place.open(kind, "--set", "big", "--rows", str(ROWS))
    if kind == "page":
        await app.act({"do": "wait", "text": f"check {ROWS}", "timeout": 20})
    pid = await place.process(app)
    looking = asyncio.create_task(timed(app.look()))
    await asyncio.sleep(delay)  # the moments to try
    os.kill(pid, signal.SIGKILL)
    told, seconds = await looking
    whole = re.search(r" (\d+) elements", told)
    assert whole is None or int(whole[1]) >= ROWS, told[:300]
    if whole is None:
        assert told in {"app_gone", "not_found"}, told
    assert seconds < 8
    # The display may still have the window of a process that the system is ending.
    async with asyncio.timeout(3):
        while (told := (await timed(app.look()))[0]) != "not_found":
            assert told == "app_gone"


async def windows(place: Place) -> dict[str, str]:
    return {one["title"]: one["id"] for one in (await place.call("windows"))["windows"]}


def number(window: str) -> int:
    return int(window.partition(".")[2])


async def after_a_kill(place: Place, app: App, ref: int, before: dict[str, str], killed: int) -> None:
    await until(lambda: place.desktop.driver.pid not in {0, killed}, "a new driver")
    now = await windows(place)
    assert now.keys() == before.keys()
    for title, window in now.items():
        # The same window may keep its id; no other may get it.
        assert window == before[title] or number(window) > max(map(number, before.values())), (before, now)
    assert not any((await held(place)).values())
    again, mark = app.on(now[app.title]), app.log.mark()
    answer = await again.act({"do": "click", "target": ref})
    assert answer.marks == "✗", answer.text
    assert answer.reason in {"stale", "not_found"}
    assert not await app.saw(mark)
    assert await again.ref('button "Save"') > ref
    answer = await again.act({"do": "set", "target": "Name", "value": f"after {killed}"})
    assert answer.marks == "✓", answer.text


async def test_a_driver_killed_when_idle(place: Place) -> None:
    app = await place.open("gtk3")
    ref = await app.ref('button "Save"')
    before, inner = await windows(place), place.desktop.driver.pid
    os.kill(await place.host_pid(inner), signal.SIGKILL)
    await after_a_kill(place, app, ref, before, inner)
    place.forget()


@pytest.mark.parametrize(
    "step",
    [
        {"do": "drag", "target": "Token", "to": "Fruit 3", "modifiers": ["ctrl"]},
        {"do": "type", "target": "Notes", "text": "Жук " * 400, "via": "xtest.keys"},
        {"do": "scroll", "target": "Fruit 3", "amount": 100, "modifiers": ["shift"]},
    ],
    ids=["drag", "type", "scroll"],
)
async def test_a_driver_killed_in_a_batch(place: Place, step: Step) -> None:
    app = await place.open("gtk3")
    ref = await app.ref('button "Save"')
    before, inner = await windows(place), place.desktop.driver.pid
    pid = await place.host_pid(inner)
    acting = asyncio.create_task(timed(app.act(*[step] * 5, SAVE)))
    while not any((await held(place)).values()):
        assert not acting.done(), await acting
    os.kill(pid, signal.SIGKILL)
    told, _ = await acting
    assert told == "unavailable", told
    mark = app.log.mark()
    await after_a_kill(place, app, ref, before, inner)
    assert "save" not in {one.widget for one in app.log.events()[mark:]}
    place.forget()


@pytest.mark.parametrize("kind", ["gtk3", "qt5"])
async def test_an_application_that_ends_on_a_click(place: Place, kind: str) -> None:
    app = await place.open(kind, "--set", "hostile")
    await app.look()
    answer = await app.act({"do": "click", "target": "Quit"}, {"do": "click", "target": "Nothing"})
    assert answer.marks == "✓✗", answer.text
    assert "closed" in answer.text
    assert answer.seconds < 3


@pytest.mark.parametrize("kind", ["gtk3", "qt5"])
async def test_a_window_closed_between_look_and_act(place: Place, kind: str) -> None:
    app = await place.open(kind)
    await app.look()
    await place.close(app)
    told, seconds = await timed(app.act(SAVE))
    assert told == "not_found"
    assert seconds < 2


async def test_a_point_of_an_image_from_before_a_resize(place: Place) -> None:
    app = await place.open("gtk3")
    places = await place.places(app)
    # AT-SPI 2.53 and later says just "button".
    x, y, width, height = places.get(("Save", "push button")) or places["Save", "button"]
    assert await app.look(image="standard")
    ((left, top),) = re.findall(
        rf"^{re.escape(app.window)} .* at (-?\d+),(-?\d+)", (await place.call("windows"))["text"], re.MULTILINE
    )
    point = [x + width // 2 - int(left), y + height // 2 - int(top)]
    mark = app.log.mark()
    answer = await app.act({"do": "click", "target": point})
    assert answer.marks == "✓", answer.text
    assert [one.widget for one in await app.saw(mark)] == ["save"]
    await place.run(sys.executable, "-c", RESIZE, app.title, "700")
    mark = app.log.mark()
    answer = await app.act({"do": "wait", "seconds": 0.3}, {"do": "click", "target": point})
    assert answer.marks == "✓✗", answer.text
    assert answer.reason == "resized"
    assert not await app.saw(mark)
