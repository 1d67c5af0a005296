"""Whether a step may be sent at all: dialogs in front, the person's secrets, the person's focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alongside.core import ladder
from alongside.core.errors import CoveredByDialog, NeedsSandbox, SecretField
from alongside.core.ladder import Disturbs
from alongside.core.outline import quote

if TYPE_CHECKING:
    from alongside.core.elements import Element, Window
    from alongside.core.steps import Step
    from alongside.driver.desktop import Desktop


async def no_dialog_in_front(desktop: Desktop, window: Window, step: Step) -> None:
    """``CoveredByDialog`` where a modal dialog keeps everything from its window."""
    for one in await desktop.windows():
        if one.owner == window.native and one.id != window.id and "modal" in one.states:
            raise CoveredByDialog(
                f"{step.named()}: the dialog {one.id} {quote(one.title, 80)} is in front of {window.id}.",
                next=f'look("{one.id}"), then act there',
            )


async def no_secret(desktop: Desktop, window: Window, step: Step, element: Element | None, what: str) -> None:
    """``SecretField`` where a step would write into a password field."""
    prints = step.do == "key" and _prints(step.keys or "")
    if element is None and prints:
        seen = await desktop.read(window)
        element = next((one for one in seen.snapshot if one.secret and "focused" in one.states), None)
    if element is not None and element.secret and (prints or step.do in {"set", "type", "clear"}):
        raise SecretField(f"{what} is a password field: its text is the person's.", next="ask the person to type it")


async def keeps_focus(desktop: Desktop, window: Window, step: Step, element: Element | None, what: str) -> None:
    """``NeedsSandbox`` where a step is known to cost the person their focus, and nobody accepted that."""
    if step.accept == "focus" or Disturbs.FOCUS in desktop.allowed:
        return
    told = ""
    if meant(window, step, element) in desktop.took_focus:
        told = "the application took the person's focus when this was done before"
    elif ladder.opens_window(step.do, step.path or (element.name if element is not None else "")):
        seen = desktop.seen.get(window.id)
        manager = await desktop.platform.windows.manager()
        if ladder.gives_focus(manager, seen.snapshot.toolkit if seen is not None else ""):
            told = f"it opens a window, and {manager} gives that the focus which the person has"
    if told:
        raise NeedsSandbox(f"{what}: {told}.", next='the same step with "accept": "focus", or a sandbox')


def meant(window: Window, step: Step, element: Element | None) -> tuple[str, str, str]:
    """By what a step that took the focus is known again: the application, and what it was for."""
    return window.app, element.role if element is not None else step.do, element.name if element is not None else ""


def _prints(keys: str) -> bool:
    """Whether a chord writes a character rather than doing something."""
    *held, key = keys.lower().split("+")
    return (len(key) <= 1 or key == "space") and not set(held) - {"shift"}
