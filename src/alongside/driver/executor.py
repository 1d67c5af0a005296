"""One batch: each step resolved, guarded, delivered by the ladder, read back and judged."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from alongside.core import ladder, targets, verify
from alongside.core.errors import (
    AlongsideError,
    AppHung,
    BackgroundUnavailable,
    Invalid,
    NeedsSandbox,
    SecretField,
    Unavailable,
)
from alongside.core.outcomes import Mark, Outcome
from alongside.core.outline import quote
from alongside.core.ports import Act, Delivery, Passed
from alongside.driver import permit, secrets
from alongside.driver.aim import Aim
from alongside.driver.evidence import ANYTHING, Before, Judge, Verdict
from alongside.driver.looks import steady
from alongside.driver.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from alongside.core.checks import Check
    from alongside.core.elements import Element, Window
    from alongside.core.steps import Step
    from alongside.driver.desktop import Desktop, Seen

# Steps that only change what a field holds: what they claim is read once more before the next other step.
_FIELD = frozenset({"set", "clear", "check", "uncheck", "select", "expand", "collapse", "focus", "type", "wait"})
# Reading back what was typed takes as long as the application takes to draw it (seconds).
_TEXT_TIME, _PER_CHARACTER = 1.0, 0.01
# What was found to be the same element is believed to be for this long (seconds).
_GUARDED = 0.03


class Batch:
    """The steps of one call on one window."""

    def __init__(self, desktop: Desktop, window: Window) -> None:
        self._desktop, self._window = desktop, window
        self._tree = desktop.platform.tree
        self.outcomes: list[Outcome] = []
        # What was confirmed and must still hold a moment later: outcome's place, verdict, when it was seen.
        self._held: list[tuple[int, Verdict, float]] = []
        # What the step under way is for, so that an application that takes the focus then is known by it.
        self._meant: tuple[str, str, str] | None = None

    async def run(self, steps: Sequence[Step], say: Callable[[int, str], None]) -> list[Outcome]:
        """Carry the steps out in order until one fails; an outcome for each."""
        for number, step in enumerate(steps):
            say(number, step.do)
            relies = step.do not in _FIELD or (step.do == "type" and step.target is None)
            if (relies or any(_passes_on(one) for _, one, _ in self._held)) and not await self._still_holds():
                break
            outcome = await self._step(step)
            self.outcomes.append(outcome)
            if outcome.mark is Mark.FAILED:
                break
        await self._still_holds(last=True)
        self._refresh_later()
        done = len(self.outcomes)
        self.outcomes += [Outcome(Mark.NOT_EXECUTED, step.named()) for step in steps[done:]]
        return self.outcomes

    async def stopped(self, steps: Sequence[Step], why: AlongsideError) -> list[Outcome]:
        """The outcomes of a batch that was ended from outside: of what was done, of the step under way, of the rest."""
        await self._still_holds()
        done = len(self.outcomes)
        for step in steps[done : done + 1]:
            told = why.message if step.do == "wait" else f"{why.message} How much of it was sent is unknown."
            self.outcomes.append(Outcome(Mark.FAILED, step.named(), told, reason=why.reason, next=why.next or ""))
        self.outcomes += [Outcome(Mark.NOT_EXECUTED, step.named()) for step in steps[done + 1 :]]
        return self.outcomes

    def _refresh_later(self) -> None:
        """Read the window again once the answer is out: the next step is judged against it, where events leave gaps."""
        seen = self._desktop.seen.get(self._window.id)
        if seen is not None and not self._desktop.platform.tells_all(seen.snapshot):
            self._desktop.read_soon(self._window)

    async def _still_holds(self, *, last: bool = False) -> bool:
        """Read once more what was confirmed: a box may untick itself, a field may take its old text back."""
        held, self._held = self._held, []
        good = True
        for place, verdict, seen_at in held:
            assert verdict.hold is not None and verdict.subject is not None  # noqa: PT018,S101 - what is held has both
            rest = seen_at + verify.holds_for(verdict.hold, verdict.subject, last=last) - time.monotonic()
            if rest > 0:
                await asyncio.sleep(rest)
            try:
                now = await self._tree.read(verdict.subject)
            except AlongsideError:
                continue
            if now is not None and verdict.hold.holds(now) is False:
                old = self.outcomes[place]
                shows = f"; it shows {quote(now.value, 80)}" if now.value is not None else ""
                told = f"it was {verdict.hold} for a moment, and the application took it back{shows}"
                self.outcomes[place] = Outcome(
                    Mark.FAILED, old.what, told, old.technique, old.ms, "rejected", f'look("{self._window.id}")'
                )
                good = False
        return good

    async def _step(self, step: Step) -> Outcome:
        started, self._meant = time.monotonic(), None
        focus = self._desktop.platform.focus if step.do != "wait" else None
        if focus is not None:
            await focus.begin(self._window)
        try:
            if step.do == "wait":
                outcome = await self._waiting.wait(step)
            elif step.steps > 1 or step.until is not None:
                outcome = await self._scroll(step, started)
            else:
                outcome = await self._act(step, started)
        except Passed as passed:
            outcome = Outcome(Mark.FAILED, step.named(), str(passed), reason="unavailable")
        except AlongsideError as error:
            what = step.do if isinstance(error, SecretField) else step.named()
            outcome = Outcome(
                Mark.FAILED, what, error.message, reason=error.reason, next=error.next or "", ms=_ms(started)
            )
        except Exception as broken:  # noqa: BLE001 - a step that breaks must not lose the outcomes before it
            outcome = Outcome(
                Mark.FAILED,
                step.named(),
                f"it broke, and what was sent is unknown: {quote(repr(broken), 200)}",
                reason="unavailable",
                next=f'look("{self._window.id}")',
                ms=_ms(started),
            )
        finally:
            if focus is not None:
                focus.end()
        if focus is not None:
            await focus.settled()
        if focus is not None and focus.taken and self._meant is not None:
            outcome = replace(outcome, told="; ".join(one for one in (outcome.told, focus.taken) if one))
            self._desktop.took_focus.add(self._meant)
        if step.do != "wait":
            self._stepped()
        return outcome

    def _stepped(self) -> None:
        if (seen := self._desktop.seen.get(self._window.id)) is not None:
            seen.stepped = time.monotonic()

    async def _act(self, step: Step, started: float) -> Outcome:
        desktop = self._desktop
        self._window = window = await desktop.window(self._window.id, acting=True)
        seen = await self._seen(step)
        aim = Aim(desktop, window)
        await permit.no_dialog_in_front(desktop, window, step)
        element, point = await aim.target(step, seen)
        guarded = 0.0
        if element is not None:
            element = await aim.guarded(step, element, seen)
            guarded = time.monotonic()
            # What an earlier step did to it no longer has to hold.
            self._held = [one for one in self._held if one[1].subject is None or one[1].subject.key != element.key]
        what = self._described(step, element)
        end, end_element = await aim.end(step, seen)
        await secrets.refuse(desktop, step, seen, (element, point), (end_element, end))
        self._meant = permit.meant(window, step, element)
        await permit.keeps_focus(desktop, window, step, element, what)
        if why := verify.impossible(step, element):
            raise Invalid(f"{what}: {why}.", next=f'{{"do": "click", "target": {json.dumps(str(step.target))}}}')
        subject = await aim.subject(step, element, seen)
        wanted = step.check or verify.implied(step, element)
        expected_before = step.expect is not None and await self._waiting.until(
            lambda: self._waiting.shows(step.expect or ""), 0.0
        )
        judged = subject is not None or _appears(step)
        stated = step.check or step.do not in ANYTHING or verify.chosen(step, element)
        if wanted is not None and judged and wanted.holds(subject):
            if stated:
                return Outcome(Mark.ALREADY, what, f"{wanted} already", ms=_ms(started))
            wanted = None  # what held before is no evidence: a click on a radio that is on
        judge = Judge(desktop, window, seen, patience=min(1.0, max(0.1, step.timeout)))
        before = await judge.before(step, subject, wants_state=wanted is not None)
        act = Act(step, window, seen.snapshot, element, point, end, end_element)
        rungs = ladder.ladder(
            step.do,
            desktop.allowed,
            step.via,
            toolkit=seen.snapshot.toolkit,
            role=element.role if element else "",
            opens=element is not None and ladder.opens(element, seen.snapshot),
        )
        last = next((one for one, why in reversed(rungs) if not why), None)
        passed: list[str] = []
        told = ""
        for technique, why_not in rungs:
            if why_not:
                passed.append(f"{technique.name}: {why_not}")
                continue
            if element is not None and time.monotonic() - guarded > _GUARDED:
                act = replace(act, element=await aim.guarded(step, element, seen))
                guarded = time.monotonic()
            most = max(step.timeout, 0.3) + _PER_CHARACTER * len(step.wants_text())
            try:
                async with asyncio.timeout(most):
                    delivery = await desktop.platform.deliver(technique.name, act)
            except Passed as why:
                passed.append(f"{technique.name}: {why}")
                continue
            except AppHung as hung:
                delivery = Delivery(hung.message, unknown=True)
            except TimeoutError:
                delivery = Delivery(f"the application did not take it in {most:g} s", unknown=True)
            verdict = await self._verdict(step, judge, before, wanted, expected_before=expected_before)
            if delivery.unknown and verdict.mark is not Mark.CONFIRMED:
                verdict = Verdict(
                    Mark.UNVERIFIED, f"{delivery.told}; it may still happen, so it is not sent again", "timeout"
                )
            if verdict.mark is Mark.FAILED and step.do in ladder.REPEATABLE and technique is not last:
                passed.append(f"{technique.name}: {verdict.told}")
                told = verdict.told
                continue
            if verdict.hold is not None and verdict.mark is Mark.CONFIRMED and verdict.subject is not None:
                self._held.append((len(self.outcomes), verdict, time.monotonic()))
            return Outcome(
                verdict.mark,
                what,
                "; ".join(one for one in (verdict.told, delivery.aside) if one),
                technique.name,
                _ms(started),
                verdict.reason,
                passed_over=tuple(passed),
            )
        return self._no_way(step, what, passed, told, started)

    async def _scroll(self, step: Step, started: float) -> Outcome:
        """Scroll step by step, until an element shows or nothing moves any more."""
        once, turns = replace(step, steps=1, until=None), 0
        outcome = Outcome(Mark.UNVERIFIED, step.named())
        while step.until is None or not await Aim(self._desktop, self._window).in_sight(step.until):
            if turns == step.steps:
                break
            if turns:
                await asyncio.sleep(step.delay)
            last = await self._act(once, started)
            self._stepped()
            if last.mark is not Mark.CONFIRMED:
                # What does not move is at its end, if it moved before.
                outcome = replace(outcome, told=f"{outcome.told}; then the end") if turns else last
                break
            turns += 1
            outcome = replace(last, told=f"{last.told}; {turns} of {step.steps} times")
        else:
            told = f"{targets.quoted(step.until)} shows after scrolling {turns} times"
            return Outcome(
                Mark.CONFIRMED if turns else Mark.ALREADY, outcome.what, told, outcome.technique, _ms(started)
            )
        if step.until is None:
            return replace(outcome, ms=_ms(started))
        told = f"{targets.quoted(step.until)} did not come into view: {outcome.told}"
        return replace(outcome, mark=Mark.FAILED, told=told, reason="not_found", ms=_ms(started))

    def _no_way(self, step: Step, what: str, passed: list[str], told: str, started: float) -> Outcome:
        tried = "; ".join(passed)
        if told:
            return Outcome(Mark.FAILED, what, told, ms=_ms(started), reason="rejected", passed_over=tuple(passed))
        if step.via:
            raise BackgroundUnavailable(f"{what}: {step.via} does not work here ({tried}).", next="leave `via` away")
        if self._desktop.kind == "user":
            raise NeedsSandbox(
                f"{what}: nothing that leaves the person undisturbed can do this here ({tried}).",
                next='desktop(action="start"), then launch the application there',
            )
        raise Unavailable(f"{what}: no way to do this here ({tried}).", next=f'look("{self._window.id}")')

    async def _verdict(
        self, step: Step, judge: Judge, before: Before, wanted: Check | None, *, expected_before: bool
    ) -> Verdict:
        now = time.monotonic()
        quick = now + step.settle / 1000
        appeared = ""
        if step.expect is not None and not expected_before:
            told: list[str] = []
            if not await self._waiting.until(lambda: self._waiting.shows(step.expect or "", told), now + step.timeout):
                return Verdict(
                    Mark.FAILED, f"{quote(step.expect, 80)} did not appear in {step.timeout:g} s", "no_effect"
                )
            appeared = f"{quote(step.expect, 80)} appeared in {told[-1]}"
            if step.check is None:
                return Verdict(Mark.CONFIRMED, appeared)
        if _appears(step):
            if await self._waiting.until(lambda: self._checked(step), now + step.timeout):
                return Verdict(Mark.CONFIRMED, str(step.check))
            return Verdict(Mark.FAILED, f"sent, but it is not {step.check} in {step.timeout:g} s", "no_effect")
        if step.check is not None:
            quick = now + step.timeout
        elif step.do in {"set", "type", "clear"}:
            quick = max(quick, now + _TEXT_TIME + _PER_CHARACTER * len(step.wants_text()))
        verdict = await judge.judge(step, before, wanted, quick)
        if expected_before:
            was = f"{quote(step.expect or '', 80)} was there before"
            return replace(verdict, told=f"{verdict.told}; {was}" if verdict.told else was)
        return verdict

    @property
    def _waiting(self) -> Waiting:
        return Waiting(self._desktop, self._window)

    async def _checked(self, step: Step) -> bool:
        """Whether a check holds of an element that comes or goes."""
        assert step.check is not None and step.check.target is not None  # noqa: PT018,S101 - `_appears` says so
        seen = await self._desktop.read(self._window)
        return bool(step.check.holds(await Aim(self._desktop, self._window).subject(step, None, seen)))

    async def _seen(self, step: Step) -> Seen:
        known = self._desktop.seen.get(self._window.id)
        try:
            return known or await steady(self._desktop, self._window)
        except Unavailable:
            # Without a tree there are still points of its image, and its keyboard.
            if isinstance(step.target, targets.ByPoint) or (
                step.target is None and step.do in {"key", "type", "scroll"}
            ):
                return self._desktop.without_tree(self._window)
            raise

    def _described(self, step: Step, element: Element | None) -> str:
        if element is None or step.do == "menu":
            return step.named()
        given = "" if element.secret else step.wants_text()
        new = f" to {quote(given, 80)}" if step.do in {"set", "select"} and given else ""
        new = f" {quote(given, 80)} into" if step.do == "type" else new
        name = f" {quote(element.name, 80)}" if element.name else ""
        line = f"[{self._desktop.ref(element, self._window.id)}] {element.role}{name}"
        return f"{step.do}{new} {line}" if step.do == "type" else f"{step.do} {line}{new}"


def _appears(step: Step) -> bool:
    """Whether a step is checked by another element that comes or goes."""
    return step.check is not None and step.check.target is not None and step.check.exists is not None


def _passes_on(verdict: Verdict) -> bool:
    """Whether what holds now may rightly end with the next step: focus, selection, a radio, an open branch."""
    hold, subject = verdict.hold, verdict.subject
    if hold is None or subject is None:
        return False
    if hold.expanded is not None:
        return True  # Qt makes the items of its trees anew, so the next step's is another element
    return bool(hold.focused or hold.selected or (hold.checked and "radio" in subject.role))


def _ms(started: float) -> float:
    return (time.monotonic() - started) * 1000
