"""Texts that need no keyboard: dropped on the window, or pasted from the clipboard."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from alongside.core.errors import Rejected
from alongside.core.geometry import Point
from alongside.core.outline import quote
from alongside.core.ports import Act, Delivery, Passed
from alongside.platforms.linux import places
from alongside.platforms.linux.atspi import actions
from alongside.platforms.linux.atspi.elements import origin_of
from alongside.platforms.linux.atspi.walk import WINDOW
from alongside.platforms.linux.hand import Hand
from alongside.platforms.linux.x11 import drop as dropping

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from alongside.core.elements import Element, Window
    from alongside.core.geometry import Rect
    from alongside.core.ports import Input
    from alongside.platforms.linux.desktop import LinuxDesktop

# How far from its edges a point in a field is certainly in its text.
_EDGE = 4
# Qt leaves out the margin of a line of text when it tells where its characters are (measured on Qt 5 and 6).
_MARGIN = 4
# What GTK 3 leaves free on both sides of a line of text is less than this.
_PADDING = 12


async def drop(desktop: LinuxDesktop, own: Input, act: Act) -> Delivery:
    """Insert a text by dropping it where the caret is: what is dropped goes to the point that it is dropped at.

    Where an application does not tell of its caret, at the end of the text. The caret stands behind it afterwards.
    """
    step, element, new = act.step, act.the_element(), act.step.wants_text()
    if not element.editable:
        raise Passed("a text is dropped into fields only")
    if any(sign in new for sign in "\n\t\r") and "multiline" not in element.states:
        raise Passed("new lines and tabs are keys here")
    if await actions.has_selection(desktop.bus, element):
        raise Passed("typing would replace its selection")
    await Hand(desktop, own, act).place(element)  # brought into view
    now = await desktop.tree.read(element)
    here = [one for one in await desktop.windows.list() if one.native == act.window.native]
    if now is None or not here:
        raise Passed("it is gone")
    if step.do == "set" and now.value:
        raise Passed("what is dropped is added to the text that is there")
    window = replace(act.window, bounds=here[0].bounds)
    part = places.own_part(window, now).overlap(places.clipped(window, now, act.snapshot))
    length = _units(now, now.value or "")
    caret = await actions.caret(desktop.bus, now)
    caret = length if caret is None else min(caret, length)
    at = await _place(desktop, now, window, part, caret)
    if not part.holds(at):
        raise Passed("its caret is out of sight")
    await dropping.drop(await desktop.selections(), desktop.ledger, window.native, at, new)
    await _is_at_caret(desktop, now, caret, new)
    await actions.move_caret(desktop.bus, now, caret + _units(now, new))
    return Delivery(f"dropped at {at.x},{at.y}")


async def _is_at_caret(desktop: LinuxDesktop, before: Element, caret: int, new: str) -> None:
    """``Rejected`` where the text went somewhere else than to the caret."""
    after, old = await desktop.tree.read(before), before.value or ""
    if _units(before, old) != len(old) and caret != _units(before, old):
        caret = len(old.encode("utf-16-le")[: 2 * caret].decode("utf-16-le"))
    if after is not None and after.value not in {old, old[:caret] + new + old[caret:]} and new in (after.value or ""):
        raise Rejected(
            f"The dropped text went to another place than the caret; it shows {quote(after.value or '', 120)}."
        )


async def _place(desktop: LinuxDesktop, element: Element, window: Window, part: Rect, caret: int) -> Point:
    """Where a text has to be dropped to be inserted at the caret; ``part`` is what can be seen of the field."""
    lines, text, toolkit = "multiline" in element.states, element.value or "", origin_of(element).toolkit
    if not text:
        return part.centre
    if lines and toolkit.startswith("GTK"):
        raise Passed("it puts what is dropped where the last drag was")  # measured on GTK 3
    if caret in {0, _units(element, text)}:
        # Its first or last line comes into view, and beyond that there is nothing else.
        await actions.move_caret(desktop.bus, element, caret)
        right, bottom = part.x + part.width - _EDGE, part.y + part.height - _EDGE
        if caret:
            return Point(right, bottom if lines else part.centre.y)
        return Point(part.x + 1, part.y + _EDGE if lines else part.centre.y)
    place = await actions.character(desktop.bus, element, caret)
    if place is None:
        raise Passed("it does not tell where its caret is shown")
    if toolkit == "Qt" and "\n" in text:
        raise Passed("it tells of every line that it is the first")  # measured on Qt 5 and 6
    x = place.x
    if toolkit == "Qt" and not lines:
        x += _MARGIN
    if toolkit == "GTK 3" and not lines:
        # It takes the edge of the field for that of the text (measured), which is another one where it is scrolled.
        first, last = [await actions.character(desktop.bus, element, one) for one in (0, len(text))]
        if first is None or last is None or last.x - first.x > part.width - 2 * _PADDING:
            raise Passed("its text may be scrolled")
        x -= first.x - part.x
    at = Point(x, place.centre.y)
    return Point(at.x + window.bounds.x, at.y + window.bounds.y) if origin_of(element).coordinates == WINDOW else at


def _units(element: Element, text: str) -> int:
    """How far a text moves the caret: Qt counts in units of UTF-16."""
    return len(text.encode("utf-16-le")) // 2 if origin_of(element).toolkit == "Qt" else len(text)


async def paste(desktop: LinuxDesktop, own: Input, act: Act) -> Delivery:
    """Paste a text by ctrl+v; what was in the clipboard is there again afterwards."""
    step, element = act.step, act.element
    if not step.wants_text():
        raise Passed("there is nothing to paste")
    hand = Hand(desktop, own, act)
    await hand.to_front()
    if element is not None:
        await hand.focus(element)
    clipboard = await desktop.clipboard()
    async with clipboard.lent(step.wants_text()) as lent:
        if step.do == "set":
            await own.keys("ctrl+a")
        await own.keys("ctrl+v")
        await clipboard.fetched(lent, act.window.native)
    return Delivery("pasted", aside=clipboard.lost)


TECHNIQUES: dict[str, Callable[[LinuxDesktop, Input, Act], Awaitable[Delivery]]] = {
    "x11.drop": drop,
    "clipboard": paste,
}
