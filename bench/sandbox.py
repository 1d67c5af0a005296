"""How long a sandbox takes from nothing to a GTK application that can be read, and a click in it to its outcome.

    .venv/bin/python bench/sandbox.py [--runs 9] [--json FILE]

Cold start: `desktop start`, `launch` of a GTK 3 window and the first `look` at it, as a client calls them, one after
the other, each in a sandbox of its own. Clicks: by ref on the button "Save" of the lab's GTK 3 and Qt windows, each
confirmed by the label that it changes.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import re
import statistics
import sys
import time
from pathlib import Path

from place import ROOT, quiet_line

from alongside.server.desktops import Desktop, Desktops

_SMALL = ROOT / "bench" / "small_window.py"
_CLICKS = 30


async def _cold_start(desktops: Desktops) -> dict[str, float]:
    marks = [time.perf_counter()]
    desktop = await desktops.start((1280, 800))
    marks.append(time.perf_counter())
    reply = await desktop.call("launch", {"app": "/usr/bin/python3", "arguments": [str(_SMALL)]})
    marks.append(time.perf_counter())
    look = await desktop.call("look", {"window": reply.result["window"]})
    marks.append(time.perf_counter())
    if 'button "Ready"' not in look.result["text"]:
        sys.exit(f"the button cannot be read:\n{look.result['text']}")
    await desktops.stop(desktop.id)
    marks.append(time.perf_counter())
    spans = [(after - before) * 1000 for before, after in itertools.pairwise(marks)]
    return {**dict(zip(("start", "launch", "look", "stop"), spans, strict=True)), "readable": sum(spans[:3])}


async def _clicks(desktop: Desktop, script: str, *options: str) -> list[float]:
    arguments = [str(ROOT / "lab" / script), "--log", "/tmp/lab.log", *options]  # noqa: S108 - the sandbox's own
    window = (await desktop.call("launch", {"app": "/usr/bin/python3", "arguments": arguments})).result["window"]
    text = (await desktop.call("look", {"window": window})).result["text"]
    found = re.search(r'\[(\d+)\] button "Save"', text)
    if found is None:
        sys.exit(f"no button:\n{text}")
    await asyncio.sleep(1.5)
    times = []
    for _ in range(_CLICKS):
        started = time.perf_counter()
        reply = await desktop.call("act", {"window": window, "steps": [{"do": "click", "target": int(found[1])}]})
        times.append((time.perf_counter() - started) * 1000)
        if reply.result["outcomes"][0]["mark"] != "✓":
            sys.exit(f"not confirmed:\n{reply.result['text']}")
        await asyncio.sleep(0.3)
    return times


async def _measure(runs: int) -> dict[str, list[float]]:
    results: dict[str, list[float]] = {}
    async with Desktops() as desktops:
        for run in range(runs + 1):
            for what, took in (await _cold_start(desktops)).items():
                if run:
                    results.setdefault(what, []).append(took)
        desktop = await desktops.start((1280, 800))
        results["click GTK 3"] = await _clicks(desktop, "gtk3.py")
        results["click Qt 5"] = await _clicks(desktop, "qt.py", "--binding", "PyQt5")
        results["click Qt 6"] = await _clicks(desktop, "qt.py", "--binding", "PyQt6")
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print(quiet_line())
    results = asyncio.run(_measure(arguments.runs))
    for what, times in results.items():
        spread = f"{min(times):.0f}-{max(times):.0f}"
        print(f"  {what:12} median {statistics.median(times):6.1f} ms ({spread}, {len(times)} runs)")
    if arguments.json:
        rounded = {what: [round(one, 1) for one in times] for what, times in results.items()}
        arguments.json.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
