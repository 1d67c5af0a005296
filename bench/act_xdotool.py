"""xdotool with coordinates that it is given: real input by perfect eyes, with the person's own pointer and keyboard."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from functools import partial
from typing import TYPE_CHECKING, Self

from act_tool import Attempt, Claim
from act_windows import Eyes, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from act_tasks import Task
    from act_windows import LabWindow, Screen
    from place import Place

_POPS_UP_S = 0.3
_IN_FRONT_S = 1.0
_CLICKED = {
    "click": ("Save", "button"),
    "check": ("Subscribe", "check"),
    "radio": ("Large", "radio"),
    "tab": ("Two", "tab"),
    "in the tab": ("Inner", "button"),
}
_TYPED = {"text": "Name", "replace": "City", "number": "Amount", "multiline": "Notes"}


class Xdotool:
    name = "xdotool"
    sure: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()

    def __init__(self, place: Place, screen: Screen, window: LabWindow) -> None:
        self._environment = {**os.environ, **place.environment}
        self._screen, self._window, self._eyes = screen, window, Eyes(place, window.toolkit)
        self._ms = 0.0

    async def __aenter__(self) -> Self:
        await self._eyes.look()
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def read(self, _task: Task) -> None:
        """It has no eyes."""

    def attempts(self, task: Task) -> Iterator[Attempt]:
        yield partial(self._do, task)

    async def _do(self, task: Task) -> Claim:
        """Only what xdotool does is timed, not the look at where things are."""
        self._ms = 0.0
        self._screen.activate(self._window.id)
        try:
            await until(lambda: self._screen.active == self._window.id, "the window in front", _IN_FRONT_S)
        except TimeoutError as error:
            return Claim("not in front", str(error), self._ms)
        if task.name in _CLICKED:
            await self._click(*_CLICKED[task.name])
        elif task.name in _TYPED:
            await self._click(_TYPED[task.name])
            await self._hands("key", "ctrl+a")
            await self._hands("type", "--delay", 12, str(task.value))
            if task.name == "number":
                await self._hands("key", "Return")
        elif task.name == "choose":
            await self._click("Colour", "combo")
            await asyncio.sleep(_POPS_UP_S)
            if not await self._click("Green"):  # a list that tells no place: choose by its first letter
                await self._hands("key", "g", "Return")
        elif task.name == "row":
            await self._click("Fruit 1")
            await self._hands("key", "--delay", 4, "--repeat", 149, "Down")
        elif task.name == "scroll":
            await self._click("Fruits", button=5, times=3)
        elif task.name == "menu":
            for label in str(task.value).split("/"):
                await self._click(label, "menu")
                await asyncio.sleep(_POPS_UP_S)
        elif task.name == "key":
            await self._hands("key", "F5")
        return Claim("", "", self._ms)

    async def _click(self, name: str, role: str = "", *, button: int = 1, times: int = 1) -> bool:
        at = await self._eyes.centre(name, role)
        if at is None:
            return False
        await self._hands("mousemove", *at, "click", "--repeat", times, "--delay", 30, button)
        return True

    async def _hands(self, *words: object) -> None:
        started = time.perf_counter()
        process = await asyncio.create_subprocess_exec("xdotool", *map(str, words), env=self._environment)
        await process.wait()
        self._ms += (time.perf_counter() - started) * 1000


def missing() -> str:
    return "" if shutil.which("xdotool") else "xdotool is not installed"
