"""The windows of a display: which there are, what they are, and which is in front."""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING

import xcffib
import xcffib.xproto

from alongside.core.errors import NoEffect, NotFound, Unavailable
from alongside.core.geometry import Rect
from alongside.core.ports import NativeWindow
from alongside.platforms.linux.x11 import properties
from alongside.platforms.linux.x11.connection import answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alongside.core.geometry import Point
    from alongside.platforms.linux.x11.connection import X11
    from alongside.platforms.linux.x11.events import Events
    from alongside.platforms.linux.x11.properties import Facts

_TYPE = "_NET_WM_WINDOW_TYPE_"
_KINDS = {
    **dict.fromkeys(("MENU", "DROPDOWN_MENU", "POPUP_MENU", "COMBO"), "popup"),
    **dict.fromkeys(("DIALOG", "UTILITY"), "dialog"),
    # What comes and goes by itself, or under the pointer, is no menu and no list.
    **dict.fromkeys(("TOOLTIP", "DND", "NOTIFICATION", "DOCK", "DESKTOP", "SPLASH", "TOOLBAR"), "other"),
    "NORMAL": "normal",
}
_EVERY_DESKTOP = 0xFFFFFFFF
_ACTIVATION = 0.5  # seconds a window manager gets to bring a window to the front
_A_PAGER = 2  # source indication: window managers grant the wishes of pagers (EWMH 1.5)


class Windows:
    """The port of the same name. ``events`` is told which windows to listen to."""

    def __init__(self, x: X11, events: Events) -> None:
        self._x = x
        self._events = events
        self._last = 0

    async def changed(self, seconds: float) -> None:
        await self._events.wait_change(self._last, seconds)

    async def list(self) -> list[NativeWindow]:
        """All windows that a person could see or bring back, from the bottom of the stack to its top."""
        self._last = self._events.number
        found = await self._x.run(_listed, self._x)
        self._events.listen_to(window.native for window in found)
        return found

    async def at(self, point: Point) -> int | None:
        for window in reversed(await self.list()):
            if window.frame.holds(point) and not window.states & {"minimised", "hidden"}:
                return window.native
        return None

    async def manager(self) -> str:
        return await self._x.run(self._manager)

    async def activate(self, native: int) -> None:
        """Bring it to the front with the focus, restored where it was minimised.

        ``NotFound`` where there is no such window, ``Unavailable`` without a window manager, ``NoEffect`` where the
        window manager did not do it in half a second.
        """
        await self._x.run(self.ask_to_activate, native)
        deadline = time.monotonic() + _ACTIVATION
        while True:
            seen = self._events.number
            if await self._x.run(self._active) == native:
                return
            left = deadline - time.monotonic()
            if left <= 0:
                raise NoEffect("The window manager did not bring the window to the front.")
            await self._events.wait_change(seen, min(left, 0.05))

    def _manager(self) -> str:
        check = properties.first(answer(properties.ask(self._x, self._x.root, "_NET_SUPPORTING_WM_CHECK")))
        return properties.text(self._x, answer(properties.ask(self._x, check, "_NET_WM_NAME"))) if check else ""

    def _active(self) -> int | None:
        return properties.first(answer(properties.ask(self._x, self._x.root, "_NET_ACTIVE_WINDOW")))

    def ask_to_activate(self, native: int) -> None:
        """Ask the window manager to bring a window to the front; on the thread."""
        x, core = self._x, self._x.connection.core
        if answer(core.GetWindowAttributes(native)) is None:
            raise NotFound("The window is gone.")
        if properties.first(answer(properties.ask(x, x.root, "_NET_SUPPORTING_WM_CHECK"))) is None:
            raise Unavailable("No window manager runs on this display, so no window can be brought to the front.")
        message = struct.pack("=BBHII5I", 33, 32, 0, native, x.atom("_NET_ACTIVE_WINDOW"), _A_PAGER, 0, 0, 0, 0)
        masks = xcffib.xproto.EventMask
        core.SendEvent(False, x.root, masks.SubstructureRedirect | masks.SubstructureNotify, message)
        x.sync()


