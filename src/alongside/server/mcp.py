"""MCP over stdio: the registry as the SDK's low-level server, behind the door that answers first."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import math
import signal
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

import alongside
from alongside.server.calls import carry_out
from alongside.server.desktops import Desktops
from alongside.server.person.journal import Journal
from alongside.server.tools import INSTRUCTIONS, TOOLS, House

if TYPE_CHECKING:
    from anyio.abc import ObjectReceiveStream
    from anyio.streams.memory import MemoryObjectSendStream
    from mcp.server.context import ServerRequestContext

    from alongside.server.child import HeadStart
    from alongside.server.early import Door
    from alongside.server.tools import Answer, Tool

_FLUSH = 2.0


def serve(door: Door, *, user_acting: bool, head_start: HeadStart) -> int:
    """Serve the client behind ``door`` until it leaves or a signal asks us to; the exit code."""
    asyncio.run(_serve(door, Desktops(user_acting=user_acting, head_start=head_start)))
    door.finish(_FLUSH)
    return 0


def make_server(desktops: Desktops, journal: Journal) -> Server[Any]:
    """The SDK's server with our tools."""

    async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(tool) for tool in TOOLS.values()])

    async def call_tool(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            known = ", ".join(TOOLS)
            raise MCPError(types.INVALID_PARAMS, f"There is no tool `{params.name:.60}`; there are: {known}.")
        wants_progress = bool(ctx.meta and "progress_token" in ctx.meta)
        reports, to_report = anyio.create_memory_object_stream[tuple[float, float | None, str]](math.inf)
        async with anyio.create_task_group() as group:
            group.start_soon(_report, ctx, to_report)
            with reports:
                house = House(desktops, (lambda *told: reports.send_nowait(told)) if wants_progress else None)
                answer = await carry_out(tool, params.arguments or {}, house, journal)
        return _result(answer)

    return Server(
        "alongside",
        version=alongside.__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema(),
        annotations=types.ToolAnnotations.model_validate(tool.hints),
        _meta={"anthropic/alwaysLoad": True} if tool.upfront else None,
    )


def _result(answer: Answer) -> types.CallToolResult:
    # What an application wrote may hold what no UTF-8 text can.
    text = answer.text.encode("utf-8", "replace").decode()
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    if answer.image:
        data = base64.b64encode(answer.image.data).decode()
        content.append(types.ImageContent(type="image", data=data, mime_type=answer.image.mime))
    return types.CallToolResult(content=content, is_error=answer.failed)


async def _report(
    ctx: ServerRequestContext[Any], reports: ObjectReceiveStream[tuple[float, float | None, str]]
) -> None:
    async for done, total, what in reports:
        await ctx.session.report_progress(done, total, what)


async def _serve(door: Door, desktops: Desktops) -> None:
    loop = asyncio.get_running_loop()
    with anyio.CancelScope() as scope:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, scope.cancel)
        async with desktops:
            server = make_server(desktops, Journal())
            arriving, to_read = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
            to_write, leaving = anyio.create_memory_object_stream[SessionMessage](0)
            wire = _Wire(door, arriving)
            async with anyio.create_task_group() as group:
                group.start_soon(wire.send_all, leaving)
                wire.attach(loop)
                await server.run(to_read, to_write, server.create_initialization_options())


class _Wire:
    """Between the lines of the door and the messages of the SDK."""

    def __init__(self, door: Door, arriving: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        self._door, self._arriving = door, arriving
        self._swallow: int | str | None = None

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        self._swallow = self._door.attach(lambda line: loop.call_soon_threadsafe(self._arrive, line))

    def _arrive(self, line: bytes | None) -> None:
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the SDK has stopped reading
            if line is None:
                self._arriving.close()
                return
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError as wrong:
                self._refuse(line)
                self._arriving.send_nowait(wrong)
            else:
                self._arriving.send_nowait(SessionMessage(message))

    def _refuse(self, line: bytes) -> None:
        """Answer a request that the SDK cannot read, such as one with half a surrogate pair in a text."""
        with contextlib.suppress(ValueError, RecursionError):
            message = json.loads(line)
            if isinstance(message, dict) and "method" in message and isinstance(message.get("id"), int | str):
                error = {"code": types.INVALID_REQUEST, "message": "This is no request of JSON-RPC 2.0 in valid UTF-8."}
                answer = json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error})
                self._door.send(answer.encode() + b"\n")

    async def send_all(self, leaving: ObjectReceiveStream[SessionMessage]) -> None:
        async for one in leaving:
            message = one.message
            number = message.id if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) else None
            if number is not None and number == self._swallow:
                self._swallow = None
                continue
            self._door.send(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
