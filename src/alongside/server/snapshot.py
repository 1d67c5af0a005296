"""``python -m alongside.server.snapshot``: writes down what the live server answers, for ``early`` to answer first.

Run it after every change of a tool, the instructions or the version; a test compares the two.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from alongside.server.desktops import Desktops
from alongside.server.early import SNAPSHOT
from alongside.server.mcp import make_server
from alongside.server.person.journal import Journal

_CLIENT = {"name": "snapshot", "version": "0"}
_META = "io.modelcontextprotocol/"


async def take() -> dict[str, dict[str, Any]]:
    """The results of the live server, by protocol revision (oldest first) and method."""
    taken = {}
    for revision in HANDSHAKE_PROTOCOL_VERSIONS:
        greeting = {"protocolVersion": revision, "capabilities": {}, "clientInfo": _CLIENT}
        taken[revision] = await _asked({"initialize": greeting, "tools/list": {}})
    for revision in MODERN_PROTOCOL_VERSIONS:
        envelope = {
            _META + "protocolVersion": revision,
            _META + "clientCapabilities": {},
            _META + "clientInfo": _CLIENT,
        }
        taken[revision] = await _asked({"server/discover": {"_meta": envelope}, "tools/list": {"_meta": envelope}})
    return taken


async def _asked(requests: dict[str, dict[str, Any]]) -> dict[str, Any]:
    server = make_server(Desktops(), Journal())
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](8)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](8)
    results = {}
    async with anyio.create_task_group() as group:
        group.start_soon(server.run, incoming, outgoing, server.create_initialization_options())
        async with to_server, from_server:
            for method, params in requests.items():
                request = types.JSONRPCRequest(jsonrpc="2.0", id=1, method=method, params=params)
                await to_server.send(SessionMessage(request))
                answer = (await from_server.receive()).message
                if not isinstance(answer, types.JSONRPCResponse):
                    raise TypeError(f"{method}: {answer!r}")
                results[method] = answer.result
    return results


def text(taken: dict[str, dict[str, Any]]) -> str:
    return json.dumps(taken, ensure_ascii=False, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    SNAPSHOT.write_text(text(asyncio.run(take())), encoding="utf-8")
