"""Random valid steps on the lab's normal window, their outcomes judged by its log.

    .venv/bin/python bench/random_steps.py [--toolkit gtk3] [--steps 1000] [--seed 1] [--desktop user]

A disagreement is printed with its seed and step: a ✓ without the effect in the log, a failure with it, a = or a refusal
with anything logged, a step that breaks or takes too long, an application that is gone. Ends non-zero if there is one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from desktop.chance import Run  # noqa: E402 - found by the path above
from desktop.support import Place  # noqa: E402
from desktop.test_person import COVERS, persons_desktop  # noqa: E402

from alongside.server.desktops import Desktops  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from desktop.support import App


@contextlib.asynccontextmanager
async def opened(toolkit: str, desktop: str, folder: Path) -> AsyncIterator[App]:
    """The window: in a sandbox, or covered on a desktop as a person has it."""
    if desktop == "sandbox":
        async with Place.started(folder) as place:
            yield await place.open(toolkit)
        return
    async with persons_desktop(folder) as person:
        os.environ.update(person.environment)
        async with Desktops(user_acting=True) as desktops:
            person.desktop = desktops.user
            cover = await person.open("gtk3", None, "--geometry", COVERS)
            app = await person.open(toolkit)
            await person.start("xdotool", "search", "--name", cover.title, "windowactivate")
            yield app


async def run(toolkit: str, desktop: str, steps: int, seed: int) -> int:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with opened(toolkit, desktop, Path(folder)) as app:
            started, random_steps = time.monotonic(), Run(app, seed)
            try:
                await random_steps.steps(steps)
            finally:
                for line in random_steps.disagreements:
                    print(line)
                spent = time.monotonic() - started
                marks = ", ".join(f"{count} {mark}" for mark, count in random_steps.marks.most_common())
                print(
                    f"{toolkit} on {desktop}, seed {seed}: {sum(random_steps.marks.values())} of {steps} steps in ",
                    end="",
                )
                print(f"{spent:.0f} s, the longest {random_steps.longest:.1f} s: {marks}; ", end="")
                print(f"{len(random_steps.disagreements)} disagreements", flush=True)
    return len(random_steps.disagreements)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toolkit", choices=("gtk3", "qt5", "qt6", "page"), default="gtk3")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--desktop", choices=("user", "sandbox"), default="user")
    given = parser.parse_args()
    return 1 if asyncio.run(run(given.toolkit, given.desktop, given.steps, given.seed)) else 0


if __name__ == "__main__":
    sys.exit(main())
