"""How fast a window is read: Alongside beside xa11y and a plain libatspi walk, on the same windows in the same run.

    .venv/bin/python bench/snapshot.py [--runs 9] [--json FILE]

Starts a sandbox-like display of its own (Xvfb, bus, window manager), a GTK 3 window of 1,000 elements and a Chromium
page of 1,100, and lets the three read each of them in turn, after one round that is not counted. It prints the fields
that each of them reads, the medians, and the ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import xa11y
from place import Place, chromium, lab, quiet_line

from alongside.core.elements import Window
from alongside.core.geometry import Rect
from alongside.platforms.linux.atspi.bus import Bus
from alongside.platforms.linux.atspi.tree import AtspiTree

_LIBATSPI = Path(__file__).with_name("libatspi_walk.py")
_FIELDS = {
    "alongside": "role, name, value/text, states, place, interfaces, number of children; labels of unnamed fields",
    "xa11y": "App.tree(): role, name, value, children",
    "libatspi": "role, name, value/text, states, place, interfaces",
}


async def _ours(address: str, title: str, runs: int) -> tuple[int, list[float]]:
    bus = await Bus.connect(address)
    tree = AtspiTree(bus)
    window = Window("w", 0, title, "", 0, "", Rect(0, 0, 0, 0))
    times, count = [], 0
    for _ in range(runs + 1):
        started = time.perf_counter()
        count = len((await tree.snapshot(window, deadline=30)).elements)
        times.append((time.perf_counter() - started) * 1000)
    bus.close()
    return count, times[1:]


def _theirs(name: str, runs: int) -> tuple[int, list[float]]:
    def size(node: dict[str, Any]) -> int:
        return 1 + sum(size(child) for child in node["children"])

    times, count = [], 0
    application = xa11y.App.by_name(name)
    for _ in range(runs + 1):
        started = time.perf_counter()
        tree = application.tree()
        times.append((time.perf_counter() - started) * 1000)
        count = size(tree)
    return count, times[1:]


def _libatspi(name: str, runs: int) -> tuple[int, list[float]]:
    """In the system's Python, where its bindings are."""
    command = ["/usr/bin/python3", str(_LIBATSPI), name, str(runs + 1)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    count, times = json.loads(done.stdout)
    return count, times[1:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print(quiet_line())
    for who, fields in _FIELDS.items():
        print(f"  {who:10} reads {fields}")
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder, Place(Path(folder)) as place:
        os.environ.update(place.environment)
        windows = {
            "GTK 3 window": (lab(place, "gtk3.py", "--set", "big", "--rows", "1000"), "gtk3.py", "Lab"),
            "Chromium page": (chromium(place, rows=1100), "Chromium", "Lab - Chromium"),
        }
        for what, (_, name, title) in windows.items():
            address = place.environment["DBUS_SESSION_BUS_ADDRESS"]
            row = {
                "alongside": asyncio.run(_ours(address, title, arguments.runs)),
                "xa11y": _theirs(name, arguments.runs),
                "libatspi": _libatspi(name, arguments.runs),
            }
            medians = {who: statistics.median(times) for who, (_, times) in row.items()}
            results[what] = {
                who: {"elements": count, "median_ms": round(medians[who], 1), "ms": [round(one, 1) for one in times]}
                for who, (count, times) in row.items()
            }
            print(f"{what}:")
            for who, (count, times) in row.items():
                ratio = medians[who] / medians["alongside"]
                spread = f"{min(times):.0f}-{max(times):.0f}"
                print(f"  {who:10} {count:5} elements  median {medians[who]:7.1f} ms ({spread})  {ratio:4.1f} x")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
