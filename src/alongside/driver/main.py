"""The process of one desktop: it answers the server's calls until the server is gone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from typing import TYPE_CHECKING, Any, Self, TypeVar

from alongside.core.errors import AlongsideError, Invalid, NeedsSandbox, Stopped, Unavailable
from alongside.core.outcomes import Mark
from alongside.core.outline import outcomes_text, quote, windows_text
from alongside.core.steps import Step
from alongside.driver import launching, looks
from alongside.driver.desktop import Desktop
from alongside.driver.executor import Batch
from alongside.driver.ledger import Ledger
from alongside.driver.wiring import open_platform
from alongside.link.channel import Link, Reply, Say

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

LINK_FD = "ALONGSIDE_LINK_FD"
LEDGER_FD = "ALONGSIDE_LEDGER_FD"
_LAUNCH = 30.0
T = TypeVar("T")
_SAY_AGAIN = 5.0


class Driver:
    """The calls of the link; ``hello`` comes first and says which desktop this is."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.link: Link | None = None
        self._greeting: dict[str, Any] = {}
        self._desktop: Desktop | None = None
        self._opening = asyncio.Lock()
        # One batch at a time: one that was cancelled first lets go of what it holds.
        self._acting = asyncio.Lock()
        # What a stop ends, and who pressed it last.
        self._works: set[asyncio.Task[Any]] = set()
        self._stopped_by = ""
        self._calls: dict[str, Callable[[dict[str, Any], Say], Awaitable[Reply]]] = {
            "windows": self._windows,
            "look": self._look,
            "act": self._act,
            "launch": self._launch,
            "status": self._status,
            "stop": self._stop,
        }

    async def answer(self, method: str, params: dict[str, Any], say: Say) -> Reply:
        """Answer one call of the server."""
        if method == "ping":
            return Reply({})
        if method == "hello":
            self._greeting = params
            self._warm = asyncio.create_task(self._prepare())
            return Reply({"pid": os.getpid()})
        call = self._calls.get(method)
        if call is None:
            raise Invalid(f"A driver has no call {method!r:.40}.", next=", ".join(self._calls))
        try:
            return await call(params, say)
        finally:
            # Also with an error: what it names must never name something else.
            if self._desktop is not None:
                say(self._numbers(self._desktop))

    def _numbers(self, desktop: Desktop) -> dict[str, Any]:
        """What the next driver of this desktop has to know: the numbers that were given, and the windows' ids."""
        return {"next_ref": desktop.refs.next, "next_window": desktop.next_window, "ids": desktop.ids}

    async def close(self) -> None:
        """Let go of the desktop."""
        if self._desktop is not None:
            await self._desktop.platform.close()

    async def _prepare(self) -> None:
        with contextlib.suppress(AlongsideError):  # each call says so again, to somebody
            await self._open()

    async def _open(self) -> Desktop:
        """The desktop, connected to at the first call that needs it, and again after it was lost."""
        async with self._opening:
            if self._desktop is not None and not self._desktop.platform.alive:
                lost, self._desktop = self._desktop, None
                self._greeting |= self._numbers(lost)
                self._greeting |= {"first_ref": lost.refs.next, "first_window": lost.next_window}
                await lost.platform.close()
            if self._desktop is None:
                kind = "own" if self._greeting.get("kind") == "own" else "user"
                platform = await open_platform(kind, self._ledger)
                self._desktop = Desktop(
                    str(self._greeting.get("desktop", "user")),
                    kind,
                    platform,
                    self._permit,
                    first_ref=int(self._greeting.get("first_ref", 1)),
                    first_window=int(self._greeting.get("first_window", 1)),
                    ids=self._greeting.get("ids") or (),
                )
            return self._desktop

    async def _windows(self, _params: dict[str, Any], _say: Say) -> Reply:
        desktop = await self._open()
        windows = await desktop.windows()
        listed = [
            {"id": one.id, "title": one.title, "app": one.app, "pid": one.pid, "states": sorted(one.states)}
            for one in windows
        ]
        return Reply({"text": windows_text(desktop.name, windows), "windows": listed})

    async def _look(self, params: dict[str, Any], _say: Say) -> Reply:
        desktop = await self._open()
        look = await looks.look(
            desktop,
            str(params.get("window", "active")),
            view=str(params.get("view") or "controls"),
            find=params.get("find"),
            under=params.get("under"),
            depth=params.get("depth"),
            image=str(params.get("image") or "none"),
            deadline=float(params.get("timeout") or 5.0),
        )
        result: dict[str, Any] = {"text": look.text}
        if look.picture:
            result["image"] = {"mime": look.mime, "width": look.size[0], "height": look.size[1]}
        return Reply(result, look.picture)

    async def _act(self, params: dict[str, Any], say: Say) -> Reply:
        if self._greeting.get("kind") != "own" and not self._greeting.get("acting"):
            raise NeedsSandbox("Acting on the person's desktop is switched off.", next='desktop(action="start")')
        desktop = await self._open()
        given = params.get("steps")
        if not isinstance(given, list) or not given:
            raise Invalid("An act needs steps.", next='act(window, steps=[{"do": "click", "target": "Save"}])')
        steps = [Step.parse(one) for one in given]
        async with self._acting, _Progress(say, len(steps)) as progress:
            batch = Batch(desktop, await desktop.window(str(params.get("window", "active"))))
            try:
                outcomes = await self._stoppable(desktop, batch.run(steps, progress.report))
            except Stopped as stopped:
                outcomes = await batch.stopped(steps, stopped)
        wire = [one.to_wire() for one in outcomes]
        failed = any(one.mark is Mark.FAILED for one in outcomes)
        return Reply({"text": outcomes_text(outcomes), "outcomes": wire, "failed": failed})

    async def _launch(self, params: dict[str, Any], _say: Say) -> Reply:
        desktop = await self._open()
        application = str(params.get("app", ""))
        arguments = [str(one) for one in params.get("arguments") or ()]
        launched = launching.launch(desktop, application, arguments, float(params.get("timeout") or _LAUNCH))
        window = await self._stoppable(desktop, launched)
        await desktop.permitted(window)
        text = f"✓ launch {quote(application, 80)}: {window.id} {quote(window.title)} (pid {window.pid})"
        return Reply({"text": text, "window": window.id})

    async def _stop(self, params: dict[str, Any], _say: Say) -> Reply:
        """End what acts now; answered when that has ended and nothing is held."""
        self._stopped_by = str(params.get("by", ""))
        works = list(self._works)
        for work in works:
            work.cancel()
        if works:
            await asyncio.wait(works)
        if self._desktop is not None:
            await self._desktop.platform.release()
        return Reply({})

    async def _stoppable(self, desktop: Desktop, acting: Coroutine[Any, Any, T]) -> T:
        """Carry out what may be given up by the caller or stopped by the person; nothing stays held then."""
        work = asyncio.create_task(acting)
        self._works.add(work)
        work.add_done_callback(self._works.discard)
        try:
            return await work
        except asyncio.CancelledError:
            # Also what was on its way when it was given up.
            await asyncio.shield(desktop.platform.release())
            this = asyncio.current_task()
            if this is None or this.cancelling():
                raise
            raise Stopped(f"All acting was stopped by {self._stopped_by}.", next="look, and tell the person") from None

    async def _permit(self, asked: dict[str, Any]) -> None:
        """Ask the server what the person allows; without an answer nothing is."""
        if self.link is None:
            raise Unavailable("There is no server to ask for leave.")
        await self.link.call("permit", asked)

    async def _status(self, _params: dict[str, Any], _say: Say) -> Reply:
        desktop = await self._open()
        rows = await desktop.platform.status()
        lines = [
            f"{'✓' if row.ok else '✗'} {row.name}: {row.told}" + (f" -> {row.mend}" if row.mend else "") for row in rows
        ]
        wire = [{"name": row.name, "ok": row.ok, "told": row.told, "mend": row.mend} for row in rows]
        return Reply({"text": "\n".join(lines), "rows": wire})


