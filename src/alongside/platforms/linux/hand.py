"""A pointer and a keyboard at work on one step's window.

Right before anything is pressed the element is read again, and what shows at its place must be its own window, or the
open menu or list that it is in. An element is pressed to be given the focus only where a press does nothing else.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from alongside.core.elements import TEXT_ROLES
from alongside.core.errors import IdentityChanged, Stale
from alongside.core.geometry import Point, Rect
from alongside.core.outline import element_line
from alongside.core.ports import Act, NativeWindow, Passed
from alongside.platforms.linux import places
from alongside.platforms.linux.atspi import actions
from alongside.platforms.linux.x11.activation import Activation

if TYPE_CHECKING:
    from collections.abc import Callable

    from alongside.core.elements import Element
    from alongside.core.ports import Input
    from alongside.core.steps import Button
    from alongside.platforms.linux.desktop import LinuxDesktop

_BUTTONS = frozenset({"button", "checkbox", "radio", "switch", "tab", *places.MENU_ITEMS})
# Clicks this close to each other, in time (seconds) and place (pixels), are a double click.
_DOUBLE, _NEAR = 0.55, 12
_SELECTED = frozenset({"option", "treeitem", "row"})
# What the field of a sheet shows that also takes a cell's address to go to (LibreOffice gives it no name).
_ADDRESS = re.compile(r"[A-Z]{1,3}[0-9]{1,7}")
# How long what covers a place may take to go, a place to stay the same, an element to
# take the focus it was given or was clicked for; and how often is looked (seconds).
_CLEARS, _STILL, _GIVEN, _FOCUS, _POLL = 0.5, 1.0, 0.5, 1.5, 0.02
# How long it takes until what was scrolled says where it is now (seconds): in Chromium 0.46 to 0.48 (measured).
_SCROLLS, _BROWSER_SCROLLS = 0.05, 0.7
# How long what is asked to come into view may take at most (seconds).
_COMES = 2.5
_BROWSERS = frozenset({"Chromium", "Firefox"})
# Lines that Qt scrolls for a wheel click; how long a pointer is at a place before the wheel turns (seconds).
_LINES, _HOVER = 3, 0.05
# How far before an element is looked for one that takes the focus, and how many Tabs are pressed.
_NEIGHBOURS = 3
_TABS = 0.15  # seconds that a Tab may take to move the focus
# Pixels that a wheel click scrolls at most; how often is tried, and how often in vain.
_WHEEL, _MOST_WHEELS, _STUCK = 150, 60, 3

_NOTHING = Rect(0, 0, 0, 0)


class Hand:
    """The pointer and the keyboard; ``sent`` says what they did so far, empty for nothing."""

    def __init__(self, desktop: LinuxDesktop, own: Input, act: Act) -> None:
        self.desktop, self.own, self.act = desktop, own, act
        self.window, self.snapshot = act.window, act.snapshot
        # Whether it works on the window wherever that is, and brings nothing to the front.
        self.behind = isinstance(own, Activation)
        self.sent = ""

    async def press(self, at: Point, button: Button = "left", count: int = 1) -> None:
        """Click at a point of the display; clicks of two steps are never taken for a double click."""
        rest = self.desktop.pressed_at + _DOUBLE - time.monotonic()
        if rest > 0 and math.dist(at, self.desktop.pressed) < _NEAR and not self._means_the_same_again():
            await asyncio.sleep(rest)
        self.sent = "clicked"
        for _ in range(count):
            await self.own.click(at, button)
        self.desktop.pressed, self.desktop.pressed_at = at, time.monotonic()

    def _means_the_same_again(self) -> bool:
        """Whether a second click does what the first one does, however soon it comes."""
        return self.act.element is not None and self.act.element.role in _BUTTONS

    async def place(self, element: Element | None, point: Point | None = None) -> Point:
        """The point of the display to press at, brought into view, as it is at this moment.

        ``Passed`` where something else covers it, ``Stale`` or ``IdentityChanged`` where it is not the element any
        more.
        """
        if element is None:
            return await self._point(point)
        await self.scrolled()
        if (
            page := next((one for one in self.snapshot.ancestors(element) if one.role == "document"), None)
        ) is not None:
            await self.desktop.tree.up_to_date(page)
            element = await self._still(element)
        end = time.monotonic() + _STILL
        while True:
            own, part = places.own_part(self.window, element), await self._visible_part(element)
            await self._uncovered(part.centre, element, part)
            element = await self._still(element)
            if places.own_part(self.window, element) == own:
                return part.centre
            if time.monotonic() > max(end, self.own.wheeled_at + _STILL):
                raise Passed("it does not stay in one place")

    async def _point(self, point: Point | None) -> Point:
        """A point of the window (its middle if none) on the display, also where the window has moved meanwhile."""
        while True:
            frame = self.window.bounds
            at = frame.centre if point is None else Point(frame.x + point.x, frame.y + point.y)
            await self._uncovered(at)
            if self.window.bounds == frame:
                return at

    async def scroll(self, at: Point, direction: str, amount: int, element: Element | None) -> None:
        """Turn the wheel at a point; behind other windows Qt takes no wheel, and its scroll bar is clicked on."""
        if not self.behind or self.snapshot.toolkit != "Qt":
            await self.own.move(at)
            if self.sent != "scrolled":  # the pointer has only now come there
                await asyncio.sleep(_HOVER)
            await self.own.wheel(direction, amount)
        elif element is None or direction not in {"up", "down"}:
            raise Passed("Qt takes no wheel from behind")
        else:
            up, down = places.bar_ends(self.window, element, self.snapshot)
            for _ in range(_LINES * amount):
                await self.own.click(down if direction == "down" else up)
            self.own.wheeled_at = time.monotonic()
        self.sent = "scrolled"
        await self.scrolled()

    async def scrolled(self) -> None:
        """Wait until the places of what the wheel scrolled can be believed."""
        late = _BROWSER_SCROLLS if self.snapshot.toolkit in _BROWSERS else _SCROLLS
        await asyncio.sleep(self.own.wheeled_at + late - time.monotonic())

    async def to_front(self) -> None:
        """Make the window the active one, or have it believe that it is."""
        if isinstance(self.own, Activation):
            await self.own.activate()
            return
        now = self._listed(await self.desktop.windows.list())
        if "active" not in now.states:
            await self.desktop.windows.activate(self.window.native)

    async def focus(self, element: Element) -> None:
        """Give an element the keyboard focus: by its own means, or by a click on what a click only gives the focus."""
        if element.role == "cell":
            await self._to_cell(element)
        elif element.role in _SELECTED:
            # A click may open or edit it; selecting it makes it the one that keys go to.
            try:
                await actions.selection(self.desktop.bus, self.act.choosing())
            except Passed:
                await self._click_to_focus(element)
        elif not await self.is_focused(element) and not await self.takes_focus(element):
            closed = element.role == "combobox" and not element.editable
            if element.role not in TEXT_ROLES or closed:
                raise Passed("it does not take the focus without being pressed")
            await self._click_to_focus(element)

    async def _still(self, element: Element) -> Element:
        """The element as it is now, if it is the same one."""
        now = await self.desktop.tree.read(element)
        look = f'look("{self.window.id}")'
        if now is None:
            raise Stale(f"{element_line(element, None)} went away before it was pressed.", next=look)
        # Some combos are named by what they show.
        if (now.role, now.name) != (element.role, element.name) and not (
            now.role == "combobox" and now.name == now.value
        ):
            raise IdentityChanged(
                f"{element_line(element, None)} became {element_line(now, None)} before it was pressed.", next=look
            )
        if "hidden" in now.states:
            raise Passed("it is not shown now")
        return now

    async def _uncovered(self, at: Point, element: Element | None = None, part: Rect = _NOTHING) -> None:
        """Return when a point shows the window, or the open menu or list that the element is in."""
        end, raised = time.monotonic() + _CLEARS, False
        while True:
            listed = await self.desktop.windows.list()
            self.window = replace(self.window, bounds=self._listed(listed).bounds)
            if self.behind:
                if any(self.is_popup(one) for one in listed):
                    raise Passed("a menu or list of the application is open, and a click would only close it")
                return
            top = next(
                (one for one in reversed(listed) if one.frame.holds(at) and not one.states & {"minimised", "hidden"}),
                None,
            )
            popup = top is not None and self.is_popup(top)
            if top is not None and (
                top.native == self.window.native
                or (popup and element is not None and places.lies_in(element, part, top, self.snapshot))
            ):
                return
            if time.monotonic() > end:
                if popup:
                    raise Passed(f"an open menu or list covers {at.x},{at.y}: choose in it, or close it by Escape")
                raise Passed(f"another window covers {at.x},{at.y}" if top else f"{at.x},{at.y} is off the display")
            if not popup and not raised:
                await self.to_front()
                raised = True
                continue
            await self.desktop.windows.changed(_POLL)

    def is_popup(self, one: NativeWindow) -> bool:
        """Whether a window is a menu or list of the application."""
        ours = one.pid == self.window.pid or one.owner == self.window.native
        return one.kind == "popup" and one.native != self.window.native and ours

    def _listed(self, listed: list[NativeWindow]) -> NativeWindow:
        now = next((one for one in listed if one.native == self.window.native), None)
        if now is None:
            raise Passed("the window is gone")
        return now

    async def _to_cell(self, cell: Element) -> None:
        """Put a sheet's cursor on a cell: by a click, or by its address where it cannot be seen.

        Selecting a cell of LibreOffice marks it and leaves the cursor where it was (measured).
        """
        try:
            await self._click_to_focus(cell)
        except Passed:
            fields = [one for one in self.snapshot if one.editable and _ADDRESS.fullmatch(one.value or "")]
            box = next((one for one in fields if one.role == "textbox"), None)
            if box is None or not _ADDRESS.fullmatch(cell.name):
                raise
            await self._click_to_focus(box)
            await self.own.keys("ctrl+a")
            await self.own.type(f"{cell.name}\n")
            # The keyboard goes back to the sheet when the application likes; a click takes it there for certain.
            if not await self._until([cell], places.in_sight, _FOCUS):
                raise Passed("it did not come into view") from None
            await self._click_to_focus(await self.desktop.tree.read(cell) or cell)

    async def _click_to_focus(self, element: Element) -> None:
        """Click on an element and wait until it, or the field in it, has the keyboard.

        LibreOffice handles keys before a click that came earlier: they would go where the keyboard was (measured).
        """
        caret = await actions.caret(self.desktop.bus, element) if self.behind else None
        await self.press(await self.place(element))
        parts = [element, *(one for one in self.snapshot.below(element) if one.role == "textbox")]
        telling = [one for one in parts if "focused" in one.knows]
        if telling and not await self._until(telling, _has_keyboard, _FOCUS):
            raise Passed("it did not take the keyboard focus")
        if caret is not None:
            await actions.move_caret(self.desktop.bus, element, caret)  # a click is not meant to move it

    async def _until(self, elements: list[Element], holds: Callable[[Element], bool], seconds: float) -> bool:
        """Whether one of the elements comes to be like that in so many seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for element in elements:
                now = await self.desktop.tree.read(element)
                if now is not None and holds(now):
                    return True
            await asyncio.sleep(_POLL)
        return False

    async def is_focused(self, element: Element) -> bool:
        """Whether an element has the keyboard focus now."""
        now = await self.desktop.tree.read(element)
        return now is not None and "focused" in now.states

    async def takes_focus(self, element: Element) -> bool:
        """Give an element the keyboard focus without pressing it; whether it took it."""
        if self.behind and self.snapshot.toolkit != "Qt":
            return False  # GTK 3 and Chromium take the display's focus as well (measured)
        try:
            await actions.grab_focus(self.desktop.bus, element)
        except Passed:
            return self.snapshot.toolkit == "Qt" and await self._tab_to(element)
        # Chromium says yes, and does it a little later (measured).
        seconds = _GIVEN if "focused" in element.knows else _POLL
        return await self._until([element], lambda now: "focused" in now.states, seconds)

    async def _tab_to(self, element: Element) -> bool:
        """Give the focus to what comes before an element, and go on to it by Tab: Qt's combos take none (measured)."""
        before: list[Element] = []
        for one in self.snapshot:
            if one.key == element.key:
                break
            takes = one.role in TEXT_ROLES | _BUTTONS and one.enabled and "hidden" not in one.states
            if takes and "multiline" not in one.states:  # there Tab would be written
                before.append(one)
        for one in reversed(before[-_NEIGHBOURS:]):
            try:
                await actions.grab_focus(self.desktop.bus, one)
            except Passed:
                continue
            for _ in range(_NEIGHBOURS):
                self.sent = "pressed Tab"
                await self.own.keys("tab")
                # Qt answers that it has the key before it has moved the focus.
                if await self._until([element], lambda now: "focused" in now.states, _TABS):
                    return True
        return False

    async def _visible_part(self, element: Element) -> Rect:
        """What can be seen of an element, in the display; scrolled into view where nothing of it can."""
        place = places.own_part(self.window, element)
        if any(above.role == "menu" for above in self.snapshot.ancestors(element)):
            if element.states & {"hidden", "offscreen"}:
                raise Passed("it is in a menu that is not open")
            return place
        clip = places.clipped(self.window, element, self.snapshot)
        part = place.overlap(clip)
        if places.enough(part, place):
            return part
        if await self.desktop.tree.scroll_to(element):
            await self._comes_to_rest(element, clip)
        still = 0
        for _ in range(_MOST_WHEELS):
            again = await self.desktop.tree.read(element)
            if again is None:
                raise Stale("It vanished while it was scrolled into view.", next=f'look("{self.window.id}")')
            now = places.own_part(self.window, again)
            part = now.overlap(clip)
            if places.enough(part, now):
                return part
            still = still + 1 if now == place else 0
            if still > _STUCK or not clip.area:
                break
            await self._uncovered(clip.centre, element, clip)
            await self._scroll_towards(again, now, clip)
            place = now
        raise Passed("it could not be scrolled into view")

    async def _comes_to_rest(self, element: Element, clip: Rect) -> None:
        """Return when an element that was asked to come into view did, and no longer moves."""
        late = _BROWSER_SCROLLS if self.snapshot.toolkit in _BROWSERS else _SCROLLS
        place, since = None, time.monotonic()
        end = since + (_COMES if late > _SCROLLS else late)
        while (now := time.monotonic()) < end:
            again = await self.desktop.tree.read(element)
            at = places.own_part(self.window, again) if again is not None else None
            if at is None or at != place:
                place, since = at, now
            elif now - since > late and places.enough(at.overlap(clip), at):
                return
            await asyncio.sleep(_POLL)

    async def _scroll_towards(self, element: Element, place: Rect, clip: Rect) -> None:
        down, right = place.centre.y - clip.centre.y, place.centre.x - clip.centre.x
        if place.overlap(clip).height < min(place.height, places.LEAST):
            way, far = "down" if down > 0 else "up", abs(down)
        else:
            way, far = "right" if right > 0 else "left", abs(right)
        await self.scroll(clip.centre, way, max(1, min(10, far // _WHEEL)), element)


def _has_keyboard(element: Element) -> bool:
    return bool(element.states & {"focused", "selected"})
