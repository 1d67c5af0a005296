"""The policy: which applications are never read nor driven, in one file that the person can read and change.

It is asked before every request and every step, and read again whenever the file has changed. Without a policy that can
be read nothing is allowed: a guard that is lost refuses.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from alongside.core import errors
from alongside.core.outline import quote
from alongside.server import state
from alongside.server.machine import Row

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME = "policy.toml"
DEFAULTS = Path(__file__).with_name(NAME)
# Tells a first start from a policy that was lost; a dot, so that what empties the folder may leave it there.
_MARK = ".policy-was-written"
_VERSION = 1
_MOST = 1 << 20
_KINDS = ("class", "program", "title")
_MEND = "ask the person to run `alongside policy`, which says what is wrong; `alongside policy --reset` writes it anew"


@dataclass(frozen=True, slots=True)
class Asked:
    """A window that is about to be read or driven; ``classes`` and ``programs`` are the names it may be known by."""

    title: str = ""
    classes: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Rule:
    what: str
    patterns: dict[str, re.Pattern[str]]

    def fits(self, asked: Asked) -> bool:
        said = {"class": asked.classes, "program": asked.programs, "title": (asked.title,)}
        return any(
            pattern.fullmatch(name.casefold()) for kind, pattern in self.patterns.items() for name in said[kind] if name
        )


class Policy:
    """The policy in the state folder; ``prepare`` writes the defaults at the first start ever."""

    def __init__(self) -> None:
        self._read_as: tuple[int, ...] | None = None
        self._rules: tuple[_Rule, ...] = ()
        self._wrong: str = ""

    def prepare(self) -> None:
        """Write the defaults where there never was a policy; where that fails, every action will say so."""
        with contextlib.suppress(OSError):
            if not (state.folder() / _MARK).exists():
                _write()

    def check(self, *asked: Asked) -> None:
        """``errors.Policy`` where one of these is refused, or where there is no policy that can be read."""
        rules = self._now()
        for one in asked:
            for rule in rules:
                if rule.fits(one):
                    name = quote(one.title or "".join(one.classes[:1]), 80)
                    raise errors.Policy(
                        f"{name} is refused by the person's policy ({rule.what}): it is neither read nor driven.",
                        next="ask the person to do this step; go on with other windows",
                    )

    def check_program(self, application: str) -> None:
        """The same for what is to be launched, by its command, its path or the name that menus show."""
        names = (application, PurePath(application).name)
        self.check(Asked(classes=names, programs=names))

    def row(self) -> Row:
        """How it stands, for doctor and status."""
        try:
            place = state.place()
            if not (place / NAME).exists() and not (place / _MARK).exists():
                return Row("policy", ok=True, told="is written with its defaults at the first start", needed=True)
            refused = "; ".join(quote(one.what, 60) for one in self._now()) or "nothing"
        except (errors.Policy, OSError) as wrong:
            told = wrong.message if isinstance(wrong, errors.Policy) else str(wrong)
            return Row("policy", ok=False, told=told, needed=True, mend="alongside policy --reset")
        return Row("policy", ok=True, told=f"{place / NAME} refuses {refused}", needed=True)

    def _now(self) -> tuple[_Rule, ...]:
        path = state.place() / NAME
        try:
            found = path.stat()
        except OSError as wrong:
            self._read_as = None
            told = "is missing" if isinstance(wrong, FileNotFoundError) else f"cannot be read ({wrong.strerror})"
            raise errors.Policy(f"The policy {path} {told}; every action is refused.", next=_MEND) from None
        signature = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        if signature != self._read_as:
            self._rules, self._wrong = (), ""
            try:
                self._rules = _parsed(_text(path))
            except (OSError, ValueError, RecursionError) as wrong:
                self._wrong = str(wrong)
            self._read_as = signature
        if self._wrong:
            raise errors.Policy(
                f"The policy {path} cannot be used ({self._wrong:.300}); every action is refused.", next=_MEND
            )
        return self._rules


def reset() -> tuple[Path, Path | None]:
    """Write the defaults; the policy, and where the one that was there is kept now. ``OSError`` where that fails."""
    path = state.folder() / NAME
    kept = None
    if os.path.lexists(path):
        kept = next(one for number in range(1, 1000) if not os.path.lexists(one := path.with_suffix(f".old{number}")))
        path.rename(kept)
    _write()
    return path, kept


def _write() -> None:
    place = state.folder()
    state.write(place / NAME, DEFAULTS.read_bytes(), over=False)
    (place / _MARK).write_text(f"{NAME} was written here. Where it is missing now, every action is refused.\n")


def _text(path: Path) -> str:
    data, kind = state.read(path, _MOST)
    owners = (0, os.getuid()) if hasattr(os, "getuid") else (kind.st_uid,)
    if kind.st_uid not in owners or kind.st_mode & stat.S_IWOTH:
        raise ValueError("others than you may write it")
    return data.decode()


def _parsed(text: str) -> tuple[_Rule, ...]:
    """The rules of a policy; ``ValueError`` for whatever is not as it should be: a rule misspelt is a rule lost."""
    given = tomllib.loads(text)
    if given.get("version") != _VERSION:
        raise ValueError(f"it has no line `version = {_VERSION}`")
    _only(given, ("version", "refused"), "the policy")
    rules = given.get("refused")
    if not isinstance(rules, list) or not all(isinstance(one, dict) for one in rules):
        raise ValueError("it has no [[refused]]; to refuse nothing, write `refused = []`")
    return tuple(_rule(one, number) for number, one in enumerate(rules, 1))


def _rule(given: dict[str, Any], number: int) -> _Rule:
    where = f"[[refused]] number {number}"
    _only(given, ("what", *_KINDS), where)
    what = given.get("what")
    if not isinstance(what, str) or not what.strip():
        raise ValueError(f"{where} has no `what`, the words for what it refuses")
    patterns = {}
    for kind in _KINDS:
        listed = given.get(kind, [])
        if not isinstance(listed, list) or not all(isinstance(one, str) and one.strip() for one in listed):
            raise ValueError(f"`{kind}` of {where} is no list of texts")
        if listed:
            patterns[kind] = re.compile("|".join(fnmatch.translate(one.strip().casefold()) for one in listed))
    if not patterns:
        raise ValueError(f"{where} has neither class, program nor title")
    return _Rule(what.strip(), patterns)


def _only(given: Iterable[str], known: tuple[str, ...], where: str) -> None:
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"`{unknown[0]:.40}` means nothing in {where}; known are {', '.join(known)}")
