"""Delivering steps through AT-SPI: actions by known names, selection, values, text, focus.

Never an action by its index alone: GTK labels and text views carry clipboard and delete actions in the first places,
and one of them ends GTK 4.8 (measured).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbus_fast import Variant

from alongside.core.checks import number
from alongside.core.errors import AppHung
from alongside.core.geometry import Rect
from alongside.core.outline import quote
from alongside.core.ports import Act, Delivery, Passed
from alongside.core.targets import only
from alongside.platforms.linux.atspi.bus import (
    ACCESSIBLE,
    ACTION,
    COMPONENT,
    EDITABLE,
    PROPERTIES,
    SELECTION,
    TEXT,
    VALUE,
    Bus,
    Call,
    CallFailed,
    Node,
    get,
)
from alongside.platforms.linux.atspi.elements import origin_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from alongside.core.elements import Element

# What each kind of element calls its main action, in lower case, by GTK, Qt, Chromium, Firefox, LibreOffice, Swing.
_CLICKS: dict[str, tuple[str, ...]] = {
    "button": ("click", "press", "toggle", "dodefault", "do default"),
    "link": ("jump", "click", "press", "activate", "dodefault"),
    "menuitem": ("click", "press", "trigger", "dodefault", "select", "activate"),
    "menuitemcheckbox": ("click", "press", "toggle", "check", "uncheck", "dodefault"),
    "menuitemradio": ("click", "press", "toggle", "check", "select", "dodefault"),
    "checkbox": ("click", "press", "toggle", "check", "uncheck", "dodefault"),
    "switch": ("click", "press", "toggle", "check", "uncheck", "dodefault"),
    "radio": ("click", "press", "toggle", "check", "select", "dodefault"),
    "tab": ("press", "click", "switch", "select", "dodefault"),
}
# Qt's rows of lists are chosen by "toggle"; GTK 3's "edit" takes the focus and "activate" opens.
_CHOOSES = ("select", "click", "press", "toggle", "dodefault")
_EXPANDS = ("expand or contract", "toggleexpand", "toggle", "expand")
_COLLAPSES = ("expand or contract", "toggleexpand", "toggle", "collapse")
_ITEMS = frozenset({"menuitem", "menuitemcheckbox", "menuitemradio"})
_HOLDERS = frozenset({"combobox", "list", "listbox", "tree", "table", "tablist", "menu", "group"})
# What names the row that it is in (GTK 4's rows have no names).
_TEXTS = frozenset({"label", "text"})
_CHOICES = frozenset({"option", "menuitem", "menuitemradio", "tab", "row", "cell", "treeitem", "radio"})


def _node(element: Element) -> Node:
    return origin_of(element).node


def _has(element: Element, interface: str) -> bool:
    return interface in origin_of(element).interfaces


async def _send(bus: Bus, call: Call, told: str) -> Delivery:
    """One call that changes something. A time-out is unknown: it is carried out when the application goes on."""
    try:
        answer = await bus.call(call, 1.0)
    except AppHung:
        return Delivery(f"{told}: no answer", unknown=True)
    except CallFailed as failed:
        raise Passed(f"{call.member}: {failed.name.rpartition('.')[2]}") from None
    if answer is False:
        raise Passed(f"{call.member} was refused")
    return Delivery(told)


async def action(bus: Bus, act: Act) -> Delivery:
    """The element's own action: what a click on it means, choosing it, or expanding it."""
    element, step = act.the_element(), act.step
    known: tuple[str, ...]
    match step.do:
        case "expand" | "collapse" if origin_of(element).toolkit == "Qt":
            raise Passed("its trees take no action")  # it says yes and does nothing: measured on Qt 5 and 6
        case "expand":
            known = _EXPANDS
        case "collapse":
            known = _COLLAPSES
        case "set" | "select" if step.value is not None:
            if element.role not in _HOLDERS:
                raise Passed(f"a {element.role} has no options")
            if element.role == "combobox" and origin_of(element).toolkit == "Qt":
                raise Passed("its list changes without it")  # measured on Qt 5 and 6
            element, known = _choice(act, step.value), _CHOOSES
        case "select":
            known = _CHOOSES
        case _:
            if step.button != "left" or step.count != 1 or step.modifiers:
                raise Passed("only a plain click has an action")
            if element.role in _ITEMS and "hidden" not in element.states and origin_of(element).toolkit == "Qt":
                raise Passed("its menu would stay open")  # measured on Qt 5 and 6
            known = _CLICKS.get(element.role, ())
    if not _has(element, ACTION):
        raise Passed("it has no actions")
    names = await _action_names(bus, _node(element))
    name = next((one for one in known if one in names), None)
    if name is None:
        raise Passed(
            f"no known action of a {element.role} for {step.do} (it offers: {', '.join(names)[:80] or 'none'})"
        )
    return await _send(bus, Call(_node(element), ACTION, "DoAction", "i", (names.index(name),)), f'action "{name}"')


