"""Applications that people use, judged by the files that they save."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from desktop.support import step, until

from alongside.cli import demo

if TYPE_CHECKING:
    from desktop.support import App, Place

pytestmark = pytest.mark.anyio


async def acted(place: Place, window: str, *steps: dict[str, Any]) -> list[dict[str, Any]]:
    reply = await place.call("act", window=window, steps=list(steps))
    return list(reply["outcomes"])


def marks(outcomes: list[dict[str, Any]]) -> str:
    return "".join(one["mark"] for one in outcomes)


async def dialog(place: Place, title: str) -> str:
    """The id of a dialog that an act brought up."""
    text = (await place.call("windows"))["text"]
    found = re.search(rf'^(s\d+\.\d+) "{re.escape(title)}"', text, re.MULTILINE)
    assert found is not None, text
    return found[1]


@pytest.mark.skipif(not shutil.which("localc"), reason="LibreOffice Calc is not installed")
async def test_a_sheet(place: Place) -> None:
    window = str((await place.call("launch", app="localc"))["window"])
    await place.call("look", window=window)
    fill = [
        step("set", cell, value=value) for cell, value in {"A1": "Tea", "B1": "3", "B2": "=B1*2", "C9": "x"}.items()
    ]
    assert marks(await acted(place, window, *fill)) == "✓✓✓✓"
    # One cell is emptied, and no other.
    assert marks(await acted(place, window, step("clear", "C9"))) == "✓"
    # A new line would go into the next cell.
    (refused,) = await acted(place, window, step("set", "D1", value="two\nlines"))
    assert (refused["mark"], "D2" in refused["what"]) == ("✗", False)
    outcomes = await acted(place, window, step("key", keys="ctrl+s", expect="Save", timeout=20))
    assert marks(outcomes) == "✓", outcomes
    save = await dialog(place, "Save")
    name = step("set", "textbox:Name:", value=f"{place.inside}/sheet.xlsx")
    keep = step("key", keys="Return", expect="Confirm File Format", timeout=20)
    assert marks(await acted(place, save, name, keep)) == "✓✓"
    question = await dialog(place, "Confirm File Format")
    text = (await place.call("look", window=question))["text"]
    button = re.search(r'\[(\d+)\] button "Use (?!ODF)', text)
    assert button is not None, text
    assert marks(await acted(place, question, step("click", int(button[1])))) == "✓"
    await until((place.folder / "sheet.xlsx").exists, "the file")
    assert demo._cells(place.folder / "sheet.xlsx") == {"A1": "Tea", "B1": "3", "B2": "6 =B1*2"}


@pytest.mark.skipif(not shutil.which("mousepad"), reason="Mousepad is not installed")
async def test_what_is_on_another_tab_is_not_written_into(place: Place) -> None:
    for name in ("one", "two"):
        (place.folder / f"{name}.txt").write_text(f"{name}\n", encoding="utf-8")
    files = [f"{place.inside}/{name}.txt" for name in ("one", "two")]
    window = str((await place.call("launch", app="mousepad", arguments=files))["window"])
    await place.call("look", window=window)
    for name in ("one", "two"):
        outcomes = await acted(
            place,
            window,
            step("select", f"tab:{name}.txt"),
            step("set", "textbox:", value=f"for {name}\n"),
            step("key", keys="ctrl+s"),
        )
        assert marks(outcomes)[:2] in {"✓✓", "=✓"}, outcomes
        await place.call("look", window=window)
    for name in ("one", "two"):
        assert (place.folder / f"{name}.txt").read_text(encoding="utf-8") == f"for {name}\n"


@pytest.mark.parametrize("kind", ["qt5", "qt6", "gtk3"])
async def test_text_beyond_the_first_plane_is_counted_right(place: Place, kind: str) -> None:
    """Qt counts in UTF-16 units: told bytes it wrote its memory into the document."""
    app: App = await place.app(kind)
    answer = await app.act(
        step("set", "Notes", value=""), step("type", "Notes", text="é😀"), step("type", "Notes", text="b")
    )
    assert answer.marks[1:] == "✓✓", answer.text
    await app.settled()
    last = app.log.last("notes", "text")
    assert last is not None
    assert last.value == "é😀b"
