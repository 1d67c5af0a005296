"""What was read of an accessible object, as an element: its name, value, states and place in its window's frame."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from alongside.core.elements import Element
from alongside.platforms.linux.atspi import names
from alongside.platforms.linux.atspi.walk import WINDOW, Raw

if TYPE_CHECKING:
    from alongside.core.elements import Window
    from alongside.core.geometry import Rect
    from alongside.platforms.linux.atspi.bus import Node

_NUMBERS = frozenset({"slider", "spinbutton", "progressbar", "scrollbar", "meter"})
_CHOICES = frozenset({"option", "menuitem", "cell"})
# Stands in a text for an object that is embedded there.
_OBJECT = "\ufffc"


class Origin(NamedTuple):
    """What it takes to read an element again in its window's frame: where it lives, its toolkit, the frame's place."""

    node: Node
    toolkit: str
    interfaces: frozenset[str]
    dx: int
    dy: int
    coordinates: int
    # Of a child of a huge container: the container, and its index there.
    huge: Node | None = None
    at: int = 0


def origin_of(element: Element) -> Origin:
    if not isinstance(element.extra, Origin):
        raise TypeError(f"{element.key} was not read over AT-SPI")
    return element.extra


def display_place(element: Element, window: Window) -> Rect | None:
    """Where an element lies in the display, also when its window has moved since it was read."""
    if element.bounds is None:
        return None
    origin = origin_of(element)
    if origin.coordinates == WINDOW:
        return element.bounds.moved(window.bounds.x, window.bounds.y)
    return element.bounds.moved(-origin.dx, -origin.dy)


Frame = tuple[str, int, int, int]


def collect(raw: Raw, into: list[Element], labels: dict[Node, str], frame: Frame) -> None:
    stack = [raw]
    while stack:
        one = stack.pop()
        if not one.gone:
            into.append(as_element(one, labels, frame))
            stack += reversed(one.children)


def as_element(raw: Raw, labels: dict[Node, str], frame: Frame) -> Element:
    toolkit, dx, dy, coordinates = frame
    role = raw.role
    on, knows = names.states(raw.bits, role, raw.number, placed=raw.place is not None)
    place = raw.place.moved(dx, dy) if raw.place is not None and raw.place.area else None
    label = labels.get(raw.label, "") if raw.label else ""
    # GTK 3 and Qt name a combo by what it shows.
    name = label or raw.name if role == "combobox" else raw.name or label
    return Element(
        key=raw.key,
        role=role,
        name=name.replace(_OBJECT, "").strip(),
        value=raw.name if role == "combobox" and toolkit == "Qt" else _value(raw, role),
        states=on,
        bounds=place,
        actions=raw.actions,
        depth=raw.depth,
        parent=raw.parent.key if raw.parent else None,
        description=raw.part,
        more=raw.missing,
        knows=knows,
        extra=Origin(
            raw.node,
            toolkit,
            raw.interfaces,
            dx,
            dy,
            coordinates,
            raw.parent.node if raw.index is not None and raw.parent else None,
            raw.index or 0,
        ),
    )


def _value(raw: Raw, role: str) -> str | None:
    if raw.number == names.PASSWORD:
        return None
    if role in _NUMBERS and raw.value is not None:
        return f"{raw.value:.10g}"
    if role == "combobox":
        return _chosen(raw)
    if raw.text is not None and role not in {"label", "text"}:
        text = raw.text.replace(_OBJECT, "")
        if role in {"textbox", "spinbutton", "terminal"} or (role == "cell" and raw.name != text):
            return text
        return text if text and text != raw.name else None
    return None


def _chosen(raw: Raw) -> str | None:
    """What a combo shows: its own text, that of its field, or the option that is selected in its list."""
    if raw.text:
        return raw.text.replace(_OBJECT, "")
    stack = list(raw.children)
    while stack:
        one = stack.pop(0)
        if one.role == "textbox" and one.text is not None:
            return one.text
        if one.node == raw.chosen or (one.role in _CHOICES and names.has(one.bits, names.SELECTED)):
            return one.name
        stack = one.children + stack
    return None


def placed(again: Element, before: Element) -> Element:
    """The new reading in the old one's place of the tree."""
    old, new = origin_of(before), origin_of(again)
    return replace(
        again,
        key=before.key,
        depth=before.depth,
        parent=before.parent,
        more=before.more,
        extra=new._replace(huge=old.huge, at=old.at),
    )
