"""Applications that the person's policy refuses are listed, and neither read nor driven, also where they become one."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from desktop.support import PROGRAMS, step
from desktop.test_person import persons_desktop
from lab_support import LAB

from alongside.core.errors import Policy
from alongside.server import state
from alongside.server.desktops import Desktops
from alongside.server.person import policy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from desktop.support import App, Place

pytestmark = pytest.mark.anyio

PROGRAMS["input"] = ("input.py",)
SAVE = step("click", "Save")


@asynccontextmanager
async def opened(place: Place, *options: str) -> AsyncIterator[App]:
    app = await place.open("input", "--geometry", "900x500+0+0", *options)
    try:
        yield app
    finally:
        await place.close(app)


async def refused(app: App, *, title: str) -> None:
    """Neither read nor driven by any call, and listed with its title."""
    mark = app.log.mark()
    for call in (
        app.look(), app.look(image="standard"), app.look(view="raw", find="Save"), app.act(SAVE),
        app.act(step("wait", text="Save")), app.act(step("key", keys="x")), app.act(step("wait", seconds=0)),
    ):  # fmt: skip
        with pytest.raises(Policy, match="refused by the person's policy"):
            await call
    listed = (await app.place.call("windows"))["windows"]
    assert any(one["title"] == title for one in listed)
    assert await app.saw(mark) == []


async def test_by_its_class(place: Place) -> None:
    with pytest.raises(Policy, match="password managers"):
        await place.open("input", "--program", "KeePassXC")
    # It runs, as nothing told what it is before it had a window.
    windows = (await place.call("windows"))["windows"]
    (window,) = [one for one in windows if one["app"] == "KeePassXC"]
    with pytest.raises(Policy):
        await place.call("look", window=window["id"])
    with pytest.raises(Policy):
        await place.call("act", window="app:KeePassXC", steps=[SAVE])
    await place.run("xdotool", "search", "--class", "KeePassXC", "windowkill")


async def test_by_its_program_and_before_it_is_started(place: Place) -> None:
    for name in ("keepassxc", "KeePassXC", "/usr/bin/seahorse", "pinentry-gtk-2"):
        with pytest.raises(Policy, match="refused by the person's policy"):
            await place.call("launch", app=name)
    async with opened(place) as app:
        await app.look()
        mine = state.place() / policy.NAME
        before = mine.read_text()
        mine.write_text('version = 1\n[[refused]]\nwhat = "mine"\nprogram = ["python3*"]\n')
        try:
            await refused(app, title=app.title)
        finally:
            mine.write_text(before)
        assert 'button "Save"' in await app.look()


async def test_a_window_that_becomes_one_by_its_title(place: Place) -> None:
    async with opened(place) as app:
        assert 'button "Save"' in await app.look()
        await app.poke("title Unlock Login Keyring")
        await refused(app, title="Unlock Login Keyring")
        await app.poke(f"title {app.title}")
        assert 'button "Save"' in await app.look()


async def test_a_window_that_becomes_one_between_two_steps(place: Place) -> None:
    async with opened(place) as app:
        await app.look()
        for wait in (step("wait", seconds=0.5), step("wait", text="never there", timeout=20)):
            await place.run("xprop", "-name", app.title, "-f", "WM_CLASS", "8s", "-set", "WM_CLASS", "Input")
            mark = app.log.mark()
            acting = asyncio.create_task(app.act(wait, SAVE))
            await asyncio.sleep(0.2)  # nothing tells that the wait has begun
            await place.run("xprop", "-name", app.title, "-f", "WM_CLASS", "8s", "-set", "WM_CLASS", "Bitwarden")
            answer = await acting
            assert answer.reason == "policy", answer.text
            assert answer.marks in {"✓✗", "✗-"}
            assert answer.seconds < 5
            assert await app.saw(mark) == []


async def test_a_dialog_of_one(place: Place) -> None:
    async with opened(place) as app:
        await app.poke("dialog")
        windows = (await place.call("windows"))["windows"]
        dialog = next(one["id"] for one in windows if one["title"] == "Reason")
        assert "Reason" in (await place.call("look", window=dialog))["text"]
        await place.run("xprop", "-name", app.title, "-f", "WM_CLASS", "8s", "-set", "WM_CLASS", "1Password")
        with pytest.raises(Policy):
            await place.call("look", window=dialog)


async def test_on_the_persons_desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with persons_desktop(tmp_path) as person:
        for name in ("DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
            monkeypatch.setenv(name, person.environment[name])
        async with Desktops(user_acting=True) as desktops:
            person.desktop = desktops.user
            app = await person.open("gtk3", str(LAB / "input.py"))
            assert 'button "Save"' in await app.look()
            await app.poke("title Authentication Required")
            app.window = "Authentication Required"
            await refused(app, title="Authentication Required")


async def test_without_a_policy_nothing_is_read_or_done(place: Place) -> None:
    mine = state.place() / policy.NAME
    before = mine.read_text()
    async with opened(place) as app:
        await app.look()
        waiting = asyncio.create_task(app.act(step("wait", seconds=1), SAVE))
        await asyncio.sleep(0.2)  # nothing tells that the wait has begun
        mine.unlink()
        try:
            answer = await waiting
            assert (answer.marks, answer.reason) == ("✓✗", "policy"), answer.text
            calls: list[Any] = [
                place.call("launch", app="mousepad"),
                app.look(),
                app.act(SAVE),
                place.desktops.start((640, 480)),
            ]
            for call in calls:
                with pytest.raises(Policy, match="is missing; every action is refused") as wrong:
                    await call
                assert "alongside policy --reset" in str(wrong.value)
            assert (await place.call("windows"))["windows"]
        finally:
            mine.write_text(before)
        assert 'button "Save"' in await app.look()
