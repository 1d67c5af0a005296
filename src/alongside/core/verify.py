"""What counts as evidence that a step had its effect.

==============================  ====================================================================================
the target shows it             ``implied``: the value that was set, the box that was checked, the row that was selected
the target is gone              after delivery it is not there any more
a window opened or closed       a window, menu or dialog of the application (tooltips never count)
something else changed          that had been still before delivery, and is no clock: ``changes``
==============================  ====================================================================================

What moves by itself never counts: an element that changed outside of any step is *restless* for a while, and a text
that changes is believed only of an element that was, or then is, watched for ``PROBATION`` without moving by itself.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alongside.core.checks import Check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alongside.core.elements import Element, Snapshot
    from alongside.core.steps import Step

# An element must have been still this long before a step for its change to be the step's (seconds).
STILL = 0.3
# Anything that changes by itself about once a second shows it within this time (seconds).
PROBATION = 1.2
# For how long an element counts as restless after it last moved by itself (seconds).
RESTLESS = 10.0
# What changes this soon after a step is still the step's (seconds).
GRACE = 0.3
# What was reached must still hold this long after it was first seen (seconds): a state, or a text or number, which an
# application that does not like it puts right as soon as it is idle.
_HOLDS, _TEXT_HOLDS = 0.15, 0.04
_WRITTEN = frozenset({"textbox", "searchbox", "spinbutton", "slider"})
# States that a click changes whatever it does.
_PASSING = frozenset({"focused", "active", "busy", "offscreen", "hidden", "pressed"})
# Browsers make a text anew when it changes.
_TEXTS = frozenset({"label", "text", "paragraph", "status", "timer"})
_CHOSEN = frozenset({"option", "row", "cell", "treeitem", "tab", "menuitem", "menuitemradio", "radio"})
_UNSET = frozenset({"label", "heading", "img", "link", "menu", "menuitem", "separator", "progressbar"})
# They move by themselves all the time.
_MOVING = frozenset({"progressbar", "timer", "marquee", "scrollbar"})
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")


def implied(step: Step, target: Element | None) -> Check | None:
    """The state that ``step`` asks of its target, if it asks for one."""
    match step.do:
        case "set" if is_formula(step, target):
            return None
        case "set":
            return Check(value=step.value)
        case "clear":
            return Check(value="")
        case "check" | "uncheck" if target is not None:
            return Check(checked=step.do == "check")
        case "select" if step.value is not None:
            return Check(value=step.value)
        case "select":
            return Check(checked=True) if target is not None and "checked" in target.knows else Check(selected=True)
        case "expand" | "collapse":
            return Check(expanded=step.do == "expand")
        case "focus":
            return Check(focused=True)
        case "click" | "invoke" | "toggle" | "menu" if target is not None:
            return _flipped(target)
    return None


def holds_for(check: Check, subject: Element, *, last: bool) -> float:
    """How long what was reached must hold to be believed (seconds); longer where another step follows at once.

    What follows may depend on it: a file chooser allows to save a moment after the name was set (measured).
    """
    return _TEXT_HOLDS if last and check.value is not None and subject.role in _WRITTEN else _HOLDS


def chosen(step: Step, target: Element | None) -> bool:
    """Whether a menu step only has to see to it that an item is on: a radio item.

    Not one of the tree, which may show an old state as long as its menu is closed (LibreOffice: measured).
    """
    return step.do == "menu" and target is not None and target.role == "menuitemradio" and target.source != "atspi"


def impossible(step: Step, target: Element | None) -> str:
    """Why a step can make no sense for its target, whatever is sent: empty where it can."""
    if target is None or step.check is not None:
        return ""
    if step.do in {"set", "clear"} and target.role in _UNSET:
        return "it cannot be edited; name the field itself, by its ref"
    if step.do in {"check", "uncheck", "toggle"} and not target.knows & {"checked", "pressed"}:
        return "it has no state to check; click it"
    if step.do == "select" and step.value is None:
        # GTK 4's rows have no names: what is named is the label in one.
        chosen = target.knows & {"checked", "selected"} or target.role in _CHOSEN | _TEXTS
        return "" if chosen else "it is not one of several to choose from; click it"
    if step.do in {"expand", "collapse"} and "expanded" not in target.knows and target.role in {"button", "textbox"}:
        return "it has nothing to expand; click it"
    return ""


def shows(element: Element) -> bool:
    """Whether a change of an element can be an effect: what is hidden (a closed menu's item) changes as it likes."""
    return "hidden" not in element.states and element.role not in _MOVING


def is_formula(step: Step, target: Element | None) -> bool:
    """Whether a cell is to be given a formula: it then shows the result, not what was set."""
    return step.do == "set" and target is not None and target.role == "cell" and (step.value or "").startswith("=")


def computed(before: Element, after: Element) -> bool | None:
    """Whether a cell shows the result of a new formula; None where it shows what it showed before."""
    if after.value in {None, ""}:
        return None  # an error such as #DIV/0! is published as no text at all
    return True if after.value != before.value else None


def _flipped(target: Element) -> Check | None:
    """What a click on something with a state of its own leads to."""
    if target.role in {"radio", "menuitemradio"}:
        return Check(checked=True)
    for state in ("checked", "pressed"):
        if (on := target.state(state)) is not None:
            return Check(checked=not on)
    if target.role == "tab":
        return Check(selected=True)
    return None


def typed(before: Element, after: Element, text: str) -> bool | None:
    """Whether a field holds what was typed: the old text with the new somewhere in it, or in a selection's place."""
    if before.secret or after.value is None:
        return None
    old, new = before.value or "", after.value
    text = text.replace("\r", "")
    if "multiline" not in after.states:
        text = text.rstrip("\n\t")
    if not text:
        return None  # nothing but keys that leave the field
    if len(new) == len(old) + len(text):
        return any(old[:at] + text + old[at:] == new for at in _positions(new, text))
    return text in new and new != old


def _positions(whole: str, part: str) -> Iterator[int]:
    at = whole.find(part)
    while at >= 0:
        yield at
        at = whole.find(part, at + 1)


@dataclass(frozen=True, slots=True)
class Change:
    """One element that is not what it was: how it is now (or was, if it is gone), and what was changed."""

    element: Element
    kind: str  # added, removed, changed
    # Only text changed: what a clock does, too.
    text: bool = False


def changes(before: Snapshot, after: Snapshot, restless: Callable[[Element], bool]) -> list[Change]:
    """What differs in a window, without what moves by itself and without what any click changes."""
    came, went = apart(before, after)
    found = [
        Change(element, "added", element.role in _TEXTS)
        for element in came
        if (element.name or element.value) and shows(element) and not _inside(element, after, restless)
    ]
    for element in after:
        old = before.by_key.get(element.key)
        if old is None or not (shows(element) or shows(old)):
            continue
        if _differs(old, element) and not _inside(element, after, restless) and not _clock(old, element):
            found.append(Change(element, "changed", _only_text(old, element)))
    found += [
        Change(element, "removed", element.role in _TEXTS)
        for element in went
        if (element.name or element.value) and shows(element) and not _inside(element, before, restless)
    ]
    return sorted(found, key=lambda one: (one.text, one.kind != "changed"))


def apart(before: Snapshot, after: Snapshot) -> tuple[list[Element], list[Element]]:
    """The elements that came and those that went.

    One that only goes by another key now is neither: Qt makes the headers of its tables anew at every reading.
    """
    came = [one for one in after if one.key not in before.by_key]
    went = [one for one in before if one.key not in after.by_key]
    twins = Counter(map(_likeness, came)) & Counter(map(_likeness, went))
    return _without(came, twins), _without(went, twins)


def _likeness(element: Element) -> tuple[str, str, str | None, str | None]:
    return element.role, element.name, element.value, element.parent


def _without(elements: list[Element], twins: Counter[tuple[str, str, str | None, str | None]]) -> list[Element]:
    left = twins.copy()
    rest = []
    for element in elements:
        likeness = _likeness(element)
        if left[likeness]:
            left[likeness] -= 1
        else:
            rest.append(element)
    return rest


def differing(before: Snapshot, after: Snapshot) -> list[str]:
    """The keys of the elements that differ, and of those whose children do."""
    came, went = apart(before, after)
    keys = [one.parent or one.key for one in came + went]
    for element in after:
        old = before.by_key.get(element.key)
        if old is not None and _differs(old, element):
            keys.append(element.key)
    return keys


def _differs(old: Element, new: Element) -> bool:
    if (old.role, old.name, old.value) != (new.role, new.name, new.value):
        return True
    return old.states - _PASSING != new.states - _PASSING


def _inside(element: Element, snapshot: Snapshot, restless: Callable[[Element], bool]) -> bool:
    above = snapshot.by_key.get(element.parent or "")
    return restless(element) or (above is not None and restless(above))


def _clock(old: Element, new: Element) -> bool:
    """Whether both texts are times of day: they change by themselves, if only once a minute."""
    pairs = ((old.name, new.name), (old.value or "", new.value or ""))
    return any(a != b and _CLOCK.search(a) and _CLOCK.search(b) for a, b in pairs) and _only_text(old, new)


def _only_text(old: Element, new: Element) -> bool:
    return old.role == new.role and old.states - _PASSING == new.states - _PASSING
