"""Menu items by path, through the menus and actions that an application exports on the session bus.

Applications of GTK whose menus are models export them (`org.gtk.Menus`, `org.gtk.Actions`), and so does LibreOffice;
properties of the window say where. Nothing is shown. Menus are read anew each time: LibreOffice makes up the names of
its actions in each process. It brings the items of a menu, and whether they can be used, up to date only when it is
told that the menu is open (measured), as a panel that shows the menus of others would tell it.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

from dbus_fast import Variant, is_bus_name_valid, is_object_path_valid

from alongside.core.elements import Element
from alongside.core.errors import Ambiguous, AppGone, AppHung, NotFound, Unavailable
from alongside.core.outline import quote
from alongside.core.ports import Act, Delivery, Passed
from alongside.platforms.linux.atspi.bus import Bus, Call, CallFailed, Node
from alongside.platforms.linux.gtk_menus import Entry, Menus
from alongside.platforms.linux.x11 import properties
from alongside.platforms.linux.x11.connection import answer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from alongside.core.elements import Window
    from alongside.platforms.linux.x11.connection import X11

SOURCE = "gtk"  # of elements that are items of exported menus
_MENUS, _ACTIONS = "org.gtk.Menus", "org.gtk.Actions"
_DAEMON = Node("org.freedesktop.DBus", "/org/freedesktop/DBus")
_OWNER = "_GTK_UNIQUE_BUS_NAME"
_MENU_PATHS = ("_GTK_MENUBAR_OBJECT_PATH", "_GTK_APP_MENU_OBJECT_PATH")
# The object of an action, by the prefix of its name in a menu.
_ACTION_PATHS = {"win": "_GTK_WINDOW_OBJECT_PATH", "app": "_GTK_APPLICATION_OBJECT_PATH"}
# How long reading the menus may take, and how long an answer to the call itself is waited for: some applications answer
# it only when the dialog that it opened is closed (measured: gtk_dialog_run). Seconds.
_READS, _ANSWERS = 1.0, 0.3
_LISTED = 20
# Errors of a call that was not carried out.
_NOT_DONE = frozenset({"AccessDenied", "InvalidArgs", "UnknownInterface", "UnknownMethod", "UnknownObject"})


class Exported(NamedTuple):
    """Where a window's menus and actions are: the bus name of its application, and object paths there."""

    bus: str
    menus: tuple[str, ...]
    actions: dict[str, str]

    def action(self, name: str) -> tuple[Node, str] | None:
        """The object that has an action, and its name there; None where the window has no such object."""
        prefix, _, rest = name.partition(".")
        return (Node(self.bus, self.actions[prefix]), rest) if rest and prefix in self.actions else None


class Item(NamedTuple):
    """What it takes to read an item again and to choose it: its menu entry, and the submenus' actions on its path."""

    exported: Exported
    entry: Entry
    opens: tuple[str, ...]


class State(NamedTuple):
    """What `Describe` says of an action: whether it can be used, the type of what it takes, and its state."""

    enabled: bool = False
    takes: str = ""
    held: Variant | None = None

    @classmethod
    def of(cls, described: Any) -> State:
        try:
            enabled, takes, held = described
            first = held[0] if held else None
        except (TypeError, ValueError, KeyError):
            return cls()
        return cls(enabled is True, str(takes), first if isinstance(first, Variant) else None)


