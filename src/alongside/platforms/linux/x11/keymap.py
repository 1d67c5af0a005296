"""What the keys of a keyboard mean: which key, with which modifiers, makes a character or bears a name."""

from __future__ import annotations

import struct
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from alongside.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CORE_KEYBOARD = 0x100
SYMS = 2  # the part of an XKB map that holds the keysyms
# A key in it: types of its 4 groups, number of groups, width of a group, number of keysyms, the keysyms.
EMPTY = bytes(8)
_ONE_LEVEL = struct.pack("=4xBBH", 1, 1, 1)
_UNICODE = 0x01000000  # keysyms of all characters beyond Latin-1
MODIFIERS = {"shift": 0xFFE1, "ctrl": 0xFFE3, "alt": 0xFFE9, "super": 0xFFEB, "altgr": 0xFE03}
_ALIASES = {
    "control": "ctrl", "ctl": "ctrl", "option": "alt", "meta": "super", "win": "super", "windows": "super",
    "cmd": "super", "command": "super", "enter": "return", "esc": "escape", "del": "delete", "ins": "insert",
    "pageup": "prior", "pgup": "prior", "pagedown": "next", "pgdn": "next", "pgdown": "next", "arrowup": "up",
    "arrowdown": "down", "arrowleft": "left", "arrowright": "right", "spacebar": "space",
    "printscreen": "print", "back": "backspace",
}  # fmt: skip
# What is held to reach the levels of a key. All key types of printable characters agree on it.
_LEVELS: tuple[tuple[str, ...], ...] = ((), ("shift",), ("altgr",), ("altgr", "shift"))


class Stroke(NamedTuple):
    """A key and what is held with it."""

    code: int
    held: tuple[str, ...] = ()


class Keymap:
    """The keymap as the XKEYBOARD extension hands it over, seen from one of its groups (layouts).

    ``strokes`` has, for each keysym, the key that makes it; ``spare`` the keycodes that mean nothing.
    """

    def __init__(self, first: int, entries: Sequence[bytes], group: int) -> None:
        self._first = first
        self._entries = list(entries)
        self.strokes: dict[int, Stroke] = {}
        self.spare = [first + at for at, entry in enumerate(entries) if entry == EMPTY]
        levels: list[list[tuple[int, int]]] = [[] for _ in _LEVELS]
        for at, entry in enumerate(entries):
            groups, width, count = struct.unpack_from("=BBH", entry, 4)
            groups &= 0x0F
            if not groups:
                continue
            syms = struct.unpack_from(f"={count}I", entry, 8)[group % groups * width :][:width]
            for level, sym in zip(levels, syms, strict=False):
                level.append((sym, first + at))
        for level, held in zip(levels, _LEVELS, strict=True):
            if "altgr" not in held or MODIFIERS["altgr"] in self.strokes:
                for sym, code in level:
                    self.strokes.setdefault(sym, Stroke(code, held))

    @staticmethod
    def parse(reply: bytes, group: int) -> Keymap:
        """The keymap out of the answer to ``XkbGetMap`` for the symbols of all keys."""
        first, count = reply[17], reply[20]
        entries, at = [], 40
        for _ in range(count):
            end = at + 8 + 4 * struct.unpack_from("=H", reply, at + 6)[0]
            entries.append(reply[at:end])
            at = end
        return Keymap(first, entries, group)

    def with_meanings(self, meanings: Mapping[int, int]) -> bytes:
        """The arguments of the ``XkbSetMap`` that gives keycodes one keysym each, or 0 for none, and changes no other.

        One request for all of them: each makes every application read the keymap anew, and a window manager grab its
        keys anew (measured: 17 requests a text kept openbox busy for minutes).
        """
        low, high = min(meanings), max(meanings)
        entries = self._entries[low - self._first : high - self._first + 1]
        for code, sym in meanings.items():
            entries[code - low] = _ONE_LEVEL + struct.pack("=I", sym) if sym else EMPTY
        syms = sum(struct.unpack_from("=H", entry, 6)[0] for entry in entries)
        last = self._first + len(self._entries) - 1
        header = struct.pack(
            "=xx2xHHHBBBBBBH18x", CORE_KEYBOARD, SYMS, 0, self._first, last, 0, 0, low, len(entries), syms
        )
        return header + b"".join(entries)

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
    spelled = chord[:-1] + "plus" if chord == "+" or chord.endswith("++") else chord
    *before, last = (part.strip() for part in spelled.split("+"))
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
