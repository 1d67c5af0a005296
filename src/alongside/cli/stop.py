"""``alongside stop``: the emergency stop of every server of this state folder."""

from __future__ import annotations

import getpass
import sys
import time
from typing import TYPE_CHECKING

from alongside.server import state
from alongside.server.person import stop
from alongside.server.person.policy import Policy

if TYPE_CHECKING:
    import argparse

_AGAIN = 30.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        f"What runs ends at once, everything held is released, and no agent acts for "
        f"{stop.HOLD:.0f} s;\nreading goes on. Any program, or `touch`, can do the same by changing the file `stop` in "
        f"the state folder\n(ALONGSIDE_HOME, else the system's place).\n\n{parser.epilog}"
    )
    parser.add_argument("--hold", action="store_true", help="go on pressing it until Ctrl+C, and count from then on")


def run(options: argparse.Namespace) -> int:
    by = f"alongside stop of {_who()}"
    try:
        Policy().prepare()  # a stop is no reason to find the policy missing later
        stop.press(by)
        print(f"Stopped: no agent acts for {stop.HOLD:.0f} s; looking goes on. ({state.place() / stop.NAME})")  # noqa: T201
        if options.hold:
            _hold(by)
    except OSError as wrong:
        print(  # noqa: T201
            f"Nothing was stopped: {state.place() / stop.NAME} cannot be written ({wrong.strerror}).\n"
            "Close the client, or end its `alongside serve`: everything it holds is released then, too.",
            file=sys.stderr,
        )
        return 3
    return 0


def _hold(by: str) -> None:
    print("Held until Ctrl+C.", flush=True)  # noqa: T201
    try:
        while True:
            time.sleep(_AGAIN)
            stop.press(by)
    except KeyboardInterrupt:
        stop.press(by)
        print(f"\nAgents may act again in {stop.HOLD:.0f} s.")  # noqa: T201


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"
