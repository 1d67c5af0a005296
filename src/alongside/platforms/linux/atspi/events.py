"""What changes by itself: the events of the applications that are worked in.

Events are hints. Qt 5 and 6 send none when a window is resized and GTK 4 only some (measured): no event never means
that nothing changed; an event only says which element to read again, and which one is restless.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from alongside.platforms.linux.atspi.bus import REGISTRY, Bus, Call, CallFailed, Node

if TYPE_CHECKING:
    from dbus_fast import Message

_REGISTER = Node(REGISTRY, "/org/a11y/atspi/registry")
# Applications send only what somebody registered for; Qt sends values only to who names them (measured).
_WANTED = (
    "object:state-changed", "object:property-change", "object:text-changed", "object:children-changed",
    "object:property-change:accessible-value", "object:selection-changed", "object:visible-data-changed",
)  # fmt: skip
# Focus and activity move with any click; carets and bounds are no effects of a step.
_QUIET_STATES = frozenset({"focused", "active", "armed", "showing", "visible", "defunct"})
_IGNORED = frozenset({"TextCaretMoved", "BoundsChanged"})
_MOST = 5_000
# So many objects that came up last are remembered.
_MOST_SHOWN = 50


class Heard(NamedTuple):
    """One event: when (monotonic seconds), which element, and whether children came or went."""

    at: float
    key: str
    children: bool


class Watch:
    """Listens to every application that was looked at."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._since: dict[str, float] = {}
        self._heard: deque[Heard] = deque(maxlen=_MOST)
        self._shown: dict[Node, None] = {}
        self._registered = False

    async def over(self, application: str) -> float:
        """Listen to one application (its bus name); since when that is done, in monotonic seconds."""
        if application not in self._since:
            if not self._registered:
                self._registered = True
                for event in _WANTED:
                    await self._register(event)
                await self._bus.listen([], self._hear)
            await self._bus.listen([f"type='signal',sender='{application}',interface='org.a11y.atspi.Event.Object'"])
            self._since[application] = time.monotonic()
        return self._since[application]

    def after(self, moment: float) -> list[Heard]:
        """The events since ``moment`` (monotonic seconds), oldest first."""
        found = []
        for event in reversed(self._heard):
            if event.at < moment:
                break
            found.append(event)
        return found[::-1]

    def shown(self, application: str) -> list[Node]:
        """The objects of an application that came up since it is listened to and are not closed."""
        return [node for node in self._shown if node.bus == application]

    async def _register(self, event: str) -> None:
        # The call takes more arguments since at-spi2-core 2.50 or so; each form is refused by the other.
        for signature, body in (("sass", (event, [], "")), ("s", (event,))):
            try:
                await self._bus.call(Call(_REGISTER, REGISTRY, "RegisterEvent", signature, body))
            except CallFailed:
                continue
            return

    def _hear(self, message: Message) -> None:
        if message.interface != "org.a11y.atspi.Event.Object" or message.member in _IGNORED:
            return
        if message.member == "StateChanged" and message.body and str(message.body[0]).lower() in _QUIET_STATES:
            if str(message.body[0]).lower() == "showing":
                self._note_shown(Node(str(message.sender), str(message.path)), on=bool(message.body[1]))
            return
        key = f"{message.sender}{message.path}"
        self._heard.append(Heard(time.monotonic(), key, message.member == "ChildrenChanged"))

    def _note_shown(self, node: Node, *, on: bool) -> None:
        self._shown.pop(node, None)
        if on:
            self._shown[node] = None
            if len(self._shown) > _MOST_SHOWN:
                del self._shown[next(iter(self._shown))]
