"""AT-SPI's numbers for roles and states, in ARIA's words (numbers: atspi-constants.h of at-spi2-core 2.46 to 2.56)."""

from __future__ import annotations

ROLES: dict[int, str] = {
    1: "label", 2: "alert", 5: "date", 6: "canvas", 7: "checkbox", 8: "menuitemcheckbox", 9: "dialog",
    10: "columnheader",
    11: "combobox", 12: "date", 13: "img", 15: "slider", 16: "dialog", 18: "canvas", 19: "dialog", 20: "group",
    22: "dialog", 23: "window", 25: "document", 26: "img", 27: "img", 28: "group", 29: "label", 30: "group", 31: "list",
    32: "option", 33: "menu", 34: "menubar", 35: "menuitem", 37: "tab", 38: "tablist", 39: "group", 40: "textbox",
    41: "menu", 42: "progressbar", 43: "button", 44: "radio", 45: "menuitemradio", 46: "group", 47: "rowheader",
    48: "scrollbar", 49: "group", 50: "separator", 51: "slider", 52: "spinbutton", 53: "group", 54: "status",
    55: "table", 56: "cell", 57: "columnheader", 58: "rowheader", 59: "menuitem", 60: "terminal", 61: "textbox",
    62: "button", 63: "toolbar", 64: "tooltip", 65: "tree", 66: "table", 67: "unknown", 68: "group", 69: "window",
    71: "group", 72: "group", 73: "paragraph", 74: "group", 75: "application", 76: "combobox", 77: "textbox",
    78: "document", 79: "textbox", 80: "img", 81: "label", 82: "document", 83: "heading", 84: "group", 85: "group",
    86: "none", 87: "form", 88: "link", 90: "row", 91: "treeitem", 92: "document", 93: "document", 94: "document",
    95: "document", 96: "document", 97: "comment", 98: "listbox", 99: "group", 100: "img", 101: "alert", 102: "alert",
    103: "meter", 104: "group", 105: "blockquote", 106: "audio", 107: "video", 108: "definition", 109: "article",
    110: "region", 111: "log", 112: "marquee", 113: "math", 114: "slider", 115: "timer", 116: "text", 121: "list",
    122: "term", 123: "definition", 124: "note", 127: "mark", 129: "button", 130: "switch",
}  # fmt: skip

PASSWORD = 40
TOGGLE_BUTTON = 62
LISTS = frozenset({31, 98, 121})
TABLES = frozenset({55, 66})

ACTIVE, BUSY, CHECKED, COLLAPSED, DEFUNCT, EDITABLE, ENABLED, EXPANDABLE, EXPANDED = 1, 3, 4, 5, 6, 7, 8, 9, 10
FOCUSABLE, FOCUSED, ICONIFIED, MODAL, MULTI_LINE, MULTISELECTABLE, PRESSED = 11, 12, 15, 16, 17, 18, 20
SELECTABLE, SELECTED, SENSITIVE, SHOWING, VISIBLE, MANAGES_DESCENDANTS, INDETERMINATE = 22, 23, 24, 25, 30, 31, 32
REQUIRED, INVALID_ENTRY, CHECKABLE, HAS_POPUP, READ_ONLY = 33, 36, 41, 42, 43

# States that are printed when they are set.
_SHOWN = {
    BUSY: "busy", EXPANDED: "expanded", FOCUSED: "focused", MODAL: "modal", MULTI_LINE: "multiline",
    MULTISELECTABLE: "multiselectable", SELECTED: "selected", INDETERMINATE: "mixed", REQUIRED: "required",
    INVALID_ENTRY: "invalid", ACTIVE: "active", HAS_POPUP: "haspopup",
}  # fmt: skip
_CHECKS = frozenset({"checkbox", "radio", "menuitemcheckbox", "menuitemradio", "switch"})
_TEXTS = frozenset({"textbox", "spinbutton", "combobox"})


def has(bits: int, state: int) -> bool:
    return bool(bits >> state & 1)


def states(bits: int, role: str, number: int, *, placed: bool) -> tuple[frozenset[str], frozenset[str]]:
    """An element's states in ARIA's words, and the states that its kind of element publishes at all."""
    on = {name for state, name in _SHOWN.items() if has(bits, state)}
    knows = {"disabled", "busy"}
    # Qt's menu items say that they are checked, and never that they can be.
    if role in _CHECKS or has(bits, CHECKABLE) or (role == "menuitem" and has(bits, CHECKED)):
        knows.add("checked")
        if has(bits, CHECKED):
            on.add("checked")
    elif number == TOGGLE_BUTTON:
        knows.add("pressed")
        if has(bits, CHECKED) or has(bits, PRESSED):
            on.add("pressed")
    if has(bits, SELECTABLE) or has(bits, SELECTED):
        knows.add("selected")
    if has(bits, EXPANDABLE) or has(bits, EXPANDED) or has(bits, COLLAPSED):
        knows.add("expanded")
        if not has(bits, EXPANDED):
            on.add("collapsed")
    if has(bits, FOCUSABLE):
        knows.add("focused")
    # Qt sets ENABLED and SENSITIVE together; Chromium leaves SENSITIVE away on plain text.
    if not has(bits, ENABLED) and not has(bits, SENSITIVE):
        on.add("disabled")
    if role in _TEXTS and (not has(bits, EDITABLE) or has(bits, READ_ONLY)):
        on.add("readonly")
    if not has(bits, SHOWING):
        on.add("offscreen" if placed and has(bits, VISIBLE) else "hidden")
    if number == PASSWORD:
        on.add("secret")
    return frozenset(on), frozenset(knows)
