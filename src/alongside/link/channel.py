"""The link: both ends of the socket between the server and one driver.

On the wire: the header's length as 4 bytes (big endian), the header as JSON, then as many raw bytes as its ``bytes``
says (a picture is never base64 here). Either end may call the other, and any number of calls may be under way.

==========  ======================================================
header      meaning
==========  ======================================================
``call``    a request: ``id``, ``call`` (method), ``params``
``result``  its answer: ``id``, ``result``
``error``   or its failure: ``id``, ``error`` (reason, message, next)
``event``   something said about the call ``id`` while it runs
``cancel``  the caller has given up the call of that id
==========  ======================================================
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from alongside.core.errors import AlongsideError, Invalid, TimedOut, Unavailable

if TYPE_CHECKING:
    import socket

_LENGTH = struct.Struct(">I")
_MOST_HEADER = 16 << 20
_MOST_BYTES = 256 << 20


class LinkClosed(Unavailable):
    """The other end is gone; whether a call under way was carried out is not known."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: its JSON value, and the raw bytes that came with it."""

    result: Any
    data: bytes = b""


Say = Callable[[dict[str, Any]], None]
Handler = Callable[[str, dict[str, Any], Say], Awaitable[Reply]]


class Link:
    """One end. ``handler(method, params, say)`` answers the other end's calls; ``say`` sends it events meanwhile."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: Handler) -> None:
        self._reader, self._writer, self._handler = reader, writer, handler
        self._pending: dict[int, tuple[asyncio.Future[Reply], Say | None]] = {}
        self._running: dict[int, asyncio.Task[None]] = {}
        self._last = 0
        self._pump = asyncio.create_task(self._read())
        self.closed = asyncio.Event()

    @classmethod
    async def over(cls, sock: socket.socket, handler: Handler) -> Link:
        """The end that lives on ``sock``."""
        sock.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=sock, limit=1 << 20)
        return cls(reader, writer, handler)

    async def call(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        timeout: float | None = None,
        heard: Say | None = None,
    ) -> Reply:
        """Ask the other end; its errors are raised here. After ``timeout`` seconds the call is cancelled there too."""
        if self.closed.is_set():
            raise LinkClosed("The other end of the link is gone.")
        self._last += 1
        number = self._last
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer, heard
        try:
            self._send({"id": number, "call": method, "params": params or {}})
            async with asyncio.timeout(timeout):
                return await answer
        except TimeoutError:
            raise TimedOut(f"No answer to {method} in {timeout} s.") from None
        finally:
            # Whoever stops waiting for the answer cancels the future of it.
            if self._pending.pop(number, None) and answer.cancelled() and not self.closed.is_set():
                self._send({"cancel": number})

    async def close(self) -> None:
        self._pump.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._pump
        await self._end()

    def _send(self, header: dict[str, Any], data: bytes = b"") -> None:
        if data:
            header["bytes"] = len(data)
        try:
            packed = json.dumps(header, separators=(",", ":")).encode()
        except (TypeError, ValueError) as wrong:
            if "call" in header:
                raise Invalid(f"What {header['call']} was asked with cannot be written as JSON: {wrong}") from None
            packed = json.dumps({"id": header.get("id"), "error": _unsendable(wrong)}).encode()
            data = b""
        self._writer.write(_LENGTH.pack(len(packed)) + packed)
        if data:
            self._writer.write(data)

    async def _read(self) -> None:
        try:
            while True:
                (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
                if length > _MOST_HEADER:
                    break
                header = json.loads(await self._reader.readexactly(length))
                size = int(header.get("bytes", 0))
                if not 0 <= size <= _MOST_BYTES:
                    break
                self._take(header, await self._reader.readexactly(size) if size else b"")
        except (asyncio.IncompleteReadError, OSError, ValueError, TypeError, AttributeError):
            pass  # an end that is gone or talks nonsense is closed below
        finally:
            self._closing = asyncio.create_task(self._end())

    def _take(self, header: dict[str, Any], data: bytes) -> None:
        number = int(header.get("id", 0))
        if "call" in header:
            task = asyncio.create_task(self._answer(number, str(header["call"]), dict(header.get("params") or {})))
            self._running[number] = task
            task.add_done_callback(lambda _: self._running.pop(number, None))
        elif "cancel" in header:
            if task_of := self._running.get(int(header["cancel"])):
                task_of.cancel()
        elif pending := self._pending.get(number):
            answer, heard = pending
            if "event" in header:
                if heard:
                    heard(dict(header["event"]))
            elif answer.done():
                pass
            elif "error" in header:
                answer.set_exception(AlongsideError.from_wire(header["error"]))
            else:
                answer.set_result(Reply(header.get("result"), data))

    async def _answer(self, number: int, method: str, params: dict[str, Any]) -> None:
        try:
            reply = await self._handler(method, params, lambda event: self._send({"id": number, "event": event}))
        except AlongsideError as error:
            self._send({"id": number, "error": error.to_wire()})
        except Exception as error:  # noqa: BLE001 - whatever breaks here, the caller must hear of it
            self._send({"id": number, "error": {"reason": "unavailable", "message": f"{method} broke: {error!r:.500}"}})
        else:
            self._send({"id": number, "result": reply.result}, reply.data)

    async def _end(self) -> None:
        self.closed.set()
        for task in list(self._running.values()):
            task.cancel()
        for answer, _ in self._pending.values():
            if not answer.done():
                answer.set_exception(LinkClosed("The other end of the link went away during this call."))
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


def _unsendable(wrong: Exception) -> dict[str, str]:
    return {"reason": "unavailable", "message": f"The answer cannot be written as JSON: {wrong}"}
