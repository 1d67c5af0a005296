"""A thin client of a desktop's buses: many calls in flight, deadlines, errors that are counted and never dropped.

At most 256 calls are under way: that is where the speed levels off, and thousands of queued writes end a dbus-fast
connection (measured). ``Properties.GetAll`` is never sent: Qt 5.15.8 crashes on it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dbus_fast import InvalidAddressError, Message, MessageFlag, MessageType, Variant
from dbus_fast.aio import MessageBus

from alongside.core.errors import AlongsideError, AppGone, AppHung, TimedOut, Unavailable

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

IN_FLIGHT = 256
ACCESSIBLE = "org.a11y.atspi.Accessible"
ACTION = "org.a11y.atspi.Action"
COMPONENT = "org.a11y.atspi.Component"
EDITABLE = "org.a11y.atspi.EditableText"
SELECTION = "org.a11y.atspi.Selection"
TABLE = "org.a11y.atspi.Table"
TEXT = "org.a11y.atspi.Text"
VALUE = "org.a11y.atspi.Value"
PROPERTIES = "org.freedesktop.DBus.Properties"
REGISTRY = "org.a11y.atspi.Registry"
ROOT = "/org/a11y/atspi/accessible/root"
# The names of errors that mean: this application is not there any more.
_GONE = ("ServiceUnknown", "NameHasNoOwner", "NoReply", "Disconnected")


class Node(NamedTuple):
    """Where an accessible object lives: the bus name of its application, and its path there."""

    bus: str
    path: str


class Call(NamedTuple):
    node: Node
    interface: str
    member: str
    signature: str = ""
    body: Sequence[Any] = ()


class CallFailed(Exception):
    """The application answered with an error: ``name`` is D-Bus's name of it."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        self.name = name

    @property
    def gone(self) -> bool:
        return self.name.rpartition(".")[2] in _GONE


Answered = Callable[[Any], None]


class Caller(Protocol):
    """What a walk sends its calls over: the bus, or an application's own socket."""

    def post(self, call: Call, answered: Answered) -> None: ...


def get(node: Node, interface: str, name: str) -> Call:
    """The call that reads one property."""
    return Call(node, PROPERTIES, "Get", "ss", (interface, name))


