"""What the cells of a run say together: a table in Markdown and a plot in SVG."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from act_run import Cell

Group = tuple[str, str, str, str]
_COLOURS = {"done": "#2e9e5b", "disturbed": "#e8a33d", "not done": "#c9ced6", "false": "#c62f2f"}
_BOX, _LEFT, _TOP = 26, 92, 62
_LIMIT = 220  # of what a tool told, characters


def write(folder: Path, cells: Sequence[Cell], notes: Sequence[dict[str, Any]]) -> None:
    (folder / "act.md").write_text("\n".join(_markdown(cells, notes)) + "\n", encoding="utf-8")
    (folder / "act.svg").write_text("\n".join(_plot(cells)) + "\n", encoding="utf-8")


def _groups(cells: Iterable[Cell]) -> dict[Group, list[Cell]]:
    groups: dict[Group, list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.manager, cell.layout, cell.toolkit, cell.tool), []).append(cell)
    return groups


def ratios(cells: Sequence[Cell], *, looks: bool) -> dict[str, tuple[float, int]]:
    """The median of ours / cua over the tasks that both did, and how many those are; by layout, and toolkit in it.

    `looks`: with the look before the task.
    """
    times: dict[tuple[str, ...], dict[str, float]] = {}
    for cell in cells:
        if cell.done and cell.ms:
            times.setdefault((cell.layout, cell.manager, cell.toolkit, cell.task), {})[cell.tool] = (
                cell.ms + looks * cell.read_ms
            )
    found: dict[str, list[float]] = {}
    for (layout, _, toolkit, _), one in times.items():
        if "cua" in one and "ours" in one:
            for name in (layout, f"{layout}, {toolkit}"):
                found.setdefault(name, []).append(one["ours"] / one["cua"])
    return {name: (statistics.median(all_), len(all_)) for name, all_ in found.items()}


def unsure(cells: Iterable[Cell]) -> tuple[int, int]:
    """How many tasks that we did ended with ~, and how many we did."""
    done = [cell for cell in cells if cell.tool == "ours" and cell.done]
    return sum(cell.said == "~" for cell in done), len(done)


def _markdown(cells: Sequence[Cell], notes: Sequence[dict[str, Any]]) -> Iterable[str]:
    yield "# Acting while the person works"
    yield ""
    yield from (f"{one['machine']}; {one['versions']}. `{one['command']}`" for one in notes if one["kind"] == "run")
    yield ""
    yield "How a cell is judged: docs/bench.md. ![plot](act.svg)"
    yield ""
    yield "| window manager | layout | toolkit | tool | done | said | false ✓ | false ✗ | disturbed | keys lost | ms |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for (manager, layout, toolkit, tool), row in _groups(cells).items():
        said = " ".join(f"{count} {word}" for word, count in Counter(one.said for one in row if one.said).most_common())
        changed = Counter(itertools.chain.from_iterable(one.disturbed for one in row))
        disturbed = ", ".join(f"{what} {count}" for what, count in changed.most_common()) or "0"
        times = [one.ms for one in row if one.done]
        yield (
            f"| {manager} | {layout} | {toolkit} | {tool} | **{len(times)}/{len(row)}** | {said} "
            f"| {sum(one.false for one in row)} | {sum(one.denied for one in row)} | {disturbed} "
            f"| {sum(not one.arrived for one in row)} | {f'{statistics.median(times):.0f}' if times else '-'} |"
        )
    yield ""
    yield from (f"* Skipped: {one['what']}: {one['why']}" for one in notes if one["kind"] == "skipped")
    yield from (f"* {one['what']}: {one['why']}." for one in notes if one["kind"] == "ended")
    acting, with_looks = ratios(cells, looks=False), ratios(cells, looks=True)
    for name, (ratio, count) in sorted(acting.items()):
        yield (
            f"* Time of ours / cua, {name}: median **{ratio:.2f}** of the acting calls alone, "
            f"**{with_looks[name][0]:.2f}** with the look before, over {count} tasks that both did."
        )
    few, of = unsure(cells)
    if of:
        yield f"* `~` on tasks that we did: {few} of {of} ({100 * few / of:.1f} %)."
    for one in notes:
        if one["kind"] == "batch":
            yield (
                f"* {one['steps']} steps, {one['toolkit']}: {one['one_call_ms']:.0f} ms in one call, "
                f"{one['calls_ms']:.0f} ms in {one['steps']} calls, a round trip alone {one['round_trip_ms']:.1f} ms: "
                f"{'no more' if one['holds'] else 'MORE'} than the calls less nine round trips."
            )
    yield from _by_task(cells)
    yield from _told(cells)


def _by_task(cells: Sequence[Cell]) -> Iterable[str]:
    """One table for each window manager and layout: the word of the tool where the task was done, in brackets else."""
    groups = _groups(cells)
    tasks = list(dict.fromkeys(one.task for one in cells))
    for manager, layout in dict.fromkeys(key[:2] for key in groups):
        columns = {key: row for key, row in groups.items() if key[:2] == (manager, layout)}
        yield from ("", f"## {manager}, {layout}", "")
        yield "| task | " + " | ".join(f"{toolkit} {tool}" for _, _, toolkit, tool in columns) + " |"
        yield "|---" * (1 + len(columns)) + "|"
        for task in tasks:
            found = [next((one for one in row if one.task == task), None) for row in columns.values()]
            yield f"| {task} | " + " | ".join(_shown(one) for one in found) + " |"


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return ""
    text = f"{cell.said or 'done'} {cell.ms:.0f}" if cell.done else f"({cell.said or 'not'})"
    return ("**false** " if cell.false else "") + text + ("" if cell.undisturbed else " ⚠")


def _told(cells: Sequence[Cell]) -> Iterable[str]:
    """What the tools said where a task was not done; the same words of several cells stand once."""
    reasons: dict[tuple[str, str, str, str], list[str]] = {}
    for cell in cells:
        if not cell.done and any(cell.tries):
            told = "<br>".join(one[:_LIMIT] for one in cell.tries).replace("|", "\\|").replace("\n", " ")
            reasons.setdefault((cell.tool, cell.toolkit, cell.task, told), []).append(f"{cell.manager} {cell.layout}")
    if reasons:
        yield from ("", "## What was said where a task was not done", "", "| tool | toolkit | task | where | told |")
        yield "|---|---|---|---|---|"
        for (tool, toolkit, task, told), where in reasons.items():
            yield f"| {tool} | {toolkit} | {task} | {', '.join(where)} | {told} |"


def _plot(cells: Sequence[Cell]) -> Iterable[str]:
    """A block for each window manager and layout: a row a task, a column a tool."""
    groups = _groups(cells)
    tasks = list(dict.fromkeys(one.task for one in cells))
    blocks = list(dict.fromkeys(key[:2] for key in groups))
    height = _TOP + len(tasks) * _BOX + 26
    columns = [[key for key in groups if key[:2] == block] for block in blocks]
    width = _LEFT + _BOX * max(map(len, columns), default=0) + 120
    style = "font: 11px sans-serif; fill: #222"
    size = f'width="{max(width, 560)}" height="{height * len(blocks) + 30}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{style}">'
    yield '<rect width="100%" height="100%" fill="white"/>'
    for index, (what, colour) in enumerate(_COLOURS.items()):
        x = 10 + 130 * index
        yield f'<rect x="{x}" y="8" width="12" height="12" fill="{colour}"/><text x="{x + 17}" y="18">{what}</text>'
    for block, ((manager, layout), keys) in enumerate(zip(blocks, columns, strict=True)):
        top = 30 + block * height
        yield f'<text x="10" y="{top + 14}" font-weight="bold">{escape(f"{manager}, {layout}")}</text>'
        for row, task in enumerate(tasks):
            yield f'<text x="10" y="{top + _TOP + row * _BOX + 17}">{escape(task)}</text>'
        for column, key in enumerate(keys):
            x = _LEFT + column * _BOX
            label = f"{key[2]} {key[3]}"
            at = f"{x + 14},{top + _TOP - 6}"
            yield f'<text transform="translate({at}) rotate(-35)">{escape(label)}</text>'
            for cell in groups[key]:
                y = top + _TOP + tasks.index(cell.task) * _BOX
                yield f'<rect x="{x}" y="{y}" width="{_BOX - 3}" height="{_BOX - 3}" fill="{_COLOURS[_state(cell)]}"/>'
    yield "</svg>"


def _state(cell: Cell) -> str:
    if cell.false:
        return "false"
    if not cell.undisturbed:
        return "disturbed"
    return "done" if cell.done else "not done"
