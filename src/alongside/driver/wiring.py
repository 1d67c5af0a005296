"""Which platform serves a desktop. Each is imported only where it is chosen."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from alongside.core.errors import Unavailable

if TYPE_CHECKING:
    from alongside.core.ports import Ledger, Platform


async def open_platform(kind: str, ledger: Ledger) -> Platform:
    """Connect to the desktop that the environment names; ``Unavailable`` says what is missing."""
    if sys.platform == "linux":
        from alongside.platforms.linux.desktop import LinuxDesktop  # noqa: PLC0415 - only where it is the platform

        return await LinuxDesktop.open(kind, ledger)
    raise Unavailable(f"Desktops of {sys.platform} are not served yet.", next="run the server on Linux")
