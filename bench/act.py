"""What tools can do in a person's windows while they work, judged by the windows themselves.

    .venv/bin/python bench/act.py [--wms openbox] [--layouts covered] [--toolkits gtk3,qt5] [--tools ours] [--tasks ...]

Each task runs in a window of the lab while a scripted person types and clicks in an editor in front: side by side, over
it, or with it minimised or on another workspace. docs/bench.md tells how a cell is judged. The data, a table and a plot
go to bench/results. The exit status is 1 where Alongside disturbed the person or was sure of what was not so.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import act_cua  # noqa: E402 - tests/ has what reads the lab's logs
import act_report  # noqa: E402
import act_xdotool  # noqa: E402
from act_cua import Cua  # noqa: E402
from act_ours import Ours  # noqa: E402
from act_run import Cell, Front, run_task, ten_steps  # noqa: E402
from act_tasks import TASKS, Task  # noqa: E402
from act_windows import EDITORS, MANAGERS, SCREEN, TOOLKITS, Screen, close_lab, missing, open_lab  # noqa: E402
from act_xdotool import Xdotool  # noqa: E402
from place import Place, quiet_line  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from act_tool import Tool
    from act_windows import LabWindow

TOOLS: dict[str, Callable[[Place, Screen, LabWindow], Tool]] = {"ours": Ours, "cua": Cua, "xdotool": Xdotool}
LACKS: dict[str, Callable[[], str]] = {"ours": str, "cua": act_cua.missing, "xdotool": act_xdotool.missing}
THINKING_S = 1.5  # between the first look and the first step: no model answers sooner
_LANGUAGE = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


class Run:
    """The cells so far; each is written as soon as it is there."""

    def __init__(self, folder: Path, tasks: list[Task], *, add: bool) -> None:
        self.folder, self.tasks = folder, tasks
        self.cells: list[Cell] = []
        self.earlier: list[dict[str, Any]] = []
        self.notes: list[dict[str, Any]] = []
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "act.jsonl"
        if add and self._file.exists():
            self.earlier = [json.loads(line) for line in self._file.read_text(encoding="utf-8").splitlines()]
        else:
            self._file.write_text("", encoding="utf-8")

    def write(self, line: dict[str, Any]) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def note(self, **line: Any) -> None:
        """Something beside the cells: what was skipped and why, what was timed."""
        self.notes.append(line)
        self.write(line)

    def finish(self) -> None:
        """Write the report, of earlier runs as well where this one is added to them."""
        again = {cell.key for cell in self.cells}
        kept = [Cell(**{k: v for k, v in one.items() if k != "kind"}) for one in self.earlier if one["kind"] == "cell"]
        cells = sorted([*(cell for cell in kept if cell.key not in again), *self.cells], key=_order)
        notes = [*(one for one in self.earlier if one["kind"] != "cell"), *self.notes]
        lines = [*notes, *(cell.to_json() for cell in cells)]
        self._file.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines), encoding="utf-8")
        act_report.write(self.folder, cells, notes)

    def add(self, cell: Cell) -> None:
        self.cells.append(cell)
        self.write(cell.to_json())
        notes = ("FALSE" if cell.false else "", ",".join(cell.disturbed), "" if cell.arrived else "keys lost")
        end = "done" if cell.done else "not "
        told = "" if cell.done or not cell.tries else cell.tries[-1][:90]
        print(f"    {cell.task:11} {end} {cell.ms:7.1f} ms ", cell.said, *filter(None, notes), told, flush=True)


def _order(cell: Cell) -> tuple[int, ...]:
    known = (list(MANAGERS), list(EDITORS), list(TOOLKITS), list(TOOLS), [task.name for task in TASKS])
    return tuple(names.index(name) for names, name in zip(known, cell.key, strict=True))


@dataclass(frozen=True)
class Group:
    """All tasks of one tool in one new window."""

    manager: str
    layout: str
    toolkit: str
    tool: str

    def __str__(self) -> str:
        return f"{self.manager} · {self.layout} · {self.toolkit} · {self.tool}"

    async def work(self, run: Run, place: Place, screen: Screen) -> None:
        left = run.tasks
        for number in itertools.count(1):
            window = await open_lab(place, screen, self.toolkit, f"Lab {self.toolkit} {self.tool} {number}")
            try:
                left = await self._work_on(window, left, run, place, screen)
            finally:
                close_lab(place, window)
            if not left:
                return

    async def _work_on(
        self, window: LabWindow, tasks: list[Task], run: Run, place: Place, screen: Screen
    ) -> list[Task]:
        """Run the tasks; those are left that come after one in which the application ended."""
        front = Front(place, screen, window, self.layout)
        async with TOOLS[self.tool](place, screen, window) as tool, front:
            await tool.read(tasks[0])
            await asyncio.sleep(THINKING_S)
            for task in tasks:
                cell = Cell(self.manager, self.layout, self.toolkit, self.tool, task.name)
                await run_task(cell, task, tool, window, front)
                run.add(cell)
                if (status := window.ended) is not None:
                    why = f"the application ended with status {status}; a new window for the rest"
                    print(f"    {why}")
                    run.note(kind="ended", what=f"{self} · {task.name}", why=why)
                    return tasks[tasks.index(task) + 1 :]
            if isinstance(tool, Ours) and (self.manager, self.layout) == ("openbox", "side"):
                steps = [{"do": do, "target": "Subscribe"} for do in ("uncheck", "check") * 5]
                run.note(**await ten_steps(tool.act, tool.glance, steps), toolkit=self.toolkit)
        return []


async def _on(manager: str, run: Run, options: argparse.Namespace) -> None:
    if missing(MANAGERS[manager][0]):
        run.note(kind="skipped", what=manager, why=f"{manager} is not installed")
        return
    for tool in options.tools:
        if why := LACKS[tool]():
            run.note(kind="skipped", what=tool, why=why)
    tools = [tool for tool in options.tools if not LACKS[tool]()]
    for layout, toolkit, tool in itertools.product(options.layouts, options.toolkits, tools):
        group = Group(manager, layout, toolkit, tool)
        print(f"  {group}", flush=True)
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            Place(Path(folder), MANAGERS[manager], SCREEN) as place,
            contextlib.closing(Screen(place)) as screen,
        ):
            try:
                await screen.managed(manager)
                await group.work(run, place, screen)
            except (TimeoutError, OSError, AssertionError) as error:
                why = str(error) or repr(error)
                print(f"    skipped: {why}")
                run.note(kind="skipped", what=str(group), why=why)


def versions() -> str:
    """What was measured, and on what."""
    packages = ("xvfb", "at-spi2-core", "libgtk-3-0", "libqt5core5a", "libqt6core6", "chromium", *MANAGERS)
    command = ["dpkg-query", "-W", "-f", "${Package} ${Version}, ", *(one.replace("_", "-") for one in packages)]
    listed = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {listed}alongside {metadata.version('alongside')}"


def _several(known: object) -> Callable[[str], list[str]]:
    names = [str(one) for one in known]  # type: ignore[attr-defined] # a dict or a list of names

    def chosen(text: str) -> list[str]:
        wrong = [one for one in text.split(",") if one not in names]
        if wrong:
            raise argparse.ArgumentTypeError(f"{', '.join(wrong)}: known are {', '.join(names)}")
        return text.split(",")

    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [task.name for task in TASKS]
    for option, known in (
        ("wms", MANAGERS),
        ("layouts", EDITORS),
        ("toolkits", TOOLKITS),
        ("tools", TOOLS),
        ("tasks", names),
    ):
        parser.add_argument(f"--{option}", type=_several(known), default=list(known), metavar=",".join(known))
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results")
    parser.add_argument(
        "--add", action="store_true", help="add to the results that are there, and replace the same cells"
    )
    options = parser.parse_args()
    os.environ.update(_LANGUAGE)
    print(quiet_line())
    run = Run(options.results, [task for task in TASKS if task.name in options.tasks], add=options.add)
    run.note(kind="run", machine=quiet_line(), versions=versions(), command=" ".join(["bench/act.py", *sys.argv[1:]]))
    for manager in options.wms:
        asyncio.run(_on(manager, run, options))
    run.finish()
    ours = [cell for cell in run.cells if cell.tool == "ours"]
    wrong = [cell for cell in ours if cell.false or not cell.undisturbed]
    for cell in wrong:
        print(
            f"✗ {cell.manager} {cell.layout} {cell.toolkit} {cell.task}: {cell.said} done={cell.done} {cell.disturbed}"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
