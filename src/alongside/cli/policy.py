"""``alongside policy``: where the policy is and whether it can be used; writing it anew."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from alongside.server.person import policy

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reset", action="store_true", help="write the defaults; what was there is kept")


def run(options: argparse.Namespace) -> int:
    if options.reset:
        try:
            path, kept = policy.reset()
        except OSError as wrong:
            print(f"The policy cannot be written: {wrong}. ALONGSIDE_HOME can name another folder.", file=sys.stderr)  # noqa: T201
            return 3
        print(f"{path} has the defaults now." + (f" The old one is {kept}." if kept else ""))  # noqa: T201
        return 0
    found = policy.Policy()
    found.prepare()
    row = found.row()
    print(row)  # noqa: T201
    return 0 if row.ok else 3
