"""A state that one element must have after a step, and if it already has it, instead of the step."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from alongside.core.errors import Invalid
from alongside.core.targets import plain

if TYPE_CHECKING:
    from alongside.core.elements import Element


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
    def parse(wire: dict[str, Any]) -> Check:
        known = {one.name for one in fields(Check)}
        unknown = sorted(set(wire) - known)
        if unknown or not set(wire) - {"target"}:
            wrong = f"A check knows no {', '.join(unknown)}." if unknown else "A check needs something to hold."
            raise Invalid(wrong, next='"check": {"value": "Ada"}, or contains, checked, selected, expanded, ...')
        for name in known - {"target", "value", "contains"}:
            if wire.get(name) is not None and not isinstance(wire[name], bool):
                raise Invalid(f"check.{name} is {wire[name]!r}.", next=f'"check": {{"{name}": true}} or false')
        texts = {name: str(wire[name]) for name in ("value", "contains") if wire.get(name) is not None}
        return Check(**{**wire, **texts})

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
                state = element.state(name)
                answers.append(None if state is None else state is wanted)
        if False in answers:
            return False
        return None if None in answers else True

    def only_exists(self) -> bool:
        return all(getattr(self, one.name) is None for one in fields(self) if one.name not in {"exists", "target"})

    def __str__(self) -> str:
        held = [
            f"{one.name} {getattr(self, one.name)!r}" for one in fields(self) if getattr(self, one.name) is not None
        ]
        return " and ".join(held)


def same_value(element: Element, wanted: str) -> bool | None:
    """Whether an element shows ``wanted``: numbers as numbers, options as people say them; None for a secret or no value."""
    if element.secret or element.value is None:
        return None
    if element.value == wanted:
        return True
    if element.role == "combobox":
        return plain(element.value) == plain(wanted)
    try:
        return float(element.value) == float(wanted)
    except ValueError:
        return False
