"""Every step on every toolkit: what the application logged, and the outcome that was told."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from desktop.support import step

if TYPE_CHECKING:
    from desktop.support import Answer, App, Place, Step
    from lab_support import LabEvent

pytestmark = pytest.mark.anyio

TOOLKITS = ("gtk3", "qt5", "qt6", "page")
ALL = (*TOOLKITS, "gtk4")
UNICODE = "Ада é ß 漢字 🙂 “q”"
LINES = "one\ntwo\n\n  four"


@dataclass(frozen=True)
class Case:
    """Steps, the mark that each must get, and the last thing that the application must have logged of each widget."""

    name: str
    steps: tuple[Step, ...]
    marks: str  # `?` stands for ✓ or ~: what a step like it shows depends on the toolkit
    logged: tuple[tuple[str, str, Any], ...] = ()
    on: tuple[str, ...] = TOOLKITS
    silent: bool = False  # nothing at all may be logged
    given: tuple[Step, ...] = ()  # what brings the window to where the case begins


CASES = (
    Case("click a button", (step("click", "Save"),), "✓", (("save", "clicked", None),), ALL),
    Case("click without an effect", (step("click", "button:Quiet"),), "~", (("quiet", "clicked", None),)),
    Case("click with the pointer", (step("click", "Save", via="xtest.pointer"),), "✓", (("save", "clicked", None),)),
    Case(
        "click a box",
        (step("click", "Subscribe"),),
        "✓",
        (("subscribe", "toggled", True),),
        ALL,
        given=(step("uncheck", "Subscribe"),),
    ),
    Case(
        "toggle",
        (step("toggle", "Subscribe"),),
        "✓",
        (("subscribe", "toggled", False),),
        ALL,
        given=(step("check", "Subscribe"),),
    ),
    Case(
        "check",
        (step("check", "Subscribe"),),
        "✓",
        (("subscribe", "toggled", True),),
        ALL,
        given=(step("uncheck", "Subscribe"),),
    ),
    Case("check again", (step("check", "Subscribe"),), "=", silent=True, on=ALL, given=(step("check", "Subscribe"),)),
    Case(
        "click with a check that holds",
        (step("click", "Subscribe", check={"checked": True}),),
        "=",
        silent=True,
        given=(step("check", "Subscribe"),),
    ),
    Case(
        "uncheck",
        (step("uncheck", "Subscribe"),),
        "✓",
        (("subscribe", "toggled", False),),
        ALL,
        given=(step("check", "Subscribe"),),
    ),
    Case(
        "uncheck again",
        (step("uncheck", "Subscribe"),),
        "=",
        silent=True,
        on=ALL,
        given=(step("uncheck", "Subscribe"),),
    ),
    Case(
        "choose a radio",
        (step("check", "Medium"),),
        "✓",
        (("size", "selected", "Medium"),),
        given=(step("check", "Small"),),
    ),
    Case(
        "click a radio",
        (step("click", "Large"),),
        "✓",
        (("size", "selected", "Large"),),
        given=(step("check", "Small"),),
    ),
    Case("click a radio that is on", (step("click", "Small"),), "~", silent=True, given=(step("check", "Small"),)),
    Case(
        "select a radio",
        (step("select", "Small"),),
        "✓",
        (("size", "selected", "Small"),),
        given=(step("check", "Large"),),
    ),
    Case(
        "select a tab",
        (step("select", "tab:Two"),),
        "✓",
        (("tabs", "selected", "Two"),),
        given=(step("click", "tab:One"),),
    ),
    Case(
        "click in the tab",
        (step("click", "Inner"),),
        "~",
        (("inner", "clicked", None),),
        given=(step("click", "tab:Two"),),
    ),
    Case(
        "click a tab", (step("click", "One"),), "✓", (("tabs", "selected", "One"),), given=(step("click", "tab:Two"),)
    ),
    Case("a link", (step("click", "Help"),), "~", (("help", "activated", None),)),
    Case("double click", (step("double_click", "Double"),), "~", (("double", "double_clicked", None),)),
    Case("hover", (step("hover", "Hover me"),), "~", (("hover", "entered", None),)),
    Case("drag", (step("drag", "Token", to="Basket"),), "~", (("basket", "dropped", "Token"),)),
    Case(
        "context menu",
        (step("right_click", "Options"), step("click", "Rename")),
        "✓✓",
        (("options", "context_menu", None), ("menu", "activated", "Options/Rename")),
    ),
    Case(
        "type",
        (step("type", "Name", text="Ada L."),),
        "✓",
        (("name", "text", "Ada L."),),
        ALL,
        given=(step("clear", "Name"),),
    ),
    Case(
        "type more",
        (step("type", "Name", text=" ok"),),
        "✓",
        (("name", "text", "Ada L. ok"),),
        given=(step("set", "Name", value="Ada L."),),
    ),
    Case(
        "set", (step("set", "Name", value="Bob"),), "✓", (("name", "text", "Bob"),), ALL, given=(step("clear", "Name"),)
    ),
    Case(
        "set again",
        (step("set", "Name", value="Bob"),),
        "=",
        silent=True,
        on=ALL,
        given=(step("set", "Name", value="Bob"),),
    ),
    Case(
        "set unicode",
        (step("set", "Name", value=UNICODE),),
        "✓",
        (("name", "text", UNICODE),),
        ALL,
        given=(step("clear", "Name"),),
    ),
    Case(
        "set by keys",
        (step("set", "Name", value=UNICODE[:9], via="xtest.keys"),),
        "✓",
        (("name", "text", UNICODE[:9]),),
        given=(step("set", "Name", value="before"),),
    ),
    Case(
        "set many lines",
        (step("set", "Notes", value=LINES),),
        "✓",
        (("notes", "text", LINES),),
        given=(step("clear", "Notes"),),
    ),
    Case("type a line", (step("type", "Notes", text="\nfive"),), "✓", given=(step("set", "Notes", value="one"),)),
    Case(
        "clear lines",
        (step("clear", "Notes"),),
        "✓",
        (("notes", "text", ""),),
        given=(step("set", "Notes", value="one\ntwo"),),
    ),
    Case("clear", (step("clear", "City"),), "✓", (("city", "text", ""),), given=(step("set", "City", value="Paris"),)),
    Case("clear again", (step("clear", "City"),), "=", silent=True, given=(step("clear", "City"),)),
    Case(
        "set a number",
        (step("set", "Amount", value="42"),),
        "✓",
        (("amount", "value", 42),),
        given=(step("set", "Amount", value="1"),),
    ),
    Case(
        "set a slider",
        (step("set", "Volume", value=30),),
        "✓",
        (("volume", "value", 30),),
        given=(step("set", "Volume", value="1"),),
    ),
    Case(
        "set a combo",
        (step("set", "Colour", value="Green"),),
        "✓",
        (("colour", "selected", "Green"),),
        given=(step("set", "Colour", value="Red"),),
    ),
    Case(
        "set a combo again",
        (step("set", "Colour", value="Green"),),
        "=",
        silent=True,
        given=(step("set", "Colour", value="Green"),),
    ),
    Case(
        "select in a combo",
        (step("select", "Colour", value="Blue"),),
        "✓",
        (("colour", "selected", "Blue"),),
        given=(step("set", "Colour", value="Red"),),
    ),
    Case(
        "select off screen",
        (step("select", "Fruit 150"),),
        "✓",
        (("fruits", "selected", "Fruit 150"),),
        ALL,
        given=(step("select", "Fruit 1"),),
    ),
    Case("select it again", (step("select", "Fruit 150"),), "=", silent=True, given=(step("select", "Fruit 150"),)),
    Case(
        "expand",
        (step("expand", "Europe"),),
        "✓",
        (("places", "expanded", "Europe"),),
        given=(step("collapse", "Europe"),),
    ),
    Case("expand again", (step("expand", "Europe"),), "=", silent=True, given=(step("expand", "Europe"),)),
    Case(
        "expand inside",
        (step("expand", "France"),),
        "✓",
        (("places", "expanded", "France"),),
        given=(step("expand", "Europe"),),
    ),
    Case(
        "collapse",
        (step("collapse", "Europe"),),
        "✓",
        (("places", "collapsed", "Europe"),),
        given=(step("expand", "Europe"),),
    ),
    Case("menu", (step("menu", path="File > Save"),), "?", (("menu", "activated", "File/Save"),)),
    Case(
        "menu in a menu",
        (step("menu", path="File > Export > As Text..."),),
        "?",
        (("menu", "activated", "File/Export/As Text..."),),
    ),
    Case(
        "menu without the dots",
        (step("menu", path="file>export>as text"),),
        "?",
        (("menu", "activated", "File/Export/As Text..."),),
    ),
    Case("checked menu item", (step("menu", path="View > Zoom"),), "?", (("zoom", "toggled", None),)),
    Case("a key", (step("key", keys="F5"),), "~", (("window", "key", "F5"),)),
    Case("a chord", (step("key", keys="Ctrl+S"),), "~", (("window", "key", "ctrl+s"),)),
    Case(
        "focus, then type",
        (step("focus", "City"), step("type", text="Rome")),
        "✓✓",
        (("city", "text", "Rome"),),
        given=(step("clear", "City"), step("focus", "Name")),
    ),
    Case(
        "a key in a field",
        (step("key", "City", keys="BackSpace", repeat=2),),
        "✓",
        (("city", "text", "Ro"),),
        given=(step("set", "City", value="Rome"),),
    ),
    Case(
        "enter in a field",
        (step("key", "City", keys="Return"),),
        "~",
        (("city", "activated", "Ro"),),
        given=(step("set", "City", value="Ro"),),
    ),
    Case("invoke", (step("invoke", "Save"),), "✓", (("save", "clicked", None),)),
    Case("wait for a text", (step("wait", text="saved"),), "✓", silent=True, given=(step("click", "Save"),)),
    Case("wait until gone", (step("wait", text="Nonsense", gone=True),), "✓", silent=True),
    Case("wait for a state", (step("wait", "Locked", check={"enabled": False}),), "✓", silent=True),
    Case("wait seconds", (step("wait", seconds=0.1),), "✓", silent=True),
    Case("wait in vain", (step("wait", text="Nonsense", timeout=0.3), step("click", "Save")), "✗-", silent=True),
    Case(
        "expect in vain", (step("click", "Quiet", expect="Nonsense", timeout=0.5),), "✗", (("quiet", "clicked", None),)
    ),
    Case("pinned in vain", (step("click", "Save", via="xtest.keys"),), "✗", silent=True),
    Case("disabled", (step("click", "Locked"), step("click", "Save")), "✗-", silent=True),
    Case("two of a name", (step("click", "Delete"),), "✗", silent=True),
    Case("none of a name", (step("click", "Sav"),), "✗", silent=True),
    Case("password", (step("set", "Password", value="x"),), "✗", silent=True),
    Case("typed password", (step("type", "Password", text="x"),), "✗", silent=True),
)


def parameters() -> list[Any]:
    return [pytest.param(kind, case, id=f"{kind}-{case.name}") for kind in ALL for case in CASES if kind in case.on]


@pytest.mark.parametrize(("kind", "case"), parameters())
async def test_the_log_proves_the_mark(place: Place, kind: str, case: Case) -> None:
    app = await place.app(kind)
    await judged(app, case)


async def logged(app: App, answer: Answer, after: int, wanted: tuple[str, str, Any]) -> None:
    widget, event, value = wanted

    def fits(one: LabEvent) -> bool:
        return value is None or one.value == value

    try:
        await app.log.wait_for(widget, event, predicate=fits, after=after, within=1)
    except AssertionError as missing:
        missing.add_note(answer.text)
        raise


async def judged(app: App, case: Case) -> None:
    if case.given:
        await app.act(*case.given)
        await app.settled()
    mark = app.log.mark()
    # What shows nothing is waited for as long as its settling time.
    brief = {"settle": 150} if case.marks in {"~", "?"} else {}
    answer = await app.act(*({**one, **brief} for one in case.steps))
    for wanted in case.logged:
        await logged(app, answer, mark, wanted)
    seen = await app.saw(mark)
    assert re.fullmatch(case.marks.replace("?", "[✓~]"), answer.marks), f"{answer.text}\n{seen}"
    if case.silent:
        assert not seen, answer.text
