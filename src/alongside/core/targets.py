"""How a step names what it acts on, and which element of a snapshot that is.

=====================  =====================================================
``12 [12] e12 @e12``   the element with that ref
``Save``               the one element of that name
``button:Save``        the one element of that role and name (``button:`` alone: the only button)
``"12"``, ``"B2"``     the same with quotes around it: a name, whatever it looks like
``120,80``             a point of the last image of the window
``B2``                 a cell by its address, where the window has a table; else a name
=====================  =====================================================
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Protocol, TypeVar

from alongside.core.elements import CONTROL_ROLES, ROLE_ALIASES
from alongside.core.errors import Ambiguous, Invalid, NotFound
from alongside.core.geometry import Point
from alongside.core.outline import element_line, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from alongside.core.elements import Element, Snapshot
    from alongside.core.refs import RefBook


class Named(Protocol):
    """Whatever has a name."""

    @property
    def name(self) -> str: ...


_Named = TypeVar("_Named", bound=Named)
_FORMS = 'a ref such as 12, a name such as "Save", or "button:Save"'
_MOST_REF = 999_999_999
_MOST_PLACE = 999_999
_REF = re.compile(r"\[?@?e?(\d{1,9})\]?", re.ASCII)
_POINT = re.compile(r"\(?\s*(-?\d{1,6})\s*,\s*(-?\d{1,6})\s*\)?", re.ASCII)
_CELL = re.compile(r"([A-Za-z]{1,3})([1-9]\d{0,6})", re.ASCII)
_ROLE = re.compile(r"([A-Za-z][A-Za-z -]{1,30}?)\s*:\s*(.*)", re.DOTALL)
_ROLES = CONTROL_ROLES | {
    "alert", "application", "article", "audio", "blockquote", "canvas", "comment", "definition", "dialog", "document",
    "form", "generic", "group", "heading", "img", "label", "list", "log", "mark", "marquee", "math", "menu", "menubar",
    "meter", "none", "note", "paragraph", "progressbar", "region", "separator", "status", "table", "tablist",
    "tabpanel", "term", "terminal", "text", "timer", "toolbar", "tooltip", "tree", "unknown", "video", "window",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ByRef:
    ref: int

    def __str__(self) -> str:
        return f"[{self.ref}]"


@dataclass(frozen=True, slots=True)
class ByName:
    """``said`` is all of ``role:name`` as it was written: fields are called ``Date:`` and ``Link:``, too."""

    name: str
    role: str | None = None
    said: str = field(default="", compare=False)

    def __str__(self) -> str:
        quoted = quote(self.name, 80) if self.name else ""
        return f"{self.role or ''} {quoted}".strip()


@dataclass(frozen=True, slots=True)
class ByPoint:
    point: Point

    def __str__(self) -> str:
        return f"{self.point.x},{self.point.y}"


@dataclass(frozen=True, slots=True)
class ByCell:
    """A cell address; rows and columns count from 0."""

    address: str
    row: int
    column: int

    def __str__(self) -> str:
        return self.address


Target = ByRef | ByName | ByPoint | ByCell


def canonical_role(role: str) -> str | None:
    """ARIA's name for a role in anybody's words; None if it is no role."""
    role = "".join(role.lower().replace("-", " ").split())
    role = ROLE_ALIASES.get(role, role)
    return role if role in _ROLES else None


def parse(target: object) -> Target:
    """What ``target`` names; ``Invalid`` where it names nothing."""
    if isinstance(target, bool) or not isinstance(target, int | str | list | tuple):
        raise Invalid(f"{target!r:.80} is no target.", next=_FORMS)
    if isinstance(target, int):
        if not 0 <= target <= _MOST_REF:
            raise Invalid("A ref is a number that a look showed.", next=_FORMS)
        return ByRef(target)
    if not isinstance(target, str):
        if len(target) == 2 and all(map(_is_place, target)):
            return ByPoint(Point(round(target[0]), round(target[1])))
        raise Invalid(f"{target!r:.80} is no point.", next="[x, y] in pixels of the last image")
    text = target.strip()
    if (quoted := _unquote(text)) is not None:
        return _by_name(quoted)
    if found := _REF.fullmatch(text):
        return ByRef(int(found[1]))
    if found := _POINT.fullmatch(text):
        return ByPoint(Point(int(found[1]), int(found[2])))
    if found := _CELL.fullmatch(text):
        return ByCell(text, int(found[2]) - 1, _column(found[1]))
    if found := _ROLE.fullmatch(text):
        role, name = found[1].strip().lower(), found[2].strip()
        if role == "name" and name:
            return _by_name(_unquote(name) or name)
        if role == "ref" and (ref := _REF.fullmatch(name)):
            return ByRef(int(ref[1]))
        if role == "cell" and (cell := _CELL.fullmatch(name)):
            return ByCell(name, int(cell[2]) - 1, _column(cell[1]))
        if known := canonical_role(role):
            return ByName(_unquote(name) or name, known, text)
    return _by_name(text)


def quoted(target: Target) -> str:
    """A target in our words: names quoted."""
    if not isinstance(target, ByName):
        return str(target)
    return " ".join(part for part in (target.role, target.name and quote(target.name, 80)) if part)


def _by_name(name: str) -> ByName:
    if not name:
        raise Invalid("The target is empty.", next=_FORMS)
    return ByName(name)


def _is_place(part: object) -> bool:
    return isinstance(part, int | float) and not isinstance(part, bool) and abs(part) <= _MOST_PLACE


def _unquote(text: str) -> str | None:
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return text[1:-1]
    return str(value)


def _column(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number - 1


def plain(name: str) -> str:
    """A name as people would say it: no case, accelerators, ellipsis, colon, or blanks around it."""
    name = unicodedata.normalize("NFC", name).replace("…", "...").split("\t")[0]
    return " ".join(name.split()).rstrip(".: ").casefold()


def resolve(
    target: ByRef | ByName, snapshot: Snapshot, refs: RefBook, *, describe: Callable[[Element], str] | None = None
) -> Element:
    """The one element that ``target`` names in ``snapshot``.

    A name is compared as written first, then as people would say it. Elements that one can see come before those that
    are hidden (in a closed menu, on another tab). More than one left is ``Ambiguous`` and lists them.
    """
    if isinstance(target, ByRef):
        key = refs.element(target.ref, snapshot.window.id)
        element = snapshot.by_key.get(key)
        if element is None:
            raise NotFound(
                f"{target} is not in the last look at {snapshot.window.id}.", next=f'look("{snapshot.window.id}")'
            )
        return element
    found = _named(target, snapshot)
    if not found:
        raise NotFound(_missing(target, snapshot), next=f'look("{snapshot.window.id}")')
    if len(found) > 1:
        tell = describe or (lambda one: element_line(one, refs.give(one.key, snapshot.window.id)))
        listed = ", ".join(tell(one) for one in found[:6]) + (", ..." if len(found) > 6 else "")
        raise Ambiguous(f"{len(found)} elements match {target}: {listed}. Name one by its ref.")
    return found[0]


def only(name: str, among: Iterable[Element], snapshot: Snapshot) -> Element | None:
    """The one element of a name, by the rule of ``resolve``; ``Ambiguous`` where there are several."""
    found = _foremost(called(name, list(among)), snapshot)
    if len(found) > 1:
        raise Ambiguous(f"{len(found)} of them are named {quote(name, 80)}. Name one by its ref.")
    return found[0] if found else None


def menu_path(path: str) -> list[str]:
    """The names of a menu path such as `File > Export > As Text...`."""
    return [part.strip() for part in path.split(">") if part.strip()]


def called(name: str, among: list[_Named]) -> list[_Named]:
    """Those of exactly that name, else those that people would call so."""
    said = plain(name)
    return [one for one in among if name and one.name == name] or [
        one for one in among if said and plain(one.name) == said
    ]


def _named(target: ByName, snapshot: Snapshot) -> list[Element]:
    among = [one for one in snapshot if target.role in (None, one.role)]
    said = plain(target.said)
    found = (
        [one for one in snapshot if target.said and one.name == target.said]
        or (called(target.name, among) if target.name else among)
        or [one for one in snapshot if said and plain(one.name) == said]
    )
    return _foremost(found, snapshot)


def _foremost(group: list[Element], snapshot: Snapshot) -> list[Element]:
    """Of elements of one name: those in sight, of them those one can act on, of them the innermost."""
    seen = [one for one in group if not one.states & {"hidden", "offscreen"}] or [
        one for one in group if "hidden" not in one.states
    ]
    chosen = seen or group
    chosen = [one for one in chosen if one.role in CONTROL_ROLES] or chosen
    around = {above.key for one in chosen for above in snapshot.ancestors(one)}
    return [one for one in chosen if one.key not in around]


def _missing(target: ByName, snapshot: Snapshot) -> str:
    names: Iterable[str] = {one.name for one in snapshot if one.name and (not target.role or one.role == target.role)}
    near = get_close_matches(plain(target.name), {plain(name) for name in names}, n=3, cutoff=0.5)
    close = [name for name in sorted(names) if plain(name) in near][:3]
    hint = " Near: " + ", ".join(quote(name, 60) for name in close) + "." if close else ""
    return f"Nothing here is named {target}.{hint}"
