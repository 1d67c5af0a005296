"""Judging a step: what was before it, and what is read back after it, by the table of ``core.verify``.

For toolkits whose events tell of every change the last look, brought up to date by them, is what was before, and only
what an event names is read again afterwards: a click costs a few calls, not two walks. For the others the window is
read before and after.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alongside.core import verify
from alongside.core.checks import Check
from alongside.core.errors import AppGone, AppHung, Unavailable
from alongside.core.outcomes import Mark
from alongside.core.outline import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alongside.core.elements import Element, Snapshot, Window
    from alongside.core.steps import Step
    from alongside.driver.desktop import Desktop, Seen

# More elements than this are not read again one by one.
_FEW = 40
# So many elements tell whether a list has scrolled.
_SAMPLE = 8
_BROWSERS = frozenset({"Chromium", "Firefox"})
# A tree of which nothing was told for this long is up to date (seconds).
_QUIET = 0.08
# A reading is good for this long where no event tells of what comes and goes (seconds).
_FRESH = 1.0
# A window that is being judged is not read for longer (seconds).
_WALK = 2.0
_LEAVES = 1.0  # for so long the windows of an application may outlive its connections (seconds)
# Steps that may be meant to end an application.
_ENDS = frozenset({"click", "invoke", "key", "menu", "double_click"})
# Steps that may act on anything: judged by what changes.
ANYTHING = frozenset(
    {"click", "invoke", "key", "menu", "double_click", "right_click", "toggle", "drag", "hover", "type"}
)
# Steps that may replace what they act on by another object of the same place and name.
_REMADE = frozenset({"expand", "collapse"})


@dataclass(slots=True)
class Before:
    """What was before a step: the window's elements, its application's open windows, the target, and when."""

    snapshot: Snapshot
    shown: frozenset[tuple[int, str]]
    target: Element | None
    at: float
    # For a scroll: where some of the elements inside were.
    places: dict[str, Element]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a step ended, as far as it can be read; ``hold`` is what must still be true a little later."""

    mark: Mark
    told: str = ""
    reason: str = ""
    hold: Check | None = None
    subject: Element | None = None


