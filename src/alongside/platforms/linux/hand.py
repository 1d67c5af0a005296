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
from alongside.core.errors import IdentityChanged, NotFound, Stale
from alongside.core.geometry import Point, Rect
from alongside.core.outline import element_line, quote
from alongside.core.ports import Act, Delivery, NativeWindow, Passed
from alongside.core.targets import only, plain
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
# How long a pop-up may take to open and to close, what covers a place to go, a place to stay the same, an element to
# take the focus it was given or was clicked for; and how often is looked (seconds).
_OPENS, _CLOSES, _CLEARS, _STILL, _GIVEN, _FOCUS, _POLL = 1.5, 0.5, 0.5, 1.0, 0.5, 1.5, 0.02
# How long it takes until what was scrolled says where it is now (seconds): in Chromium 0.46 to 0.48 (measured).
_SCROLLS, _BROWSER_SCROLLS = 0.05, 0.7
_BROWSERS = frozenset({"Chromium", "Firefox"})
# Lines that Qt scrolls for a wheel click; how long a pointer is at a place before the wheel turns (seconds).
_LINES, _HOVER = 3, 0.05
# How far before an element is looked for one that takes the focus, and how many Tabs are pressed.
_NEIGHBOURS = 3
# Pixels that a wheel click scrolls at most; how often is tried, and how often in vain; pop-ups open at once at most.
_WHEEL, _MOST_WHEELS, _STUCK, _MOST_POPUPS = 150, 60, 3, 6

_NOTHING = Rect(0, 0, 0, 0)


