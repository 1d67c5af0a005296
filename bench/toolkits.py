"""Write docs/toolkits.md: what works where, by which technique, from the ladder and the last run of bench/act.py."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alongside.core.ladder import EVERYTHING, LADDERS, TECHNIQUES, Disturbs, ladder

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parent.parent
PAGE, RUN = ROOT / "docs" / "toolkits.md", ROOT / "bench" / "results" / "act.jsonl"
_TOOLKITS = ("GTK 3", "Qt", "Chromium", "other")
_NAMES = {"gtk3": "GTK 3", "qt5": "Qt 5", "qt6": "Qt 6", "page": "Chromium", "chromium": "Chromium"}
_USED = re.compile(r"(" + "|".join(re.escape(name) for name in TECHNIQUES) + r") [\d.]+ ms")


def page(cells: Iterable[dict[str, Any]]) -> str:
    """The whole page."""
    return "\n".join((*_head(), *_techniques(), *_ladders(), *_measured(list(cells)))) + "\n"


def cells() -> list[dict[str, Any]]:
    """What the last run recorded of us; nothing where there was none."""
    if not RUN.is_file():
        return []
    lines = (json.loads(line) for line in RUN.read_text(encoding="utf-8").splitlines())
    return [one for one in lines if one["kind"] == "cell" and one["tool"] == "ours"]


def _head() -> Iterable[str]:
    yield "# What works where"
    yield ""
    yield "This page is written by `bench/toolkits.py`, from the ladder (`core/ladder.py`) and the last run of"
    yield "`bench/act.py`. A step is tried by the techniques of its row, from left to right, until one can deliver it;"
    yield "what was passed over, and why, is in the outcome. `via` pins one."


def _techniques() -> Iterable[str]:
    yield "\n## Techniques\n"
    yield "| technique | what it is | may disturb | toolkits |"
    yield "|---|---|---|---|"
    for one in TECHNIQUES.values():
        disturbs = ", ".join(str(flag.name).lower() for flag in Disturbs if flag in one.disturbs) or "nothing"
        yield f"| `{one.name}` | {one.told} | {disturbs} | {', '.join(sorted(one.toolkits)) or 'all'} |"


def _ladders() -> Iterable[str]:
    for title, allowed in (("On your desktop", Disturbs.NOTHING), ("In a sandbox", EVERYTHING)):
        yield f"\n## {title}\n"
        yield "| step | " + " | ".join(_TOOLKITS) + " |"
        yield "|---" * (len(_TOOLKITS) + 1) + "|"
        for do in LADDERS:
            yield f"| {do} | " + " | ".join(_rungs(do, allowed, toolkit) for toolkit in _TOOLKITS) + " |"
    yield "\nWhat is refused on your desktop answers `needs_sandbox`, and nothing was sent: nothing that leaves you"
    yield "undisturbed can do it. So does what opens a menu or list of its own, whatever the step, and what was seen to"
    yield 'take your focus, unless the step says `"accept": "focus"`.'


def _rungs(do: str, allowed: Disturbs, toolkit: str) -> str:
    rungs = ladder(do, allowed, toolkit=toolkit)
    runs = ", ".join(f"`{one.name}`" for one, why_not in rungs if not why_not)
    return runs or f"refused: {rungs[0][1]}"


def _measured(found: list[dict[str, Any]]) -> Iterable[str]:
    yield "\n## Measured\n"
    if not found:
        yield "No run is on record: `bench/act.py`."
        return
    yield "The last run of `bench/act.py`, while a scripted person typed and clicked in another window, judged by the"
    yield "application's own log: the technique of each task that was done, or why it was not."
    places = list(dict.fromkeys((one["manager"], one["layout"]) for one in found))
    for manager, layout in places:
        here = [one for one in found if (one["manager"], one["layout"]) == (manager, layout)]
        kits = list(dict.fromkeys(one["toolkit"] for one in here))
        yield f"\n### {manager}, {layout}\n"
        yield "| task | " + " | ".join(_NAMES.get(kit, kit) for kit in kits) + " |"
        yield "|---" * (len(kits) + 1) + "|"
        for task in dict.fromkeys(one["task"] for one in here):
            row = {one["toolkit"]: one for one in here if one["task"] == task}
            yield f"| {task} | " + " | ".join(_cell(row.get(kit)) for kit in kits) + " |"


def _cell(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    told = (cell["tries"] or [""])[-1]
    used = _USED.search(told)
    how = f"`{used[1]}`" if used else ""
    reason = re.search(r"\(([a-z_]+)\)", told)
    done = how or "done" if cell["done"] else f"not done: {reason[1] if reason else cell['said']}"
    return done + (f", disturbed {' '.join(cell['disturbed'])}" if cell["disturbed"] else "")


if __name__ == "__main__":
    PAGE.write_text(page(cells()), encoding="utf-8")
    print(PAGE)