def _listed(x: X11) -> list[NativeWindow]:
    core = x.connection.core
    tree = core.QueryTree(x.root)
    screen = core.GetGeometry(x.root)
    stacking, plain, active, desktop, manager = (
        properties.ask(x, x.root, name)
        for name in (
            "_NET_CLIENT_LIST_STACKING",
            "_NET_CLIENT_LIST",
            "_NET_ACTIVE_WINDOW",
            "_NET_CURRENT_DESKTOP",
            "_NET_SUPPORTING_WM_CHECK",
        )
    )
    focus = core.GetInputFocus()
    children = list(tree.reply().children)
    size = screen.reply()
    managed = properties.numbers(stacking.reply()) or properties.numbers(plain.reply())
    frames = properties.tops(x, managed, children)
    taken = set(frames.values())
    unmanaged = properties.viewable(x, (child for child in children if child not in taken))
    facts = properties.read(x, frames | {child: child for child in unmanaged})
    order = {child: place for place, child in enumerate(children)}
    whole = Rect(0, 0, size.width, size.height)
    # Where there is a window manager, what it does not list and may is a frame that it is about to put on.
    is_managed = properties.first(manager.reply()) is not None
    shown = [
        one for one in facts if one.window in frames or (_is_shown(one, whole) and (one.override or not is_managed))
    ]
    shown.sort(key=lambda one: order[one.top])
    front = properties.first(active.reply()) or focus.reply().focus
    pids = properties.owners(x, (one.window for one in shown if not one.pid))
    return _described(shown, front, properties.first(desktop.reply()), pids, whole)


def _is_shown(one: Facts, screen: Rect) -> bool:
    """Whether an unmanaged window is something to see, not one of the helpers that toolkits and managers keep."""
    if min(one.bounds.width, one.bounds.height) <= 1 or not one.frame.overlap(screen).area:
        return False
    # What a compositor draws on is as large as the screen and bears no mark of any application.
    return not one.override or bool(one.wm_class or one.title or one.types or one.pid or one.transient_for)


def _described(
    shown: Sequence[Facts], front: int, desktop: int | None, pids: dict[int, int], screen: Rect
) -> list[NativeWindow]:
    described: list[NativeWindow] = []
    above: list[Rect] = []
    for one in reversed(shown):
        states = _states(one, desktop)
        if front in (one.window, one.top):
            states.add("active")
        if not states & {"minimised", "hidden"}:
            if is_covered(one.frame.overlap(screen), above):
                states.add("covered")
            above.append(one.frame)
        kind = _kind(one)
        described.append(
            NativeWindow(
                native=one.window,
                title=one.title,
                wm_class=one.wm_class,
                pid=one.pid or pids.get(one.window, 0),
                bounds=one.bounds,
                frame=one.frame,
                kind=kind,
                states=frozenset(states),
                owner=_owner(one, kind, shown, pids),
            )
        )
    return described[::-1]


def _states(one: Facts, desktop: int | None) -> set[str]:
    said = {state.removeprefix("_NET_WM_STATE_") for state in one.states}
    states = set()
    elsewhere = one.desktop not in (None, _EVERY_DESKTOP, desktop)
    if "HIDDEN" in said or (one.iconic and not elsewhere):
        states.add("minimised")
    elif elsewhere or not one.viewable:
        states.add("hidden")
    if {"MAXIMIZED_VERT", "MAXIMIZED_HORZ"} <= said or "FULLSCREEN" in said:
        states.add("maximised")
    if "MODAL" in said:
        states.add("modal")
    return states


def _kind(one: Facts) -> str:
    # An application may name several, its favourite first; the set has no order, so the most telling kind wins.
    said = {_KINDS[kind.removeprefix(_TYPE)] for kind in one.types if kind.removeprefix(_TYPE) in _KINDS}
    for kind in ("popup", "dialog", "other"):
        if kind in said and (kind != "dialog" or not one.override):
            return kind
    if one.override:
        return "popup"
    return "dialog" if one.transient_for and "normal" not in said else "normal"


def _owner(one: Facts, kind: str, shown: Sequence[Facts], pids: dict[int, int]) -> int | None:
    """Find the window it belongs to: the one it names, else the topmost ordinary one of its group or process."""
    windows = {other.window for other in shown}
    if one.transient_for in windows:
        return one.transient_for
    if kind not in ("popup", "dialog"):
        return None
    mine = one.pid or pids.get(one.window, 0)
    for other in reversed(shown):
        if other is one or _kind(other) == "popup" or (kind == "dialog" and _kind(other) == "dialog"):
            continue
        if one.group and other.group == one.group:
            return other.window
        if mine and (other.pid or pids.get(other.window, 0)) == mine:
            return other.window
    return None


def is_covered(rect: Rect, above: Sequence[Rect]) -> bool:
    """Whether no pixel of ``rect`` is left uncovered."""
    left = [rect] if rect.area else []
    for cover in above:
        left = [piece for rest in left for piece in _without(rest, cover)]
        if not left:
            return rect.area > 0
    return False


def _without(rect: Rect, cover: Rect) -> list[Rect]:
    hidden = rect.overlap(cover)
    if not hidden.area:
        return [rect]
    below, right = hidden.y + hidden.height, hidden.x + hidden.width
    pieces = [
        Rect(rect.x, rect.y, rect.width, hidden.y - rect.y),
        Rect(rect.x, below, rect.width, rect.y + rect.height - below),
        Rect(rect.x, hidden.y, hidden.x - rect.x, hidden.height),
        Rect(right, hidden.y, rect.x + rect.width - right, hidden.height),
    ]
    return [piece for piece in pieces if piece.area]
