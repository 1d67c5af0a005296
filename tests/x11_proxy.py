"""A display between a program and an X server: every request of every connection is read on its way, and kept.

It forwards everything, as a judge that changes nothing. `red_line` says which requests cross one.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import xcffib
import xcffib.xproto

if TYPE_CHECKING:
    from types import TracebackType

SOCKETS = Path("/tmp/.X11-unix")  # noqa: S108 - where X puts them
FIRST = 100
CORE = ""
_ROOM = 65536
_PEER = struct.Struct("=3i")
# Bytes of a request; more than any server takes.
_LONGEST = 2**24

NAMES = {
    1: "CreateWindow", 2: "ChangeWindowAttributes", 3: "GetWindowAttributes", 4: "DestroyWindow", 8: "MapWindow",
    10: "UnmapWindow", 12: "ConfigureWindow", 13: "CirculateWindow", 14: "GetGeometry", 15: "QueryTree",
    16: "InternAtom", 17: "GetAtomName", 18: "ChangeProperty", 19: "DeleteProperty", 20: "GetProperty",
    21: "ListProperties", 22: "SetSelectionOwner", 23: "GetSelectionOwner", 24: "ConvertSelection", 25: "SendEvent",
    26: "GrabPointer", 27: "UngrabPointer", 28: "GrabButton", 31: "GrabKeyboard", 33: "GrabKey", 36: "GrabServer",
    37: "UngrabServer", 38: "QueryPointer", 40: "TranslateCoordinates", 41: "WarpPointer", 42: "SetInputFocus",
    43: "GetInputFocus", 44: "QueryKeymap", 47: "QueryFont", 53: "CreatePixmap", 54: "FreePixmap", 55: "CreateGC",
    60: "FreeGC", 73: "GetImage", 97: "QueryBestSize", 98: "QueryExtension", 99: "ListExtensions",
    100: "ChangeKeyboardMapping", 101: "GetKeyboardMapping", 103: "GetKeyboardControl", 113: "KillClient",
    116: "SetPointerMapping", 118: "SetModifierMapping", 119: "GetModifierMapping", 127: "NoOperation",
}  # fmt: skip
# What only reads. Which keys are down is the person's to know: QueryKeymap is none of these.
_READS = {
    CORE: {3, 14, 15, 16, 17, 21, 23, 38, 40, 43, 73, 97, 98, 99, 101, 103, 119, 127},
    "BIG-REQUESTS": {0},
    "Composite": {0, 6},
    "MIT-SHM": {0, 4},
    "X-Resource": {0, 1, 4},
    "XFIXES": {0, 4},
    "XKEYBOARD": {0, 4, 8, 17},
    "XTEST": {0},
    "RANDR": {0, 8, 25},
    "GLX": {7},
}
# What changes a resource that the same connection made, if its first word is one.
_OWN = {CORE: {4, 53, 54, 55, 60, 18, 19}, "MIT-SHM": {1, 2}, "DAMAGE": {1, 2, 3}}
_EVENTS = xcffib.xproto.EventMask
_LISTENS = _EVENTS.StructureNotify | _EVENTS.SubstructureNotify | _EVENTS.PropertyChange
_SIMULATED = range(2, 11)  # the events of keys, buttons, motion, crossings and focus
_CLIENT_MESSAGE = 33
# What the protocol of dragging says between two windows.
_DRAGGING = {"XdndEnter", "XdndPosition", "XdndStatus", "XdndLeave", "XdndDrop", "XdndFinished"}


@dataclass(frozen=True)
class Request:
    """One request: ``opcode`` is the extension's own, ``body`` what goes to the wire (4 bytes of header first).

    ``base`` and ``mask`` tell the resources of the connection from those of others; ``pid`` is who sent it.
    """

    pid: int
    base: int
    mask: int
    extension: str
    opcode: int
    body: bytes

    def word(self, offset: int) -> int:
        return int(struct.unpack_from("=I", self.body, offset)[0])

    def owns(self, resource: int) -> bool:
        return resource & ~self.mask == self.base

    def __str__(self) -> str:
        return (
            NAMES.get(self.opcode, f"core {self.opcode}") if not self.extension else f"{self.extension} {self.opcode}"
        )


class Sent(NamedTuple):
    """What a SendEvent sends, and where."""

    propagate: int
    window: int
    mask: int
    code: int
    about: int
    message: int
    word: int

    @classmethod
    def of(cls, request: Request) -> Sent:
        propagate, window, mask, code = request.body[1], request.word(4), request.word(8), request.body[12] & 0x7F
        return cls(propagate, window, mask, code, request.word(16), request.word(20), request.word(24))


class Proxy:
    """A display of its own number before the server of ``display``; ``requests`` is all that was sent through it."""

    def __init__(self, display: str) -> None:
        self._real = SOCKETS / f"X{display.removeprefix(':').partition('.')[0]}"
        self._own: Any = xcffib.connect(display)  # type: ignore[no-untyped-call]
        self.roots = {screen.root for screen in self._own.get_setup().roots}
        self._extensions = self._numbers()
        self._names: dict[int, str] = {}
        self.requests: list[Request] = []
        self.broken: list[str] = []

    def __enter__(self) -> Self:
        self._listener = socket.socket(socket.AF_UNIX)
        number = FIRST
        while True:
            try:
                self._listener.bind(str(SOCKETS / f"X{number}"))
                break
            except OSError:
                number += 1
        self.display, self._at = f":{number}", SOCKETS / f"X{number}"
        self._listener.listen(16)
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        self._at.unlink()
        self._own.disconnect()

    def name(self, atom: int) -> str:
        if atom not in self._names:
            reply = self._own.core.GetAtomName(atom).reply()
            self._names[atom] = bytes(reply.name.raw).decode("latin-1")
        return self._names[atom]

    def crossed(self, since: int = 0, *, may_return_to: int = 0) -> list[str]:
        """The requests since then that cross a red line, each with why."""
        judged = ((one, red_line(one, self, may_return_to)) for one in self.requests[since:])
        return [f"{one}: {why}" for one, why in judged if why]

    def _numbers(self) -> dict[int, str]:
        listed = [bytes(one.name.raw).decode("latin-1") for one in self._own.core.ListExtensions().reply().names]
        asked = {name: self._own.core.QueryExtension(len(name), name) for name in listed}
        return {cookie.reply().major_opcode: name for name, cookie in asked.items()}

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        pid, _, _ = _PEER.unpack(client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(str(self._real))
            try:
                self._read(client, server, pid)
            except (EOFError, OSError):
                pass
            except BaseException as wrong:
                self.broken.append(repr(wrong))  # the thread's end: the test has to hear of it
                raise
            finally:
                with contextlib.suppress(OSError):
                    server.shutdown(socket.SHUT_RDWR)

    def _read(self, client: socket.socket, server: socket.socket, pid: int) -> None:
        hello = _exactly(client, 12)
        if hello[:1] != b"l":
            raise ValueError("only clients of this byte order are read")
        name, data = struct.unpack_from("=HH", hello, 6)
        server.sendall(hello + _exactly(client, _padded(name) + _padded(data)))
        answer = _exactly(server, 8)
        answer += _exactly(server, 4 * struct.unpack_from("=H", answer, 6)[0])
        client.sendall(answer)
        base, mask = struct.unpack_from("=II", answer, 12)
        threading.Thread(target=_pump, args=(server, client), daemon=True).start()
        while True:
            header = _exactly(client, 4)
            words = struct.unpack_from("=H", header, 2)[0]
            if words:
                sent = body = header + _exactly(client, 4 * words - 4)
            else:
                longer = _exactly(client, 4)
                rest = _exactly(client, 4 * struct.unpack("=I", longer)[0] - 8)
                sent, body = header + longer + rest, header + rest
            extension = self._extensions.get(body[0], f"unknown {body[0]}") if body[0] >= 128 else CORE
            opcode = body[1] if extension else body[0]
            # Kept before it is passed on: what a test sees the effect of is in the list.
            self.requests.append(Request(pid, base, mask, extension, opcode, body))
            server.sendall(sent)


def red_line(request: Request, proxy: Proxy, may_return_to: int = 0) -> str:
    """Why a request crosses a red line of a person's desktop; empty where it does not.

    What is not known to be harmless crosses one. ``may_return_to`` is the window that the focus was taken from.
    """
    extension, opcode = request.extension, request.opcode
    if opcode in _READS.get(extension, ()):
        return ""
    if opcode in _OWN.get(extension, ()) and request.owns(request.word(4)):
        return ""
    match extension, opcode:
        case "", 1:
            return ""  # a window that is not mapped shows nowhere
        case "", 2:
            only_events = request.word(8) == xcffib.xproto.CW.EventMask
            return "" if only_events and not request.word(12) & ~_LISTENS else "changes a window of somebody else"
        case "", 20:
            return "deletes what it reads" if request.body[1] else ""
        case "", 22:
            selection = proxy.name(request.word(8))
            return "" if selection == "XdndSelection" else f"takes {selection}"
        case "", 25:
            return _wrong_event(Sent.of(request), proxy, may_return_to)
        case "Composite", 1 | 2:
            return "hides a window" if request.body[8] else ""
    return "is not known to be harmless"


def _wrong_event(sent: Sent, proxy: Proxy, may_return_to: int) -> str:
    message = proxy.name(sent.message) if sent.code == _CLIENT_MESSAGE else ""
    if message == "_NET_ACTIVE_WINDOW":
        return "" if sent.about == may_return_to and sent.window in proxy.roots else "activates a window"
    if sent.mask or sent.propagate:
        return "an event that others see"
    if sent.window in {0, 1, *proxy.roots}:
        return "an event to the root or to whoever has the focus"
    if message == "WM_PROTOCOLS":
        return "" if proxy.name(sent.word) == "_NET_WM_PING" else f"sends {proxy.name(sent.word)}"
    if sent.code in _SIMULATED or message in _DRAGGING:
        return ""
    return f"sends {message or f'event {sent.code}'}"


def _padded(length: int) -> int:
    return int(length + 3 & ~3)


def _exactly(source: socket.socket, size: int) -> bytes:
    if size > _LONGEST:
        raise ValueError(f"a request of {size} bytes")
    data = bytearray()
    while len(data) < size:
        part = source.recv(min(size - len(data), _ROOM))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_ROOM):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_RDWR)
