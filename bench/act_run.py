"""One task by one tool while the person works: done by the lab's log, disturbed by the recorder's."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

from act_windows import EDITORS, LabWindow, Screen, until
from lab_support import ScriptedPerson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from act_tasks import Task
    from act_tool import Tool
    from place import Place

DONE_S = 1.0  # what an application does later than this after a call is not counted
AFTER_S = 0.25  # in which a disturbance that comes late still belongs to the task
_TOLD = 500  # of what a tool says, characters
CLICK = "\u25cf"  # how the scripted person writes a click
_TYPED_BEFORE = 3  # keys of the person that come before a task begins


@dataclass
class Cell:
    """One task by one tool. `ms` is of the attempt that counts, `all_ms` of all attempts, `read_ms` of the look before.

    `said` is the tool's own word for it, which means that it is `sure` to have done it or that it `failed`; `tries` is
    what it told of each attempt. `also`: what else the lab saw. `lost`: what the person did and what arrived.
    """

    manager: str
    layout: str
    toolkit: str
    tool: str
    task: str
    done: bool = False
    said: str = ""
    sure: bool = False
    failed: bool = False
    tries: list[str] = field(default_factory=list)
    ms: float = 0.0
    all_ms: float = 0.0
    read_ms: float = 0.0
    disturbed: list[str] = field(default_factory=list)
    keys: int = 0
    arrived: bool = False
    lost: str = ""
    also: list[str] = field(default_factory=list)

    @property
    def false(self) -> bool:
        return self.sure and not self.done

    @property
    def denied(self) -> bool:
        """It said that it failed, and the lab shows the effect."""
        return self.failed and self.done

    @property
    def undisturbed(self) -> bool:
        return self.arrived and not self.disturbed

    def to_json(self) -> dict[str, Any]:
        return {"kind": "cell", **asdict(self)}

    @property
    def key(self) -> tuple[str, ...]:
        return self.manager, self.layout, self.toolkit, self.tool, self.task


class Front:
    """The person at work in front of one window; a new editor after they were disturbed."""

    def __init__(self, place: Place, screen: Screen, window: LabWindow, layout: str) -> None:
        self._place, self._screen, self._window, self._layout = place, screen, window, layout
        self._count = 0
        self._stack = contextlib.AsyncExitStack()
        self.person: ScriptedPerson | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def ready(self) -> ScriptedPerson:
        if self.person is None:
            await self._screen.arrange(self._window.id, self._layout)
            self._count += 1
            log = self._place.folder / f"{self._window.title}.person{self._count}.log"
            environment = {**self._place.environment}
            self.person = await self._stack.enter_async_context(ScriptedPerson(log, environment, EDITORS[self._layout]))
        await self._screen.check(self._window.id, self._layout)
        await self.person.report()
        return self.person

    async def leave(self) -> None:
        await self._stack.aclose()
        self.person = None


async def run_task(cell: Cell, task: Task, tool: Tool, window: LabWindow, front: Front) -> None:
    person = await front.ready()
    started = time.perf_counter()
    with contextlib.suppress(RuntimeError):
        await tool.read(task)
    cell.read_ms = _since(started)
    await asyncio.sleep(_TYPED_BEFORE * 0.03)
    mark = window.log.mark()
    for attempt in tool.attempts(task):
        started = time.perf_counter()
        claim = await attempt()
        took = _since(started) if claim.ms is None else claim.ms
        cell.all_ms = round(cell.all_ms + took, 1)
        cell.tries.append(f"{claim.word}: {claim.told}"[:_TOLD])
        if took or not cell.said:  # an attempt for which nothing was found to act on does not count
            cell.ms, cell.said = took, claim.word
            cell.sure, cell.failed = claim.word in tool.sure, claim.word in tool.failed
        with contextlib.suppress(TimeoutError):
            await until(lambda: _seen(window, task, mark), task.name, DONE_S)
        cell.done = _seen(window, task, mark)
        if cell.done or cell.sure:
            break
    await asyncio.sleep(AFTER_S)
    report = await person.report()
    cell.disturbed = sorted({str(one["what"]) for one in report.disturbances})
    cell.keys = len(report.typed)
    cell.arrived = bool(report.typed) and all_arrived(report.typed, report.arrived)
    cell.lost = "" if cell.arrived else f"{report.typed!r} arrived as {report.arrived!r}"
    cell.done = _seen(window, task, mark)
    cell.also = _also(window, task, mark)
    if not cell.undisturbed:
        await front.leave()


def all_arrived(typed: str, arrived: str) -> bool:
    """Whether every key arrived in its order, every click, and nothing else.

    A key may overtake a click: the window manager holds a click back until it has looked at it (measured: openbox on a
    busy machine, up to three keys, with no tool at work as well).
    """
    return typed.replace(CLICK, "") == arrived.replace(CLICK, "") and typed.count(CLICK) == arrived.count(CLICK)


def _seen(window: LabWindow, task: Task, mark: int) -> bool:
    """Whether the last thing that the lab logged of that widget since then is what was asked for."""
    fitting = [one for one in window.log.events()[mark:] if (one.widget, one.event) == (task.widget, task.event)]
    return bool(fitting) and task.value in (None, fitting[-1].value)


def _also(window: LabWindow, task: Task, mark: int) -> list[str]:
    rest = [one for one in window.log.events()[mark:] if one.widget != task.widget]
    return list(dict.fromkeys(f"{one.widget} {one.event} {one.value}" for one in rest))[:10]


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 1)


async def ten_steps(act: Any, glance: Any, steps: Sequence[dict[str, Any]], runs: int = 5) -> dict[str, Any]:
    """Ten steps in one call against ten calls of one, and a round trip alone (medians, ms)."""
    one, ten, trip = [], [], []
    for _ in range(runs):
        started = time.perf_counter()
        await act(*steps)
        one.append(_since(started))
        started = time.perf_counter()
        for step in steps:
            await act(step)
        ten.append(_since(started))
        started = time.perf_counter()
        for _ in range(len(steps)):
            await glance()
        trip.append(_since(started) / len(steps))
    middle = len(one) // 2
    batch, single, round_trip = sorted(one)[middle], sorted(ten)[middle], sorted(trip)[middle]
    return {
        "kind": "batch",
        "steps": len(steps),
        "one_call_ms": batch,
        "calls_ms": single,
        "round_trip_ms": round(round_trip, 2),
        "holds": batch <= single - (len(steps) - 1) * round_trip,
    }
