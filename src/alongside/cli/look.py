"""``alongside look``: the windows of the person's desktop, or what one of them shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from alongside.cli.own import FAILED, asked

if TYPE_CHECKING:
    import argparse

    from alongside.link.channel import Reply


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "window", nargs="?", help="title or part of it, app:NAME, pid:N or active; none: list the windows"
    )
    parser.add_argument(
        "--desktop", default="user", choices=["user"], help="sandboxes live in a server; here it is yours"
    )
    parser.add_argument("--view", default="controls", choices=["controls", "content", "raw"], help="how much to show")
    parser.add_argument("--find", metavar="TEXT", help="only elements with this text, role or value")
    parser.add_argument("--under", metavar="NAME", help="only below this element")
    parser.add_argument("--image", metavar="FILE", type=Path, help="also write a picture of the window there")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(options: argparse.Namespace) -> int:
    def told(reply: Reply) -> int:
        print(json.dumps(reply.result, ensure_ascii=False) if options.json else reply.result["text"])  # noqa: T201
        if options.image and options.window:
            if not reply.data:
                return FAILED
            options.image.write_bytes(reply.data)
        return 0

    if options.window is None:
        return asked("windows", {}, told)
    params = {"window": options.window, "view": options.view, "image": "high" if options.image else "none"}
    params |= {name: value for name in ("find", "under") if (value := getattr(options, name)) is not None}
    return asked("look", params, told)
