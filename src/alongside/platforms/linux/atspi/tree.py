"""The Tree port of Linux: an X window's accessible objects as a snapshot of elements."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from alongside.core.elements import Element, Snapshot, Window
from alongside.core.errors import AlongsideError, AppGone, AppHung, Unavailable
from alongside.core.geometry import Rect
from alongside.platforms.linux.atspi.bus import (
    ACCESSIBLE,
    COMPONENT,
    REGISTRY,
    ROOT,
    TABLE,
    Bus,
    Call,
    CallFailed,
    Node,
    get,
)
from alongside.platforms.linux.atspi.elements import as_element, collect, origin_of, placed
from alongside.platforms.linux.atspi.events import Watch
from alongside.platforms.linux.atspi.peer import Peer
from alongside.platforms.linux.atspi.walk import SCREEN, WINDOW, Raw, Walk, read_one, visible_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from alongside.core.ports import Heard
    from alongside.platforms.linux.atspi.bus import Caller

APPLICATION = "org.a11y.atspi.Application"
_DAEMON = Node("org.freedesktop.DBus", "/org/freedesktop/DBus")
# What AT-SPI calls a toolkit, in the words of SPEC and outcomes.
_TOOLKITS = {"gtk": "GTK 3", "qt": "Qt", "chromium": "Chromium", "gecko": "Firefox", "vcl": "LibreOffice"}
# For how long one that did not answer is left alone (seconds).
_SILENT = 2.0
# How long an application may take to offer its own socket (seconds).
_PEER = 0.3
# A minimised page brings its tree up to date only when it is asked to do something; how long that takes (measured).
_WAKES = 0.05
# AT-SPI's ScrollTo: wherever the application likes.
_ANYWHERE = 6


class Application(NamedTuple):
    bus: str
    pid: int
    toolkit: str


class AtspiTree:
    """Reads windows over one accessibility bus."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self._applications: dict[str, Application] = {}
        self._watch = Watch(bus)
        self._peers: dict[str, Peer | None] = {}
        # Applications that did not answer, and until when they are not asked again.
        self._silent: dict[str, float] = {}
        # The documents of minimised pages, by application.
        self._asleep: dict[str, Node] = {}

    async def snapshot(
        self, window: Window, *, popups: Sequence[Window] = (), deadline: float = 5.0, actions: bool = False
    ) -> Snapshot:
        """Every element of a window and of its open pop-ups."""
        application, frame = await self.frame(window, deadline)
        coordinates = WINDOW if application.toolkit == "GTK 4" else SCREEN
        roots = [frame, *await self._popup_roots(application, frame, popups)]
        caller = await self._caller(application.bus)
        await self._wake(application.bus)
        walk = Walk(caller, coordinates=coordinates, actions=actions)
        raws = await walk.run(roots, deadline)
        for huge in walk.huge:
            await visible_part(self.bus, caller, huge, walk, deadline)
        labels = await self._labels(raws)
        dx, dy = (0, 0) if coordinates == WINDOW else (-window.bounds.x, -window.bounds.y)
        elements: list[Element] = []
        for raw in raws:
            collect(raw, elements, labels, (application.toolkit, dx, dy, coordinates))
        if application.toolkit == "Chromium" and await self._falls_asleep(application.bus, window, elements):
            return await self.snapshot(window, popups=popups, deadline=deadline, actions=actions)
        cuts = [f"{walk.unread} more elements were not read: this window has too many"] if walk.unread else []
        return Snapshot(window, application.toolkit, tuple(elements), time.monotonic(), tuple(cuts))

    async def read(self, element: Element, *, deadline: float = 1.0) -> Element | None:
        """An element read again; None when it is gone."""
        origin = origin_of(element)
        await self._wake(origin.node.bus)
        if origin.huge is not None:
            found = await self.bus.try_call(Call(origin.huge, ACCESSIBLE, "GetChildAtIndex", "i", (origin.at,)))
            if not found or found[1].endswith("/null"):
                return None
            origin = origin._replace(node=Node(*found))
        raw = await read_one(
            await self._caller(origin.node.bus), origin.node, coordinates=origin.coordinates, deadline=deadline
        )
        if raw is None:
            return None
        label = {raw.label: await self._name(raw.label)} if raw.label else {}
        again = as_element(raw, label, (origin.toolkit, origin.dx, origin.dy, origin.coordinates))
        if element.role == "combobox" and again.value is None:
            below = Walk(await self._caller(origin.node.bus), coordinates=origin.coordinates, most=500)
            (raw,) = await below.run([origin.node], deadline)
            again = as_element(raw, label, (origin.toolkit, origin.dx, origin.dy, origin.coordinates))
        return placed(again, element)

    def close(self) -> None:
        """Close the applications' sockets."""
        for peer in self._peers.values():
            if peer is not None:
                peer.close()

    async def watch(self, snapshot: Snapshot) -> float:
        """Listen to the application of a window; since when."""
        origin = origin_of(snapshot.elements[0])
        return await self._watch.over(origin.node.bus)

    def heard(self, moment: float) -> Sequence[Heard]:
        """The events since a moment."""
        return self._watch.after(moment)

    async def scroll_to(self, element: Element) -> bool:
        """Ask the application to scroll; many do not know how, so the caller reads the place again."""
        origin = origin_of(element)
        if COMPONENT not in origin.interfaces:
            return False
        return bool(await self.bus.try_call(Call(origin.node, COMPONENT, "ScrollTo", "u", (_ANYWHERE,))))

    async def cell(self, snapshot: Snapshot, row: int, column: int) -> Element | None:
        """The cell of the window's largest table; rows and columns count from 0."""
        tables = [one for one in snapshot if one.role == "table" and TABLE in origin_of(one).interfaces and one.bounds]
        if not tables:
            return None
        table = max(tables, key=lambda one: one.bounds.area if one.bounds else 0)
        origin = origin_of(table)
        found = await self.bus.try_call(Call(origin.node, TABLE, "GetAccessibleAt", "ii", (row, column)))
        if not found or found[1].endswith("/null"):
            return None
        raw = await read_one(self.bus, Node(*found), coordinates=origin.coordinates)
        if raw is None:
            return None
        cell = as_element(raw, {}, (origin.toolkit, origin.dx, origin.dy, origin.coordinates))
        if table.more:
            index = await self.bus.try_call(Call(raw.node, ACCESSIBLE, "GetIndexInParent")) or 0
            place = origin_of(cell)._replace(huge=origin.node, at=int(index))
            cell = replace(cell, key=f"{table.key}#{index}", extra=place)
        return snapshot.by_key.get(cell.key) or replace(cell, parent=table.key, depth=table.depth + 1)

    async def frame(self, window: Window, deadline: float = 1.0) -> tuple[Application, Node]:
        """The accessible object of a top-level window, by its process, then its title, then its place."""
        applications = await self.applications(deadline)
        same = [one for one in applications if one.pid == window.pid and window.pid]
        candidates: list[tuple[int, Application, Node]] = []
        hung: AlongsideError | None = None
        for application in same or applications:
            try:
                candidates += [
                    (score, application, node) for score, node in await self._scored(application, window, deadline)
                ]
            except AppHung as one:
                hung = one
        best = max(candidates, key=lambda one: one[0], default=None)
        if best is None or best[0] <= 0:
            if hung is not None:
                raise hung
            raise Unavailable(
                f"{window.id} publishes no accessibility tree.",
                next=f'look("{window.id}", image="standard") and act by points of the image',
            )
        return best[1], best[2]

    async def _falls_asleep(self, application: str, window: Window, elements: list[Element]) -> bool:
        """Note a page that is minimised or no longer so; whether it only now is known to be, and was read too early."""
        knew = self._asleep.pop(application, None) is not None
        document = next((one for one in elements if one.role == "document"), None)
        if document is not None and "minimised" in window.states:
            self._asleep[application] = origin_of(document).node
        return application in self._asleep and not knew

    async def up_to_date(self, document: Element) -> None:
        """Have a page bring its tree up to date now: places of what it scrolled come half a second late (measured)."""
        await self._ask(origin_of(document).node)

    async def _wake(self, application: str) -> None:
        if (document := self._asleep.get(application)) is not None:
            await self._ask(document)

    async def _ask(self, document: Node) -> None:
        """Ask a page what lies at a point: it changes nothing, and is answered with a tree that is up to date."""
        await self.bus.try_call(Call(document, COMPONENT, "GetAccessibleAtPoint", "iiu", (0, 0, SCREEN)))
        await asyncio.sleep(_WAKES)

    async def _caller(self, application: str) -> Caller:
        """What to read an application over: its own socket where it has one, else the bus."""
        peer = self._peers.get(application)
        if application not in self._peers or (peer is not None and not peer.open):
            peer = self._peers[application] = await self._peer(application)
        return peer or self.bus

    async def _peer(self, application: str) -> Peer | None:
        call = Call(Node(application, ROOT), APPLICATION, "GetApplicationBusAddress")
        try:
            async with asyncio.timeout(_PEER):
                address = await self.bus.try_call(call, _PEER)
                if address and str(address).startswith("unix:path="):
                    return await Peer.connect(application, str(address), self.bus)
        except (OSError, TimeoutError, AppHung, AppGone):
            pass  # the bus is there as well, and says what is wrong if it is
        return None

    async def applications(self, deadline: float = 1.0) -> list[Application]:
        """Every application on the bus; several of one process are all there."""
        registry = Node(REGISTRY, ROOT)
        roots = await self.bus.call(Call(registry, ACCESSIBLE, "GetChildren"), deadline)
        found = [bus for bus, _ in roots or ()]
        now = time.monotonic()
        silent = {bus for bus, until in self._silent.items() if now < until}
        new = [bus for bus in dict.fromkeys(found) if bus not in self._applications and bus not in silent]
        if new:
            daemon = "org.freedesktop.DBus"
            pids = await self.bus.gather([Call(_DAEMON, daemon, "GetConnectionUnixProcessID", "s", (b,)) for b in new])
            toolkits = await asyncio.gather(*(self._toolkit(bus) for bus in new))
            for bus, pid, toolkit in zip(new, pids, toolkits, strict=True):
                if pid is not None and toolkit is not None:
                    self._applications[bus] = Application(bus, int(pid), toolkit)
                else:
                    self._silent[bus] = time.monotonic() + _SILENT
        self._applications = {bus: one for bus, one in self._applications.items() if bus in found}
        return list(self._applications.values())

    async def _toolkit(self, bus: str) -> str | None:
        """Its toolkit's name; None for an application that does not answer (it is asked again next time)."""
        root = Node(bus, ROOT)
        try:
            name, version = await self.bus.gather(
                [get(root, APPLICATION, "ToolkitName"), get(root, APPLICATION, "Version")], 0.5
            )
        except AlongsideError:
            return None
        if str(name).lower() == "gtk" and str(version).startswith("4"):
            return "GTK 4"
        return _TOOLKITS.get(str(name).lower(), str(name or "unknown"))

    async def _scored(self, application: Application, window: Window, deadline: float) -> list[tuple[int, Node]]:
        root = Node(application.bus, ROOT)
        try:
            children = await self.bus.call(Call(root, ACCESSIBLE, "GetChildren"), min(deadline, 1.0))
        except CallFailed:
            return []
        nodes = [Node(*one) for one in children or () if not one[1].endswith("/null")]
        titles = await self.bus.gather([get(node, ACCESSIBLE, "Name") for node in nodes], min(deadline, 1.0))
        places = await self.bus.gather(
            [Call(node, COMPONENT, "GetExtents", "u", (SCREEN,)) for node in nodes], min(deadline, 1.0)
        )
        scored = []
        for node, title, place in zip(nodes, titles, places, strict=True):
            score = 1 if window.pid and application.pid == window.pid and len(nodes) == 1 else 0
            if title and title == window.title:
                score += 8
            elif title and window.title and (title in window.title or window.title in title):
                score += 4
            if place and abs(place[2] - window.bounds.width) < 64 and abs(place[3] - window.bounds.height) < 96:
                score += 2 + (abs(place[0] - window.bounds.x) < 8 and abs(place[1] - window.bounds.y) < 64)
            scored.append((score, node))
        return scored

    async def _popup_roots(self, application: Application, frame: Node, popups: Sequence[Window]) -> list[Node]:
        """Objects of the application that lie where its open pop-ups do: menus, lists of combos.

        Qt's context menus are nobody's children: only the event that they show names them (measured on 5 and 6).
        """
        if not popups:
            return []
        root = Node(application.bus, ROOT)
        children = await self.bus.try_call(Call(root, ACCESSIBLE, "GetChildren")) or ()
        nodes = [Node(*one) for one in children]
        nodes += [node for node in self._watch.shown(application.bus) if node not in nodes]
        nodes = [node for node in nodes if node != frame]
        places = await self.bus.gather([Call(node, COMPONENT, "GetExtents", "u", (SCREEN,)) for node in nodes])
        found = []
        for node, place in zip(nodes, places, strict=True):
            if place and any(_near(Rect(*place), popup.bounds) for popup in popups):
                found.append(node)
        return found

    async def _labels(self, raws: Iterable[Raw]) -> dict[Node, str]:
        wanted: set[Node] = set()
        known: dict[Node, str] = {}
        stack = list(raws)
        while stack:
            raw = stack.pop()
            known[raw.node] = raw.name or raw.text or ""
            if raw.label:
                wanted.add(raw.label)
            stack += raw.children
        missing = [node for node in wanted if node not in known]
        found = await self.bus.gather([get(node, ACCESSIBLE, "Name") for node in missing])
        known.update({node: str(name or "") for node, name in zip(missing, found, strict=True)})
        return {node: known[node] for node in wanted}

    async def _name(self, node: Node) -> str:
        return str(await self.bus.try_call(get(node, ACCESSIBLE, "Name")) or "")


def _near(one: Rect, other: Rect) -> bool:
    return all(abs(a - b) <= 12 for a, b in zip(one, other, strict=True))
