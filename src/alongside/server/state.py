"""Where the server keeps what outlives it."""

from __future__ import annotations

import os
from pathlib import Path


def folder(*names: str) -> Path:
    """A folder of the state folder, made if it is missing, readable by its owner only.

    The state folder is ``ALONGSIDE_HOME``, else ``alongside`` in the system's place for such (on Linux
    ``$XDG_STATE_HOME``). ``OSError`` where it cannot be made.
    """
    home = os.environ.get("ALONGSIDE_HOME")
    if home:
        place = Path(home).expanduser()
    else:
        import platformdirs  # noqa: PLC0415 - not needed where ALONGSIDE_HOME is set

        place = Path(platformdirs.user_state_dir("alongside", appauthor=False))
    place.parent.mkdir(parents=True, exist_ok=True)
    for part in ("", *names):
        place = place / part
        place.mkdir(mode=0o700, exist_ok=True)
    return place
