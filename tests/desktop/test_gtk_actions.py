"""Menus that applications export on the session bus, judged by the applications themselves."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from desktop.support import DEADLINE_S, step, until
from lab_support import SYSTEM_PYTHON

if TYPE_CHECKING:
    from desktop.support import Answer, App, Place

pytestmark = pytest.mark.anyio


@pytest.fixture
async def app(place: Place) -> App:
    return await place.app("gtk3_menu")


def technique(answer: Answer) -> str:
    return str(answer.outcomes[0].get("technique", ""))


@pytest.mark.parametrize(
    ("path", "action"),
    [
        ("File > Save", "save"),
        ("file>my_file", "file"),
        ("File > Export > As Text...", "text"),
        ("File > Export > As Picture", "picture"),
        ("File > Export > Deep > Deeper > Deepest", "deepest"),
    ],
)
async def test_an_item_is_chosen_once_without_opening_anything(app: App, path: str, action: str) -> None:
    await app.look()
    mark = app.log.mark()
    answer = await app.act(step("menu", path=path))
    assert (answer.marks, technique(answer)) == ("✓", "gtk.action"), answer.text
    seen = [(one.widget, one.event, one.value) for one in await app.saw(mark)]
    assert seen == [("menu", "activated", action)]


async def test_a_toggle_is_flipped_and_its_state_read(app: App) -> None:
    for on in (True, False):
        mark = app.log.mark()
        answer = await app.act(step("menu", path="View > Ruler"))
        assert (answer.marks, technique(answer)) == ("✓", "gtk.action"), answer.text
        await app.log.wait_for("ruler", "state", on, after=mark)
    mark = app.log.mark()
    unset = step("menu", path="View > Ruler", check={"checked": False})
    assert (await app.act(unset)).marks == "="
    assert not await app.saw(mark)


async def test_a_radio_that_is_on_stays_on_and_is_not_sent(app: App) -> None:
    mark = app.log.mark()
    large = step("menu", path="View > Large")
    assert (await app.act(large, large, step("menu", path="View > Normal"))).marks == "✓=✓"
    assert [one.value for one in await app.saw(mark)] == ["large", "normal"]


@pytest.mark.parametrize(
    ("path", "reason", "told"),
    [
        ("File > Locked", "disabled", '"Locked" cannot be used now'),
        # Its action is not there.
        ("File > Nothing", "disabled", '"Nothing" cannot be used now'),
        ("View > Twin", "ambiguous", '"Ruler" (off), "Small" (off), "Normal" (on), "Large" (off), "Twin"'),
        ("Nope > Save", "not_found", '"File" >, "View" >'),
        (
            "File > Nope",
            "not_found",
            '"Save", "my_file", "Locked" (disabled), "Nothing" (disabled), "Export" >, "Ask…"',
        ),
        ("File > Save > Nope", "not_found", '"Save", "my_file"'),
        # A menu is not opened.
        ("File > Export", "not_found", '"As Text…", "As Picture", "Deep" >'),
    ],
)
async def test_nothing_is_sent_for_what_cannot_be_chosen(app: App, path: str, reason: str, told: str) -> None:
    await app.look()
    mark = app.log.mark()
    answer = await app.act(step("menu", path=path))
    assert (answer.marks, answer.reason) == ("✗", reason), answer.text
    assert told in answer.text
    assert not await app.saw(mark)


async def test_a_dialog_that_keeps_the_answer_back_is_no_trouble(place: Place) -> None:
    app = await place.open("gtk3_menu")
    answer = await app.act(step("menu", path="File > Ask..."))
    assert answer.marks == "✓", answer.text
    assert '"Question" opened' in answer.text
    assert answer.seconds < 3
    await app.log.wait_for("dialog", "opened")
    found = re.search(r'^(s\d+\.\d+) "Question"', (await place.call("windows"))["text"], re.MULTILINE)
    assert found is not None
    covered = await app.act(step("menu", path="File > Save"))
    assert covered.reason == "covered_by_dialog", covered.text
    assert (await app.on(found[1]).act(step("click", "button:OK"))).marks == "✓"
    await app.log.wait_for("dialog", "closed")


async def test_quitting_ends_the_application(place: Place) -> None:
    app = await place.open("gtk3_menu")
    process = await place.process(app)
    answer = await app.act(step("menu", path="File > Quit"))
    assert (answer.marks, technique(answer)) == ("✓", "gtk.action"), answer.text
    await until(lambda: not _runs(process), "the end of the application")


async def test_an_application_that_hangs_is_told_and_sent_nothing(place: Place) -> None:
    app = await place.open("gtk3_menu")
    await app.look()
    process = await place.process(app)
    mark = app.log.mark()
    os.kill(process, signal.SIGSTOP)
    try:
        answer = await app.act(step("menu", path="File > Save"))
    finally:
        os.kill(process, signal.SIGCONT)
    assert (answer.marks, answer.reason) == ("✗", "app_hung"), answer.text
    assert answer.seconds < 3
    assert not await app.saw(mark)


async def test_a_window_that_exports_nothing_has_its_menu_in_the_tree(place: Place) -> None:
    plain = await place.app("gtk3")
    answer = await plain.act(step("menu", path="File > Save"))
    assert technique(answer) == "atspi.action", answer.text
    assert answer.outcomes[0]["passed_over"] == ["gtk.action: it is in no menu that the window exports"]
    pinned = await plain.act(step("menu", path="File > Save", via="gtk.action"))
    assert (pinned.marks, pinned.reason) == ("✗", "background_unavailable"), pinned.text


async def test_a_pinned_technique_finds_the_item_in_the_tree(app: App) -> None:
    mark = app.log.mark()
    answer = await app.act(step("menu", path="File > Save", via="atspi.action"))
    assert technique(answer) == "atspi.action", answer.text
    await app.log.wait_for("menu", "activated", "save", after=mark)


async def test_a_window_cannot_name_the_menus_of_another_program(place: Place, app: App) -> None:
    liar = await place.open("gtk3")
    for name in ("_GTK_UNIQUE_BUS_NAME", "_GTK_MENUBAR_OBJECT_PATH", "_GTK_WINDOW_OBJECT_PATH"):
        told = await place.run("xprop", "-name", app.title, name)
        value = told.split('"')[1]
        await place.run("xprop", "-name", liar.title, "-f", name, "8u", "-set", name, value)
    mark = app.log.mark()
    answer = await liar.act(step("menu", path="View > Ruler", via="gtk.action"))
    assert answer.marks == "✗", answer.text
    assert not await app.saw(mark)


@pytest.mark.skipif(not shutil.which("mousepad"), reason="Mousepad is not installed")
async def test_mousepad_saves_a_file_and_shows_its_status_bar(place: Place) -> None:
    file = place.folder / "menus.txt"
    file.write_text("before\n", encoding="utf-8")
    launched = await place.call("launch", app="mousepad", arguments=[f"{place.inside}/{file.name}"])
    window = str(launched["window"])
    await place.call("look", window=window)
    outcomes = await acted(
        place, window, step("set", "textbox:", value="after\n"), step("menu", path="File > Save", via="gtk.action")
    )
    assert [one["mark"] for one in outcomes] == ["✓", "✓"], outcomes
    await until(lambda: file.read_text(encoding="utf-8") == "after\n", "the saved text")
    shown = await status_bar(place)
    for wanted in (not shown, shown):
        (toggled,) = await acted(place, window, step("menu", path="View > Statusbar"))
        assert (toggled["mark"], toggled["technique"]) == ("✓", "gtk.action"), toggled
        assert await status_bar(place) is wanted
    # What it fills only when the menu opens: the file that it has just opened.
    (missing,) = await acted(place, window, step("menu", path="File > Open Recent > Nope"))
    assert f'"{file.name}"' in missing["told"], missing


async def status_bar(place: Place) -> bool:
    """Whether libatspi finds a status bar of Mousepad on the display."""
    tree: list[Any] = json.loads(await place.run(SYSTEM_PYTHON, f"{place.inside}/lab/tree.py", "mousepad"))
    return any(role == "status bar" and at[0] >= 0 for _, role, at in tree)


async def acted(place: Place, window: str, *steps: dict[str, Any]) -> list[dict[str, Any]]:
    return list((await place.call("act", window=window, steps=list(steps)))["outcomes"])


@pytest.mark.skipif(not shutil.which("localc"), reason="LibreOffice Calc is not installed")
async def test_a_sheet_is_told_its_menus_are_open_so_that_they_are_up_to_date(place: Place) -> None:
    window = str((await place.call("launch", app="localc"))["window"])
    await place.call("look", window=window)
    (undo,) = await acted(place, window, step("menu", path="Edit > Undo"))
    assert (undo["mark"], undo["reason"]) == ("✗", "disabled"), undo
    await acted(place, window, step("set", "A1", value="Tea"), step("click", "A1"))
    for pressed in (True, False, True):
        (bold,) = await acted(place, window, step("menu", path="Format > Text > Bold"))
        assert (bold["mark"], bold["technique"]) == ("✓", "gtk.action"), bold
        await tool_bar(place, window, bold=pressed)
    radios = [step("menu", path=f"View > {one}") for one in ("Page Break", "Page Break", "Normal", "Normal")]
    assert [one["mark"] for one in await acted(place, window, *radios)] == ["✓", "=", "✓", "="]
    # It is called "Undo: Attributes" by now; what it undoes shows in a button that is pressed, which is no evidence.
    (undo,) = await acted(place, window, step("menu", path="Edit > Undo"))
    assert undo["mark"] in {"✓", "~"}, undo
    assert undo["technique"] == "gtk.action", undo
    await tool_bar(place, window, bold=False)


async def tool_bar(place: Place, window: str, *, bold: bool) -> None:
    """Wait until the tool bar shows that the cell is bold, or is not: it follows the menu a little later."""
    end = time.monotonic() + DEADLINE_S
    while ('button "Bold" pressed' in (await place.call("look", window=window, find="Bold"))["text"]) is not bold:
        assert time.monotonic() < end, f"bold: {bold}"


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
