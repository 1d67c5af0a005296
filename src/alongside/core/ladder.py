"""The techniques, and in which order they are tried for a step.

A technique is data here and one function of a platform there. Which may run is a property of the desktop: on the
person's own only those that disturb nothing; on a desktop of the agent's own all of them.

The clipboard belongs to whoever copied last, on either desktop: a technique that takes it runs nowhere by itself, and
naming it in ``via`` is the leave for the clipboard and for nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Flag, auto
from typing import TYPE_CHECKING

from alongside.core.errors import Invalid

if TYPE_CHECKING:
    from alongside.core.elements import Element, Snapshot


class Disturbs(Flag):
    """What a technique may change besides its effect."""

    NOTHING = 0
    FOCUS = auto()
    STACKING = auto()
    POINTER = auto()
    KEYBOARD = auto()
    CLIPBOARD = auto()


@dataclass(frozen=True, slots=True)
class Technique:
    """One way to deliver a step; ``told`` is a line for people, ``toolkits`` those that it works on (all if empty)."""

    name: str
    disturbs: Disturbs
    told: str
    toolkits: frozenset[str] = frozenset()


# They take what is sent to their windows alone for what the display sends (measured); GTK 4 does not.
_SENT_TO = frozenset({"GTK 3", "Qt", "Chromium"})
# Menus of their pages are parts of the page and take no grab.
_PAGES = frozenset({"Chromium"})
# Their windows say where on the session bus their menus are; LibreOffice's are of GTK here.
_EXPORTING = frozenset({"GTK 3", "GTK 4"})
# They insert a text that is dropped on their windows; Chromium takes the focus then, Tk and Swing take none (measured).
_DROPPED_ON = frozenset({"GTK 3", "GTK 4", "Qt", "Firefox", "LibreOffice"})
_REAL = Disturbs.POINTER | Disturbs.FOCUS | Disturbs.STACKING
TECHNIQUES = {
    one.name: one
    for one in (
        Technique(
            "gtk.action", Disturbs.NOTHING, "an action that the application exports on the session bus", _EXPORTING
        ),
        Technique("atspi.action", Disturbs.NOTHING, "the element's own action, over the accessibility bus"),
        Technique("atspi.selection", Disturbs.NOTHING, "selecting a child of a list, combo or tab list"),
        Technique("atspi.value", Disturbs.NOTHING, "setting the number of a slider, spin button or cell"),
        Technique("atspi.text", Disturbs.NOTHING, "editing text over the accessibility bus"),
        Technique("atspi.focus", Disturbs.FOCUS | Disturbs.STACKING, "taking the focus over the accessibility bus"),
        Technique("x11.activation", Disturbs.NOTHING, "events of a pointer, sent to the window alone", _SENT_TO),
        Technique("x11.keys", Disturbs.NOTHING, "events of a keyboard, sent to the window alone", _SENT_TO),
        Technique("x11.drop", Disturbs.NOTHING, "a text dropped on the window alone, at the caret", _DROPPED_ON),
        Technique("x11.choose", Disturbs.NOTHING, "clicking through a page's own menu, by events sent to it", _PAGES),
        Technique("xtest.pointer", _REAL, "the desktop's own pointer"),
        Technique("xtest.keys", Disturbs.KEYBOARD | Disturbs.FOCUS | Disturbs.STACKING, "the desktop's own keyboard"),
        Technique("xtest.choose", _REAL, "opening a list or menu with the pointer and choosing in it"),
        Technique("clipboard", Disturbs.CLIPBOARD, "pasting; what was in the clipboard is put back", _SENT_TO),
    )
}

_ACTION = ("atspi.action", "xtest.pointer", "x11.activation")
LADDERS: dict[str, tuple[str, ...]] = {
    "click": _ACTION,
    "invoke": ("atspi.action",),
    "toggle": _ACTION,
    "check": _ACTION,
    "uncheck": _ACTION,
    "double_click": ("xtest.pointer", "x11.activation"),
    "right_click": ("xtest.pointer",),
    "hover": ("xtest.pointer", "x11.activation"),
    "drag": ("xtest.pointer", "x11.activation"),
    "scroll": ("xtest.pointer", "x11.activation"),
    "type": ("atspi.text", "xtest.keys", "x11.keys", "x11.drop", "clipboard"),
    "set": (
        *("atspi.value", "atspi.selection", "atspi.action", "atspi.text", "xtest.keys", "xtest.choose"),
        *("x11.keys", "x11.drop", "clipboard"),
    ),
    "clear": ("atspi.text", "xtest.keys", "x11.keys"),
    "key": ("xtest.keys", "x11.keys"),
    "select": (
        *("atspi.selection", "atspi.action", "xtest.keys", "xtest.choose", "xtest.pointer"),
        *("x11.keys", "x11.activation"),
    ),
    "expand": ("atspi.action", "xtest.keys", "x11.keys"),
    "collapse": ("atspi.action", "xtest.keys", "x11.keys"),
    "focus": ("atspi.focus", "xtest.pointer"),
    "menu": ("gtk.action", "atspi.action", "xtest.choose", "x11.choose"),
}

# Where another order is better for one role of a toolkit. Qt presses a button 100 ms after its action was taken
# (QAbstractButton.animateClick), and a tab as well; at once when a pointer clicks on it.
_ORDERS: dict[tuple[str, str, str], tuple[str, ...]] = {
    ("Qt", "button", "click"): ("xtest.pointer", "x11.activation", "atspi.action"),
    ("Qt", "tab", "click"): ("xtest.pointer", "x11.activation", "atspi.action"),
    ("Qt", "tab", "select"): ("x11.activation", "atspi.selection", "atspi.action", "xtest.pointer"),
}

# Steps whose action opens the menu or list of what has one. A menu takes a grab of the person's keyboard, wherever it
# is opened from (measured on GTK 3 and Qt: their keys went into it).
_OPENING = frozenset({"click", "invoke", "toggle", "expand"})
_MENUS = frozenset({"menu", "menuitem", "menuitemcheckbox", "menuitemradio"})

# Steps that say what must hold afterwards: a technique that changed nothing may be followed by the next one.
REPEATABLE = frozenset({"set", "clear", "select", "check", "uncheck", "expand", "collapse", "focus"})


def ladder(
    do: str, allowed: Disturbs, via: str | None = None, *, toolkit: str = "", role: str = "", opens: bool = False
) -> list[tuple[Technique, str]]:
    """The techniques for a step, in order, each with why it may not run here (empty where it may).

    ``allowed`` is what may be disturbed on this desktop. ``via`` pins one technique. ``toolkit`` and ``role`` are the
    target's; ``opens`` says that it has a menu or list of its own.
    """
    names = _ORDERS.get((toolkit, role, do)) or LADDERS.get(do, ())
    if via is not None:
        if via not in TECHNIQUES:
            raise Invalid(f"There is no technique {via!r:.40}.", next="via: one of " + ", ".join(TECHNIQUES))
        if via not in names:
            raise Invalid(f"`{do}` has no technique {via}.", next="via: one of " + ", ".join(names))
        names, allowed = (via,), allowed | TECHNIQUES[via].disturbs & Disturbs.CLIPBOARD
    tried = [TECHNIQUES[name] for name in names]
    if opens and do in _OPENING:
        tried = [replace(one, disturbs=one.disturbs | Disturbs.KEYBOARD) for one in tried]
    return [(one, _why_not(one, allowed, toolkit)) for one in tried]


def _why_not(technique: Technique, allowed: Disturbs, toolkit: str) -> str:
    if technique.toolkits and toolkit not in technique.toolkits:
        return f"{toolkit or 'an unknown toolkit'} does not take it"
    if Disturbs.CLIPBOARD in technique.disturbs & ~allowed:
        return f'only where it is asked for: "via": "{technique.name}"'
    if technique.disturbs not in allowed:
        return f"disturbs {_words(technique.disturbs & ~allowed)}"
    return ""


def opens(element: Element, snapshot: Snapshot) -> bool:
    """Whether an element has a menu or list that its action opens: it says so, or its items are in it.

    The menus of a page are parts of it; only the list of a native select is a window of its own.
    """
    if snapshot.toolkit in _PAGES and any(one.role == "document" for one in snapshot.ancestors(element)):
        return element.role == "combobox"
    inside = snapshot.inside.get(element.key, ())
    return element.role == "combobox" or "haspopup" in element.states or any(one.role in _MENUS for one in inside)


# Window managers that give a new window the focus, whoever works elsewhere, by toolkit (none: every one; measured).
_GIVES_FOCUS = {
    "xfwm4": frozenset[str](),
    "kwin": frozenset({"Qt"}),
    "metacity": frozenset({"Qt"}),
    "openbox": frozenset({"Qt"}),
}


def gives_focus(manager: str, toolkit: str) -> bool:
    """Whether a window that an application opens takes the focus from the person."""
    toolkits = _GIVES_FOCUS.get(manager.partition(" ")[0].casefold())
    return toolkit == "GTK 4" or (toolkits is not None and (not toolkits or toolkit in toolkits))


def opens_window(do: str, label: str) -> bool:
    """Whether a step says that it opens a window: what ends in an ellipsis asks for more."""
    return do in {"click", "invoke", "menu", "double_click"} and label.rstrip().endswith(("...", "\u2026"))


def _words(disturbs: Disturbs) -> str:
    return " and ".join(str(flag.name).lower() for flag in Disturbs if flag in disturbs)


EVERYTHING = Disturbs.FOCUS | Disturbs.STACKING | Disturbs.POINTER | Disturbs.KEYBOARD