async def _action_names(bus: Bus, node: Node) -> list[str]:
    """The names of an object's actions in lower case: GetActions has them in the person's language, or not at all."""
    count = await bus.try_call(get(node, ACTION, "NActions")) or 0
    found = await bus.gather([Call(node, ACTION, "GetName", "i", (index,)) for index in range(min(int(count), 32))])
    return [str(name or "").strip().lower() for name in found]


async def selection(bus: Bus, act: Act) -> Delivery:
    """Choose a child of a list, combo, table or tab list: by the nearest ancestor that selects its children."""
    element, step, snapshot = act.the_element(), act.step, act.snapshot
    if step.value is not None:
        if element.role not in _HOLDERS:
            raise Passed(f"a {element.role} has no options")
        container: Element | None = element
        child = _choice(act, step.value)
    else:
        around = (element, *snapshot.ancestors(element)) if element.role in _TEXTS else (element,)
        row = next((one for one in around if one.role in _CHOICES), None)
        if row is None:
            raise Passed(f"a {element.role} is not chosen from anything")
        child, container = row, next((one for one in snapshot.ancestors(row) if _has(one, SELECTION)), None)
    if container is None or not _has(container, SELECTION):
        raise Passed("nothing above it selects its children")
    # The child that is selected may be an ancestor of the named one.
    chain = [child, *snapshot.ancestors(child)]
    below = next((one for one in chain if one.parent == container.key), child)
    index = await bus.try_call(Call(_node(below), ACCESSIBLE, "GetIndexInParent"))
    if container.role == "combobox" and below is not child:
        # GTK 3 combos count the items of their menu, not the menu.
        index = await bus.try_call(Call(_node(child), ACCESSIBLE, "GetIndexInParent"))
    if index is None or index < 0:
        raise Passed("it has no place among its siblings")
    # Chromium clears a selection by a click on what is selected (measured).
    cleared, clears = False, origin_of(container).toolkit not in {"Chromium", "Firefox"}
    if clears and "multiselectable" not in container.states and container.role in {"table", "tree", "list", "listbox"}:
        cleared = bool(await bus.try_call(Call(_node(container), SELECTION, "ClearSelection")))
    told = f"selection of {quote(child.name, 60)}"
    try:
        return await _send(bus, Call(_node(container), SELECTION, "SelectChild", "i", (int(index),)), told)
    except Passed as why:
        if not cleared:
            raise
        # Something was sent: what is selected now is read, and tells whether another way is to be tried.
        return Delivery(f"the selection was cleared; {why}")


def _choice(act: Act, wanted: str) -> Element:
    options = [one for one in act.snapshot.below(act.the_element()) if one.role in _CHOICES]
    option = only(wanted, options, act.snapshot)
    if option is None:
        raise Passed(f"no option {quote(wanted, 60)} is in the tree")
    return option


