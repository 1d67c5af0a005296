"""Menus, and the lists of combos: what comes up in them, choosing in closed ones, closing what was opened."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from alongside.core.errors import NotFound
from alongside.core.outline import quote
from alongside.core.ports import Delivery, NativeWindow, Passed
from alongside.core.targets import only, plain
from alongside.platforms.linux import places

if TYPE_CHECKING:
    from alongside.core.elements import Element
    from alongside.platforms.linux.hand import Hand

# How long a pop-up may take to open and to close, and how often is looked (seconds).
_OPENS, _CLOSES, _POLL = 1.5, 0.5, 0.02
_MOST_POPUPS = 6  # open at once
_BROWSERS = frozenset({"Chromium", "Firefox"})


async def type_option(hand: Hand, element: Element) -> Delivery:
    """Choose in a closed combo by typing the option's name."""
    wanted = hand.act.step.value
    if wanted is None:
        raise Passed("there is no option to type")
    options = [one for one in hand.snapshot.below(element) if one.role in places.OPTIONS]
    if sum(plain(one.name).startswith(plain(wanted)) for one in options) > 1:
        raise Passed("several of its options begin like this")
    await hand.own.can_write(wanted)
    await hand.to_front()
    if not await hand.is_focused(element) and not await hand.takes_focus(element):
        raise Passed("it does not take the focus without opening")
    await hand.own.type(wanted)
    return Delivery("typed the option's name")


async def shown(hand: Hand, name: str, roles: frozenset[str], opener: Element) -> Element:
    """The option or menu item of a name that came up when ``opener`` was pressed, once it can be seen.

    ``NotFound`` says what came up instead, ``Ambiguous`` that several of the name did.
    """
    end = time.monotonic() + _OPENS
    before = hand.snapshot
    while True:
        popups = [replace(hand.window, native=one.native, bounds=one.bounds, title="") for one in await _popups(hand)]
        hand.snapshot = now = await hand.desktop.tree.snapshot(hand.window, popups=popups)
        inside = {one.key for one in now.below(opener)}
        up = [
            one
            for one in now
            if one.role in roles
            and places.in_sight(one)
            and (one.key in inside or places.is_apart(one, now) or not places.in_sight(before.by_key.get(one.key)))
        ]
        if (found := only(name, up, now)) is not None:
            return found
        if time.monotonic() > end:
            offered = ", ".join(quote(one.name, 40) for one in up[:12]) or "nothing"
            raise NotFound(f"No {quote(name, 60)} came up in it, but {offered}.")
        await asyncio.sleep(_POLL)


async def popups(hand: Hand) -> set[int]:
    """The native numbers of the application's open menus and lists."""
    return {one.native for one in await _popups(hand)}


async def close_popups(hand: Hand, but: set[int]) -> None:
    """Close the menus and lists that were opened since ``but``; Escape would close a dialog where none is open."""
    for _ in range(_MOST_POPUPS):
        opened = await popups(hand) - but
        if not opened:
            return
        await hand.own.keys("escape")
        end = time.monotonic() + _CLOSES
        while opened <= await popups(hand) and time.monotonic() < end:
            await hand.desktop.windows.changed(_POLL)


async def close_menu(hand: Hand, opener: Element) -> None:
    """Close a page's menu that was opened: it is a part of the page, and takes a second click."""
    now = await hand.desktop.tree.read(opener)
    if now is not None and hand.snapshot.toolkit in _BROWSERS and "expanded" in now.states:
        await hand.press(await hand.place(now))


async def _popups(hand: Hand) -> list[NativeWindow]:
    return [one for one in await hand.desktop.windows.list() if hand.is_popup(one)]
