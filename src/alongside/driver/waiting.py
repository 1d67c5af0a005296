"""Waiting for what a window shows, or shows no more."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from alongside.core import targets
from alongside.core.errors import AppGone, AppHung, NotFound, Stale, TimedOut, Unavailable
from alongside.core.outcomes import Mark, Outcome
from alongside.core.outline import element_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from alongside.core.elements import Element, Window
    from alongside.core.steps import Step
    from alongside.driver.desktop import Desktop

# How long a reading may take while something is waited for, and how often is looked (seconds).
_READ, _POLL = 0.5, 0.05


class Waiting:
    """Looks at one window again and again."""

    def __init__(self, desktop: Desktop, window: Window) -> None:
        self._desktop, self._window = desktop, window

    async def wait(self, step: Step) -> Outcome:
        """A step that only waits; ``TimedOut`` where it did in vain."""
        started = time.monotonic()
        await self._desktop.permitted(self._window, acting=True)
        what = f"wait {step.named().removeprefix('wait').strip()}".strip()
        if step.seconds is not None:
            await asyncio.sleep(step.seconds)
            return Outcome(Mark.CONFIRMED, what, f"{step.seconds:g} s", ms=(time.monotonic() - started) * 1000)
        if await self.until(lambda: self._holds(step), started + step.timeout):
            return Outcome(Mark.CONFIRMED, what, ms=(time.monotonic() - started) * 1000)
        raise TimedOut(f"{what}: not in {step.timeout:g} s.", next="a longer `timeout` (up to 50), or look")

    async def _holds(self, step: Step) -> bool:
        if step.text is not None:
            return await self.shows(step.text) is not step.gone
        target = targets.parse(step.check.target) if step.check and step.check.target is not None else step.target
        if not isinstance(target, targets.ByRef | targets.ByName):
            raise NotFound("`wait` takes a ref or a name.")
        seen = await self._desktop.read(self._window, deadline=_READ)
        try:
            element: Element | None = targets.resolve(target, seen.snapshot, self._desktop.refs)
        except (NotFound, Stale):
            element = None
        if step.check is not None:
            return bool(step.check.holds(element))
        return (element is None) is step.gone

    async def shows(self, text: str, where: list[str] | None = None) -> bool:
        """Whether a text stands in this window, or in the title of one of its application's windows; and in what."""
        wanted = text.casefold()
        windows = [one for one in await self._desktop.windows() if one.pid == self._window.pid]
        for one in windows:
            if wanted in one.title.casefold():
                if where is not None:
                    where.append(f"the title of {one.id}")
                return True
        if not any(one.id == self._window.id for one in windows):
            return False
        seen = await self._desktop.read(self._window, deadline=_READ)
        for element in seen.snapshot:
            if "hidden" in element.states:
                continue
            if wanted in element.name.casefold() or wanted in (element.value or "").casefold():
                if where is not None:
                    where.append(element_line(element, self._desktop.ref(element, self._window.id)))
                return True
        return False

    async def until(self, holds: Callable[[], Awaitable[bool]], deadline: float) -> bool:
        """Whether it comes to hold before ``deadline`` (monotonic seconds); looked at once at least."""
        while True:
            # A window that comes or goes tells nothing, nor does an application that does not answer now.
            with contextlib.suppress(Unavailable, AppGone, AppHung):
                if await holds():
                    return True
            if time.monotonic() >= deadline:
                return False
            await asyncio.sleep(_POLL)
