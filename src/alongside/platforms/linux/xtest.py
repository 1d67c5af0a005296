"""Delivering steps with the desktop's own pointer and keyboard, where it is the agent's own.

Before anything is pressed the place is read again, scrolled into view, and must belong to the window that is meant.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from alongside.core.geometry import Point, Rect
from alongside.core.outline import quote
from alongside.core.ports import Act, Delivery, Passed
from alongside.core.targets import plain
from alongside.platforms.linux.atspi import actions
from alongside.platforms.linux.atspi.tree import display_place

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from alongside.core.elements import Element
    from alongside.core.steps import Button
    from alongside.platforms.linux.desktop import LinuxDesktop
    from alongside.platforms.linux.x11.input import Input

# Menus and lists are laid out on top of what they belong to: nothing around them clips them.
_FREE = frozenset({"menu", "menubar", "menuitem", "menuitemcheckbox", "menuitemradio", "combobox", "window", "dialog"})
_MENU_ITEMS = frozenset({"menu", "menuitem", "menuitemcheckbox", "menuitemradio"})
_CHOICES = frozenset({"option", "menuitem", "menuitemradio", "cell"})
_CLICKED = frozenset({"click", "double_click", "right_click", "toggle", "check", "uncheck", "select", "focus"})
_SELECTED = frozenset({"option", "treeitem", "row"})
# What the field of a sheet shows that also takes a cell's address to go to (LibreOffice gives it no name).
_ADDRESS = re.compile(r"[A-Z]{1,3}[0-9]{1,7}")
# How long a pop-up may take to open, a window to come to the front, and an element to take the focus, and how
# often is looked (seconds).
_POPUP, _RAISE, _FOCUS, _POLL = 1.5, 0.5, 1.5, 0.02
_HOVER = 0.05
# Pixels of a tree's line at most: the items inside an expanded one lie in its place, below its own line.
_LINE = 20
# Pixels that a wheel click scrolls at most; how often is tried, and how often in vain.
_WHEEL, _MOST_WHEELS, _STUCK = 150, 60, 3


async def pointer(desktop: LinuxDesktop, own: Input, act: Act) -> Delivery:
    """Click, double click, right click, hover, drag or scroll at an element or a point."""
    step = act.step
    if step.do == "select" and step.value is not None:
        raise Passed("a click on it chooses nothing")
    hand = Hand(desktop, own, act)
    place = await hand.place(act.element, act.point)
    await own.hold(step.modifiers)
    try:
        if step.do == "drag":
            await own.drag(place, await hand.place(act.end_element, act.end), step.button)
        elif step.do == "scroll":
            await own.move(place)
            await asyncio.sleep(_HOVER)
            await own.wheel(step.direction, step.amount)
        elif step.do == "hover":
            # Two motions: some toolkits take the first one only as having arrived (measured on Qt).
            await own.move(Point(place.x - 2, place.y - 2))
            await asyncio.sleep(_HOVER)
            await own.move(place)
        elif step.do in _CLICKED:
            button = "right" if step.do == "right_click" else step.button
            await hand.press(place, button, 2 if step.do == "double_click" else step.count)
        else:
            raise Passed(f"{step.do} is nothing for a pointer")
    finally:
        await own.let_go(step.modifiers)
    return Delivery(f"at {place.x},{place.y}")


async def keys(desktop: LinuxDesktop, own: Input, act: Act) -> Delivery:
    """Press keys or type, with the keyboard focus on the target first."""
    step, element = act.step, act.element
    hand = Hand(desktop, own, act)
    if element is not None and element.role == "combobox" and "readonly" in element.states and step.do != "key":
        return await hand.type_option(element)
    if step.do == "select":
        raise Passed("only a combo is chosen in by typing")
    if step.do == "set" and element is not None and element.role != "cell" and _leaves(step.value or "", element):
        raise Passed("typed, a tab or new line would leave this field")
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
        case "set" if element is not None and element.role == "cell":
            await own.type(f"{step.value}\n")
        case "set" | "clear":
            await own.keys("ctrl+a")
            if step.wants_text():
                await own.type(step.wants_text())
            else:
                await own.keys("delete")
        case _:
            raise Passed(f"{step.do} is nothing for a keyboard")
    return Delivery("keys")


async def choose(desktop: LinuxDesktop, own: Input, act: Act) -> Delivery:
    """Open a combo or a menu with the pointer and click on what is wanted.

    What was opened is closed again when that fails.
    """
    step, hand = act.step, Hand(desktop, own, act)
    if step.do == "menu":
        names = [part.strip() for part in (step.path or "").split(">")]
        opener = next((one for one in act.snapshot if one.role in _MENU_ITEMS and _same(one, names[0])), None)
        wanted, roles = names[1:], _MENU_ITEMS
        if opener is None:
            raise Passed("the menu is not in the tree")
    else:
        opener = act.the_element()
        if opener.role != "combobox" or step.value is None:
            raise Passed("only combos and menus are chosen in this way")
        wanted, roles = [step.value], _CHOICES
    await hand.press(await hand.place(opener))
    try:
        for name in wanted:
            option = await hand.shown(name, roles)
            await hand.press(await hand.place(option))
    except BaseException:
        await own.keys("escape", len(wanted))
        raise
    return Delivery("opened and clicked")


def _leaves(text: str, field: Element) -> bool:
    """Whether typing a text would press a key that goes to the next field or submits the form."""
    return "\t" in text or ("\n" in text and "multiline" not in field.states)


def _same(element: Element, name: str) -> bool:
    return plain(element.name) == plain(name)


class Hand:
    """The agent's pointer and keyboard at work on one step's window."""

    def __init__(self, desktop: LinuxDesktop, own: Input, act: Act) -> None:
        self._desktop, self._own, self._act, self._window = desktop, own, act, act.window

    async def press(self, at: Point, button: Button = "left", count: int = 1) -> None:
        """Click at a point of the display."""
        await self._own.move(at)
        for _ in range(count):
            await self._own.press(button)
            await self._own.release(button)

    async def place(self, element: Element | None, point: Point | None = None) -> Point:
        """The point of the display to press at, brought into view; ``Passed`` where another window covers it."""
        if element is not None:
            at = (await self._visible_part(element)).centre
        elif point is not None:
            at = Point(self._window.bounds.x + point.x, self._window.bounds.y + point.y)
        else:
            at = self._window.bounds.centre
        if await self._ours(at):
            return at
        await self.to_front()
        end = time.monotonic() + _RAISE
        while not await self._ours(at):
            if time.monotonic() > end:
                raise Passed(f"another window covers {at.x},{at.y}")
            await asyncio.sleep(_POLL)
        return at

    async def to_front(self) -> None:
        """Make the window the active one."""
        listed = await self._desktop.windows.list()
        now = next((one for one in listed if one.native == self._window.native), None)
        if now is None:
            raise Passed("the window is gone")
        if "active" not in now.states:
            await self._desktop.windows.activate(self._window.native)

    async def focus(self, element: Element) -> None:
        """Give an element the keyboard focus: by its own means, else by a click on it."""
        if element.role == "cell":
            await self._to_cell(element)
        elif element.role in _SELECTED:
            # A click may open or edit it; selecting it makes it the one that keys go to.
            try:
                await actions.selection(self._desktop.bus, self._act.choosing())
            except Passed:
                await self._click_to_focus(element)
        elif not await self._is_focused(element) and not await self._takes_focus(element):
            await self._click_to_focus(element)

    async def _to_cell(self, cell: Element) -> None:
        """Put a sheet's cursor on a cell: by a click, or by its address where it cannot be seen.

        Selecting a cell of LibreOffice marks it and leaves the cursor where it was (measured).
        """
        try:
            await self._click_to_focus(cell)
        except Passed:
            fields = [one for one in self._act.snapshot if one.editable and _ADDRESS.fullmatch(one.value or "")]
            box = next((one for one in fields if one.role == "textbox"), None)
            if box is None or not _ADDRESS.fullmatch(cell.name):
                raise
            await self._click_to_focus(box)
            await self._own.keys("ctrl+a")
            await self._own.type(f"{cell.name}\n")
            # The keyboard goes back to the sheet when the application likes; a click takes it there for certain.
            await self._until(cell, lambda now: now.bounds is not None and not now.states & {"hidden", "offscreen"})
            await self._click_to_focus(await self._desktop.tree.read(cell) or cell)

    async def _click_to_focus(self, element: Element) -> None:
        """Click on an element and wait until it has the keyboard.

        LibreOffice handles keys before a click that came earlier: they would go where the keyboard was (measured).
        """
        await self.press(await self.place(element))
        if "focused" in element.knows:
            await self._until(element, lambda now: bool(now.states & {"focused", "selected"}))

    async def _until(self, element: Element, holds: Callable[[Element], bool]) -> None:
        end = time.monotonic() + _FOCUS
        while time.monotonic() < end:
            now = await self._desktop.tree.read(element)
            if now is not None and holds(now):
                return
            await asyncio.sleep(_POLL)
        raise Passed("it did not take the keyboard focus")

    async def type_option(self, element: Element) -> Delivery:
        """Choose in a closed combo by typing the option's name."""
        if self._act.step.value is None:
            raise Passed("there is no option to type")
        await self.to_front()
        if not await self._is_focused(element) and not await self._takes_focus(element):
            raise Passed("it does not take the focus without opening")
        await self._own.type(self._act.step.value)
        return Delivery("typed the option's name")

    async def shown(self, name: str, roles: frozenset[str]) -> Element:
        """An option or menu item, once it can be seen."""
        end = time.monotonic() + _POPUP
        while True:
            natives = await self._desktop.windows.list()
            popups = [
                replace(self._window, native=one.native, bounds=one.bounds, title="")
                for one in natives
                if one.kind == "popup" and one.pid == self._window.pid
            ]
            snapshot = await self._desktop.tree.snapshot(self._window, popups=popups)
            for element in snapshot:
                seen = element.bounds is not None and not element.states & {"hidden", "offscreen"}
                if seen and element.role in roles and _same(element, name):
                    return element
            if time.monotonic() > end:
                raise Passed(f"no {quote(name, 60)} came up")
            await asyncio.sleep(_POLL)

    async def _is_focused(self, element: Element) -> bool:
        now = await self._desktop.tree.read(element)
        return now is not None and "focused" in now.states

    async def _takes_focus(self, element: Element) -> bool:
        try:
            await actions.grab_focus(self._desktop.bus, element)
        except Passed:
            return False
        return await self._is_focused(element)

    async def _ours(self, at: Point) -> bool:
        """Whether a point of the display shows the window, or a pop-up of its application."""
        for one in reversed(await self._desktop.windows.list()):
            if one.frame.holds(at) and not one.states & {"minimised", "hidden"}:
                popup = one.kind == "popup" and (one.pid == self._window.pid or one.owner == self._window.native)
                return popup or one.native == self._window.native
        return False

    async def _visible_part(self, element: Element) -> Rect:
        """What can be seen of an element, in the display; scrolled into view where nothing of it can."""
        place = self._own_part(element)
        if element.role in _MENU_ITEMS:
            return place
        clip = self._clip(element)
        part = place.overlap(clip)
        if _enough(part, place):
            return part
        await self._desktop.tree.scroll_to(element)
        still = 0
        for _ in range(_MOST_WHEELS):
            again = await self._desktop.tree.read(element)
            if again is None:
                raise Passed("it vanished while it was scrolled into view")
            now = self._own_part(again)
            part = now.overlap(clip)
            if _enough(part, now):
                return part
            still = still + 1 if now == place else 0
            if still > _STUCK or not clip.area:
                break
            await self._wheel_towards(now, clip)
            place = now
        raise Passed("it could not be scrolled into view")

    def _own_part(self, element: Element) -> Rect:
        """Where an element lies in the display; of an expanded item of a tree only its own line."""
        place = display_place(element, self._window)
        if place is None:
            raise Passed("it publishes no place")
        if element.role == "treeitem" and "expanded" in element.states:
            return Rect(place.x, place.y, place.width, min(place.height, _LINE))
        return place

    def _clip(self, element: Element) -> Rect:
        """The part of the display in which an element can be seen: its window, and every container around it."""
        clip = self._window.bounds
        for above in self._act.snapshot.ancestors(element):
            if above.role in _FREE:
                break
            around = display_place(above, self._window)
            if around is not None:
                clip = clip.overlap(around)
        return clip

    async def _wheel_towards(self, place: Rect, clip: Rect) -> None:
        await self._own.move(clip.centre)
        down, right = place.centre.y - clip.centre.y, place.centre.x - clip.centre.x
        if abs(down) > clip.height // 2:
            await self._own.wheel("down" if down > 0 else "up", max(1, min(10, abs(down) // _WHEEL)))
        else:
            await self._own.wheel("right" if right > 0 else "left", max(1, min(10, abs(right) // _WHEEL)))
        await asyncio.sleep(_HOVER)


def _enough(part: Rect, whole: Rect) -> bool:
    """Whether so much of an element can be seen that a press in the middle of it is meant for it."""
    return part.width >= min(whole.width, 8) and part.height >= min(whole.height, 8)


TECHNIQUES: dict[str, Callable[[LinuxDesktop, Input, Act], Awaitable[Delivery]]] = {
    "xtest.pointer": pointer,
    "xtest.keys": keys,
    "xtest.choose": choose,
}
