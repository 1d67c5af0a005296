"""Reading an application over its own socket, beside the accessibility bus.

Applications of the ATK bridge (GTK 3, Chromium, Firefox, LibreOffice) offer one. Without the bus's daemon in the middle
a call costs half (measured: 9 ms against 19 for 1,000 calls), and the few kinds of call that a reading needs are packed
and unpacked here. GTK 4 and Qt offer none; what is sent to change something always goes over the bus.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections import deque
from typing import TYPE_CHECKING, Any

from alongside.platforms.linux.atspi.bus import CallFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from alongside.platforms.linux.atspi.bus import Answered, Bus, Call

_IN_FLIGHT = 256
_HEADER = struct.Struct("<BBBBIII")
_CALL, _RETURN, _ERROR = 1, 2, 3
_INTERFACE, _MEMBER, _ERROR_NAME, _REPLY_SERIAL, _SIGNATURE = 2, 3, 4, 5, 8
_ALIGNED = {
    "y": 1,
    "b": 4,
    "n": 2,
    "q": 2,
    "i": 4,
    "u": 4,
    "x": 8,
    "t": 8,
    "d": 8,
    "s": 4,
    "o": 4,
    "g": 1,
    "v": 1,
    "a": 4,
}
_NUMBERS = {"y": "<B", "b": "<I", "n": "<h", "q": "<H", "i": "<i", "u": "<I", "x": "<q", "t": "<Q", "d": "<d"}
_MOST = 64 << 20


class Peer(asyncio.Protocol):
    """One application's own socket; calls to others go over the bus."""

    def __init__(self, name: str, bus: Bus) -> None:
        self.name = name
        self._bus = bus
        self._transport: asyncio.WriteTransport | None = None
        self._pending: dict[int, Answered] = {}
        self._queue: deque[tuple[Call, Answered]] = deque()
        self._templates: dict[tuple[str, str, str, tuple[Any, ...]], tuple[bytes, bytes]] = {}
        self._serial = 0
        self._leaving = bytearray()
        self._arriving = b""

    @classmethod
    async def connect(cls, name: str, address: str, bus: Bus) -> Peer:
        """Connect to the socket at a D-Bus address; ``OSError`` or ``TimeoutError`` where it does not answer."""
        path = dict(part.partition("=")[::2] for part in address.removeprefix("unix:").split(",")).get("path", "")
        loop = asyncio.get_running_loop()
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.setblocking(False)
            await loop.sock_connect(sock, path)
            await loop.sock_sendall(sock, b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
            answer = await loop.sock_recv(sock, 512)
            await loop.sock_sendall(sock, b"BEGIN\r\n" if answer.startswith(b"OK ") else b"CANCEL\r\n")
            _, peer = await loop.create_unix_connection(lambda: cls(name, bus), sock=sock)
        except BaseException:
            sock.close()
            raise
        return peer

    @property
    def open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def post(self, call: Call, answered: Answered) -> None:
        """Send a call; ``answered`` gets its first value, or a ``CallFailed``."""
        if call.node.bus != self.name:
            self._bus.post(call, answered)
        elif not self.open:
            answered(CallFailed("org.freedesktop.DBus.Error.Disconnected", "the application closed its socket"))
        elif len(self._pending) < _IN_FLIGHT:
            self._write(call, answered)
        else:
            self._queue.append((call, answered))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)  # noqa: S101 - a socket's is one
        self._transport = transport

    def connection_lost(self, _why: Exception | None) -> None:
        waiting = [*self._pending.values(), *(answered for _, answered in self._queue)]
        self._pending.clear()
        self._queue.clear()
        for answered in waiting:
            answered(CallFailed("org.freedesktop.DBus.Error.Disconnected", "the application closed its socket"))

    def data_received(self, data: bytes) -> None:
        buffer = self._arriving + data if self._arriving else data
        at, end = 0, len(buffer)
        try:
            while end - at >= 16:
                _, kind, _, _, body, _, fields = _HEADER.unpack_from(buffer, at)
                start = at + 16 + (fields + 7 & ~7)
                if start + body > min(end, at + _MOST):
                    break
                if kind in {_RETURN, _ERROR}:
                    self._answer(kind, buffer, at, start)
                at = start + body
        except (struct.error, IndexError, KeyError, ValueError, RecursionError):
            self.close()  # it does not speak D-Bus as it should
            return
        self._arriving = buffer[at:]
        if len(self._arriving) > _MOST:
            self.close()

    def _write(self, call: Call, answered: Answered) -> None:
        key = call.interface, call.member, call.signature, tuple(call.body)
        template = self._templates.get(key)
        if template is None:
            template = self._templates[key] = _fields(call.interface, call.member, call.signature), _packed(call)
        fields, body = template
        path = call.node.path.encode()
        fields += b"\1\1o\0" + len(path).to_bytes(4, "little") + path + b"\0"
        self._serial += 1
        self._pending[self._serial] = answered
        if not self._leaving:
            asyncio.get_running_loop().call_soon(self._flush)
        self._leaving += _HEADER.pack(108, _CALL, 0, 1, len(body), self._serial, len(fields))
        self._leaving += fields + b"\0" * (-len(fields) % 8) + body

    def _flush(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(bytes(self._leaving))
        self._leaving.clear()

    def _answer(self, kind: int, buffer: bytes, at: int, start: int) -> None:
        serial, signature, error = _heading(buffer, at)
        answered = self._pending.pop(serial, None)
        if answered is None:
            return
        if self._queue:
            self._write(*self._queue.popleft())
        decode = _DECODERS.get(signature)
        if decode is not None:
            value = decode(buffer, start)
        else:
            value = _read(signature, 0, buffer, start, start)[0] if signature else None
        answered(CallFailed(error, str(value)) if kind == _ERROR else value)


def _fields(interface: str, member: str, signature: str) -> bytes:
    """The header's fields without the path, which comes last."""
    packed = b""
    for code, text in ((_INTERFACE, interface), (_MEMBER, member)):
        packed += bytes((code, 1)) + b"s\0" + len(text).to_bytes(4, "little") + text.encode() + b"\0"
        packed += b"\0" * (-len(packed) % 8)
    if signature:
        packed += bytes((_SIGNATURE, 1)) + b"g\0" + bytes((len(signature),)) + signature.encode() + b"\0"
        packed += b"\0" * (-len(packed) % 8)
    return packed


def _packed(call: Call) -> bytes:
    packed = b""
    for kind, value in zip(call.signature, call.body, strict=True):
        packed += b"\0" * (-len(packed) % 4)
        if kind == "s":
            text = str(value).encode()
            packed += len(text).to_bytes(4, "little") + text + b"\0"
        else:
            packed += struct.pack(_NUMBERS[kind], value)
    return packed


def _heading(buffer: bytes, at: int) -> tuple[int, str, str]:
    """Which call a message answers, the signature of its body, and the name of the error it may be."""
    serial, signature, error = 0, "", ""
    here = at + 16
    end = here + int.from_bytes(buffer[at + 12 : at + 16], "little")
    while here < end:
        here += -(here - at) % 8
        code = buffer[here]
        if code == _REPLY_SERIAL:
            serial = int.from_bytes(buffer[here + 4 : here + 8], "little")
            here += 8
        elif code == _SIGNATURE:
            length = buffer[here + 4]
            signature = buffer[here + 5 : here + 5 + length].decode("ascii")
            here += 6 + length
        else:
            value, _, here = _read(chr(buffer[here + 2]), 0, buffer, here + 4, at)
            error = str(value) if code == _ERROR_NAME else error
    return serial, signature, error


def _decode_number(buffer: bytes, at: int) -> int:
    return int.from_bytes(buffer[at : at + 4], "little")


def _decode_numbers(buffer: bytes, at: int) -> list[int]:
    count = _decode_number(buffer, at) // 4
    return list(struct.unpack_from(f"<{count}I", buffer, at + 4))


def _decode_place(buffer: bytes, at: int) -> tuple[int, ...]:
    return struct.unpack_from("<4i", buffer, at)


def _decode_text(buffer: bytes, at: int) -> str:
    return buffer[at + 4 : at + 4 + _decode_number(buffer, at)].decode("utf-8", "replace")


def _decode_property(buffer: bytes, at: int) -> Any:
    """A variant; names and counts are most of them."""
    kind = buffer[at + 1]
    if buffer[at] == 1 and kind == 115:
        return _decode_text(buffer, at + 4)
    return _read("v", 0, buffer, at, at)[0]


# What most answers are, without the general way.
_DECODERS: dict[str, Callable[[bytes, int], Any]] = {
    "u": _decode_number,
    "au": _decode_numbers,
    "(iiii)": _decode_place,
    "s": _decode_text,
    "v": _decode_property,
}


def _read(signature: str, index: int, buffer: bytes, here: int, base: int) -> tuple[Any, int, int]:
    """One value of ``signature`` from ``index`` on: the value, and where signature and buffer go on."""
    kind = signature[index]
    if kind in _NUMBERS:
        form = _NUMBERS[kind]
        here += -(here - base) % _ALIGNED[kind]
        (number,) = struct.unpack_from(form, buffer, here)
        return number, index + 1, here + struct.calcsize(form)
    if kind in "so":
        here += -(here - base) % 4
        end = here + 4 + int.from_bytes(buffer[here : here + 4], "little")
        return buffer[here + 4 : end].decode("utf-8", "replace"), index + 1, end + 1
    if kind == "g":
        end = here + 1 + buffer[here]
        return buffer[here + 1 : end].decode("ascii"), index + 1, end + 1
    if kind == "v":
        inner, _, here = _read("g", 0, buffer, here, base)
        value, _, here = _read(inner, 0, buffer, here, base)
        return value, index + 1, here
    if kind in "({":
        return _read_struct(signature, index + 1, buffer, here + -(here - base) % 8, base)
    if kind != "a":
        raise ValueError(f"an unknown type {kind!r}")
    here += -(here - base) % 4
    end = int.from_bytes(buffer[here : here + 4], "little")
    here += 4
    here += -(here - base) % (8 if signature[index + 1] in "({" else _ALIGNED[signature[index + 1]])
    end += here
    values = []
    while here < end:
        value, _, here = _read(signature, index + 1, buffer, here, base)
        values.append(value)
    return values, _after(signature, index + 1), here


def _read_struct(signature: str, index: int, buffer: bytes, here: int, base: int) -> tuple[Any, int, int]:
    values = []
    while signature[index] not in ")}":
        value, index, here = _read(signature, index, buffer, here, base)
        values.append(value)
    return values, index + 1, here


def _after(signature: str, index: int) -> int:
    """Where the type that begins at ``index`` ends."""
    while signature[index] == "a":
        index += 1
    depth = 0
    while True:
        depth += (signature[index] in "({") - (signature[index] in ")}")
        index += 1
        if depth == 0:
            return index
