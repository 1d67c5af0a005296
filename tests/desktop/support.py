"""A sandbox with windows of the lab in it: what is asked of our driver, and what the windows say happened."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lab_support import LAB, SYSTEM_PYTHON, LabEvent, LabLog, poke

from alongside.server.desktops import Desktop, Desktops

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from alongside.sandbox.desktop import Sandbox

Step = dict[str, Any]
DEADLINE_S = 10.0
POLL_S = 0.01
PROGRAMS = {
    "gtk3": ("gtk3.py",),
    "gtk3_menu": ("gtk3_menu.py",),
    "gtk4": ("gtk4.py",),
    "qt5": ("qt.py", "--binding", "PyQt5"),
    "qt6": ("qt.py", "--binding", "PyQt6"),
}


def step(do: str, target: Any = None, **rest: Any) -> Step:
    return {"do": do, **({} if target is None else {"target": target}), **rest}


@dataclass(frozen=True)
class Answer:
    """What an act answered: its outcomes, its text, and how long it took (seconds)."""

    outcomes: list[dict[str, Any]]
    text: str
    seconds: float

    @property
    def marks(self) -> str:
        return "".join(one["mark"] for one in self.outcomes)

    @property
    def reason(self) -> str:
        """The reason code of the last outcome that has one."""
        return next((one["reason"] for one in reversed(self.outcomes) if one.get("reason")), "")


class Caller(Protocol):
    """Whose driver is asked."""

    async def call(self, method: str, **params: Any) -> dict[str, Any]: ...


@dataclass
class App:
    """One window of the lab: driven through our driver, judged by its log."""

    place: Caller
    kind: str
    window: str
    log: LabLog
    pokes: Path
    title: str

    async def act(self, *steps: Step) -> Answer:
        started = time.monotonic()
        reply = await self.place.call("act", window=self.window, steps=list(steps))
        return Answer(reply["outcomes"], reply["text"], time.monotonic() - started)

    async def look(self, **options: Any) -> str:
        return str((await self.place.call("look", window=self.window, **options))["text"])

    async def ref(self, line: str) -> int:
        """The ref of the only line of the outline that starts like this: `button "Save"`."""
        found = re.findall(rf"^ *\[(\d+)\] {re.escape(line)}", await self.look(find=line.split('"')[1]), re.MULTILINE)
        assert len(found) == 1, f"{line}: {found}"
        return int(found[0])

    async def poke(self, line: str) -> None:
        """Make the window do something, and wait until it has."""
        after = self.log.mark()
        poke(self.pokes, line)
        await self.log.wait_for("window", "poked", line, after=after, within=DEADLINE_S)

    async def settled(self) -> None:
        """Everything that the window was sent is in its log now."""
        await self.poke(f"title {self.title}")

    async def saw(self, after: int) -> list[LabEvent]:
        """What it saw since a mark, without pokes."""
        await self.settled()
        return [one for one in self.log.events()[after:] if one.event != "poked"]

    def on(self, window: str) -> App:
        """Another window of the same application."""
        return replace(self, window=window)


class Place:
    """A sandbox, with the lab and a folder for logs shared with it."""

    def __init__(self, desktops: Desktops, desktop: Desktop, folder: Path) -> None:
        self.desktops, self.desktop, self.folder = desktops, desktop, folder
        self._apps: dict[tuple[str, ...], App] = {}
        self._count = 0
        self._servers: list[asyncio.subprocess.Process] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def started(cls, folder: Path) -> AsyncIterator[Place]:
        # A copy, as a checkout below /tmp is not visible in there.
        shutil.copytree(LAB, folder / "lab", ignore=shutil.ignore_patterns("__pycache__"))
        async with Desktops() as desktops:
            place = cls(desktops, await desktops.start((1280, 800), folder, writable=True), folder)
            try:
                yield place
            finally:
                for server in place._servers:
                    server.kill()
                    await server.wait()

    @property
    def sandbox(self) -> Sandbox:
        assert self.desktop.sandbox is not None
        return self.desktop.sandbox

    @property
    def inside(self) -> str:
        """The shared folder as programs in the sandbox see it."""
        return f"{self.sandbox.home}/{self.folder.name}"

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        reply: dict[str, Any] = (await self.desktop.call(method, params)).result
        return reply

    async def app(self, kind: str, *options: str) -> App:
        """The window of that kind and these options, opened when first asked for."""
        key = (kind, *options)
        if key not in self._apps:
            self._apps[key] = await self.open(kind, *options)
        return self._apps[key]

    async def open(self, kind: str, *options: str) -> App:
        """A new window; its title is its own."""
        self._count += 1
        name = f"{kind}-{self._count}-{os.getpid()}"
        title = f"Lab {kind} {self._count}"
        log, pokes = self.folder / f"{name}.log", self.folder / f"{name}.poke"
        given = ("--title", title, *options)
        if kind == "page":
            url = await self._serve(log, pokes, given)
            launched = await self.call("launch", app="chromium", arguments=[f"--app={url}"])
        else:
            script, *binding = PROGRAMS[kind]
            arguments = [f"{self.inside}/lab/{script}", *binding]
            arguments += ["--log", f"{self.inside}/{log.name}", "--poke", f"{self.inside}/{pokes.name}", *given]
            launched = await self.call("launch", app=SYSTEM_PYTHON, arguments=arguments)
        app = App(self, kind, str(launched["window"]), LabLog(log), pokes, title)
        await app.log.wait_for("window", "ready", within=2 * DEADLINE_S)
        return app

    def forget(self) -> None:
        """Their ids are of an earlier driver: windows asked for from now on are new ones."""
        self._apps.clear()

    async def close(self, app: App) -> None:
        """Make a window close itself."""
        poke(app.pokes, "close")
        await app.log.wait_for("window", "closed", within=DEADLINE_S)

    async def _serve(self, log: Path, pokes: Path, given: Sequence[str]) -> str:
        server = await asyncio.create_subprocess_exec(
            *(SYSTEM_PYTHON, str(LAB / "page.py"), "--log", str(log), "--poke", str(pokes), *given),
            stdout=asyncio.subprocess.PIPE,
        )
        self._servers.append(server)
        assert server.stdout is not None
        return (await asyncio.wait_for(server.stdout.readline(), DEADLINE_S)).decode().strip()

    async def run(self, *command: str) -> str:
        """What a program in the sandbox prints."""
        readable, writable = os.pipe()
        try:
            await self.sandbox.spawn(["/bin/sh", "-c", 'exec "$@" >&3', "sh", *command], fds={3: writable})
        finally:
            os.close(writable)
        with os.fdopen(readable, encoding="utf-8") as pipe:
            return await asyncio.wait_for(asyncio.to_thread(pipe.read), DEADLINE_S)

    async def places(self, app: App) -> dict[tuple[str, str], tuple[int, int, int, int]]:
        """Where libatspi says that the elements of an application are on the display, by name and role."""
        script = f"{self.inside}/lab/tree.py"
        tree = json.loads(await self.run(SYSTEM_PYTHON, script, PROGRAMS[app.kind][0]))
        return {(name, role): tuple(at) for name, role, at in tree}

    async def process(self, app: App) -> int:
        """The process of a window, as this process sees it."""
        listed = (await self.call("windows"))["windows"]
        return await self.host_pid(next(int(one["pid"]) for one in listed if one["id"] == app.window))

    async def host_pid(self, inner: int) -> int:
        """A process of the sandbox, as this process sees it."""
        return host_pid(inner, (await self.run("readlink", "/proc/self/ns/pid")).strip())


def host_pid(inner: int, space: str) -> int:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                status = (entry / "status").read_text(encoding="utf-8", errors="replace")
                numbers = re.findall(r"^NSpid:(.*)$", status, re.MULTILINE)[0].split()
                if int(numbers[-1]) == inner and str((entry / "ns/pid").readlink()) == space:
                    return int(entry.name)
    raise AssertionError(f"no process {inner} in {space}")


async def until(holds: Any, what: str, within: float = DEADLINE_S) -> None:
    """Wait for a condition."""
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end, f"not within {within} s: {what}"
        await asyncio.sleep(POLL_S)