class Judge:
    """Reads a window around one step."""

    def __init__(self, desktop: Desktop, window: Window, seen: Seen, *, patience: float) -> None:
        self._desktop, self._window, self._seen = desktop, window, seen
        # How long an element may take to be read (seconds).
        self._patience = patience
        self._tree = desktop.platform.tree
        self._doubted = False

    async def before(self, step: Step, target: Element | None, *, wants_state: bool) -> Before:
        """The window just before delivery. What changed since the last look without a step is restless from now on."""
        seen = self._seen
        if seen.snapshot.elements and (not wants_state or step.do in ANYTHING):
            await self._still()
            if seen.snapshot.toolkit in _BROWSERS:
                await self._quiet(step.settle / 1000)
            await self._refresh()
        shown = await self._desktop.shown(self._window)
        sample = await self._sample(target) if step.do == "scroll" else {}
        return Before(seen.snapshot, shown, target, time.monotonic(), sample)

    async def _still(self) -> None:
        rest = self._seen.watched + verify.STILL - time.monotonic()
        if rest > 0:
            await asyncio.sleep(rest)

    async def _quiet(self, most: float) -> None:
        """Wait until nothing is told for a while: a browser's tree is brought up to date some time after its page."""
        end = time.monotonic() + most
        application = self._seen.snapshot.elements[0].key.partition("/")[0] + "/"
        while (now := time.monotonic()) < end:
            late = [
                one.at
                for one in self._tree.heard(now - _QUIET)
                if one.key.startswith(application) and one.key not in self._seen.restless
            ]
            if not late:
                return
            await asyncio.sleep(late[-1] + _QUIET - now)

    async def _refresh(self) -> None:
        await self._desktop.readings(self._window)
        seen, old = self._seen, self._seen.snapshot
        events = self._tree.heard(old.taken)
        ours = {one.key for one in events if one.key in old.by_key}
        if self._is_old(old) or any(one.children for one in events) or len(ours) > _FEW:
            seen = await self._desktop.read(self._window)
            self._desktop.moved_by_itself(seen, old, seen.snapshot)
            return
        for key in ours:
            again = await self._tree.read(old.by_key[key], deadline=self._patience)
            if again is not None:
                seen.snapshot = seen.snapshot.with_element(again)
        self._desktop.moved_by_itself(seen, old, seen.snapshot)

    def _is_old(self, snapshot: Snapshot) -> bool:
        """Whether something may have come or gone since a reading that no event told of."""
        platform = self._desktop.platform
        if platform.tells_all(snapshot):
            return False
        if snapshot.toolkit not in platform.tells or snapshot.taken < self._seen.stepped:
            return True
        return time.monotonic() - snapshot.taken > _FRESH

    async def judge(self, step: Step, before: Before, wanted: Check | None, deadline: float) -> Verdict:
        """Read back until there is evidence, or until ``deadline`` (monotonic seconds)."""
        # Judged by what changes anywhere, where the step does not say what its target must show.
        # Typing is judged by its own text where it can be read: Return in a text changes menus and toolbars as well.
        typed = step.do == "type" and before.target is not None and before.target.value is not None
        anywhere = step.check is None and (
            (step.do in ANYTHING and not typed)
            or (wanted is None and not typed and not verify.is_formula(step, before.target))
            or _unknowable(step, before.target, wanted)
        )
        wait = 0.003
        last: Verdict | None = None
        walked = before.at
        while True:
            try:
                verdict = await self._scrolled(before) if before.places else await self._target(step, before, wanted)
                if verdict is None and anywhere:
                    verdict = await self._windows(before) or await self._events(before)
            except AppHung as hung:
                return Verdict(Mark.UNVERIFIED, f"sent, then {_lower(hung.message)}", "app_hung")
            except AppGone:
                return await self._gone(step, before)
            if verdict is not None and verdict.mark is Mark.CONFIRMED:
                return verdict
            last = verdict or last
            now = time.monotonic()
            if now >= deadline:
                break
            # A walk costs as much as the window is large: seldom, and less often as time passes.
            if anywhere and now - walked > 0.12 and not self._desktop.platform.tells_all(self._seen.snapshot):
                walked = now
                if found := await self._walk(before):
                    return found
            await asyncio.sleep(min(wait, max(0.0, deadline - now)))
            wait = min(wait * 1.6, 0.06)
        if last is None and anywhere:
            # A window may have opened while the old one was read.
            last = await self._walk(before) or await self._windows(before)
        return last or Verdict(
            Mark.UNVERIFIED, f"sent, nothing changed in {(time.monotonic() - before.at) * 1000:.0f} ms"
        )

    async def _target(self, step: Step, before: Before, wanted: Check | None) -> Verdict | None:
        """What the target itself shows."""
        target = before.target
        formula = verify.is_formula(step, target)
        if target is None or (wanted is None and step.do != "type" and not formula):
            return None
        now = await self._tree.read(target, deadline=self._patience)
        if now is None and step.do in _REMADE:
            now = await self._made_anew(target)
        if now is None:
            if step.check.holds(None) if step.check else step.do in ANYTHING and step.do != "type":
                return Verdict(Mark.CONFIRMED, "it is gone now")
            return Verdict(Mark.UNVERIFIED, "sent, and the element is gone now")
        if step.do == "type" and wanted is None:
            holds = verify.typed(target, now, step.text or "")
        elif formula:
            holds = verify.computed(target, now)
        else:
            holds = wanted.holds(now) if wanted is not None else None
        if holds:
            self._seen.snapshot = self._seen.snapshot.with_element(now)
            told = f"it shows {quote(now.value or '', 80)}" if formula else ""
            typed = Check(value=now.value) if step.do == "type" and wanted is None else None
            return Verdict(Mark.CONFIRMED, told, hold=wanted or typed, subject=now)
        if holds is None:
            quiet = step.check is None and (step.do in ANYTHING or _unknowable(step, now, wanted))
            return None if quiet else Verdict(Mark.UNVERIFIED, "sent; it does not publish what it holds")
        if step.check is None and step.do in {"set", "clear", "type", "select"} and now.value is not None:
            return Verdict(Mark.FAILED, f"it shows {quote(now.value, 120)}", "rejected")
        if step.check is None and step.do in ANYTHING:
            return None
        return Verdict(Mark.FAILED, f"sent, but it is not {wanted}", "no_effect")

    async def _made_anew(self, target: Element) -> Element | None:
        """The same row as another object: Qt 6.8 makes those of its trees anew when a branch opens (measured)."""
        seen = await self._desktop.read(self._window, deadline=_WALK)
        alike = [
            one
            for one in seen.snapshot
            if (one.role, one.name) == (target.role, target.name)
            and one.bounds is not None
            and target.bounds is not None
            and one.bounds[:2] == target.bounds[:2]
        ]
        return alike[0] if len(alike) == 1 else None

    async def _sample(self, target: Element | None) -> dict[str, Element]:
        """Some elements in what is to be scrolled (or in the window), read now."""
        snapshot = self._seen.snapshot
        if target is not None and not any(snapshot.below(target)):
            target = next(snapshot.ancestors(target), None)
        among = list(snapshot.below(target)) if target is not None else list(snapshot)
        placed = [one for one in among if one.bounds is not None and one.role != "scrollbar"]
        some = placed[:: max(1, len(placed) // _SAMPLE)][:_SAMPLE]
        read = [await self._tree.read(one, deadline=self._patience) for one in some]
        return {one.key: one for one in read if one is not None and one.bounds is not None}

    async def _scrolled(self, before: Before) -> Verdict | None:
        """How far the elements inside moved."""
        for key, old in before.places.items():
            now = await self._tree.read(old, deadline=self._patience)
            if now is None or now.bounds is None or old.bounds is None or now.bounds[:2] == old.bounds[:2]:
                continue
            self._seen.snapshot = self._seen.snapshot.with_element(now)
            moved = f"{now.bounds.x - old.bounds.x},{now.bounds.y - old.bounds.y}"
            return Verdict(Mark.CONFIRMED, f"moved {moved}: {_shown(before.snapshot.by_key.get(key, now))}")
        return None

    async def _windows(self, before: Before) -> Verdict | None:
        """A window, menu or dialog of the application that opened or closed."""
        shown = await self._desktop.shown(self._window)
        if shown == before.shown:
            return None
        listed = {one.native: one for one in await self._desktop.windows()}
        opened = shown - before.shown
        for native, kind in opened:
            if (window := listed.get(native)) is not None:
                return Verdict(Mark.CONFIRMED, f"{_kind(kind)} {window.id} {quote(window.title, 80)} opened")
        if any(kind == "popup" for _, kind in opened):
            return Verdict(Mark.CONFIRMED, "a menu or list opened")
        for native, kind in before.shown - shown:
            if kind in {"normal", "dialog"}:
                which = "this window" if native == self._window.native else f"a {_kind(kind)}"
                return Verdict(Mark.CONFIRMED, f"{which} closed")
            if kind == "popup":
                return Verdict(Mark.CONFIRMED, "a menu or list closed")
        return None

    async def _events(self, before: Before) -> Verdict | None:
        """What the elements show now that events spoke of since delivery."""
        keys = dict.fromkeys(one.key for one in self._tree.heard(before.at) if not one.children)
        if any(one.children for one in self._tree.heard(before.at)):
            return await self._walk(before)
        for key in list(keys)[:_FEW]:
            old = before.snapshot.by_key.get(key)
            if old is None or self._seen.is_restless(old):
                continue
            now = await self._tree.read(old, deadline=self._patience)
            if now is None:
                continue
            after = before.snapshot.with_element(now)
            found = verify.changes(before.snapshot, after, self._seen.is_restless)
            if found and (verdict := await self._believed(found, before)):
                self._seen.snapshot = self._seen.snapshot.with_element(now)
                return verdict
        return None

    async def _walk(self, before: Before) -> Verdict | None:
        """What differs in the whole window."""
        try:
            seen = await self._desktop.read(self._window, deadline=_WALK)
        except (AppGone, AppHung, Unavailable):
            return None
        verdict = await self._believed(verify.changes(before.snapshot, seen.snapshot, seen.is_restless), before)
        # A window that opened meanwhile tells more than what it changed in the old one.
        return verdict and (await self._windows(before) or verdict)

    async def _believed(self, found: Iterable[verify.Change], before: Before) -> Verdict | None:
        """The first change that is the step's: what changed shortly before it, too, must stay still now."""
        doubtful = []
        for change in self._in_scope(found, before):
            if self._is_calm(change, before):
                return _changed(change)
            doubtful.append(change)
        for change in await self._staying(doubtful):
            return _changed(change)
        return None

    def _is_calm(self, change: verify.Change, before: Before) -> bool:
        """Whether it was watched long enough before the step without changing, or has shown that it is no clock."""
        own = before.target is not None and before.target.editable and before.target.key in _sources(change)
        if own or _place(change) in self._seen.calm:
            return True  # a field that is written in is no clock
        keys, since = _sources(change), before.at - verify.PROBATION
        lately = any(one.key in keys and one.at < before.at for one in self._tree.heard(since))
        # A page comes after the window: that one is watched says nothing of what is new in it.
        watched = change.element.key if change.kind == "changed" else change.element.parent or ""
        return not lately and (not change.text or self._seen.since.get(watched, before.at) < since)

    async def _staying(self, changes: list[verify.Change]) -> list[verify.Change]:
        """Those of the changes that stay as they are for a while; the others are restless."""
        if not changes or self._doubted:
            return []
        self._doubted = True  # once a step: there is always something else that moves
        changed = time.monotonic()
        await asyncio.sleep(verify.PROBATION)
        again = {one.key for one in self._tree.heard(changed)}
        staying = []
        for change in changes:
            element, keys = change.element, _sources(change)
            now = element if change.kind == "removed" else await self._tree.read(element, deadline=self._patience)
            if now is None or (now.name, now.value) != (element.name, element.value) or again & keys:
                self._seen.restless.update(dict.fromkeys(again & keys | {element.key}, time.monotonic()))
            else:
                self._seen.calm.add(_place(change))
                staying.append(change)
        return staying

    def _in_scope(self, found: Iterable[verify.Change], before: Before) -> Iterable[verify.Change]:
        """What lies in the target's document, or in any: a browser's own parts change as they like."""
        target, trees = before.target, (before.snapshot, self._seen.snapshot)
        if target is not None:
            around = [one.key for one in before.snapshot.ancestors(target) if one.role == "document"][:1]
        elif before.snapshot.toolkit in _BROWSERS:
            around = [one.key for tree in trees for one in tree if one.role == "document"]
        else:
            around = []
        if not around:
            return found
        return [
            change
            for change in found
            if any(one.key in around for tree in trees for one in (change.element, *tree.ancestors(change.element)))
        ]

    async def _gone(self, step: Step, before: Before) -> Verdict:
        """The application went away: what a click or key may be for, and nothing that a value is set for."""
        end = time.monotonic() + _LEAVES
        while not (went := before.shown - await self._desktop.shown(self._window)) and time.monotonic() < end:
            await self._desktop.platform.windows.changed(0.05)
        if went and step.do in _ENDS:
            return Verdict(Mark.CONFIRMED, "the application closed its window and ended")
        return Verdict(Mark.FAILED, "sent, and the application is gone", "app_gone")


def _changed(change: verify.Change) -> Verdict:
    return Verdict(Mark.CONFIRMED, f"{change.kind}: {_shown(change.element)}")


def _sources(change: verify.Change) -> set[str]:
    """The elements whose events speak of a change: what comes and goes is told by what it is in."""
    element = change.element
    return {element.key} if change.kind == "changed" else {element.key, element.parent or ""}


def _place(change: verify.Change) -> str:
    """What is remembered of a change that was no clock's: the element, or what others come and go in."""
    return change.element.key if change.kind == "changed" else f"in {change.element.parent}"


def _unknowable(step: Step, target: Element | None, wanted: Check | None) -> bool:
    """Whether what is chosen does not publish that it is: Qt's tabs do not."""
    return step.do == "select" and wanted is not None and target is not None and wanted.holds(target) is None


def _shown(element: Element) -> str:
    name = f" {quote(element.name, 80)}" if element.name else ""
    value = f" = {quote(element.value, 80)}" if element.value is not None and not element.secret else ""
    return f"{element.role}{name}{value}"


def _kind(kind: str) -> str:
    return "window" if kind == "normal" else kind


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
