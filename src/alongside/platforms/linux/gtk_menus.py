"""Walking the menus that an application exports (`org.gtk.Menus`), whatever it made of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from dbus_fast import Variant

from alongside.core import targets
from alongside.core.ports import Passed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The largest menus that were measured have 1708 entries (LibreOffice Calc), and of them only those on a path are read.
MOST_ENTRIES = 5000
# How often sections of one level may lead to other groups; GTK has them all in one, LibreOffice too (measured).
_MOST_ROUNDS = 20
_MNEMONIC = re.compile("_(.?)", re.DOTALL)

Menu = tuple[int, int]  # the number of a group, and of a menu in it
_TOP: Menu = (0, 0)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a menu: an item with its action and what is sent with it, a submenu, or a section of this one.

    ``opens`` is the action whose state says that the submenu is open; an application brings it up to date by that.
    """

    name: str = ""
    action: str = ""
    target: Variant | None = None
    submenu: Menu | None = None
    section: Menu | None = None
    opens: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The items at the end of a path (none if it leads nowhere), and the level where the search ended."""

    items: list[Entry] = field(default_factory=list)
    level: list[Entry] = field(default_factory=list)


class Exporter(Protocol):
    """The application, as far as its menus are concerned; what it answers may be anything."""

    async def start(self, groups: list[int]) -> Any:
        """Some groups of menus: `a(uuaa{sv})`."""

    async def open(self, actions: list[str]) -> None:
        """Tell it that submenus are open, by their actions: it fills them and brings them up to date."""


class Menus:
    """The menus of one exporter, read group by group as a path leads there."""

    def __init__(self, exporter: Exporter) -> None:
        self._exporter = exporter
        self._known: dict[Menu, list[Entry]] = {}
        self._asked: set[int] = set()
        self._entries = 0

    async def find(self, path: Sequence[str]) -> Found:
        """Follow a path of names. ``Passed`` where what is exported is no menu, or too large.

        Every submenu of a name is followed, as LibreOffice has its menu bar twice (measured).
        """
        menus = [_TOP]
        called: list[Entry] = []
        level: list[Entry] = []
        for left, part in zip(range(len(path) - 1, -1, -1), path, strict=True):
            level = await self._level(menus)
            called = targets.called(part, level) or _about(part, level)
            under = [one for one in called if one.submenu]
            if not called or (left and not under):
                return Found([], level)
            menus = [one.submenu for one in under if one.submenu]
            await self._open(under)
        items = [one for one in called if not one.submenu]
        return Found(items, level if items else await self._level(menus))

    async def _open(self, entries: list[Entry]) -> None:
        """Have submenus brought up to date."""
        actions = [one.opens for one in entries if one.opens]
        if actions:
            await self._exporter.open(list(dict.fromkeys(actions)))
            self._known.clear()
            self._asked.clear()

    async def _level(self, menus: list[Menu]) -> list[Entry]:
        """The entries of menus, and of the sections in them."""
        rounds = 0
        while missing := {group for group, _ in self._with_sections(menus)} - self._asked:
            rounds += 1
            if rounds > _MOST_ROUNDS:
                raise Passed("the sections of its menus do not end")
            self._asked |= missing
            self._take(await self._exporter.start(sorted(missing)))
        return [one for menu in self._with_sections(menus) for one in self._known.get(menu, ()) if not one.section]

    def _with_sections(self, menus: Iterable[Menu]) -> list[Menu]:
        """Each menu once, in whatever circle it is named."""
        found = list(dict.fromkeys(menus))
        known = set(found)
        for menu in found:  # it grows on the way
            for one in self._known.get(menu, ()):
                if one.section and one.section not in known:
                    known.add(one.section)
                    found.append(one.section)
        return found

    def _take(self, reply: Any) -> None:
        try:
            for group, number, entries in reply:
                self._entries += len(entries)
                if self._entries > MOST_ENTRIES:
                    raise Passed(f"its menus have more than {MOST_ENTRIES} entries")
                self._known.setdefault((group, number), [_entry(one) for one in entries])
        except (AttributeError, TypeError, ValueError):
            raise Passed("what it exports is no menu") from None


def _about(name: str, level: list[Entry]) -> list[Entry]:
    """Items that say after their name what they would do now: LibreOffice has "Undo: Input" for "Undo"."""
    said = targets.plain(name)
    return [one for one in level if said and targets.plain(one.name.partition(": ")[0]) == said]


def _entry(given: dict[str, Any]) -> Entry:
    target = given.get("target")
    return Entry(
        name=_MNEMONIC.sub(r"\1", _typed(given.get("label"), "s") or "").strip(),
        action=_typed(given.get("action"), "s") or "",
        target=target if isinstance(target, Variant) else None,
        submenu=_menu(given.get(":submenu")),
        section=_menu(given.get(":section")),
        opens=_typed(given.get("submenu-action"), "s") or "",
    )


def _typed(given: Any, signature: str) -> Any:
    return given.value if isinstance(given, Variant) and given.signature == signature else None


def _menu(given: Any) -> Menu | None:
    numbers = _typed(given, "(uu)")
    return (numbers[0], numbers[1]) if numbers else None
