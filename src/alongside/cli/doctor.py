"""``alongside doctor``: what works on this machine."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from alongside.server import machine
from alongside.server.person.permit import Permit

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")


def run(options: argparse.Namespace) -> int:
    rows = [*Permit().rows(), *asyncio.run(machine.checks())]
    if options.json:
        print(json.dumps([row.to_wire() for row in rows], indent=2))  # noqa: T201
    else:
        print("\n".join(map(str, rows)))  # noqa: T201
        print("✓ works   ✗ needed and missing   - missing, sandboxes work without")  # noqa: T201
    return 0 if all(row.ok for row in rows if row.needed) else 1
