"""Alongside as a client meets it: `alongside serve --user-desktop`, over MCP on stdio."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from typing import TYPE_CHECKING, Any, Self

from act_tool import Attempt, Claim
from mcp import Client, StdioServerParameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from act_tasks import Step, Task
    from act_windows import LabWindow, Screen
    from place import Place


class Ours:
    name = "ours"
    sure = frozenset("✓=")
    failed = frozenset("✗")

    def __init__(self, place: Place, _screen: Screen, window: LabWindow) -> None:
        environment = {**os.environ, **place.environment, "ALONGSIDE_HOME": str(place.folder / "alongside")}
        self._server = StdioServerParameters(
            command=sys.executable, args=["-m", "alongside", "serve", "--user-desktop"], env=environment
        )
        self._window = window.title
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._client = await self._stack.enter_async_context(Client(self._server, read_timeout_seconds=60))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def read(self, _task: Task) -> None:
        text = await self._call("look", window=self._window)
        if "[" not in text:
            raise RuntimeError(f"nothing to act on was read:\n{text}")

    def attempts(self, task: Task) -> Iterator[Attempt]:
        yield lambda: self.act(task.step)

    async def act(self, *steps: Step) -> Claim:
        """The claim of the last step."""
        text = await self._call("act", window=self._window, steps=list(steps))
        marks = re.findall(r"^ *\d+ ([✓=~✗-]) ", text, re.MULTILINE)
        return Claim(marks[-1] if marks else "✗", " ".join(text.split()))

    async def glance(self) -> None:
        """The cheapest call there is: what a round trip costs."""
        await self._call("desktop", action="list")

    async def _call(self, tool: str, **arguments: Any) -> str:
        answer = await self._client.call_tool(tool, arguments)
        return "\n".join(one.text for one in answer.content if one.type == "text")
