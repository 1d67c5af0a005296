"""Reading one window's tree: every node as soon as its parent is known, with up to 256 calls in flight.

A node costs five calls (role, states, interfaces, name, number of children) and then, by what it is: its children, its
place, its value, its text; its actions only
where they are to be shown. A walk either reads everything, or says what it left out, or fails: an
application that dies or hangs in the middle never leaves a short tree that looks whole (measured: most of the errors
then come on the detail calls).
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from alongside.core.errors import AppGone, AppHung
from alongside.core.geometry import Rect
from alongside.platforms.linux.atspi import names
from alongside.platforms.linux.atspi.bus import (
    ACCESSIBLE,
    ACTION,
    COMPONENT,
    SELECTION,
    TABLE,
    TEXT,
    VALUE,
    Bus,
    Call,
    Caller,
    CallFailed,
    Node,
    get,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# A walk with calls out and no answer for this long has met a hung application.
HUNG_AFTER = 1.0
# Containers with more children than this are read by their visible part, if they manage their descendants.
HUGE = 400
# Above this no container is read whole, whatever it says of itself.
NEVER_WHOLE = 20_000
# Below this no tree is read: nobody works so deep, and what walks it must not either.
DEEPEST = 300
# Text fields longer than this many characters are read to here.
MOST_TEXT = 8_000
_TEXTS = frozenset({"textbox", "spinbutton", "terminal", "paragraph", "document", "cell", "label", "text"})
_NAMED_BY_LABEL = frozenset({"textbox", "combobox", "spinbutton", "slider", "list", "listbox", "table", "tree"})
_LABELLED_BY = 2
# No window shows more cells than this.
_MOST_VISIBLE = 3_000
SCREEN, WINDOW = 0, 1


@dataclass(slots=True, eq=False)
class Raw:
    """One node as it was read; ``place`` in the coordinates that were asked for."""

    node: Node
    parent: Raw | None
    depth: int
    order: int = 0
    number: int = 0
    bits: int = 0
    name: str = ""
    count: int = 0
    interfaces: frozenset[str] = frozenset()
    place: Rect | None = None
    actions: tuple[str, ...] = ()
    value: float | None = None
    text: str | None = None
    label: Node | None = None
    chosen: Node | None = None
    children: list[Raw] = field(default_factory=list)
    part: str = ""
    missing: int = 0
    gone: bool = False
    # Of a child of a huge container: its index there. LibreOffice makes such objects anew each time (measured).
    index: int | None = None

    @property
    def key(self) -> str:
        if self.index is not None and self.parent is not None:
            return f"{self.parent.key}#{self.index}"
        return f"{self.node.bus}{self.node.path}"

    @property
    def role(self) -> str:
        return names.ROLES.get(self.number, "unknown")


class Walk:
    """One reading of the nodes below some roots."""

    def __init__(self, bus: Caller, *, coordinates: int = SCREEN, most: int = 12_000, actions: bool = False) -> None:
        self._bus = bus
        self.coordinates = coordinates
        self._most = most
        self._actions = actions
        self._visited: set[Node] = set()
        self._open = 0
        self._heard = 0.0
        self._failure: Exception | None = None
        self._finished: asyncio.Event = asyncio.Event()
        self.count = 0
        self.vanished = 0
        self.unread = 0
        self.huge: list[Raw] = []

    async def run(self, roots: Sequence[Node], deadline: float) -> list[Raw]:
        """Read the trees below ``roots``; ``AppHung`` or ``AppGone`` if they cannot be read to the end."""
        started = self._heard = time.monotonic()
        raws = [self._visit(node, None, 0) for node in roots]
        while self._open and self._failure is None:
            try:
                await asyncio.wait_for(self._finished.wait(), HUNG_AFTER / 4)
            except TimeoutError:
                now = time.monotonic()
                if now - self._heard > min(HUNG_AFTER, deadline):
                    self._failure = AppHung(
                        f"The application stopped answering while its window was read ({self.count} elements in).",
                        next="look again; if it stays hung, close it and launch it again",
                    )
                elif now - started > deadline:
                    self._failure = AppHung(
                        f"The window could not be read in {deadline:g} s ({self.count} elements so far).",
                        next="wait, and look again",
                    )
        if self._failure is not None:
            failure, self._failure = self._failure, self._failure
            raise failure
        return raws

    def _visit(self, node: Node, parent: Raw | None, depth: int) -> Raw:
        raw = Raw(node, parent, depth)
        self._visited.add(node)
        self.count += 1
        self._ask(Call(node, ACCESSIBLE, "GetRole"), partial(self._role, raw))
        self._ask(Call(node, ACCESSIBLE, "GetState"), partial(self._state, raw))
        self._ask(get(node, ACCESSIBLE, "Name"), partial(self._name, raw))
        self._ask(get(node, ACCESSIBLE, "ChildCount"), partial(self._children, raw))
        # The last answer of a node: one application answers in order, so by then the others are in.
        self._ask(Call(node, ACCESSIBLE, "GetInterfaces"), partial(self._details, raw))
        return raw

    def _ask(self, call: Call, take: Callable[[Any], None]) -> None:
        self._open += 1
        self._bus.post(call, partial(self._answered, take))

    def _answered(self, take: Callable[[Any], None], value: Any) -> None:
        self._open -= 1
        if self._failure is None:
            self._heard = time.monotonic()
            if isinstance(value, CallFailed):
                if value.gone:
                    self._failure = AppGone("The application went away while its window was read.", next="windows()")
                else:
                    take(None)
            else:
                take(value)
        if not self._open or self._failure is not None:
            self._finished.set()

    def _role(self, raw: Raw, number: Any) -> None:
        if number is None:
            raw.gone = True
            self.vanished += 1
        else:
            raw.number = number

    def _state(self, raw: Raw, words: Any) -> None:
        if words:
            raw.bits = words[0] | words[1] << 32

    def _name(self, raw: Raw, name: Any) -> None:
        raw.name = str(name) if name is not None else ""

    def _children(self, raw: Raw, count: Any) -> None:
        raw.count = max(0, int(count)) if count is not None else 0

    def _details(self, raw: Raw, interfaces: Any) -> None:
        raw.interfaces = found = frozenset(interfaces or ())
        if raw.gone:
            return
        node, role = raw.node, raw.role
        if COMPONENT in found:
            self._ask(Call(node, COMPONENT, "GetExtents", "u", (self.coordinates,)), partial(self._extents, raw))
        if raw.count:
            if raw.count > NEVER_WHOLE or (raw.count > HUGE and names.has(raw.bits, names.MANAGES_DESCENDANTS)):
                self.huge.append(raw)
            elif self.count + raw.count > self._most:
                raw.missing = raw.count
                self.unread += raw.count
            else:
                self._ask(Call(node, ACCESSIBLE, "GetChildren"), partial(self._kin, raw))
        if self._actions and ACTION in found:
            self._ask(Call(node, ACTION, "GetActions"), partial(self._acts, raw))
        if VALUE in found and role not in {"group", "generic", "scrollbar"}:
            self._ask(get(node, VALUE, "CurrentValue"), partial(self._current, raw))
        if TEXT in found and role in _TEXTS and raw.number != names.PASSWORD and not (role == "label" and raw.name):
            # GTK 4 takes no -1 for the end of a text (measured on 4.8).
            if names.has(raw.bits, names.MULTI_LINE) or role in {"document", "terminal"} or self.coordinates == WINDOW:
                self._ask(get(node, TEXT, "CharacterCount"), partial(self._length, raw))
            else:
                self._ask(Call(node, TEXT, "GetText", "ii", (0, -1)), partial(self._written, raw))
        if role == "combobox" and SELECTION in found:
            self._ask(Call(node, SELECTION, "GetSelectedChild", "i", (0,)), partial(self._selected, raw))
        if role in _NAMED_BY_LABEL and (not raw.name or role == "combobox"):
            self._ask(Call(node, ACCESSIBLE, "GetRelationSet"), partial(self._relations, raw))

    def _extents(self, raw: Raw, place: Any) -> None:
        # GTK 3 gives the smallest integer for what is not on the screen at all (a closed menu).
        if place is not None and place[2] > 0 and place[3] > 0 and place[0] > -(1 << 20):
            raw.place = Rect(*place)

    def _kin(self, raw: Raw, children: Any) -> None:
        below = raw.depth + 1
        if below > DEEPEST:
            raw.missing = raw.count
            self.unread += raw.count
            return
        for bus, path in children or ():
            node = Node(bus, path)
            # A tree that lists a node twice, or its own parent, would have no end.
            if bus and not path.endswith("/null") and node not in self._visited:
                raw.children.append(self._visit(node, raw, below))

    def _acts(self, raw: Raw, actions: Any) -> None:
        raw.actions = tuple(str(action[0]) for action in actions or ())

    def _current(self, raw: Raw, value: Any) -> None:
        if value is not None:
            raw.value = float(value)

    def _length(self, raw: Raw, count: Any) -> None:
        length = int(count) if count is not None else 0
        if length > MOST_TEXT:
            raw.part = f"{length} characters, the first {MOST_TEXT} read"
        self._ask(Call(raw.node, TEXT, "GetText", "ii", (0, min(length, MOST_TEXT))), partial(self._written, raw))

    def _written(self, raw: Raw, text: Any) -> None:
        if text is not None:
            raw.text = str(text)

    def _selected(self, raw: Raw, child: Any) -> None:
        if child is not None and not child[1].endswith("/null"):
            raw.chosen = Node(*child)

    def _relations(self, raw: Raw, relations: Any) -> None:
        for kind, targets in relations or ():
            if kind == _LABELLED_BY and targets:
                raw.label = Node(*targets[0])


async def read_one(bus: Caller, node: Node, *, coordinates: int = SCREEN, deadline: float = 1.0) -> Raw | None:
    """One node read again, without what is below it; None when it is gone."""
    walk = Walk(bus, coordinates=coordinates, most=0)
    (raw,) = await walk.run([node], deadline)
    # A destroyed GTK 3 widget still answers, with no states at all (measured).
    return None if raw.gone or raw.bits == 0 or names.has(raw.bits, names.DEFUNCT) else raw


async def visible_part(bus: Bus, caller: Caller, huge: Raw, walk: Walk, deadline: float) -> None:
    """Read the part of a huge table or list that can be seen: between the nodes at its visible corners."""
    if huge.place is None:
        huge.missing = huge.count
        return
    place = huge.place
    above = huge.parent
    while above is not None:
        if above.place is not None and above.place.area:
            place = place.overlap(above.place)
        above = above.parent
    first, last = await _corner_indexes(bus, huge, place, walk)
    calls: list[Call] = []
    if TABLE in huge.interfaces and first is not None and last is not None:
        # Headers are children, too, and shift the indexes: rows and columns are asked for.
        asked = [
            Call(huge.node, TABLE, member, "i", (index,))
            for member in ("GetRowAtIndex", "GetColumnAtIndex")
            for index in (first, last)
        ]
        top, bottom, left, right = [max(0, int(one or 0)) for one in await bus.gather(asked, deadline)]
        calls = [
            Call(huge.node, TABLE, "GetAccessibleAt", "ii", (row, column))
            for row in range(top, bottom + 1)
            for column in range(min(left, right), max(left, right) + 1)
        ]
    elif first is not None and last is not None:
        calls = [Call(huge.node, ACCESSIBLE, "GetChildAtIndex", "i", (at,)) for at in range(first, last + 1)]
    found = await bus.gather(calls[:_MOST_VISIBLE], deadline)
    nodes = list(dict.fromkeys(Node(*one) for one in found if one and not one[1].endswith("/null")))
    places = await bus.gather([Call(node, ACCESSIBLE, "GetIndexInParent") for node in nodes], deadline)
    inner = Walk(caller, coordinates=walk.coordinates, most=len(nodes) * 4)
    huge.children = await inner.run(nodes, deadline) if nodes else []
    for child, index in zip(huge.children, places, strict=True):
        child.parent, child.index = huge, index
    _deepen(huge.children, huge.depth + 1)
    huge.missing = max(0, huge.count - len(huge.children))
    walk.count += inner.count


async def _corner_indexes(bus: Bus, huge: Raw, place: Rect, walk: Walk) -> tuple[int | None, int | None]:
    """The child indexes at the first and the last visible spot; headers and empty margins are stepped over."""
    found: list[int | None] = []
    for fractions in (((0.01, 0.01), (0.05, 0.12), (0.1, 0.3)), ((0.99, 0.99), (0.9, 0.9), (0.6, 0.9), (0.3, 0.6))):
        index = None
        for across, down in fractions:
            x, y = int(place.x + place.width * across), int(place.y + place.height * down)
            at = await bus.try_call(Call(huge.node, COMPONENT, "GetAccessibleAtPoint", "iiu", (x, y, walk.coordinates)))
            if at and not at[1].endswith("/null") and Node(*at) != huge.node:
                index = await bus.try_call(Call(Node(*at), ACCESSIBLE, "GetIndexInParent"))
                if index is not None and index >= 0:
                    break
        found.append(index)
    return found[0], found[1]


def _deepen(raws: Sequence[Raw], depth: int) -> None:
    for raw in raws:
        raw.depth = depth
        _deepen(raw.children, depth + 1)