class _Progress:
    """Says which step is under way, and says it again while it takes long."""

    def __init__(self, say: Say, steps: int) -> None:
        self._say, self._event = say, {"step": 1, "of": steps, "what": ""}
        self._repeating: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._repeating = asyncio.create_task(self._repeat())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._repeating is not None:
            self._repeating.cancel()

    def report(self, done: int, what: str) -> None:
        self._event.update(step=done + 1, what=what)
        self._say(dict(self._event))

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(_SAY_AGAIN)
            self._say(dict(self._event))


async def serve(descriptor: int) -> None:
    """Answer on the link until its other end is gone."""
    ledger_fd = os.environ.get(LEDGER_FD)
    driver = Driver(Ledger(int(ledger_fd) if ledger_fd else None))
    link = driver.link = await Link.over(socket.socket(fileno=descriptor), driver.answer)
    await link.closed.wait()
    await driver.close()


def main() -> int:
    """The entry of ``python -m alongside.driver``."""
    descriptor = os.environ.pop(LINK_FD, "")
    if not descriptor.isdigit():
        print(f"alongside.driver is started by the server, with {LINK_FD} set", file=sys.stderr)  # noqa: T201
        return 2
    os.set_inheritable(int(descriptor), False)
    asyncio.run(serve(int(descriptor)))
    return 0
