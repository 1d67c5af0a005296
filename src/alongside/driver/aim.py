"""What a step is for: finding its element or point, and making sure that it is still what was looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alongside.core import targets
from alongside.core.errors import (
    Ambiguous,
    Disabled,
    IdentityChanged,
    Invalid,
    NotFound,
    Offscreen,
    Resized,
    Stale,
    TargetError,
)
from alongside.core.outline import element_line, quote

if TYPE_CHECKING:
    from alongside.core.elements import Element, Snapshot, Window
    from alongside.core.geometry import Point
    from alongside.core.steps import Step
    from alongside.driver.desktop import Desktop, Seen

_MENUS = frozenset({"menu", "menuitem", "menuitemcheckbox", "menuitemradio"})


class Aim:
    """Finds what the steps on one window are for; ``window`` is read anew before each step."""

    def __init__(self, desktop: Desktop, window: Window) -> None:
        self._desktop, self._window = desktop, window
        self._tree = desktop.platform.tree

    async def target(self, step: Step, seen: Seen) -> tuple[Element | None, Point | None]:
        """The element, or the point of the window, that a step is for; neither where it needs none."""
        match step.target:
            case None:
                return (
                    await self._menu(step, seen) if step.do == "menu" else await self._text_target(step, seen)
                ), None
            case targets.ByPoint():
                return None, self._point(step.target, seen)
            case targets.ByCell():
                return await self._cell(step.target, seen), None
            case _:
                return await self.resolve(step.target, seen), None

    async def resolve(self, target: targets.ByRef | targets.ByName, seen: Seen) -> Element:
        """The one element that is meant, in the last look or in a new one."""
        tell = self._told_apart
        try:
            return targets.resolve(target, seen.snapshot, self._desktop.refs, describe=tell)
        except (NotFound, Ambiguous):
            if isinstance(target, targets.ByRef):
                raise
        # What an earlier step brought up, or took away, is not in the last look.
        seen = await self._desktop.read(self._window)
        return targets.resolve(target, seen.snapshot, self._desktop.refs, describe=tell)

    def _point(self, target: targets.ByPoint, seen: Seen) -> Point:
        look = f'look("{self._window.id}", image="standard")'
        if seen.image is None:
            raise NotFound("A point is one of the last image, and there was none of this window.", next=look)
        if seen.image_size != (self._window.bounds.width, self._window.bounds.height):
            raise Resized(f"The window is not the size it had in the last image ({seen.image_size}).", next=look)
        try:
            return seen.image.to_window(target.point)
        except ValueError as outside:
            raise NotFound(f"{outside}.", next=look) from None

    async def _cell(self, target: targets.ByCell, seen: Seen) -> Element:
        cell = await self._tree.cell(seen.snapshot, target.row, target.column)
        if cell is None:
            return await self.resolve(targets.ByName(target.address), seen)
        if cell.key not in seen.snapshot.by_key:
            seen.snapshot = seen.snapshot.with_more(cell)
        return cell

    async def _text_target(self, step: Step, seen: Seen) -> Element | None:
        """For typing without a target: the focused text element, else the largest that one can type into."""
        if step.do != "type":
            return None
        if not seen.snapshot.elements:
            return None  # a window without a tree: to whatever has its keyboard
        seen = await self._desktop.read(self._window)
        fields = [one for one in seen.snapshot if one.editable and not one.states & {"hidden"}]
        # A cell last: the current one of Qt's trees and tables says that it is focused when something else is.
        cells = [one for one in seen.snapshot if one.role == "cell"]
        focused = [one for one in (*cells, *fields) if "focused" in one.states]
        if focused:
            return focused[-1]
        return max(fields, key=lambda one: one.bounds.area if one.bounds else 0, default=None)

    async def _menu(self, step: Step, seen: Seen) -> Element | None:
        """The item at the end of a menu path; None where it may come up once the menu is opened."""
        parts = targets.menu_path(step.path or "")
        if not parts:
            raise NotFound("The menu path is empty.", next='{"do": "menu", "path": "File > Save"}')
        missing: NotFound | None = None
        if step.via in {None, "gtk.action"}:
            try:
                item = await self._desktop.platform.menu_item(self._window, parts)
            except NotFound as wrong:
                missing, item = wrong, None
            if item is not None and not item.enabled:
                raise Disabled(
                    f"{quote(item.name, 80)} cannot be used now; nothing was sent.", next=f'look("{self._window.id}")'
                )
            if item is not None:
                return item
        # What is exported is read just now: of the tree only what was seen can have more.
        for attempt in (seen,) if missing is not None else (seen, None):
            snapshot = (attempt or await self._desktop.read(self._window)).snapshot
            found, level = _menu_item(parts, snapshot)
            if found is not None:
                return found
        if missing is not None:
            raise missing
        if any(_unfilled(parts[:depth], snapshot) for depth in range(1, len(parts))):
            return None
        raise NotFound(
            f"There is no menu item {quote(step.path or '', 120)}; here are: {', '.join(level) or 'no menus'}.",
            next=f'look("{self._window.id}", view="raw", find="menu")',
        )

    async def guarded(self, step: Step, element: Element, seen: Seen, *, named: bool = True) -> Element:
        """The element read again, if it is still what was looked at; nothing is sent to another.

        What was ``named`` is found again, once, where it is gone, changed or out of sight: on another tab, say.
        """
        now = await self._tree.read(element, deadline=min(1.0, max(0.1, step.timeout)))
        wrong = self._changed(step, element, now)
        if now is None:
            self._desktop.refs.retire(element.key)
        if wrong is not None:
            if not named or not isinstance(step.target, targets.ByName):
                raise wrong
            fresh = await self._desktop.read(self._window)
            found = targets.resolve(step.target, fresh.snapshot, self._desktop.refs, describe=self._told_apart)
            return await self.guarded(step, found, fresh, named=False)
        assert now is not None  # noqa: S101 - else it were wrong
        if not now.enabled and step.do not in {"hover", "focus"}:
            ref = self._desktop.ref(now, self._window.id)
            raise Disabled(
                f"{self.line(now)}: it cannot be used now; nothing was sent.",
                next=f'{{"do": "wait", "target": {ref}, "check": {{"enabled": true}}}}',
            )
        seen.snapshot = seen.snapshot.with_element(now)
        return now

    def _changed(self, step: Step, element: Element, now: Element | None) -> TargetError | None:
        """What is wrong with an element that was looked at and is read again; None if nothing is."""
        look = f'look("{self._window.id}")'
        if now is None:
            return Stale(f"{self.line(element)} is gone.", next=look)
        seen_as = self._desktop.identity(element) if isinstance(step.target, targets.ByRef) else _identity(element)
        # Some combos are named by what they show.
        if seen_as != _identity(now) and not (now.role == "combobox" and now.name == now.value):
            ref, (role, name) = self._desktop.ref(now, self._window.id), seen_as
            return IdentityChanged(f"[{ref}] {role} {quote(name)} is now {element_line(now, None)}.", next=look)
        # A cell that is scrolled away is still reached by its address.
        if "hidden" in now.states - element.states and element.role != "cell":
            return Offscreen(f"{self.line(element)} was in sight, and is hidden now; nothing was sent.", next=look)
        return None

    async def subject(self, step: Step, element: Element | None, seen: Seen) -> Element | None:
        """The element whose state is judged: the check's own target, or the step's."""
        if step.check is None or step.check.target is None:
            return element
        target = targets.parse(step.check.target)
        if isinstance(target, targets.ByPoint):
            raise NotFound("A check's target is a ref, a name or a cell.")
        try:
            if isinstance(target, targets.ByCell):
                found = await self._cell(target, seen)
            else:
                found = await self.resolve(target, seen)
        except (NotFound, Stale):
            if step.check.exists is None:
                raise
            return None  # it may be what is to come, or to be gone
        return await self._tree.read(found) or found

    async def in_sight(self, target: targets.Target) -> bool:
        """Whether an element can be seen now."""
        if not isinstance(target, targets.ByRef | targets.ByName):
            raise Invalid("`until` takes a ref or a name.", next='"until": "Fruit 150"')
        seen = await self._desktop.read(self._window)
        try:
            element = targets.resolve(target, seen.snapshot, self._desktop.refs)
        except (NotFound, Stale):
            return False
        return element.bounds is not None and not element.states & {"hidden", "offscreen"}

    async def end(self, step: Step, seen: Seen) -> tuple[Point | None, Element | None]:
        """Where a drag goes: a point of the window, or an element."""
        match step.to:
            case None:
                return None, None
            case targets.ByPoint():
                return self._point(step.to, seen), None
            case targets.ByCell():
                return None, await self._cell(step.to, seen)
            case _:
                return None, await self.guarded(step, await self.resolve(step.to, seen), seen)

    def line(self, element: Element) -> str:
        """An element's line, with its ref."""
        return element_line(element, self._desktop.ref(element, self._window.id))

    def _told_apart(self, element: Element) -> str:
        """An element with what it is in, for a list of those that share a name."""
        snapshot = self._desktop.seen[self._window.id].snapshot
        around = next(
            (one for one in snapshot.ancestors(element) if one.name not in {"", element.name} and one.role != "window"),
            None,
        )
        where = f" in {around.role} {quote(around.name, 60)}" if around else ""
        return f"[{self._desktop.ref(element, self._window.id)}] {element.role}{where}"


