"""What changes by itself: the events of the applications that are worked in, kept as the time of each element's last.

Events are hints. Qt 5 and 6 send none when a window is resized and GTK 4 only some (measured), so nothing is taken for
unchanged because no event came; an event only says that an element is restless.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from alongside.platforms.linux.atspi.bus import REGISTRY, Bus, Call, CallFailed, Node
from alongside.platforms.linux.atspi.tree import key_of

if TYPE_CHECKING:
    from dbus_fast import Message

_REGISTER = Node(REGISTRY, "/org/a11y/atspi/registry")
# Applications send only what somebody registered for.
_WANTED = (
    "object:state-changed", "object:property-change", "object:text-changed", "object:children-changed",
    "object:selection-changed", "object:visible-data-changed",
)  # fmt: skip
# Focus and activity move with any click; carets and bounds are no effects of a step.
_QUIET_STATES = frozenset({"focused", "active", "armed", "showing", "visible", "defunct"})
_IGNORED = frozenset({"TextCaretMoved", "BoundsChanged"})
_MOST = 20_000


class Watch:
    """Listens to every application that was looked at."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._since: dict[str, float] = {}
        self._changed: dict[str, float] = {}
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

    def last_change(self, key: str) -> float | None:
        """When an event last said that this element changed, in monotonic seconds."""
        return self._changed.get(key)

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
            return
        if len(self._changed) > _MOST:
            self._changed.clear()
        self._changed[key_of(Node(message.sender or "", message.path or ""))] = time.monotonic()
