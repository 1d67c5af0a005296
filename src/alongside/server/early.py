"""The first answers, given before the MCP library is loaded.

Loading it takes half a second, and a client that waits three for ``server/discover`` takes a slow server for one of
the old protocol and remembers that. So a thread reads the client from the first moment on, answers what a snapshot
can answer, and keeps the rest for the library. Standard library only; nothing here may import more.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SNAPSHOT = Path(__file__).with_name("snapshot.json")
_META = "io.modelcontextprotocol/"
_BOM = b"\xef\xbb\xbf"
_Id = int | str


class EarlyAnswers:
    """Decides which requests the snapshot can answer; holds what the client has chosen so far.

    ``snapshot`` maps each protocol revision to its results by method, oldest first; a revision with
    ``server/discover`` needs no handshake. What is not plainly right is left to the library, whose errors are better.
    """

    def __init__(self, snapshot: dict[str, dict[str, Any]]) -> None:
        self._snapshot = snapshot
        self._handshakes = [revision for revision, results in snapshot.items() if "initialize" in results]
        self._negotiated: str | None = None
        # The kind of connection the library will take this for: that of the first request it gets to see.
        self._decided: str | None = None
        self.replayed: _Id | None = None
        """The id of the ``initialize`` that was answered here and that the library will answer once more."""

    def to(self, line: bytes) -> tuple[bytes | None, bool]:
        """The answer to a line, if any, and whether the library must get the line too."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return None, True
        if not isinstance(message, dict) or "method" not in message or "id" not in message:
            return None, True  # a notification, an answer, or a batch
        result = self._result(message)
        first = message["method"] == "initialize"
        passed_on = result is None or first
        if passed_on and self._decided is None:
            self._decided = "modern" if _enveloped(message) and not first else "handshake"
        if result is None:
            return None, True
        if first:
            self.replayed = message["id"]
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode() + b"\n", passed_on

    def _result(self, message: dict[str, Any]) -> dict[str, Any] | None:
        number, method, params = message["id"], message["method"], message.get("params", {})
        if message.get("jsonrpc") != "2.0" or isinstance(number, bool) or not isinstance(number, int | str):
            return None
        if not isinstance(method, str) or not isinstance(params, dict) or params.get("cursor") is not None:
            return None
        if method == "initialize":
            return self._initialized(params)
        if not _enveloped(message):
            return self._snapshot[self._negotiated].get(method) if self._negotiated else None
        meta = params["_meta"]
        revision = meta.get(_META + "protocolVersion")
        who = meta.get(_META + "clientInfo", {"name": "", "version": ""})
        if self._decided == "handshake" or not isinstance(revision, str):
            return None
        if revision not in self._snapshot or revision in self._handshakes:
            return None
        if not _names_itself(who) or not isinstance(meta.get(_META + "clientCapabilities"), dict):
            return None
        return self._snapshot[revision].get(method)

    def _initialized(self, params: dict[str, Any]) -> dict[str, Any] | None:
        wanted, able = params.get("protocolVersion"), params.get("capabilities")
        if self._decided or not isinstance(wanted, str) or not _names_itself(params.get("clientInfo")):
            return None
        if not isinstance(able, dict) or not all(isinstance(one, dict) for one in able.values()):
            return None
        # As the protocol asks: the revision the client wants where it is known, else the newest.
        self._negotiated = wanted if wanted in self._handshakes else self._handshakes[-1]
        result: dict[str, Any] = self._snapshot[self._negotiated]["initialize"]
        return result


def _enveloped(message: dict[str, Any]) -> bool:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and _META + "protocolVersion" in meta


def _names_itself(client: object) -> bool:
    return isinstance(client, dict) and isinstance(client.get("name"), str) and isinstance(client.get("version"), str)


class Door:
    """The client's end: one thread reads it, one writes it, and nothing else in this process or its children can.

    ``after_first`` is called once, from the writing thread, when the first answer is out.
    """

    def __init__(self, after_first: Callable[[], object]) -> None:
        self._incoming, self._outgoing = _taken(0), _taken(1)
        self._answers = EarlyAnswers(json.loads(SNAPSHOT.read_bytes()))
        self._after_first = after_first
        self._lock = threading.Lock()
        self._kept: list[bytes | None] = []
        self._deliver: Callable[[bytes | None], object] | None = None
        self._out: SimpleQueue[bytes | None] = SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="to the client", daemon=True)
        self._writer.start()
        threading.Thread(target=self._read, name="from the client", daemon=True).start()

    def attach(self, deliver: Callable[[bytes | None], object]) -> _Id | None:
        """Hand every line over from now on, those kept so far first; None is the end.

        Returns the id of a request among them that was answered already: its next answer must be swallowed.
        """
        with self._lock:
            for line in self._kept:
                deliver(line)
            self._deliver = deliver
            return self._answers.replayed

    def send(self, line: bytes) -> None:
        """Write a line to the client, from any thread, without waiting."""
        self._out.put(line)

    def finish(self, seconds: float) -> None:
        """Let what was sent reach the client, as long as that takes no longer than ``seconds``."""
        self._out.put(None)
        self._writer.join(seconds)

    def _read(self) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop has ended
            for line in _lines(self._incoming):
                self._take(line)
            self._take(None)

    def _take(self, line: bytes | None) -> None:
        with self._lock:
            if self._deliver:
                self._deliver(line)
                return
            answer, passed_on = self._answers.to(line) if line is not None else (None, True)
            if answer:
                self._out.put(answer)
            if passed_on:
                self._kept.append(line)

    def _write(self) -> None:
        first = True
        while (line := self._out.get()) is not None:
            with contextlib.suppress(OSError):  # a client that is gone shows in its other stream
                while line:
                    line = line[os.write(self._outgoing, line) :]
            if first:
                first = False
                self._after_first()


def _taken(descriptor: int) -> int:
    """A private copy of a standard stream, whose place goes to the null device (input) or to stderr (output)."""
    try:
        private = os.dup(descriptor)
    except OSError:
        private = os.open(os.devnull, os.O_RDWR)
    try:
        if descriptor == 0:
            raise OSError  # noqa: TRY301 - the same way as where there is no stderr
        os.dup2(2, descriptor)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, descriptor)
        os.close(null)
    return private


def _lines(descriptor: int) -> Iterator[bytes]:
    """The lines of a stream without their ends, blank ones left out; also the last one where its end is missing."""
    parts: list[bytes] = []
    mark = _BOM  # may stand before the first line
    while chunk := _chunk(descriptor):
        *ends, last = chunk.split(b"\n")
        for end in ends:
            line = b"".join([*parts, end]).removeprefix(mark).strip()
            parts, mark = [], b""
            if line:
                yield line
        parts.append(last)
    if line := b"".join(parts).removeprefix(mark).strip():
        yield line


def _chunk(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:
        return b""
