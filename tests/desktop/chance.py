"""Steps drawn by chance from what a look shows, on the lab's normal window, and their outcomes judged by its log."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from alongside.core.errors import AlongsideError
from alongside.core.steps import FORMS

if TYPE_CHECKING:
    from desktop.support import Answer, App, Step
    from lab_support import LabEvent

OVERDUE_S = 3.0  # that a step may take on top of its timeout
TIMEOUT_S = 2.0
EFFECT_S = 1.0  # in which an effect still is the step's
_LINE = re.compile(r'( *)\[(\d+)\] (\w+)(?: "((?:[^"\\]|\\.)*)")?(.*)')
_WIDGETS = {"size": {"Small", "Medium", "Large"}, "tabs": {"One", "Two"}}
_FIELDS = {"Name", "City", "Notes"}
_ROWS = {"option", "cell", "row", "treeitem"}
_PATHS = ("File > Save", "File > Export > As Text...", "File > Export > As Picture", "View > Zoom")
_KEYS = ("F5", "ctrl+s", "tab", "shift+tab", "down", "up", "end", "home", "escape", "space", "x", "ctrl+a", "return")
_WORDS = ("Ada", "two words", "x", "UPPER case", "12.5", "tilde ~ {brace} \\ \"quoted\" 'so'", "long " * 30)
# They tell of a view or of the pointer, and come of bringing an element into view or of passing over it.
_PASSING = {"scrolled", "entered"}
# A step was refused before anything was sent.
_REFUSED = {"needs_sandbox", "invalid", "not_found", "stale", "identity_changed", "ambiguous", "secret_field", "policy"}


@dataclass(frozen=True)
class Shown:
    """A line of a look, with the names of what it is in."""

    ref: int
    role: str
    name: str
    rest: str
    inside: tuple[str, ...]


class Effect(NamedTuple):
    """What the log says when a step did what it is for; None stands for any value."""

    widget: str
    event: str
    value: Any = None

    def seen(self, events: list[LabEvent]) -> bool:
        return any((one.widget, one.event) == self[:2] and self._fits(one.value) for one in events)

    def _fits(self, value: Any) -> bool:
        if self.value is None:
            return True
        return bool(self.value in value if self.event == "activated" and self.widget != "menu" else self.value == value)


def parse(look: str) -> list[Shown]:
    """The elements of a look, in its order."""
    found, above = [], list[tuple[int, str]]()
    for line in look.splitlines():
        match = _LINE.fullmatch(line)
        if match:
            depth, name = len(match[1]), match[4] or ""
            above = [one for one in above if one[0] < depth]
            found.append(Shown(int(match[2]), match[3], name, match[5], tuple(one[1] for one in above)))
            above.append((depth, name))
    return found


def draw(chance: random.Random, shown: list[Shown]) -> tuple[Step, Shown | None]:
    """A valid step of any kind, by what is shown; with its target."""
    while True:
        do = chance.choice(list(FORMS))
        if do == "menu":
            return {"do": "menu", "path": chance.choice(_PATHS), "accept": "focus"}, None
        if do == "wait":
            some = chance.choice(({"seconds": 0.05}, {"text": "Subscribe"}, {"text": "Nowhere", "gone": True}))
            return {"do": "wait", **some}, None
        among = [one for one in shown if _suits(do, one)]
        if among:
            target = chance.choice(among)
            return {"do": do, "target": target.ref, **_more(do, chance, target, shown)}, target


def _suits(do: str, one: Shown) -> bool:
    own = one.role in {"button", "checkbox", "radio", "link", "tab", "textbox", "combobox", "spinbutton", "slider"}
    match do:
        case "select":
            return one.role in _ROWS | {"tab", "radio", "combobox"}
        case "check" | "uncheck" | "toggle":
            return one.role in {"checkbox", "radio"}
        case "expand" | "collapse":
            return "collapsed" in one.rest or "expanded" in one.rest
        case "set":
            return one.role in {"textbox", "combobox", "spinbutton", "slider"}
        case "type" | "clear":
            return one.role in {"textbox", "spinbutton"}
        case "scroll":
            return one.role in _ROWS | {"textbox", "listbox", "list", "table", "tree"}
        case "drag":
            return one.name in {"Token", "Volume"}
        case "key":
            return one.role in {"textbox", "listbox", "tree", "slider", "button", "spinbutton"}
        case "invoke":
            return one.role in {"button", "checkbox", "radio", "link", "tab"}
    return own or one.role in _ROWS | {"menuitem", "menu", "label", "group"}


def _more(do: str, chance: random.Random, target: Shown, shown: list[Shown]) -> dict[str, Any]:
    match do:
        case "set":
            return {"value": _value(chance, target)}
        case "select" if target.role == "combobox":
            return {"value": chance.choice(("Red", "Green", "Blue"))}
        case "type":
            end = chance.choice(("", "", "\n"))
            return {"text": (str(chance.randrange(99)) if target.role == "spinbutton" else chance.choice(_WORDS)) + end}
        case "scroll":
            return {"direction": chance.choice(("up", "down")), "amount": chance.choice((1, 3, 10))}
        case "drag":
            ends = {"Token": ("Basket",), "Volume": ("Name", "Amount", "Prices")}[target.name]
            return {"to": chance.choice([one.ref for one in shown if one.name in ends])}
        case "key":
            return {"keys": chance.choice(_KEYS), "repeat": chance.choice((1, 1, 3))}
        case "click" if target.role == "button":
            return chance.choice(({}, {}, {"count": 2}, {"modifiers": ["shift"]}))
    return {}


def _value(chance: random.Random, target: Shown) -> str | int:
    match target.role:
        case "combobox":
            return chance.choice(("Red", "Green", "Blue"))
        case "spinbutton" | "slider":
            return chance.choice((0, 100, chance.randrange(101), 150))
    return chance.choice((*_WORDS, ""))


def effect(step: Step, target: Shown | None) -> Effect | None:
    """What the log must say of a step that worked; None where the lab logs nothing of it, or not for certain."""
    do = step["do"]
    if do == "menu":
        path = step["path"].replace(" > ", "/")
        return Effect("zoom", "toggled") if path == "View/Zoom" else Effect("menu", "activated", path)
    if do == "key" and step["keys"] in {"F5", "ctrl+s"}:
        return Effect("window", "key", step["keys"])
    if target is None:
        return None
    key = target.name.lower()
    if do in {"set", "clear", "type"}:
        return _written(step, target, key)
    if do in {"expand", "collapse"}:
        return Effect("places", do.removesuffix("e") + "ed", target.name) if "Places" in target.inside else None
    if do == "drag":
        return Effect("basket", "dropped") if target.name == "Token" else Effect("volume", "value")
    if do == "scroll":
        return Effect("fruits", "scrolled") if "Fruits" in {target.name, *target.inside} else None
    if do == "select" and target.role == "combobox":
        return Effect("colour", "selected", step["value"])
    if do in {"click", "invoke", "toggle", "check", "uncheck", "select", "double_click"}:
        return _pressed(do, target, key)
    return None


def _written(step: Step, target: Shown, key: str) -> Effect | None:
    text = str(step.get("value", step.get("text", "")))
    if target.role == "combobox":
        return Effect(key, "selected", text)
    if target.role in {"spinbutton", "slider"}:
        return Effect(key, "value", float(text)) if step["do"] == "set" else None
    if target.name not in _FIELDS:
        return None
    if step["do"] == "type":
        ends = text.endswith("\n") and target.name != "Notes"
        return Effect(key, "activated", text.removesuffix("\n")) if ends else Effect(key, "text")
    return Effect(key, "text", text)


def _pressed(do: str, target: Shown, key: str) -> Effect | None:
    if target.name == "Locked":
        return Effect("locked", "clicked")
    if target.role == "checkbox" and do != "double_click":
        return Effect(key, "toggled", {"check": True, "uncheck": False}.get(do))
    for widget, names in _WIDGETS.items():
        if target.name in names and target.role in {"radio", "tab"} and do != "uncheck":
            return Effect(widget, "selected", target.name)
    if target.role == "link" or target.name == "Help":
        return Effect("help", "activated")
    if target.role == "button" and do != "select":
        return Effect(key, "clicked")
    if target.role in _ROWS and "Fruits" in target.inside and do in {"click", "select"}:
        return Effect("fruits", "selected", target.name)
    if target.role in _ROWS and "Places" in target.inside and do == "select":
        return Effect("places", "selected", target.name)
    if target.role in _ROWS and "Prices" in target.inside and do in {"click", "select"}:
        return Effect("prices", "selected")
    return None


def wrong(answer: Answer, wanted: Effect | None, events: list[LabEvent]) -> str:
    """What an outcome says that the log does not bear out; empty where they agree."""
    mark, reason = answer.marks, answer.reason
    did = [one for one in events if one.event not in _PASSING]
    if "it broke" in answer.text:
        return "an exception"
    if answer.seconds > TIMEOUT_S + OVERDUE_S:
        return f"took {answer.seconds:.1f} s"
    if mark == "✓" and wanted is not None and not wanted.seen(events):
        return "false ✓"
    if mark == "✗" and reason in {"no_effect", "rejected"} and wanted is not None and wanted.seen(events):
        return "false ✗"
    if mark == "=" and did:
        return "= although something was logged"
    if mark == "✗" and reason in _REFUSED and did:
        return f"{reason} although something was logged"
    return ""


@dataclass
class Run:
    """So many steps on a window; ``disagreements`` are lines that say step, outcome and log."""

    app: App
    seed: int
    marks: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)
    longest: float = 0.0

    async def steps(self, count: int) -> None:
        chance = random.Random(f"{self.app.kind} {self.seed}")
        for number in range(count):
            await self._one(number, *draw(chance, parse(await self.app.look())))

    async def _one(self, number: int, step: Step, target: Shown | None) -> None:
        step = {**step, "timeout": TIMEOUT_S}
        await self.app.settled()
        mark, wanted = self.app.log.mark(), effect(step, target)
        try:
            answer = await self.app.act(step)
        except AlongsideError as error:
            self.disagreements.append(f"{self._where(number)} {step} on {target}: {error!r}")
            return
        self.marks[answer.marks + (f" {answer.reason}" if answer.reason else "")] += 1
        self.longest = max(self.longest, answer.seconds)
        events = await self.app.saw(mark)
        end = time.monotonic() + EFFECT_S
        late = answer.reason in {"no_effect", "rejected"}
        while wanted and (late or (answer.marks == "✓" and not wanted.seen(events))) and time.monotonic() < end:
            await asyncio.sleep(0.02)
            events = await self.app.saw(mark)
        if why := wrong(answer, wanted, events):
            log = [(one.widget, one.event, one.value) for one in events][-8:]
            self.disagreements.append(f"{self._where(number)} {why}: {step} on {target}\n  {answer.text}\n  log: {log}")
        if step["do"] in {"right_click", "click", "invoke", "double_click"} and target and target.name in _OPENING:
            with_escape = {"do": "key", "keys": "escape"}
            await self.app.act(with_escape)

    def _where(self, number: int) -> str:
        return f"{self.app.kind} seed {self.seed} step {number}:"


_OPENING = {"File", "View", "Options", "Colour"}