class GtkActions:
    """The exported menus of a desktop's windows; the session bus is connected to when the first is needed."""

    def __init__(self, x: X11, session_address: str | None) -> None:
        self._x, self._address = x, session_address
        self._bus: Bus | None = None
        self._connecting = asyncio.Lock()

    def close(self) -> None:
        if self._bus is not None:
            self._bus.close()

    async def item(self, window: Window, path: Sequence[str]) -> Element | None:
        """The item at the end of a menu path; None where a window exports no menus, or is filled otherwise.

        ``NotFound`` and ``Ambiguous`` list what there is instead.
        """
        try:
            async with asyncio.timeout(_READS):
                exported = await self._exported(window)
                bus = await self._session()
                await self._same_process(bus, exported, window)
                return await self._item(_Menubar(bus, exported), window, path)
        except (Passed, CallFailed, AppGone, Unavailable):
            return None  # an application that lost its bus may still have its menus in the tree
        except TimeoutError:
            raise AppHung(
                f"The application did not tell its menus in {_READS:g} s.", next="wait, or close it and launch it again"
            ) from None

    async def read(self, element: Element, deadline: float) -> Element | None:
        """An item read again; None where its action is not there any more."""
        bus = await self._session()
        exported, entry, opens = _origin(element)
        bar = _Menubar(bus, exported)
        try:
            async with asyncio.timeout(deadline):
                await bar.open(list(opens))
                state = await bar.described(entry.action)
        except TimeoutError:
            raise AppHung(f"The application did not tell its menus in {deadline:g} s.") from None
        finally:
            bar.close()
        return _element(Item(exported, entry, opens), state) if state is not None else None

    async def deliver(self, act: Act) -> Delivery:
        """Choose the item of an exported menu."""
        if act.element is None or act.element.source != SOURCE:
            raise Passed("it is in no menu that the window exports")
        exported, entry, _ = _origin(act.element)
        where = exported.action(entry.action)
        if where is None:
            raise Passed(f"its action {quote(entry.action, 60)} is not one of the window or application")
        node, name = where
        told = f"action {quote(entry.action, 60)}"
        sent = [] if entry.target is None else [entry.target]
        try:
            bus = await self._session()
        except Unavailable as error:
            raise Passed(error.message) from None
        try:
            await bus.call(Call(node, _ACTIONS, "Activate", "sava{sv}", (name, sent, {})), _ANSWERS)
        except AppHung:
            return Delivery(f"{told}, not answered yet")
        except AppGone:
            return Delivery(f"{told}; the application ended")
        except CallFailed as failed:
            why = failed.name.rpartition(".")[2]
            if why in _NOT_DONE:
                raise Passed(f"{told}: {why}") from None
            return Delivery(f"{told} was answered with an error", unknown=True)
        return Delivery(told)

    async def _session(self) -> Bus:
        async with self._connecting:
            if self._bus is None or not self._bus.connected:
                self._bus = await Bus.session(self._address)
            return self._bus

    async def _exported(self, window: Window) -> Exported:
        said = await self._x.run(self._said, window.native)
        paths = {name: path for name, path in said.items() if is_object_path_valid(path)}
        menus = tuple(paths[name] for name in _MENU_PATHS if name in paths)
        if not menus or not said[_OWNER].startswith(":") or not is_bus_name_valid(said[_OWNER]):
            raise Passed("the window exports no menu")
        actions = {prefix: paths[name] for prefix, name in _ACTION_PATHS.items() if name in paths}
        return Exported(said[_OWNER], menus, actions)

    def _said(self, native: int) -> dict[str, str]:
        names = (_OWNER, *_MENU_PATHS, *_ACTION_PATHS.values())
        asked = {name: properties.ask(self._x, native, name) for name in names}
        return {name: properties.text(self._x, answer(cookie)) for name, cookie in asked.items()}

    async def _same_process(self, bus: Bus, exported: Exported, window: Window) -> None:
        """``Passed`` where a window names the menus of another program as its own."""
        pid = await bus.call(Call(_DAEMON, _DAEMON.bus, "GetConnectionUnixProcessID", "s", (exported.bus,)), _READS)
        if pid != window.pid:
            raise Passed("the menu that the window names is of another process")

    async def _item(self, bar: _Menubar, window: Window, path: Sequence[str]) -> Element | None:
        level: list[Entry] = []
        said = quote(" > ".join(path), 120)
        for place in bar.exported.menus:
            async with bar.at(place) as menus:
                found = await menus.find(path)
                if not found.level:
                    return None  # filled when it is opened, in a way that cannot be told
                level += found.level
                if not found.items:
                    continue
                first = found.items[0]
                if any((one.action, one.target) != (first.action, first.target) for one in found.items):
                    raise Ambiguous(
                        f"{len(found.items)} menu items are called {said}; here are: {await bar.listed(level)}."
                    )
                state = await bar.described(first.action) or State()
                return _element(Item(bar.exported, first, tuple(bar.opened)), state)
        raise NotFound(
            f"There is no menu item {said}; here are: {await bar.listed(level)}.",
            next=f'look("{window.id}", view="raw", find="menu")',
        )


