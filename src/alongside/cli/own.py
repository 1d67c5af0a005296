"""A driver of the person's desktop for one command: what ``look`` and ``act`` share."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from alongside.core.errors import AlongsideError, Invalid
from alongside.server.desktops import Desktops

if TYPE_CHECKING:
    from collections.abc import Callable

    from alongside.link.channel import Reply

USAGE, FAILED = 2, 3


def asked(method: str, params: dict[str, Any], told: Callable[[Reply], int]) -> int:
    """Ask a fresh driver once, hand its answer to ``told`` and come back with the exit code."""
    try:
        return told(asyncio.run(_ask(method, params)))
    except AlongsideError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return USAGE if isinstance(error, Invalid) else FAILED
    except KeyboardInterrupt:
        return 130


async def _ask(method: str, params: dict[str, Any]) -> Reply:
    async with Desktops(user_acting=True) as desktops:
        return await desktops.user.call(method, params)
