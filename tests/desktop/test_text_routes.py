"""Texts that no keyboard has to write: dropped on windows and pasted into them, in a sandbox and behind a person."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from desktop.support import DEADLINE_S, step
from desktop.test_person import A_MOMENT, Person, persons_desktop, undisturbed
from lab_support import SYSTEM_PYTHON
from x11_support import HERE

from alongside.server.desktops import Desktops

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from desktop.support import App, Place

pytestmark = pytest.mark.anyio

LINE = "Привет 漢字 ñ😀"
TEXT = f"{LINE} tab\tnew\nline"
DROPPED_ON = ("gtk3", "qt5", "qt6", "gtk4")
PASTED_INTO = ("gtk3", "qt5", "qt6", "page")


@pytest.fixture(scope="module")
async def person(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Person]:  # noqa: ARG001
    with pytest.MonkeyPatch.context() as patch:
        async with persons_desktop(tmp_path_factory.mktemp("person")) as person:
            for name in ("DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
                patch.setenv(name, person.environment[name])
            async with Desktops(user_acting=True) as desktops:
                person.desktop = desktops.user
                yield person


class Copying:
    """The person's clipboard: what they copied, and what they would paste."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def started(cls, person: Person) -> Copying:
        pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
        self = cls(await person.start(SYSTEM_PYTHON, str(HERE / "clipboard_user.py"), **pipes))
        assert await self._said() == "ready"
        return self

    async def ask(self, command: str) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n".encode())
        return await self._said()

    async def finds(self, command: str, wanted: object) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while await self.ask(command) != wanted:
                pass

    async def _said(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(await asyncio.wait_for(self._process.stdout.readline(), DEADLINE_S))


async def shows(app: App, mark: int, widget: str, text: str) -> None:
    """What a field holds after all that was sent, by the application's own log."""
    told = [one.value for one in await app.saw(mark) if (one.widget, one.event) == (widget, "text")]
    assert told[-1:] == [text]


async def does(app: App, given: dict[str, Any], widget: str, text: str) -> None:
    mark = app.log.mark()
    answer = await app.act(given)
    assert answer.marks == "✓", answer.text
    assert answer.outcomes[0]["technique"] == given["via"]
    await shows(app, mark, widget, text)


# --- Dropping


async def drops(app: App) -> None:
    await does(app, step("set", "Name", value=LINE, via="x11.drop"), "name", LINE)
    await does(app, step("type", "Name", text=" 1漢", via="x11.drop"), "name", f"{LINE} 1漢")
    await does(app, step("type", "Name", text="2ñ", via="x11.drop"), "name", f"{LINE} 1漢2ñ")
    if app.kind == "gtk4":
        return  # that window has no other text
    await does(app, step("set", "Notes", value=TEXT, via="x11.drop"), "notes", TEXT)
    if app.kind != "gtk3":
        await does(app, step("type", "Notes", text=LINE, via="x11.drop"), "notes", TEXT + LINE)


@pytest.mark.parametrize("kind", DROPPED_ON)
async def test_a_text_is_dropped_in_a_sandbox(place: Place, kind: str) -> None:
    app = await place.open(kind)
    await app.look()
    await drops(app)
    await place.close(app)


async def test_a_text_is_dropped_after_somebody_has_dragged(place: Place) -> None:
    """Qt owns the selection of its last drag until it ends."""
    app = await place.open("qt5")
    await app.look()
    await app.act(step("drag", "Token", to="Basket"))
    await does(app, step("set", "Name", value=LINE, via="x11.drop"), "name", LINE)
    await place.close(app)


@pytest.mark.parametrize("kind", DROPPED_ON)
async def test_a_text_is_dropped_on_a_covered_window(person: Person, kind: str) -> None:
    app = await person.open(kind)
    async with undisturbed(person):
        await app.look()
        await drops(app)
        await app.act(A_MOMENT)


@pytest.mark.parametrize("kind", ["gtk3", "qt5", "qt6"])
async def test_what_is_dropped_goes_to_the_caret(person: Person, kind: str) -> None:
    app = await person.open(kind)
    async with undisturbed(person):
        await app.look()
        await app.act(step("set", "Name", value="aж😀def"), step("key", "Name", keys="Home"))
        held = "aж😀def"
        # In front of each character, and behind the last.
        for at in range(0, 14, 2):
            held = f"{held[:at]}ñ{held[at:]}"
            await does(app, step("type", "Name", text="ñ", via="x11.drop"), "name", held)
            await app.act(step("key", "Name", keys="Right"))
        await app.act(A_MOMENT)


@pytest.mark.parametrize(
    ("kind", "why"),
    [("gtk3", "where the last drag was"), ("qt5", "that it is the first"), ("qt6", "that it is the first")],
)
async def test_where_a_caret_cannot_be_trusted_nothing_is_dropped(person: Person, kind: str, why: str) -> None:
    app = await person.open(kind)
    async with undisturbed(person):
        await app.look()
        await app.act(step("set", "Notes", value="first\nsecond"))
        await app.act(step("key", "Notes", keys="ctrl+Home"), step("key", "Notes", keys="Right"))
        mark = app.log.mark()
        answer = await app.act(step("type", "Notes", text="漢", via="x11.drop"))
        assert answer.reason == "background_unavailable", answer.text
        assert why in answer.text
        assert not await app.saw(mark)
        await app.act(A_MOMENT)


@pytest.mark.parametrize("kind", ["gtk3", "qt5", "qt6"])
async def test_what_is_not_dropped(person: Person, kind: str) -> None:
    app = await person.open(kind)
    async with undisturbed(person):
        await app.look()
        await app.act(step("set", "Name", value="there"))
        mark = app.log.mark()
        for given, why in (
            (step("set", "Name", value=LINE), "added to the text"),
            (step("set", "Name", value="two\nlines"), "are keys here"),
            (step("type", "button:Save", text=LINE), "into fields only"),
        ):
            answer = await app.act({**given, "via": "x11.drop"})
            assert answer.marks == "✗", answer.text
            assert why in answer.text
        assert not await app.saw(mark)
        await app.act(A_MOMENT)


async def test_no_text_is_dropped_on_a_page(person: Person) -> None:
    app = await person.open("page")
    async with undisturbed(person):
        await app.look()
        answer = await app.act(step("type", "Name", text=LINE, via="x11.drop"))
        assert answer.reason == "background_unavailable", answer.text
        assert "Chromium does not take it" in answer.text
        await app.act(A_MOMENT)


# --- Pasting


async def pastes(app: App) -> None:
    await does(app, step("set", "Name", value=LINE, via="clipboard"), "name", LINE)
    await does(app, step("set", "Name", value="漢字", via="clipboard"), "name", "漢字")
    await does(app, step("type", "Name", text="ñ", via="clipboard"), "name", "漢字ñ")
    await does(app, step("set", "Notes", value=TEXT, via="clipboard"), "notes", TEXT)


@pytest.mark.parametrize("kind", PASTED_INTO)
async def test_a_text_is_pasted_in_a_sandbox(place: Place, kind: str) -> None:
    app = await place.open(kind)
    await app.look()
    await pastes(app)
    await place.close(app)


@pytest.mark.parametrize("kind", PASTED_INTO)
async def test_a_text_is_pasted_into_a_covered_window(person: Person, kind: str) -> None:
    copying = await Copying.started(person)
    await copying.ask("copy-all 1000000")
    app = await person.open(kind)
    before = await (other := await Copying.started(person)).ask("forms")
    async with undisturbed(person):
        await app.look()
        await pastes(app)
        await app.act(A_MOMENT)
    await other.finds("forms", before)


async def test_the_clipboard_is_never_taken_unasked(person: Person) -> None:
    copying, app = await Copying.started(person), await person.open("page")
    await copying.ask("copy before")
    async with undisturbed(person):
        await app.look()
        answer = await app.act(step("set", "Name", value=LINE))
        assert answer.reason == "needs_sandbox", answer.text
        assert 'clipboard: only where it is asked for: "via": "clipboard"' in answer.text
        await app.act(A_MOMENT)
    assert await copying.ask("text") == "before"


async def test_a_driver_that_is_killed_leaves_the_old_clipboard(person: Person) -> None:
    """At the worst moment: our text is there, and nobody has fetched it."""
    copying, other, app = await Copying.started(person), await Copying.started(person), await person.open("gtk3")
    await copying.ask("copy-all 1000")
    before = await other.ask("forms")
    await app.look()
    await app.act(step("check", "Subscribe", via="x11.activation"))
    # What has the keyboard there pastes nothing.
    acting = asyncio.create_task(app.act(step("type", text=LINE, via="clipboard")))
    await other.finds("text", LINE)
    os.kill(person.desktop.driver.pid, signal.SIGKILL)
    await asyncio.gather(acting, return_exceptions=True)
    await person.call("windows")
    await other.finds("forms", before)
    assert await copying.ask("text") == await other.ask("text")
