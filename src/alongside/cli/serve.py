"""``alongside serve``: the server. Its first lines run before anything heavy is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alongside.server.child import HeadStart
from alongside.server.early import Door

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--user-desktop",
        action="store_true",
        help="also act on your own desktop, with steps that disturb nothing (windows and look work there anyway)",
    )


def run(options: argparse.Namespace) -> int:
    head_start = HeadStart()
    # While the client reads the first answer, the driver of the person's desktop gets ready.
    door = Door(head_start.start)
    from alongside.server import mcp  # noqa: PLC0415 - half a second; the door must be open before

    return mcp.serve(door, user_acting=options.user_desktop, head_start=head_start)
