"""Whether a step may be sent at all: dialogs in front, the person's focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alongside.core import ladder
from alongside.core.errors import CoveredByDialog, NeedsSandbox
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
