"""What the keys of a keyboard mean: which key, with which modifiers, makes a character or bears a name."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from alongside.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_SYMBOL = 0
_UNICODE = 0x01000000  # keysyms of all characters beyond Latin-1
MODIFIERS = {"shift": 0xFFE1, "ctrl": 0xFFE3, "alt": 0xFFE9, "super": 0xFFEB, "altgr": 0xFE03}
_ALIASES = {
    "control": "ctrl", "ctl": "ctrl", "option": "alt", "meta": "super", "win": "super", "windows": "super",
    "cmd": "super", "command": "super", "enter": "return", "esc": "escape", "del": "delete", "ins": "insert",
    "pageup": "prior", "pgup": "prior", "pagedown": "next", "pgdn": "next", "pgdown": "next", "arrowup": "up",
    "arrowdown": "down", "arrowleft": "left", "arrowright": "right", "spacebar": "space", "capslock": "capslock",
    "printscreen": "print", "back": "backspace",
}  # fmt: skip
# The columns of the core keymap that belong to the first group, and what is held to reach each.
_LEVELS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (0, ()),
    (1, ("shift",)),
    (4, ("altgr",)),
    (5, ("altgr", "shift")),
)


class Stroke(NamedTuple):
    """A key and what is held with it."""

    code: int
    held: tuple[str, ...] = ()


@dataclass(frozen=True)
class Keymap:
    """The core keymap: ``width`` keysyms for each keycode from ``first`` on."""

    first: int
    width: int
    syms: tuple[int, ...]
    strokes: dict[int, Stroke] = field(init=False, default_factory=dict)
    spare: list[int] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        rows = [self.syms[at : at + self.width] for at in range(0, len(self.syms), self.width)]
        self.spare.extend(self.first + at for at, row in enumerate(rows) if not any(row))
        altgr = any(MODIFIERS["altgr"] in row[:1] for row in rows)
        for column, held in _LEVELS:
            if column >= self.width or ("altgr" in held and not altgr):
                continue
            for at, row in enumerate(rows):
                if row[column] != NO_SYMBOL:
                    self.strokes.setdefault(row[column], Stroke(self.first + at, held))

    def modifier(self, name: str) -> int:
        """The keycode of a modifier's key."""
        stroke = self.strokes.get(MODIFIERS[name])
        if stroke is None:
            raise Invalid(f"This keyboard has no key for `{name}`.")
        return stroke.code


def keysym(character: str) -> int:
    """The keysym of a character; ``Invalid`` for what no key can make."""
    code = ord(character)
    match character:
        case "\n":
            return named("Return")
        case "\t":
            return named("Tab")
    if unicodedata.category(character) in ("Cc", "Cs"):
        raise Invalid(f"The character U+{code:04X} cannot be typed.", next="leave it out")
    return code if code <= 0xFF else _UNICODE | code


def named(name: str) -> int:
    """The keysym of a key by its X11 or everyday name, in any case; ``Invalid`` when there is none."""
    word = name.strip().lower().replace("_", "").replace("-", "")
    word = _ALIASES.get(word, word)
    if word in MODIFIERS:
        return MODIFIERS[word]
    found = _names().get(word)
    if found is None:
        raise Invalid(
            f"There is no key `{name:.30}`.", next="names such as Return, Tab, Page_Up, F5, a, plus; ctrl+shift+s"
        )
    return found


def parse(chord: str) -> tuple[list[str], int]:
    """The modifiers of a chord, in order, and the keysym of its key; a chord may be of modifiers alone."""
    *before, last = [
        part.strip() for part in (chord[:-1].split("+") + ["+"] if chord.endswith("+") else chord.split("+"))
    ]
    if len(chord) > 1 and chord.endswith("+"):
        before = before[:-1] if before and not before[-1] else before
    modifiers = []
    for part in before:
        word = _ALIASES.get(part.lower(), part.lower())
        if word not in MODIFIERS:
            raise Invalid(
                f"`{part:.30}` in `{chord:.40}` is no modifier.", next=f"of {', '.join(MODIFIERS)}, then one key"
            )
        modifiers.append(word)
    if len(last) == 1:
        # ctrl+S means the key that bears an S.
        return modifiers, keysym(last.lower() if set(modifiers) - {"shift"} else last)
    return modifiers, named(last)


@cache
def _names() -> dict[str, int]:
    import xcffib.keysymdef  # noqa: PLC0415 - 2,000 names, needed with the first named key

    names: dict[str, int] = {}
    for name, value in vars(xcffib.keysymdef).items():
        if name.startswith("XK_"):
            bare = name.removeprefix("XK_")
            word = bare.lower().replace("_", "")
            # Where names differ in case only (Agrave, agrave), the small letter is meant.
            if word not in names or bare.islower():
                names[word] = value
    return names


def runs(codes: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending numbers as stretches without a gap: the first number of each, and how many."""
    found: list[tuple[int, int]] = []
    for code in codes:
        if found and sum(found[-1]) == code:
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append((code, 1))
    return found