class _Menubar:
    """The exported menus of one window, while they are read."""

    def __init__(self, bus: Bus, exported: Exported) -> None:
        self._bus, self.exported = bus, exported
        self._menus = Node(exported.bus, exported.menus[0])
        self.opened: list[str] = []

    @contextlib.asynccontextmanager
    async def at(self, path: str) -> AsyncIterator[Menus]:
        self._menus = Node(self.exported.bus, path)
        try:
            yield Menus(self)
        finally:
            self.close()

    async def start(self, groups: list[int]) -> Any:
        call = Call(self._menus, _MENUS, "Start", "au", (groups,))
        try:
            return await self._bus.call(call, _READS)
        finally:
            # It would tell us of every change of these menus from now on.
            self._bus.post(call._replace(member="End"), _ignored)

    async def open(self, actions: list[str]) -> None:
        """Say that submenus are open: those that say they are not, as the person may have one open."""
        states = await asyncio.gather(*(self.described(one) for one in actions))
        closed = [
            one for one, state in zip(actions, states, strict=True) if state and state.held == Variant("b", False)
        ]
        self.opened += closed
        await asyncio.gather(*(self._bus.try_call(self._set(one, on=True), _READS) for one in closed))

    def close(self) -> None:
        """Say that what was opened is closed. No answer is waited for: what is sent next comes after it."""
        while self.opened:
            self._bus.post(self._set(self.opened.pop(), on=False), _ignored)

    async def described(self, action: str) -> State | None:
        """What an action says of itself; None where it is not there."""
        where = self.exported.action(action)
        if where is None:
            return None
        reply = await self._bus.try_call(Call(where[0], _ACTIONS, "Describe", "s", (where[1],)), _READS)
        return State.of(reply) if reply is not None else None

    async def listed(self, level: list[Entry]) -> str:
        """Some entries of a level, each once, with their states."""
        named = list({one.name: one for one in reversed(level) if one.name}.values())[::-1]
        some = named[:_LISTED]
        states = await asyncio.gather(*(self.described(one.action) for one in some))
        lines = [_line(one, state or State()) for one, state in zip(some, states, strict=True)]
        return ", ".join([*lines, f"{len(named) - _LISTED} more"] if len(named) > _LISTED else lines)

    def _set(self, action: str, *, on: bool) -> Call:
        where = self.exported.action(action)
        assert where is not None  # noqa: S101 - only what was described is set
        return Call(where[0], _ACTIONS, "SetState", "sva{sv}", (where[1], Variant("b", on), {}))


def _usable(entry: Entry, state: State) -> bool:
    """Whether an item can be chosen, by GTK's rule: its action takes what the item sends."""
    return state.enabled and state.takes == (entry.target.signature if entry.target is not None else "")


def _is_on(entry: Entry, state: State) -> bool | None:
    """Whether an item is on: None for one that is neither on nor off."""
    if state.held is None:
        return None
    if entry.target is not None:
        return state.held == entry.target
    return state.held.value is True if state.held.signature == "b" else None


def _line(entry: Entry, state: State) -> str:
    told = quote(entry.name, 40)
    if entry.submenu:
        return f"{told} >"
    on = _is_on(entry, state)
    states = [*(() if on is None else ("on" if on else "off",)), *(() if _usable(entry, state) else ("disabled",))]
    return f"{told} ({', '.join(states)})" if states else told


def _element(item: Item, state: State) -> Element:
    entry, on = item.entry, _is_on(item.entry, state)
    role = "menuitem" if on is None else "menuitemcheckbox" if entry.target is None else "menuitemradio"
    states = {"checked"} if on else set()
    return Element(
        # A key of no object in the tree.
        key=f"{SOURCE}{item.exported.menus[0]} {entry.action} {entry.target}",
        role=role,
        name=entry.name,
        states=frozenset(states if _usable(entry, state) else states | {"disabled"}),
        knows=frozenset() if on is None else frozenset({"checked"}),
        source=SOURCE,
        extra=item,
    )


def _origin(element: Element) -> Item:
    if not isinstance(element.extra, Item):
        raise TypeError(f"{element.key} is no item of an exported menu")
    return element.extra


def _ignored(_answer: Any) -> None:
    """The answer to a call that nobody waits for."""
