"""How a test reads what the lab's windows and the scripted person saw."""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

LAB = Path(__file__).resolve().parent.parent / "lab"
SYSTEM_PYTHON = "/usr/bin/python3"  # it has PyGObject and PyQt
POLL_S = 0.005
ANYTHING = object()
WINDOWS = {
    "gtk3": (SYSTEM_PYTHON, str(LAB / "gtk3.py")),
    "gtk4": (SYSTEM_PYTHON, str(LAB / "gtk4.py")),
    "qt5": (SYSTEM_PYTHON, str(LAB / "qt.py"), "--binding", "PyQt5"),
    "qt6": (SYSTEM_PYTHON, str(LAB / "qt.py"), "--binding", "PyQt6"),
    "page": (SYSTEM_PYTHON, str(LAB / "page.py")),
}


@dataclass(frozen=True)
class LabEvent:
    """One line of a log; `t` is CLOCK_MONOTONIC in seconds."""

    t: float
    widget: str
    event: str
    value: Any


class LabLog:
    """The events an application of the lab saw, read from its log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._events: list[LabEvent] = []

    def events(self, widget: str | None = None, event: str | None = None) -> list[LabEvent]:
        self._read()
        return [it for it in self._events if widget in (None, it.widget) and event in (None, it.event)]

    def last(self, widget: str, event: str) -> LabEvent | None:
        return next(reversed(self.events(widget, event)), None)

    def mark(self) -> int:
        """How many events there are, to wait only for later ones (`after`)."""
        return len(self.events())

    async def wait_for(
        self,
        widget: str | None = None,
        event: str | None = None,
        value: object = ANYTHING,
        *,
        predicate: Callable[[LabEvent], bool] = lambda _: True,
        after: int = 0,
        within: float = 5.0,
    ) -> LabEvent:
        """The first event that fits, among those later than a mark; AssertionError with the log after `within` s."""
        deadline = time.monotonic() + within
        while True:
            for it in self.events()[after:]:
                named = widget in (None, it.widget) and event in (None, it.event)
                if named and value in (ANYTHING, it.value) and predicate(it):
                    return it
            if time.monotonic() > deadline:
                asked = f"{widget or 'any widget'} {event or 'any event'}"
                asked += "" if value is ANYTHING else f" {value!r}"
                seen = "\n".join(f"  {it}" for it in self._events[after:])
                raise AssertionError(f"No {asked} within {within} s. Seen:\n{seen or '  nothing'}")
            await asyncio.sleep(POLL_S)  # another process writes the file: there is nothing to await

    def _read(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        self._events += [LabEvent(**json.loads(line)) for line in whole.splitlines()]


def lab_command(window: str, log: Path, *options: str) -> list[str]:
    """The command that starts a window of `WINDOWS`; options as `--set hostile`, `--poke FILE`."""
    return [*WINDOWS[window], "--log", str(log), *options]


def poke(file: Path, line: str) -> None:
    """Make the window that was started with `--poke FILE` do it; it logs `poked` when done."""
    with file.open("a", encoding="utf-8") as out:
        out.write(line + "\n")


@dataclass(frozen=True)
class PersonReport:
    """What the scripted person did, what of it arrived, and what disturbed them."""

    typed: str
    arrived: str
    disturbances: list[dict[str, Any]]


class ScriptedPerson:
    """The scripted person on a display, from `async with` until `finish`."""

    def __init__(self, log: Path, environment: Mapping[str, str], geometry: str = "480x320+0+0") -> None:
        self._log = log
        self._geometry = geometry
        self._environment = dict(environment)

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(LAB / "person.py"),
            "--log",
            str(self._log),
            "--geometry",
            self._geometry,
            env=self._environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=2**24,
        )
        first = await asyncio.wait_for(self._out().readline(), 10)
        assert first == b"ready\n", "the person's editor did not get the focus"
        return self

    async def __aexit__(self, *_exception: object) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    def _out(self) -> asyncio.StreamReader:
        assert self._process.stdout is not None
        return self._process.stdout

    async def finish(self) -> PersonReport:
        assert self._process.stdin is not None
        self._process.stdin.close()
        report = await self._next()
        await self._process.wait()
        return report

    async def report(self) -> PersonReport:
        """What happened since the last report; the person works on."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"report\n")
        return await self._next()

    async def _next(self) -> PersonReport:
        return PersonReport(**json.loads(await asyncio.wait_for(self._out().readline(), 10)))
