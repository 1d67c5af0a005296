"""A state that one element must have after a step, and if it already has it, instead of the step."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from alongside.core import targets
from alongside.core.elements import NUMBER_ROLES
from alongside.core.errors import Invalid
from alongside.core.outline import quote

if TYPE_CHECKING:
    from alongside.core.elements import Element

# Python takes more for a number.
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_CODE = re.compile(r"[+-]?0\d", re.ASCII)
_CELLS = frozenset({"cell", "gridcell"})
_FORM = '"check": {"value": "Ada"}, or contains, checked, selected, expanded, focused, enabled, exists'


@dataclass(frozen=True, slots=True)
class Check:
    """What must hold; ``target`` is another element than the step's own (parsed by ``targets.parse``)."""

    target: str | int | None = None
    value: str | None = None
    contains: str | None = None
    checked: bool | None = None
    selected: bool | None = None
    expanded: bool | None = None
    focused: bool | None = None
    enabled: bool | None = None
    exists: bool | None = None

    @staticmethod
    def parse(wire: object) -> Check:
        """The check that a request describes; ``Invalid`` shows the right form of a wrong one."""
        if not isinstance(wire, dict):
            raise Invalid(f"`check` is {wire!r:.60}, not an object.", next=_FORM)
        given = {name: value for name, value in wire.items() if value is not None}
        unknown = sorted(set(given) - {one.name for one in fields(Check)})
        if unknown:
            raise Invalid(f"A check knows no {', '.join(quote(name, 30) for name in unknown[:6])}.", next=_FORM)
        if not set(given) - {"target"}:
            raise Invalid("A check needs something to hold.", next=_FORM)
        for name, value in given.items():
            if name == "target":
                targets.parse(value)
            elif name in {"value", "contains"}:
                if isinstance(value, bool) or not isinstance(value, str | int | float):
                    raise Invalid(f"check.{name} is {value!r:.60}, not a text.", next=f'"check": {{"{name}": "Ada"}}')
                given[name] = str(value)
            elif not isinstance(value, bool):
                raise Invalid(f"check.{name} is {value!r:.60}.", next=f'"check": {{"{name}": true}} or false')
        return Check(**given)

    def holds(self, element: Element | None) -> bool | None:
        """True, false, or None where the element does not publish what it would take to know."""
        if element is None:
            return self.exists is False and self.only_exists()
        answers: list[bool | None] = [] if self.exists is None else [self.exists]
        if self.value is not None:
            answers.append(same_value(element, self.value))
        if self.contains is not None:
            shown = element.value if element.value is not None else element.name
            answers.append(None if element.secret else self.contains in shown)
        if self.enabled is not None:
            answers.append(element.enabled is self.enabled)
        for name in ("checked", "selected", "expanded", "focused"):
            wanted = getattr(self, name)
            if wanted is not None:
                # A toggle button is pressed where a box is checked.
                pressed = name == "checked" and "checked" not in element.knows
                state = element.state("pressed" if pressed else name)
                answers.append(None if state is None else state is wanted)
        if False in answers:
            return False
        return None if None in answers else True

    def only_exists(self) -> bool:
        return all(getattr(self, one.name) is None for one in fields(self) if one.name not in {"exists", "target"})

    def __str__(self) -> str:
        held = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "target"}
        return " and ".join(
            f"{name} {quote(wanted, 80) if isinstance(wanted, str) else str(wanted).lower()}"
            for name, wanted in held.items()
            if wanted is not None
        )


def same_value(element: Element, wanted: str) -> bool | None:
    """Whether an element shows ``wanted``: numbers as numbers, options as people say them; None where it shows none."""
    if element.secret or element.value is None:
        return None
    if element.value == wanted:
        return True
    if element.role == "combobox":
        return targets.plain(element.value) == targets.plain(wanted)
    if element.role not in NUMBER_ROLES:
        return False
    shown, asked = number(element.value, element.role), number(wanted, element.role)
    return shown is not None and shown == asked


def number(text: str, role: str) -> float | None:
    """The number that a text is for an element of that role.

    ``1_000``, ``nan`` and digits of other scripts are texts, and so is ``007`` in a cell.
    """
    text = text.strip()
    if not _NUMBER.fullmatch(text) or (role in _CELLS and _CODE.match(text)):
        return None
    found = float(text)
    return found if math.isfinite(found) else None
