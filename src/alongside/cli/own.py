"""A driver of the person's desktop for one command: what ``look`` and ``act`` share."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from typing import TYPE_CHECKING, Any

from alongside.core.errors import AlongsideError, Invalid
from alongside.server.desktops import Desktops
from alongside.server.person.journal import Journal, kept_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from alongside.link.channel import Reply

USAGE, FAILED = 2, 3
# The call that an error names is one of the server's tools: what to do in a shell instead.
_CALL = re.compile(r"(desktop|launch|windows|look|act|status)\b\(?")
_IN_A_SHELL = {
    "desktop": "alongside doctor; sandboxes are started by a client of `alongside serve`",
    "launch": "sandboxes and what runs in them are started by a client of `alongside serve`",
    "windows": "alongside look",
    "look": "alongside look WINDOW",
    "act": "alongside act --help",
    "status": "alongside doctor",
}


def asked(method: str, params: dict[str, Any], told: Callable[[Reply], int], *, acting: bool = False) -> int:
    """Ask a fresh driver once, hand its answer to ``told`` and come back with the exit code.

    ``acting`` is the person's leave to act on their desktop.
    """
    try:
        return told(asyncio.run(_ask(method, params, acting=acting)))
    except AlongsideError as error:
        print(in_a_shell(error), file=sys.stderr)  # noqa: T201
        return USAGE if isinstance(error, Invalid) else FAILED
    except KeyboardInterrupt:
        return 130


def in_a_shell(error: AlongsideError) -> str:
    """An error as one reads it in a shell: with the command that helps, where it names a tool of the server."""
    call = _CALL.match(error.next or "")
    return str(type(error)(error.message, next=_IN_A_SHELL[call[1]] if call else error.next))


async def _ask(method: str, params: dict[str, Any], *, acting: bool) -> Reply:
    began, outcome = time.monotonic(), "broken"
    steps = params.get("steps", [])
    outcomes: list[dict[str, Any]] = [{} for _ in steps]
    try:
        async with Desktops(user_acting=acting) as desktops:
            reply = await desktops.user.call(method, params)
        outcome = "failed" if reply.result.get("failed") else "done"
        outcomes = reply.result.get("outcomes", [])
    except AlongsideError as error:
        outcome = error.reason
        raise
    finally:
        entry = {"tool": method, "ms": round((time.monotonic() - began) * 1000, 1), "outcome": outcome}
        Journal().write({**entry, "desktop": "user", "steps": list(map(kept_step, steps, outcomes))})
    return reply
