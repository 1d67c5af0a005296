"""Selections: what one application offers to all others, owned, handed over and read through windows nobody sees.

A connection of its own, opened when it is first needed: its thread sends, the event loop reads what comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import xcffib
import xcffib.xproto

from alongside.core.errors import Unavailable
from alongside.platforms.linux.x11.connection import X11, answer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from alongside.platforms.linux.x11.guard import Kind

P = ParamSpec("P")
T = TypeVar("T")

_SELECTION_NOTIFY = 31  # the code of the event
_REPLACE, _APPEND = xcffib.xproto.PropMode.Replace, xcffib.xproto.PropMode.Append
_ANY = xcffib.xproto.GetPropertyType.Any
_WINDOW_ONLY = xcffib.xproto.WindowClass.InputOnly
_MASKS = xcffib.xproto.EventMask
_ATOM, _INTEGER, _STRING = xcffib.xproto.Atom.ATOM, xcffib.xproto.Atom.INTEGER, xcffib.xproto.Atom.STRING
_GONE = xcffib.xproto.Property.Delete  # a property was deleted, or taken
_BUTTONS = 0x1F00  # in the state of the pointer
# Bytes that are handed over at once; what is larger goes in parts (INCR).
_PART = 64 * 1024
# Of a property, in units of 4 bytes: all of it.
_WHOLE = 0x1FFFFFFF
# Names of a plain text.
_TEXTS = ("UTF8_STRING", "text/plain;charset=utf-8", "text/plain", "TEXT")
_DRAG = ("Enter", "Position", "Status", "Leave", "Drop", "Finished", "Selection", "ActionCopy")
_ATOMS = (
    *_TEXTS,
    *("TARGETS", "TIMESTAMP", "INCR", "CLIPBOARD", "ALONGSIDE_SELECTION"),
    *(f"Xdnd{name}" for name in _DRAG),
)


class Piece(NamedTuple):
    """A selection in one form: the atom of its type, its unit in bits (8, 16, 32), and its bytes."""

    kind: int
    unit: int
    data: bytes


@dataclass(eq=False)
class Owned:
    """A selection that was taken: its forms by target, and since when (server time).

    ``had`` says when (monotonic seconds) which clients last got one of its forms to the end, by the base of their ids.
    """

    content: Mapping[int, Piece]
    time: int
    lost: bool = False
    had: dict[int, float] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def changes(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


@dataclass
class _Transfer:
    """What is handed over in parts: the rest of it, and of which selection."""

    piece: Piece
    owned: Owned
    sent: int = 0


class Selections:
    """Owns, serves and reads selections for as long as it is open."""

    def __init__(self, x: X11, window: int, reader: int) -> None:
        self._x, self.window, self._reader = x, window, reader
        self._loop = asyncio.get_running_loop()
        self.owned: dict[int, Owned] = {}
        self._transfers: dict[tuple[int, int], _Transfer] = {}
        # What waits for the time, for an answer, for the next part of one; what applications tell in messages.
        self._times: list[asyncio.Future[int]] = []
        self._reading = asyncio.Lock()
        self._answers: asyncio.Queue[Any] = asyncio.Queue()
        self._parts: asyncio.Queue[None] = asyncio.Queue()
        self.messages: asyncio.Queue[Any] = asyncio.Queue()
        self._loop.add_reader(x.connection.get_file_descriptor(), self._read)

    @classmethod
    async def open(cls, display: str, kind: Kind) -> Selections:
        """Connect; ``Unavailable`` where nothing answers at that display."""
        x = await X11.open(display, kind)
        return cls(x, *await x.run(_two_windows, x))

    def atom(self, name: str) -> int:
        """The number of one of the names that are used here."""
        return self._x.atom(name)  # they were all looked up by the thread

    def client(self, window: int) -> int:
        """What all windows of one client have in common."""
        return window & ~int(self._x.connection.setup.resource_id_mask)

    async def owner(self, selection: int) -> int:
        """The window that owns a selection, 0 for nobody."""
        return await self._run(lambda: int(self._x.connection.core.GetSelectionOwner(selection).reply().owner))

    async def pressed(self) -> bool:
        """Whether a button of the pointer is down."""
        x = self._x
        return bool(await self._run(lambda: x.connection.core.QueryPointer(x.root).reply().mask & _BUTTONS))

    async def take(self, selection: int, content: Mapping[int, Piece]) -> Owned:
        """Own a selection and hand its content to whoever asks; ``Unavailable`` where somebody else was faster."""
        owned = Owned(content, await self.time())
        before = self.owned.get(selection)
        self.owned[selection] = owned
        if not await self._run(self._take_ownership, selection, owned.time):
            self.owned.pop(selection)
            raise Unavailable("Another application took the selection at the same moment.", next="try again")
        if before is not None:
            before.lost = True
            before.changes()
        return owned

    async def give_up(self, selection: int) -> None:
        """Own a selection no more; nothing happens to one that somebody else has taken meanwhile."""
        owned = self.owned.pop(selection, None)
        if owned is not None:
            await self._run(self._let_go, selection, owned.time)

    async def read(self, selection: int, target: int, patience: float) -> Piece | None:
        """A selection in one form; None where its owner refuses.

        ``TimeoutError`` where it says nothing for ``patience`` seconds.
        """
        async with self._reading:
            now = await self.time()
            _drain(self._answers)
            await self._run(self._ask, selection, target, now)
            async with asyncio.timeout(patience):
                while (told := await self._answers.get()).time != now or told.target != target:
                    pass  # the late answer to an earlier question
            if not told.property:
                return None
            _drain(self._parts)
            piece = await self._run(self._fetch)
            return await self._rest(patience) if piece.kind == self.atom("INCR") else piece

    async def time(self) -> int:
        """What time it is for the display's server, in milliseconds."""
        told: asyncio.Future[int] = self._loop.create_future()
        self._times.append(told)
        await self._run(self._touch)
        return await told

    async def send(self, window: int, event: bytes) -> None:
        """Send one event to the client that made a window."""
        await self._run(self._send, window, event)

    async def without(self, names: Collection[str], atoms: Iterable[int]) -> list[int]:
        """Those of the numbers that are not of these names."""
        return await self._run(lambda: [one for one in atoms if one and self._x.name(one) not in names])

    async def property(self, window: int, name: str) -> int:
        """The first number of a property; 0 where there is none."""
        return await self._run(self._number, window, name)

    @contextlib.contextmanager
    def clipboard_asked_for(self) -> Iterator[None]:
        """CLIPBOARD may be read and taken meanwhile."""
        self._x.connection.clipboard += 1
        try:
            yield
        finally:
            self._x.connection.clipboard -= 1

    async def close(self) -> None:
        """Let go of everything; whatever is owned is nobody's then."""
        self._loop.remove_reader(self._x.connection.get_file_descriptor())
        await self._x.close()

    async def _rest(self, patience: float) -> Piece:
        """What is sent in parts; each was deleted, which asks for the next."""
        parts: list[Piece] = []
        while True:
            async with asyncio.timeout(patience):
                await self._parts.get()
            part = await self._run(self._fetch)
            if not part.data:
                return Piece(parts[0].kind, parts[0].unit, b"".join(one.data for one in parts)) if parts else part
            parts.append(part)

    # --- What the thread does

    async def _run(self, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await self._x.run(job, *args, **kwargs)
        finally:
            self._read()  # waiting for a reply, the thread takes in events as well

    def _take_ownership(self, selection: int, now: int) -> bool:
        core = self._x.connection.core
        core.SetSelectionOwner(self.window, selection, now)
        return bool(core.GetSelectionOwner(selection).reply().owner == self.window)

    def _let_go(self, selection: int, since: int) -> None:
        self._x.connection.core.SetSelectionOwner(0, selection, since)
        self._x.sync()

    def _ask(self, selection: int, target: int, now: int) -> None:
        place = self._x.atom("ALONGSIDE_SELECTION")
        self._x.connection.core.ConvertSelection(self._reader, selection, target, place, now)
        self._x.connection.flush()

    def _fetch(self) -> Piece:
        """What is in the place for answers, taken out of it."""
        connection = self._x.connection
        place = self._x.atom("ALONGSIDE_SELECTION")
        cookie = connection.core.GetProperty(True, self._reader, place, _ANY, 0, _WHOLE)
        # Not `reply`, which makes an object of every byte.
        reply = connection.wait_for_reply(cookie.sequence).buf
        unit, kind, count = struct.unpack_from("=xB6xI4xI", bytes(reply[:20]))
        return Piece(kind, unit, bytes(reply[32 : 32 + count * unit // 8]))

    def _touch(self) -> None:
        place = self._x.atom("ALONGSIDE_SELECTION")
        self._x.connection.core.ChangeProperty(_APPEND, self.window, place, _INTEGER, 32, 0, b"")
        self._x.sync()

    def _send(self, window: int, event: bytes) -> None:
        self._x.connection.core.SendEvent(False, window, _MASKS.NoEvent, event.ljust(32, b"\0"))
        self._x.connection.flush()

    def _number(self, window: int, name: str) -> int:
        reply = answer(self._x.connection.core.GetProperty(False, window, self._x.atom(name), _ANY, 0, 1))
        return struct.unpack("=I", reply.value.raw)[0] if reply is not None and reply.value_len else 0

    def _hand_over(self, request: Any, piece: Piece | None) -> None:
        """Answer a request with a piece, the first part of a long one, or with a refusal."""
        connection, place = self._x.connection, request.property or request.target
        if piece is None:
            place = 0
        elif len(piece.data) <= _PART:
            self._put(request.requestor, place, piece)
        else:
            listened = _MASKS.PropertyChange | _MASKS.StructureNotify
            connection.core.ChangeWindowAttributes(request.requestor, xcffib.xproto.CW.EventMask, [listened])
            length = Piece(self._x.atom("INCR"), 32, struct.pack("=I", len(piece.data)))
            self._put(request.requestor, place, length)
        told = struct.pack(
            "=BBHIIIII",
            *(_SELECTION_NOTIFY, 0, 0, request.time, request.requestor, request.selection, request.target, place),
        )
        self._send(request.requestor, told)
        if piece is None or len(piece.data) <= _PART:
            connection.answered(request.requestor, request.property or request.target)

    def _hand_part(self, window: int, name: int, part: Piece, *, last: bool) -> None:
        connection = self._x.connection
        self._put(window, name, part)
        if not part.data:
            connection.answered(window, name)
            if last and window != self._reader:
                connection.core.ChangeWindowAttributes(window, xcffib.xproto.CW.EventMask, [0])
        connection.flush()

    def _put(self, window: int, name: int, piece: Piece) -> None:
        count = len(piece.data) * 8 // piece.unit
        self._x.connection.core.ChangeProperty(_REPLACE, window, name, piece.kind, piece.unit, count, piece.data)

    # --- What comes

    def _read(self) -> None:
        try:
            while True:
                try:
                    event = self._x.connection.poll_for_event()
                except xcffib.Error:
                    continue  # a window that was asking has gone
                if event is None:
                    return
                self._take(event)
        except xcffib.XcffibException:
            # The server is gone: whoever asks next hears so.
            with contextlib.suppress(xcffib.XcffibException):
                self._loop.remove_reader(self._x.connection.get_file_descriptor())

    def _take(self, event: Any) -> None:
        match event:
            case xcffib.xproto.SelectionRequestEvent():
                self._serve(event)
            case xcffib.xproto.SelectionNotifyEvent():
                self._answers.put_nowait(event)
            case xcffib.xproto.SelectionClearEvent():
                owned = self.owned.get(event.selection)
                if owned is not None and event.time >= owned.time:
                    self.owned.pop(event.selection)
                    owned.lost = True
                    owned.changes()
            case xcffib.xproto.PropertyNotifyEvent():
                self._property_changed(event)
            case xcffib.xproto.ClientMessageEvent():
                self.messages.put_nowait(event)
            case xcffib.xproto.DestroyNotifyEvent():
                for window, name in [one for one in self._transfers if one[0] == event.window]:
                    del self._transfers[window, name]
                    self._x.connection.answered(window, name)

    def _serve(self, request: Any) -> None:
        """Hand over what somebody asks for."""
        owned, piece = self.owned.get(request.selection), None
        # At whatever time: events sent to one window tell an old one, and GTK asks as of then (measured).
        if owned is not None:
            piece = owned.content.get(request.target) or self._about(owned, request.target)
            if request.target in owned.content and piece is not None:
                if len(piece.data) > _PART:
                    place = request.requestor, request.property or request.target
                    self._transfers[place] = _Transfer(piece, owned)
                else:
                    self._has(owned, request.requestor)
        self._x.post(self._hand_over, request, piece)

    def _about(self, owned: Owned, target: int) -> Piece | None:
        """What every owner tells of what it owns."""
        if target == self.atom("TARGETS"):
            targets = (*owned.content, self.atom("TARGETS"), self.atom("TIMESTAMP"))
            return Piece(_ATOM, 32, struct.pack(f"={len(targets)}I", *targets))
        if target == self.atom("TIMESTAMP"):
            return Piece(_INTEGER, 32, struct.pack("=I", owned.time))
        return None

    def _has(self, owned: Owned, requestor: int) -> None:
        owned.had[self.client(requestor)] = time.monotonic()
        owned.changes()

    def _property_changed(self, event: Any) -> None:
        place = event.window, event.atom
        transfer = self._transfers.get(place)
        if event.window == self.window:
            for told in self._times:
                if not told.done():
                    told.set_result(event.time)
            self._times.clear()
        elif event.state != _GONE and event.window == self._reader:
            self._parts.put_nowait(None)
        elif event.state == _GONE and transfer is not None:
            part = transfer.piece.data[transfer.sent : transfer.sent + _PART]
            transfer.sent += len(part)
            if not part:
                del self._transfers[place]
                self._has(transfer.owned, event.window)
            last = all(window != event.window for window, _ in self._transfers)
            self._x.post(self._hand_part, *place, transfer.piece._replace(data=part), last=last)


def text_content(selections: Selections, text: str) -> dict[int, Piece]:
    """A plain text, in every form in which applications ask for one."""
    utf8 = selections.atom("UTF8_STRING")
    content = {
        selections.atom(name): Piece(utf8 if name == "TEXT" else selections.atom(name), 8, text.encode())
        for name in _TEXTS
    }
    with contextlib.suppress(UnicodeEncodeError):
        content[_STRING] = Piece(_STRING, 8, text.encode("latin-1"))
    return content


def _two_windows(x: X11) -> tuple[int, int]:
    """A window that owns, one that reads; the names that are used are looked up on the way."""
    windows = []
    for _ in range(2):
        windows.append(window := x.connection.generate_id())
        listened = [_MASKS.PropertyChange]
        x.connection.core.CreateWindow(
            0, window, x.root, -1, -1, 1, 1, 0, _WINDOW_ONLY, 0, xcffib.xproto.CW.EventMask, listened
        )
    for name in _ATOMS:
        x.atom(name)
    x.sync()
    return windows[0], windows[1]


def _drain(queue: asyncio.Queue[Any]) -> None:
    while not queue.empty():
        queue.get_nowait()
