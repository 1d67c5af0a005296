"""Password fields: what is in them is the person's, so nothing that could change it is sent, by any way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alongside.core.errors import SecretField

if TYPE_CHECKING:
    from alongside.core.elements import Element, Snapshot
    from alongside.core.geometry import Point
    from alongside.core.steps import Step
    from alongside.driver.desktop import Desktop, Seen

_WRITING = frozenset({"set", "type", "clear"})
# What one may press in a password field: to leave it, to send it off, to move in it. Everything else may write there:
# letters, their names ("at", "exclam"), ctrl+v, shift+insert, ctrl+shift+u.
_HARMLESS = {
    *("return", "enter", "kp_enter", "tab", "iso_left_tab", "escape", "esc", "up", "down", "left", "right", "home"),
    *("end", "page_up", "page_down", "pageup", "pagedown", "prior", "next"),
    *(f"f{number}" for number in range(1, 13)),
}

Spot = tuple["Element | None", "Point | None"]
"""What a step is for: an element, or a point in the window's frame."""


async def refuse(desktop: Desktop, step: Step, seen: Seen, start: Spot, end: Spot) -> None:
    """``SecretField`` where a step could write into a password field; what it would write is not in the error.

    ``end`` is where a drag goes.
    """
    element, point = end if step.do == "drag" else start
    if step.do == "key":
        writes = _writes(step.keys or "")
    elif step.do == "click":
        writes = step.button == "middle"  # pastes what is selected
    else:
        writes = step.do in _WRITING or step.do == "drag"
    if not writes:
        return
    if element is not None:
        found = element if element.secret else None
    elif seen.snapshot.elements:
        snapshot = (await desktop.read(seen.snapshot.window)).snapshot
        found = _secret_at(snapshot, point) if point is not None else _focused(snapshot)
    else:
        return  # a window without a tree does not say where its password fields are
    if found is None and _leaves(step, element):
        found = next((one for one in seen.snapshot if one.secret and not one.states & {"hidden"}), None)
    if found is not None:
        ref = desktop.ref(found, seen.snapshot.window.id)
        raise SecretField(
            f"{step.do}: [{ref}] is a password field, or what is typed may get into it; nothing was sent. Its text is "
            "the person's.",
            next="ask the person to type it there; fill in every other field by a step of its own",
        )


def _writes(keys: str) -> bool:
    # A plus at the end is the key itself ("ctrl++").
    return keys.lower().strip().rpartition("+")[2] not in _HARMLESS


def _leaves(step: Step, element: Element | None) -> bool:
    """Whether text that is typed may go on in another field; a key at its end only leaves this one."""
    text = (step.text or "").rstrip("\r\n\t")
    several = element is not None and "multiline" in element.states
    return step.do == "type" and ("\t" in text or (("\n" in text or "\r" in text) and not several))


def _focused(snapshot: Snapshot) -> Element | None:
    return next((one for one in snapshot if one.secret and "focused" in one.states), None)


def _secret_at(snapshot: Snapshot, point: Point | None) -> Element | None:
    if point is None:
        return None
    return next((one for one in snapshot if one.secret and one.bounds is not None and one.bounds.holds(point)), None)