class _Patient:
    """The bus's socket, with nothing sent where its buffer is full.

    dbus-fast 5.2 takes a full buffer for the end of the connection (measured: GTK 4 and a busy machine fill it).
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def send(self, data: memoryview) -> int:
        try:
            return self._sock.send(data)
        except BlockingIOError:
            return 0


class Bus:
    """One connection to the accessibility bus, or to the session bus."""

    def __init__(self, connection: MessageBus) -> None:
        self._connection = connection
        self._pending: dict[int, Answered] = {}
        self._queue: deque[tuple[Call, Answered]] = deque()
        self._listeners: list[Callable[[Message], None]] = []
        connection.add_message_handler(self._take)

    @classmethod
    async def connect(cls, session_address: str | None, deadline: float = 5.0) -> Bus:
        """Connect to the accessibility bus of a session; ``Unavailable`` says what is missing."""
        if not session_address:
            raise Unavailable("There is no session bus (DBUS_SESSION_BUS_ADDRESS is not set).", next="alongside doctor")
        try:
            async with asyncio.timeout(deadline):
                session = await MessageBus(bus_address=session_address).connect()
                try:
                    address = await _accessibility_address(session)
                finally:
                    session.disconnect()
                return await cls._at(address)
        except (OSError, EOFError, TimeoutError, ValueError) as wrong:
            raise Unavailable(
                f"The accessibility bus does not answer ({wrong or type(wrong).__name__}).", next="alongside doctor"
            ) from wrong

    @classmethod
    async def session(cls, address: str | None, deadline: float = 1.0) -> Bus:
        """Connect to a session bus itself; ``Unavailable`` where none answers."""
        try:
            async with asyncio.timeout(deadline):
                return await cls._at(address or "")
        except (OSError, EOFError, TimeoutError, ValueError, InvalidAddressError) as wrong:
            raise Unavailable("The session bus does not answer.", next="alongside doctor") from wrong

    @classmethod
    async def _at(cls, address: str) -> Bus:
        connection = await MessageBus(bus_address=address).connect()
        connection._writer.sock = _Patient(connection._writer.sock)  # type: ignore[union-attr,arg-type]  # noqa: SLF001
        return cls(connection)

    @property
    def connected(self) -> bool:
        return bool(self._connection.connected)

    @property
    def name(self) -> str:
        return str(self._connection.unique_name)

    def close(self) -> None:
        self._connection.disconnect()
        self._fail_all()

    def post(self, call: Call, answered: Answered) -> None:
        """Send a call as soon as there is room; ``answered`` gets what it is answered, or a ``CallFailed``."""
        if not self.connected:
            answered(CallFailed("org.freedesktop.DBus.Error.Disconnected", "the bus is gone"))
        elif len(self._pending) < IN_FLIGHT:
            self._write(call, answered)
        else:
            self._queue.append((call, answered))

    async def call(self, call: Call, deadline: float = 1.0) -> Any:
        """One call's value, a list of several; ``CallFailed``, ``AppGone``, or ``AppHung`` after ``deadline`` s."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def answered(value: Any) -> None:
            if not answer.done():
                answer.set_result(value)

        self.post(call, answered)
        try:
            async with asyncio.timeout(deadline):
                value = await answer
        except TimeoutError:
            raise AppHung(
                f"The application did not answer {call.member} in {deadline:g} s.",
                next="wait, or close it and launch it again",
            ) from None
        if isinstance(value, CallFailed):
            if value.gone:
                raise AppGone("The application is gone.", next="windows()") from value
            raise value
        return value

    async def try_call(self, call: Call, deadline: float = 1.0) -> Any:
        """The same, with None for an application's own error."""
        try:
            return await self.call(call, deadline)
        except CallFailed:
            return None

    async def gather(self, calls: Sequence[Call], deadline: float = 1.0) -> list[Any]:
        """All calls at once; None where an application answered with an error of its own."""
        return list(await asyncio.gather(*(self.try_call(call, deadline) for call in calls)))

    async def listen(self, rules: Sequence[str], heard: Callable[[Message], None] | None = None) -> None:
        """Ask the bus for the signals that ``rules`` match."""
        if heard is not None:
            self._listeners.append(heard)
        daemon = Node("org.freedesktop.DBus", "/org/freedesktop/DBus")
        for rule in rules:
            await self.call(Call(daemon, "org.freedesktop.DBus", "AddMatch", "s", (rule,)), 2.0)

    async def ignore(self, rules: Sequence[str]) -> None:
        daemon = Node("org.freedesktop.DBus", "/org/freedesktop/DBus")
        for rule in rules:
            with contextlib.suppress(CallFailed, AlongsideError):
                await self.call(Call(daemon, "org.freedesktop.DBus", "RemoveMatch", "s", (rule,)), 2.0)

    def _write(self, call: Call, answered: Answered) -> None:
        message = Message(
            destination=call.node.bus,
            path=call.node.path,
            interface=call.interface,
            member=call.member,
            signature=call.signature,
            body=list(call.body),
            # The registry is started by its first caller; an application that is gone is not to be.
            flags=MessageFlag.NONE if call.node.bus == REGISTRY else MessageFlag.NO_AUTOSTART,
            serial=self._connection.next_serial(),
        )
        self._pending[message.serial] = answered
        self._connection.send(message)

    def _take(self, message: Message) -> bool:
        kind = message.message_type
        if kind is MessageType.METHOD_RETURN or kind is MessageType.ERROR:
            answered = self._pending.pop(message.reply_serial, None)
            if answered is None:
                return False
            if self._queue:
                self._write(*self._queue.popleft())
            if kind is MessageType.ERROR:
                text = str(message.body[0]) if message.body else ""
                answered(CallFailed(message.error_name or "", text))
            else:
                values = [_plain(one) for one in message.body] or [None]
                answered(values[0] if len(values) == 1 else values)
            return True
        if kind is MessageType.SIGNAL:
            for heard in self._listeners:
                heard(message)
        return False

    def _fail_all(self) -> None:
        waiting = [*self._pending.values(), *(answered for _, answered in self._queue)]
        self._pending.clear()
        self._queue.clear()
        for answered in waiting:
            answered(CallFailed("org.freedesktop.DBus.Error.Disconnected", "the connection was closed"))


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Variant) else value


async def _accessibility_address(session: MessageBus) -> str:
    call = Message(destination="org.a11y.Bus", path="/org/a11y/bus", interface="org.a11y.Bus", member="GetAddress")
    reply = await session.call(call)
    if reply is None or reply.message_type is MessageType.ERROR or not reply.body:
        raise Unavailable(
            "No accessibility bus (org.a11y.Bus) is on the session bus.",
            next="apt-get install at-spi2-core, then log in again",
        )
    return str(reply.body[0])


__all__ = ["Bus", "Call", "CallFailed", "Node", "TimedOut", "get"]
