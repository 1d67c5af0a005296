"""Where in the display an element can be seen and pressed, by what was read of it and of what is around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alongside.core.geometry import Point, Rect
from alongside.core.ports import NativeWindow, Passed
from alongside.platforms.linux.atspi.elements import display_place

if TYPE_CHECKING:
    from alongside.core.elements import Element, Snapshot, Window

MENU_ITEMS = frozenset({"menu", "menuitem", "menuitemcheckbox", "menuitemradio"})
OPTIONS = frozenset({"option", "menuitem", "menuitemradio", "cell"})
# Menus and lists are laid out on top of what they belong to: nothing around them clips them.
_FREE = MENU_ITEMS | {"menubar", "combobox", "window", "dialog"}
# The parts of a combo box that are in the window itself, not in its list.
_FACE = frozenset({"textbox", "button"})
LEAST = 8  # pixels of an element that have to be seen of it
# Pixels of a tree's line at most: the items inside an expanded one lie in its place, below its own line.
_LINE = 20
# Pixels that a scroll bar of Qt is wide, in the styles that there are.
_BAR = range(9, 31)
_ROWS = frozenset({"option", "row", "cell", "treeitem"})


def own_part(window: Window, element: Element) -> Rect:
    """Where an element lies in the display; of an expanded item of a tree only its own line."""
    place = display_place(element, window)
    if place is None:
        raise Passed("it publishes no place")
    if element.role == "treeitem" and "expanded" in element.states:
        return Rect(place.x, place.y, place.width, min(place.height, _LINE))
    return place


def clipped(window: Window, element: Element, snapshot: Snapshot) -> Rect:
    """The part of the display in which an element can be seen: its window, and every container around it."""
    seen = window.bounds
    for above in snapshot.ancestors(element):
        if above.role in _FREE:
            break
        if above.bounds is not None:
            # It was read when the window was somewhere else, perhaps.
            seen = seen.overlap(above.bounds.moved(window.bounds.x, window.bounds.y))
    return seen


def enough(part: Rect, whole: Rect) -> bool:
    """Whether so much of an element can be seen that a press in the middle of it is meant for it."""
    return part.width >= min(whole.width, LEAST) and part.height >= min(whole.height, LEAST)


def in_sight(element: Element | None) -> bool:
    return element is not None and element.bounds is not None and not element.states & {"hidden", "offscreen"}


def is_apart(element: Element, snapshot: Snapshot) -> bool:
    """Whether an element is not below the window's own object: pop-ups are read as trees of their own."""
    *_, top = element, *snapshot.ancestors(element)
    return top.parent is None and top.key != snapshot.elements[0].key


def lies_in(element: Element, part: Rect, popup: NativeWindow, snapshot: Snapshot) -> bool:
    """Whether an element, of which ``part`` can be seen, is in a pop-up, not in what the pop-up covers."""
    if part.overlap(popup.frame).area * 10 < part.area * 9:
        return False
    if is_apart(element, snapshot):
        return True
    around = {one.role for one in snapshot.ancestors(element)}
    return bool(around & MENU_ITEMS) or ("combobox" in around and element.role not in _FACE)


def bar_ends(window: Window, element: Element, snapshot: Snapshot) -> tuple[Point, Point]:
    """The two ends of the upright scroll bar of the list, tree or table that an element is or lies in.

    Qt publishes no scroll bars of these; where one is shown, their rows end before it.
    """
    for holder in (element, *snapshot.ancestors(element)):
        rows = [one.bounds for one in snapshot.below(holder) if one.role in _ROWS and one.bounds is not None]
        if not rows or holder.bounds is None:
            continue
        right = max(one.x + one.width for one in rows)
        place = holder.bounds
        if (gap := place.x + place.width - right) in _BAR:
            x = window.bounds.x + right + gap // 2
            top = window.bounds.y + place.y
            return Point(x, top + gap // 2), Point(x, top + place.height - 1 - gap // 2)
        break
    raise Passed("it shows no scroll bar")
