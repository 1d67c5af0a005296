"""Cua Driver 0.37 as its guide has it: by element first, then by pixels of the window; always in the background.

It runs without a network, as it would report and look for updates else, and without its overlay, which takes time.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from act_tool import Attempt, Claim
from act_windows import Eyes
from mcp import Client, StdioServerParameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from act_tasks import Task
    from act_windows import LabWindow, Screen
    from place import Place

PROGRAM = Path(sys.executable).with_name("cua-driver")
_QUIET = {"DO_NOT_TRACK": "1", "CUA_DRIVER_RS_TELEMETRY_ENABLED": "0", "CUA_DRIVER_RS_UPDATE_CHECK": "false"}
_MORE = {"max_elements": 1000, "timeout_ms": 5000}  # where the default of 250 did not show the target
_NAMED_BY_VALUE = {"City": "Paris"}  # its tree shows some fields by what is in them
_TOLD = ("effect", "route", "code", "status", "hint")
# Where an element is clicked: its label, and what its role begins with.
_CLICKED = {
    "click": ("Save", "push button"),
    "check": ("Subscribe", "check box"),
    "radio": ("Large", "radio button"),
    "row": ("Fruit 150", ""),
    "tab": ("Two", "page tab"),
    "in the tab": ("Inner", "push button"),
}
_SET = {"text": "Name", "replace": "City", "number": "Amount", "multiline": "Notes"}


class Cua:
    name = "cua"
    sure = frozenset({"confirmed"})
    failed = frozenset({"suspected_noop", "refused", "background_unavailable"})

    def __init__(self, place: Place, screen: Screen, window: LabWindow) -> None:
        environment = {**os.environ, **place.environment, **_QUIET}
        command = ["unshare", "-n", str(PROGRAM), "--no-overlay", "mcp"]
        silent = ["-c", 'exec "$@" 2>/dev/null', "sh", *command]  # it warns at every step that it has no overlay
        self._server = StdioServerParameters(command="sh", args=silent, env=environment)
        self._screen, self._window, self._eyes = screen, window, Eyes(place, window.toolkit)
        self._stack = contextlib.AsyncExitStack()
        self._there: dict[str, Any] = {}

    async def __aenter__(self) -> Self:
        self._client = await self._stack.enter_async_context(Client(self._server, read_timeout_seconds=60))
        listed = (await self._client.call_tool("list_windows", {})).structured_content or {}
        ours = next((one for one in listed["windows"] if one["window_id"] == self._window.id), None)
        if ours is None:
            raise TimeoutError("cua-driver does not list the window")
        self._there = {"pid": ours["pid"], "window_id": ours["window_id"]}
        await self._eyes.look()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def read(self, task: Task) -> None:
        """The narrow read that its guide asks for."""
        query = (_CLICKED.get(task.name) or (_SET.get(task.name, "Fruits"), ""))[0]
        await self._elements(query=query, include_screenshot=False)

    def attempts(self, task: Task) -> Iterator[Attempt]:
        if task.name in _CLICKED:
            label, role = _CLICKED[task.name]
            yield partial(self._click, label, role)
            if task.name == "row":
                yield self._row_by_scrolling
            yield partial(self._pixels, "click", label, role)
        elif task.name in _SET:
            yield partial(self._field, "set_value", _SET[task.name], value=str(task.value))
            yield partial(self._field, "type_text", _SET[task.name], text=str(task.value))
            yield partial(self._typed_over, _SET[task.name], str(task.value))
        elif task.name == "choose":
            yield partial(self._field, "set_value", "Colour", value=str(task.value))
            yield partial(self._click, str(task.value), "")
            yield self._choose_in_the_list
            yield partial(self._choose_in_the_list, pixels=True)
        elif task.name == "scroll":
            yield partial(self._field, "scroll", "Fruits", direction="down", amount=3)
            yield partial(self._field, "scroll", "Fruit 1", direction="down", amount=3)
            yield partial(self._pixels, "scroll", "Fruit 1", "", direction="down", amount=3)
        elif task.name == "menu":
            path = str(task.value).split("/")
            yield partial(self._call, "invoke_menu", path=path, **self._there)
            yield partial(self._through_the_menu, path)
            yield partial(self._through_the_menu, path, pixels=True)
        elif task.name == "key":
            yield partial(self._call, "press_key", key="f5", target=self._target)
            yield partial(self._field, "press_key", "Save", key="f5")
            yield partial(self._pixels, "press_key", "Name", "", key="f5")

    @property
    def _target(self) -> dict[str, Any]:
        return {"kind": "window", **self._there}

    async def _elements(self, **options: Any) -> list[dict[str, Any]]:
        arguments = {**self._there, "tree_format": "elements", **options}
        read = (await self._client.call_tool("get_window_state", arguments)).structured_content or {}
        return list(read.get("elements", ()))

    async def _token(self, label: str, role: str = "") -> str | None:
        """The token of the element of that label, in a read of now; a field rather than its label."""
        for named, options in ((label, {}), (_NAMED_BY_VALUE.get(label, label), _MORE)):
            found = [
                one
                for one in await self._elements(query=named, include_screenshot=False, **options)
                if one.get("label") == named and one["role"].startswith(role) and one["role"] != "label"
            ]
            if found:
                return str(found[-1]["element_token"])
        return None

    async def _click(self, label: str, role: str) -> Claim:
        return await self._field("click", label, role)

    async def _field(self, tool: str, label: str, role: str = "", **arguments: Any) -> Claim:
        """That tool on the element of that label."""
        token = await self._token(label, role)
        if token is None:
            return Claim("not found", f"no element {label!r} with a token in the tree", 0)
        where = {"pid": self._there["pid"]} if tool == "set_value" else {"target": self._target}
        return await self._call(tool, element_token=token, **where, **arguments)

    async def _pixels(self, tool: str, label: str, role: str, **arguments: Any) -> Claim:
        """That tool at the point where that element is, after a picture of the window as its guide asks for."""
        at = await self._eyes.centre(label, role)
        if at is None:
            return Claim("not found", f"{label!r} is not in sight", 0)
        await self._client.call_tool("get_window_state", {**self._there, "include_accessibility_tree": False})
        left, top = self._screen.origin(self._window.id)
        return await self._call(tool, target=self._target, x=at[0] - left, y=at[1] - top, **arguments)

    async def _typed_over(self, label: str, text: str) -> Claim:
        """Select what is in the field by a triple click, type over it, and leave it by Tab."""
        first = await self._pixels("click", label, "", count=3)
        typed = await self._pixels("type_text", label, "", text=text)
        left = await self._pixels("press_key", label, "", key="tab")
        return _together(first, typed, left)

    async def _row_by_scrolling(self) -> Claim:
        """Scroll down the list by pixels until the row has an element, then click that."""
        claims = []
        for _ in range(4):
            claims.append(await self._pixels("scroll", "Fruits", "", direction="down", by="page", amount=10))
            if await self._token("Fruit 150"):
                claims.append(await self._click("Fruit 150", ""))
                break
        return _together(*claims)

    async def _choose_in_the_list(self, *, pixels: bool = False) -> Claim:
        """Open the combo and click the item in what popped up."""
        opening = self._pixels("click", "Colour", "combo") if pixels else self._click("Colour", "combo")
        return _together(await opening, await self._in_the_popup("Green"))

    async def _through_the_menu(self, path: list[str], *, pixels: bool = False) -> Claim:
        """Click one item of the menu after the other."""
        claims = [await (self._pixels("click", path[0], "menu") if pixels else self._click(path[0], "menu"))]
        claims += [await self._in_the_popup(label) for label in path[1:]]
        return _together(*claims)

    async def _in_the_popup(self, label: str) -> Claim:
        """Click an item of the open pop-up: without a window, its read is of that."""
        read = {"pid": self._there["pid"], "tree_format": "elements", "query": label, "include_screenshot": False}
        found = (await self._client.call_tool("get_window_state", read)).structured_content or {}
        tokens = [one["element_token"] for one in found.get("elements", ()) if one.get("label") == label]
        if not tokens:
            return await self._click(label, "")
        return await self._call("click", element_token=tokens[-1])

    async def _call(self, tool: str, **arguments: Any) -> Claim:
        started = time.perf_counter()
        answer = await self._client.call_tool(tool, arguments)
        took = round((time.perf_counter() - started) * 1000, 1)
        result = answer.structured_content or {}
        text = " ".join(one.text for one in answer.content if one.type == "text")
        word = str(result.get("effect") or result.get("code") or ("failed" if answer.is_error else "sent"))
        told = {name: result[name] for name in _TOLD if name in result}
        return Claim(word, f"{tool}: {text[:200]} {json.dumps(told, ensure_ascii=False)[:200]}", took)


def _together(*claims: Claim) -> Claim:
    """Several calls of one attempt: their time together, and the word of the last."""
    return Claim(claims[-1].word, " / ".join(one.told for one in claims), sum(one.ms or 0 for one in claims))


def missing() -> str:
    """What keeps it from running here; empty if nothing does."""
    if not PROGRAM.exists():
        return "cua-driver is not installed (pip install --group bench)"
    return "" if shutil.which("unshare") else "unshare, which takes the network away, is not installed"