class Hand:
    """The pointer and the keyboard; ``sent`` says what they did so far, empty for nothing."""

    def __init__(self, desktop: LinuxDesktop, own: Input, act: Act) -> None:
        self._desktop, self._own, self._act = desktop, own, act
        self._window, self._snapshot = act.window, act.snapshot
        # Whether it works on the window wherever that is, and brings nothing to the front.
        self.behind = isinstance(own, Activation)
        self.sent = ""

    async def press(self, at: Point, button: Button = "left", count: int = 1) -> None:
        """Click at a point of the display; clicks of two steps are never taken for a double click."""
        rest = self._desktop.pressed_at + _DOUBLE - time.monotonic()
        if rest > 0 and math.dist(at, self._desktop.pressed) < _NEAR and not self._means_the_same_again():
            await asyncio.sleep(rest)
        self.sent = "clicked"
        for _ in range(count):
            await self._own.click(at, button)
        self._desktop.pressed, self._desktop.pressed_at = at, time.monotonic()

    def _means_the_same_again(self) -> bool:
        """Whether a second click does what the first one does, however soon it comes."""
        return self._act.element is not None and self._act.element.role in _BUTTONS

    async def place(self, element: Element | None, point: Point | None = None) -> Point:
        """The point of the display to press at, brought into view, as it is at this moment.

        ``Passed`` where something else covers it, ``Stale`` or ``IdentityChanged`` where it is not the element any
        more.
        """
        if element is None:
            return await self._point(point)
        await self.scrolled()
        end = time.monotonic() + _STILL
        while True:
            own, part = places.own_part(self._window, element), await self._visible_part(element)
            await self._uncovered(part.centre, element, part)
            element = await self._still(element)
            if places.own_part(self._window, element) == own:
                return part.centre
            if time.monotonic() > max(end, self._own.wheeled_at + _STILL):
                raise Passed("it does not stay in one place")

    async def _point(self, point: Point | None) -> Point:
        """A point of the window (its middle if none) on the display, also where the window has moved meanwhile."""
        while True:
            frame = self._window.bounds
            at = frame.centre if point is None else Point(frame.x + point.x, frame.y + point.y)
            await self._uncovered(at)
            if self._window.bounds == frame:
                return at

    async def scroll(self, at: Point, direction: str, amount: int, element: Element | None) -> None:
        """Turn the wheel at a point; behind other windows Qt takes no wheel, and its scroll bar is clicked on."""
        if not self.behind or self._snapshot.toolkit != "Qt":
            await self._own.move(at)
            if self.sent != "scrolled":  # the pointer has only now come there
                await asyncio.sleep(_HOVER)
            await self._own.wheel(direction, amount)
        elif element is None or direction not in {"up", "down"}:
            raise Passed("Qt takes no wheel from behind")
        else:
            up, down = places.bar_ends(self._window, element, self._snapshot)
            for _ in range(_LINES * amount):
                await self._own.click(down if direction == "down" else up)
            self._own.wheeled_at = time.monotonic()
        self.sent = "scrolled"
        await self.scrolled()

    async def scrolled(self) -> None:
        """Wait until the places of what the wheel scrolled can be believed."""
        late = _BROWSER_SCROLLS if self._snapshot.toolkit in _BROWSERS else _SCROLLS
        await asyncio.sleep(self._own.wheeled_at + late - time.monotonic())

    async def to_front(self) -> None:
        """Make the window the active one, or have it believe that it is."""
        if isinstance(self._own, Activation):
            await self._own.activate()
            return
        now = self._listed(await self._desktop.windows.list())
        if "active" not in now.states:
            await self._desktop.windows.activate(self._window.native)

    async def focus(self, element: Element) -> None:
        """Give an element the keyboard focus: by its own means, or by a click on what a click only gives the focus."""
        if element.role == "cell":
            await self._to_cell(element)
        elif element.role in _SELECTED:
            # A click may open or edit it; selecting it makes it the one that keys go to.
            try:
                await actions.selection(self._desktop.bus, self._act.choosing())
            except Passed:
                await self._click_to_focus(element)
        elif not await self._is_focused(element) and not await self._takes_focus(element):
            closed = element.role == "combobox" and not element.editable
            if element.role not in TEXT_ROLES or closed:
                raise Passed("it does not take the focus without being pressed")
            await self._click_to_focus(element)

    async def type_option(self, element: Element) -> Delivery:
        """Choose in a closed combo by typing the option's name."""
        wanted = self._act.step.value
        if wanted is None:
            raise Passed("there is no option to type")
        options = [one for one in self._snapshot.below(element) if one.role in places.OPTIONS]
        if sum(plain(one.name).startswith(plain(wanted)) for one in options) > 1:
            raise Passed("several of its options begin like this")
        await self._own.can_write(wanted)
        await self.to_front()
        if not await self._is_focused(element) and not await self._takes_focus(element):
            raise Passed("it does not take the focus without opening")
        await self._own.type(wanted)
        return Delivery("typed the option's name")

    async def shown(self, name: str, roles: frozenset[str], opener: Element) -> Element:
        """The option or menu item of a name that came up when ``opener`` was pressed, once it can be seen.

        ``NotFound`` says what came up instead, ``Ambiguous`` that several of the name did.
        """
        end = time.monotonic() + _OPENS
        before = self._snapshot
        while True:
            popups = [
                replace(self._window, native=one.native, bounds=one.bounds, title="") for one in await self._popups()
            ]
            self._snapshot = now = await self._desktop.tree.snapshot(self._window, popups=popups)
            inside = {one.key for one in now.below(opener)}
            up = [
                one
                for one in now
                if one.role in roles
                and places.in_sight(one)
                and (one.key in inside or places.is_apart(one, now) or not places.in_sight(before.by_key.get(one.key)))
            ]
            if (found := only(name, up, now)) is not None:
                return found
            if time.monotonic() > end:
                offered = ", ".join(quote(one.name, 40) for one in up[:12]) or "nothing"
                raise NotFound(f"No {quote(name, 60)} came up in it, but {offered}.")
            await asyncio.sleep(_POLL)

    async def popups(self) -> set[int]:
        """The native numbers of the application's open menus and lists."""
        return {one.native for one in await self._popups()}

    async def close_popups(self, but: set[int]) -> None:
        """Close the menus and lists that were opened since ``but``; Escape would close a dialog where none is open."""
        for _ in range(_MOST_POPUPS):
            opened = await self.popups() - but
            if not opened:
                return
            await self._own.keys("escape")
            end = time.monotonic() + _CLOSES
            while opened <= await self.popups() and time.monotonic() < end:
                await self._desktop.windows.changed(_POLL)

    async def close_menu(self, opener: Element) -> None:
        """Close a page's menu that was opened: it is a part of the page, and takes a second click."""
        now = await self._desktop.tree.read(opener)
        if now is not None and self._snapshot.toolkit in _BROWSERS and "expanded" in now.states:
            await self.press(await self.place(now))

    async def _still(self, element: Element) -> Element:
        """The element as it is now, if it is the same one."""
        now = await self._desktop.tree.read(element)
        look = f'look("{self._window.id}")'
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
            listed = await self._desktop.windows.list()
            self._window = replace(self._window, bounds=self._listed(listed).bounds)
            if self.behind:
                return
            top = next(
                (one for one in reversed(listed) if one.frame.holds(at) and not one.states & {"minimised", "hidden"}),
                None,
            )
            popup = top is not None and self._is_popup(top)
            if top is not None and (
                top.native == self._window.native
                or (popup and element is not None and places.lies_in(element, part, top, self._snapshot))
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
            await self._desktop.windows.changed(_POLL)

    def _is_popup(self, one: NativeWindow) -> bool:
        ours = one.pid == self._window.pid or one.owner == self._window.native
        return one.kind == "popup" and one.native != self._window.native and ours

    async def _popups(self) -> list[NativeWindow]:
        return [one for one in await self._desktop.windows.list() if self._is_popup(one)]

    def _listed(self, listed: list[NativeWindow]) -> NativeWindow:
        now = next((one for one in listed if one.native == self._window.native), None)
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
            fields = [one for one in self._snapshot if one.editable and _ADDRESS.fullmatch(one.value or "")]
            box = next((one for one in fields if one.role == "textbox"), None)
            if box is None or not _ADDRESS.fullmatch(cell.name):
                raise
            await self._click_to_focus(box)
            await self._own.keys("ctrl+a")
            await self._own.type(f"{cell.name}\n")
            # The keyboard goes back to the sheet when the application likes; a click takes it there for certain.
            if not await self._until([cell], places.in_sight, _FOCUS):
                raise Passed("it did not come into view") from None
            await self._click_to_focus(await self._desktop.tree.read(cell) or cell)

    async def _click_to_focus(self, element: Element) -> None:
        """Click on an element and wait until it, or the field in it, has the keyboard.

        LibreOffice handles keys before a click that came earlier: they would go where the keyboard was (measured).
        """
        caret = await actions.caret(self._desktop.bus, element) if self.behind else None
        await self.press(await self.place(element))
        parts = [element, *(one for one in self._snapshot.below(element) if one.role == "textbox")]
        telling = [one for one in parts if "focused" in one.knows]
        if telling and not await self._until(telling, _has_keyboard, _FOCUS):
            raise Passed("it did not take the keyboard focus")
        if caret is not None:
            await actions.move_caret(self._desktop.bus, element, caret)  # a click is not meant to move it

    async def _until(self, elements: list[Element], holds: Callable[[Element], bool], seconds: float) -> bool:
        """Whether one of the elements comes to be like that in so many seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for element in elements:
                now = await self._desktop.tree.read(element)
                if now is not None and holds(now):
                    return True
            await asyncio.sleep(_POLL)
        return False

    async def _is_focused(self, element: Element) -> bool:
        now = await self._desktop.tree.read(element)
        return now is not None and "focused" in now.states

    async def _takes_focus(self, element: Element) -> bool:
        if self.behind and self._snapshot.toolkit != "Qt":
            return False  # GTK 3 and Chromium take the display's focus as well (measured)
        try:
            await actions.grab_focus(self._desktop.bus, element)
        except Passed:
            return self._snapshot.toolkit == "Qt" and await self._tab_to(element)
        # Chromium says yes, and does it a little later (measured).
        seconds = _GIVEN if "focused" in element.knows else _POLL
        return await self._until([element], lambda now: "focused" in now.states, seconds)

    async def _tab_to(self, element: Element) -> bool:
        """Give the focus to what comes before an element, and go on to it by Tab: Qt's combos take none (measured)."""
        before: list[Element] = []
        for one in self._snapshot:
            if one.key == element.key:
                break
            if one.role in TEXT_ROLES | _BUTTONS and one.enabled and "hidden" not in one.states:
                before.append(one)
        for one in reversed(before[-_NEIGHBOURS:]):
            try:
                await actions.grab_focus(self._desktop.bus, one)
            except Passed:
                continue
            for _ in range(_NEIGHBOURS):
                self.sent = "pressed Tab"
                await self._own.keys("tab")
                if await self._is_focused(element):
                    return True
        return False

    async def _visible_part(self, element: Element) -> Rect:
        """What can be seen of an element, in the display; scrolled into view where nothing of it can."""
        place = places.own_part(self._window, element)
        if any(above.role == "menu" for above in self._snapshot.ancestors(element)):
            if element.states & {"hidden", "offscreen"}:
                raise Passed("it is in a menu that is not open")
            return place
        clip = places.clipped(self._window, element, self._snapshot)
        part = place.overlap(clip)
        if places.enough(part, place):
            return part
        if await self._desktop.tree.scroll_to(element):
            self._own.wheeled_at = time.monotonic()
            await self.scrolled()
        still = 0
        for _ in range(_MOST_WHEELS):
            again = await self._desktop.tree.read(element)
            if again is None:
                raise Stale("It vanished while it was scrolled into view.", next=f'look("{self._window.id}")')
            now = places.own_part(self._window, again)
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

    async def _scroll_towards(self, element: Element, place: Rect, clip: Rect) -> None:
        down, right = place.centre.y - clip.centre.y, place.centre.x - clip.centre.x
        if place.overlap(clip).height < min(place.height, places.LEAST):
            way, far = "down" if down > 0 else "up", abs(down)
        else:
            way, far = "right" if right > 0 else "left", abs(right)
        await self.scroll(clip.centre, way, max(1, min(10, far // _WHEEL)), element)


def _has_keyboard(element: Element) -> bool:
    return bool(element.states & {"focused", "selected"})