async def value(bus: Bus, act: Act) -> Delivery:
    """A number, for sliders, spin buttons and spreadsheet cells."""
    element = act.the_element()
    if not _has(element, VALUE) or element.role == "combobox":
        raise Passed("it holds no number")
    given = number(act.step.value or "", element.role)
    if given is None:
        raise Passed("what is to be set is no number")
    node = _node(element)
    call = Call(node, PROPERTIES, "Set", "ssv", (VALUE, "CurrentValue", Variant("d", given)))
    return await _send(bus, call, "value")


async def text(bus: Bus, act: Act) -> Delivery:
    """Replace or insert text through the editable text interface: any Unicode, no keyboard."""
    element, step = act.the_element(), act.step
    if not _has(element, EDITABLE) or "readonly" in element.states:
        raise Passed("its text cannot be edited this way")
    if element.role == "spinbutton":
        raise Passed("text set this way is not taken over by a spin button")  # measured on GTK 3 and 4
    node, new = _node(element), step.wants_text()
    if any(sign in new for sign in "\n\t\r") and "multiline" not in element.states:
        raise Passed("new lines and tabs are keys here")
    if step.do in {"set", "clear"}:
        return await _send(bus, Call(node, EDITABLE, "SetTextContents", "s", (new,)), "text")
    at = await caret(bus, element)
    if at is None:
        raise Passed("it does not tell where its caret is")
    if await bus.try_call(Call(node, TEXT, "GetNSelections")):
        raise Passed("typing would replace its selection")
    # Qt counts in UTF-16 units and reads on behind a text that is shorter than it was told; the others take bytes, and
    # characters for the caret (measured: memory of the application came into a document).
    units = len(new.encode("utf-16-le")) // 2
    qt = origin_of(element).toolkit == "Qt"
    length, step_on = (units, units) if qt else (len(new.encode()), len(new))
    delivery = await _send(bus, Call(node, EDITABLE, "InsertText", "isi", (at, new, length)), "text")
    # GTK moves the caret with the text; Qt leaves it.
    await move_caret(bus, element, at + step_on)
    return delivery


async def caret(bus: Bus, element: Element) -> int | None:
    """Where the caret of a text is, in the units of its toolkit; None where it does not tell."""
    at = await bus.try_call(get(_node(element), TEXT, "CaretOffset")) if _has(element, TEXT) else None
    return at if isinstance(at, int) and at >= 0 else None


async def move_caret(bus: Bus, element: Element, at: int) -> None:
    """Put the caret of a text somewhere."""
    await bus.try_call(Call(_node(element), TEXT, "SetCaretOffset", "i", (at,)))


async def has_selection(bus: Bus, element: Element) -> bool:
    """Whether a part of a text is selected."""
    return bool(_has(element, TEXT) and await bus.try_call(Call(_node(element), TEXT, "GetNSelections")))


async def character(bus: Bus, element: Element, at: int) -> Rect | None:
    """Where a character of a text is, in the element's own coordinates; None where it does not tell."""
    if not _has(element, TEXT):
        return None
    coordinates = origin_of(element).coordinates
    found = await bus.try_call(Call(_node(element), TEXT, "GetCharacterExtents", "iu", (at, coordinates)))
    return Rect(*found) if found and found[3] > 0 else None


async def focus(bus: Bus, act: Act) -> Delivery:
    """The keyboard focus (activates and raises the window on GTK 3: measured)."""
    return await grab_focus(bus, act.the_element())


async def grab_focus(bus: Bus, element: Element) -> Delivery:
    if not _has(element, COMPONENT):
        raise Passed("it cannot take the focus")
    return await _send(bus, Call(_node(element), COMPONENT, "GrabFocus"), "focus")


TECHNIQUES: dict[str, Callable[[Bus, Act], Awaitable[Delivery]]] = {
    "atspi.action": action,
    "atspi.selection": selection,
    "atspi.value": value,
    "atspi.text": text,
    "atspi.focus": focus,
}
