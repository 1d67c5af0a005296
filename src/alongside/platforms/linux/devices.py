"""Delivering steps with a pointer and a keyboard.

They are the desktop's own where it is the agent's, or made of events that are sent to one window and move nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from alongside.core.errors import NoEffect
from alongside.core.geometry import Point
from alongside.core.ladder import REPEATABLE
from alongside.core.ports import Act, Delivery, Passed
from alongside.core.targets import only
from alongside.platforms.linux import choices
from alongside.platforms.linux.hand import Hand
from alongside.platforms.linux.places import MENU_ITEMS, OPTIONS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from alongside.core.elements import Element
    from alongside.core.ports import Input
    from alongside.platforms.linux.desktop import LinuxDesktop

_CLICKED = frozenset({"click", "double_click", "right_click", "toggle", "check", "uncheck", "select"})
_POINTED = _CLICKED | {"drag", "scroll", "hover", "focus"}
_TYPED = frozenset({"key", "type", "expand", "collapse", "set", "clear"})
_HOVER = 0.05
# What a pointer drags without carrying anything away: carrying takes hold of the display's own pointer (measured).
_SLIDES = frozenset({"slider", "scrollbar", "separator"})


async def pointer(hand: Hand, own: Input, act: Act) -> Delivery:
    """Click, double click, right click, hover, drag or scroll at an element or a point."""
    step = act.step
    if step.do not in _POINTED:
        raise Passed(f"{step.do} is nothing for a pointer")
    if step.do == "select" and step.value is not None:
        raise Passed("a click on it chooses nothing")
    if step.do == "focus":
        await hand.to_front()
        await hand.focus(act.the_element())
        return Delivery("focused")
    if step.do == "drag" and hand.behind and (act.element is None or act.element.role not in _SLIDES):
        raise Passed("dragging it would take hold of the person's pointer")
    end = await hand.place(act.end_element, act.end) if step.do == "drag" else None
    place = await hand.place(act.element, act.point)
    if end is not None and act.end_element is not None and await hand.place(act.end_element) != end:
        raise Passed("its two ends cannot be seen at once")
    try:
        if step.modifiers:
            await own.hold(step.modifiers)
        if end is not None:
            await own.drag(place, end, step.button)
        elif step.do == "scroll":
            await hand.scroll(place, step.direction, step.amount, act.element)
        elif step.do == "hover":
            # Two motions: some toolkits take the first one only as having arrived (measured on Qt).
            await own.move(Point(place.x - 2, place.y - 2))
            await asyncio.sleep(_HOVER)
            await own.move(place)
        else:
            button = "right" if step.do == "right_click" else step.button
            await hand.press(place, button, 2 if step.do == "double_click" else step.count)
    finally:
        if step.modifiers:
            await own.let_go(step.modifiers)
    return Delivery(f"at {place.x},{place.y}")


async def keys(hand: Hand, own: Input, act: Act) -> Delivery:
    """Press keys or type, with the keyboard focus on the target first."""
    step, element = act.step, act.element
    if element is not None and element.role == "combobox" and "readonly" in element.states and step.do != "key":
        return await choices.type_option(hand, element)
    if step.do not in _TYPED:
        raise Passed(f"{step.do} is nothing for a keyboard")
    if step.do == "set" and element is not None and _leaves(step.value or "", element):
        raise Passed("typed, a tab or new line would leave this field")
    await own.can_write(step.wants_text())
    await hand.to_front()
    if element is not None:
        await hand.focus(element)
    elif act.point is not None:
        await hand.press(await hand.place(None, act.point))
    match step.do:
        case "key":
            await own.keys(step.keys or "", step.repeat)
        case "type":
            await own.type(step.text or "")
        case "expand" | "collapse":
            await own.keys("right" if step.do == "expand" else "left")
        case "set" | "clear" if element is not None and element.role == "cell":
            # Never ctrl+a: in a sheet it selects every cell there is.
            if step.wants_text():
                await own.type(f"{step.value}\n")
            else:
                # LibreOffice publishes what the current cell showed before until the cursor moves on (measured).
                await own.keys("delete")
                await own.keys("return")
        case _:
            await own.keys("ctrl+a")
            if step.wants_text():
                await own.type(step.wants_text())
            else:
                await own.keys("delete")
    return Delivery("keys")


async def choose(hand: Hand, _own: Input, act: Act) -> Delivery:
    """Open a combo or a menu with the pointer and click on what is wanted.

    What was opened is closed again when that fails.
    """
    step = act.step
    if step.do == "menu":
        names = [part.strip() for part in (step.path or "").split(">")]
        opener = only(names[0], [one for one in act.snapshot if one.role in MENU_ITEMS], act.snapshot)
        wanted, roles = names[1:], MENU_ITEMS
        if opener is None:
            raise Passed("the menu is not in the tree")
        if hand.behind and not any(one.role == "document" for one in act.snapshot.ancestors(opener)):
            raise Passed("an open menu takes hold of the person's pointer and keyboard")
    elif hand.behind:
        raise Passed("an open list takes hold of the person's pointer")
    else:
        opener = act.the_element()
        if opener.role != "combobox" or step.value is None:
            raise Passed("only combos and menus are chosen in this way")
        wanted, roles = [step.value], OPTIONS
    first, open_before = opener, await choices.popups(hand)
    await hand.press(await hand.place(opener))
    try:
        for name in wanted:
            opener = await choices.shown(hand, name, roles, opener)
            await hand.press(await hand.place(opener))
    except BaseException:
        await choices.close_popups(hand, open_before)
        await choices.close_menu(hand, first)
        raise
    return Delivery("opened and clicked")


def _leaves(text: str, field: Element) -> bool:
    """Whether typing a text would press a key that goes to the next field or submits the form."""
    return "\t" in text or ("\n" in text and ("multiline" not in field.states or field.role == "cell"))


def _honest(
    technique: Callable[[Hand, Input, Act], Awaitable[Delivery]],
) -> Callable[[LinuxDesktop, Input, Act], Awaitable[Delivery]]:
    """``Passed`` says that nothing was sent: what gave up after it had sent something is told otherwise."""

    async def deliver(desktop: LinuxDesktop, own: Input, act: Act) -> Delivery:
        hand = Hand(desktop, own, act)
        try:
            return await technique(hand, own, act)
        except Passed as why:
            if not hand.sent:
                raise
            if act.step.do in REPEATABLE:
                # The state that is wanted is read, and tells whether another way is to be tried.
                return Delivery(f"{hand.sent}, then {why}")
            raise NoEffect(f"{act.step.do}: {why}. Before that we {hand.sent}.") from None

    return deliver


TECHNIQUES: dict[str, Callable[[LinuxDesktop, Input, Act], Awaitable[Delivery]]] = {
    "xtest.pointer": _honest(pointer),
    "xtest.keys": _honest(keys),
    "xtest.choose": _honest(choose),
    "x11.activation": _honest(pointer),
    "x11.keys": _honest(keys),
    "x11.choose": _honest(choose),
}
# By events that are sent to one window.
SENT = frozenset({"x11.activation", "x11.keys", "x11.choose"})