def _identity(element: Element) -> tuple[str, str]:
    return element.role, element.name


def _menu_item(parts: list[str], snapshot: Snapshot) -> tuple[Element | None, list[str]]:
    """The item at the end of a menu path, and the names of the level where the search ended (or of its last menu)."""
    among = [one for one in snapshot if one.role in _MENUS and _level(one, snapshot) == 0]
    found: Element | None = None
    for part in parts:
        called = targets.called(part, among)
        if not called:
            return None, [quote(one.name, 40) for one in among if one.name][:20]
        # LibreOffice publishes its menu bar twice; below one menu a name stands for one item.
        if found is not None and len(called) > 1:
            raise Ambiguous(f"{len(called)} items of the menu {quote(found.name, 40)} are called {quote(part, 40)}.")
        found = called[0]
        inside = list(snapshot.below(found))
        among = [one for one in inside if one.role in _MENUS and one.name and _level(one, snapshot, found) == 0]
    # What has items in it is a menu: an action of it would open it.
    return (None if among else found), [quote(one.name, 40) for one in among][:20]


def _unfilled(parts: list[str], snapshot: Snapshot) -> bool:
    """Whether the item of a menu path is there and nothing is in it yet: many are filled when they open."""
    found, _ = _menu_item(parts, snapshot)
    return found is not None and not any(one.role in _MENUS and one.name for one in snapshot.below(found))


def _level(item: Element, snapshot: Snapshot, top: Element | None = None) -> int:
    """How many named menu items lie between an item and ``top`` (or the window)."""
    count = 0
    for above in snapshot.ancestors(item):
        if top is not None and above.key == top.key:
            break
        count += above.role in _MENUS and bool(above.name)
    return count
