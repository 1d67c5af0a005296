"""Where the server keeps what outlives it."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path


def place() -> Path:
    """The state folder, whether it is there or not.

    It is ``ALONGSIDE_HOME``, else ``alongside`` in the system's place for such (on Linux ``$XDG_STATE_HOME``).
    """
    home = os.environ.get("ALONGSIDE_HOME")
    if home:
        return Path(home).expanduser()
    import platformdirs  # noqa: PLC0415 - not needed where ALONGSIDE_HOME is set

    return Path(platformdirs.user_state_dir("alongside", appauthor=False))


def folder(*names: str) -> Path:
    """A folder of the state folder, made if it is missing, readable by its owner only.

    ``OSError`` where it cannot be made.
    """
    found = place()
    found.parent.mkdir(parents=True, exist_ok=True)
    for part in ("", *names):
        found = found / part
        found.mkdir(mode=0o700, exist_ok=True)
    return found


def write(path: Path, data: bytes, *, over: bool) -> None:
    """Write a file of the state folder whole or not at all; ``over`` replaces one that is there, else that one stays.

    ``OSError`` where it cannot be written.
    """
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        if over:
            new.replace(path)
        elif not os.path.lexists(path):
            new.rename(path)
    finally:
        new.unlink(missing_ok=True)


def read(path: Path, most: int, *, follow: bool = True) -> tuple[bytes, os.stat_result]:
    """A plain file, and what it was when it was read; whatever else stands there is neither waited for nor read.

    ``OSError`` where it cannot be read; ``ValueError`` where it is no file or longer than ``most`` bytes.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    descriptor = os.open(path, flags)
    try:
        kind = os.fstat(descriptor)
        if not stat.S_ISREG(kind.st_mode):
            raise ValueError("it is no file")
        if kind.st_size > most:
            raise ValueError(f"it is longer than {most} bytes")
        return os.read(descriptor, most), kind
    finally:
        os.close(descriptor)
