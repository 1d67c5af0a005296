"""One desktop: its windows by the ids and names that callers use, their refs, and what was last seen of each."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alongside.core.elements import Snapshot, Window
from alongside.core.errors import AlongsideError, Ambiguous, NotFound
from alongside.core.ladder import EVERYTHING, Disturbs
from alongside.core.outline import quote
from alongside.core.refs import RefBook
from alongside.core.verify import GRACE, RESTLESS, differing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from alongside.core.elements import Element
    from alongside.core.geometry import Mapping
    from alongside.core.ports import NativeWindow, Platform

# What looks like an id is one, and never a part of some title.
_ID = re.compile(r"(user|s[0-9]+)\.[0-9]+", re.ASCII)
_LISTED = frozenset({"normal", "dialog"})
# A window that is not listed for this long is gone (seconds).
_GONE = 0.5


@dataclass(slots=True)
class Seen:
    """What is known of one window: its last snapshot and image, what moved by itself, and what did not when in doubt.

    ``watched`` and ``stepped`` are when listening began and when the last step ended, ``since`` when each element was
    first there (monotonic seconds).
    """

    snapshot: Snapshot
    watched: float
    stepped: float = 0.0
    image: Mapping | None = None
    image_size: tuple[int, int] = (0, 0)
    restless: dict[str, float] = field(default_factory=dict)
    calm: set[str] = field(default_factory=set)
    since: dict[str, float] = field(default_factory=dict)

    def is_restless(self, element: Element) -> bool:
        at = self.restless.get(element.key)
        return at is not None and time.monotonic() - at < RESTLESS


class Desktop:
    """The state of one desktop in its driver; ``kind`` is ``own`` (a sandbox) or ``user`` (the person's)."""

    def __init__(
        self,
        name: str,
        kind: str,
        platform: Platform,
        permit: Callable[[dict[str, Any]], Awaitable[None]],
        *,
        first_ref: int = 1,
        first_window: int = 1,
        ids: Iterable[Sequence[Any]] = (),
    ) -> None:
        self.name, self.kind, self.platform = name, kind, platform
        # Asks the server what the person allows (see ``permitted``); raises where they do not.
        self._permit = permit
        # As the windows were last listed.
        self._listed: dict[int, Window] = {}
        self.refs = RefBook(first_ref)
        self.next_window = first_window
        self.seen: dict[str, Seen] = {}
        # Windows that published no tree when they were waited for.
        self.mute: set[str] = set()
        # The processes that were launched here and have no window yet.
        self.launched: set[int] = set()
        # What took the person's focus when it was done (see ``permit.meant``).
        self.took_focus: set[tuple[str, str, str]] = set()
        self._reading: dict[str, asyncio.Lock] = {}
        self._readings: dict[str, asyncio.Task[None]] = {}
        self._ids: dict[tuple[int, int], str] = {(int(one[0]), int(one[1])): str(one[2]) for one in ids}
        self._named: dict[str, tuple[str, str]] = {}
        self._absent: dict[tuple[int, int], float] = {}

    @property
    def allowed(self) -> Disturbs:
        """What a step may disturb here: everything where the desktop is the agent's own, else nothing."""
        return EVERYTHING if self.kind == "own" else Disturbs.NOTHING

    @property
    def ids(self) -> list[tuple[int, int, str]]:
        """Which id every window has: its number, its process, its id."""
        return [(*key, name) for key, name in self._ids.items()]

    async def windows(self) -> list[Window]:
        """Top-level windows and dialogs, topmost first."""
        natives = await self.platform.windows.list()
        self._forget({(one.native, one.pid) for one in natives if one.kind in _LISTED}, time.monotonic())
        windows = [self._window(one) for one in reversed(natives) if one.kind in _LISTED]
        self._listed = {one.native: one for one in windows}
        return windows

    async def permitted(self, window: Window, *, acting: bool = False) -> Window:
        """The window, if it may be read, or acted on, as it is now; ``Policy`` or ``Stopped`` where it may not."""
        now = self._listed.get(window.native, window)
        owner = self._listed.get(now.owner) if now.owner is not None else None
        asked = [
            {"title": one.title, "classes": [one.wm_class, one.app], "programs": _programs(one.pid)}
            for one in (now, owner)
            if one is not None
        ]
        await self._permit({"acting": acting, "windows": asked})
        return window

    async def popups(self, window: Window) -> list[Window]:
        """The open menus, lists and tooltips of a window's application."""
        natives = await self.platform.windows.list()
        return [
            _as_window(one, "", self.name)
            for one in natives
            if one.kind == "popup" and (one.pid == window.pid or one.owner == window.native)
        ]

    async def shown(self, window: Window) -> frozenset[tuple[int, str]]:
        """The application's windows and pop-ups that are open now (native numbers and kinds)."""
        natives = await self.platform.windows.list()
        return frozenset(
            (one.native, one.kind)
            for one in natives
            if one.pid == window.pid and one.kind != "other" and not one.states & {"minimised", "hidden"}
        )

    async def window(self, name: str, *, acting: bool = False) -> Window:
        """The window of an id (``s1.2``), title, part of one, ``app:NAME``, ``pid:N``, ``active``; its id for good.

        ``Policy`` where the person's policy refuses it; ``Stopped`` where it is for ``acting`` and that is stopped.
        """
        windows = await self.windows()
        found = _matching(windows, name.strip())
        deadline = time.monotonic() + _GONE
        while not found and name in self._ids.values() and time.monotonic() < deadline:
            await asyncio.sleep(_GONE / 10)
            windows = await self.windows()
            found = _matching(windows, name)
        if len(found) == 1:
            return await self.permitted(found[0], acting=acting)
        if found:
            listed = ", ".join(f"{one.id} {quote(one.title, 60)}" for one in found)
            raise Ambiguous(f"{len(found)} windows match {quote(name, 60)}: {listed}. Name one by its id.")
        if name in self.seen or name.startswith(f"{self.name}."):
            raise NotFound(f"The window {quote(name, 60)} is gone.", next=f'windows(desktop="{self.name}")')
        listed = ", ".join(f"{one.id} {quote(one.title, 60)}" for one in windows[:8]) or "none"
        raise NotFound(f"No window matches {quote(name, 60)}; there are: {listed}.")

    def without_tree(self, window: Window) -> Seen:
        """What is known of a window that publishes no accessibility tree: its images."""
        known = self.seen.get(window.id)
        if known is None:
            known = self.seen[window.id] = Seen(Snapshot(window, "", (), time.monotonic()), time.monotonic())
        return known

    async def read(self, window: Window, *, deadline: float = 5.0, actions: bool = False) -> Seen:
        """Read a window, keep what moved by itself since the last time, and drop the refs of what is gone."""
        # One reading of a window at a time: an older one that ends later must not take the newer one's place.
        async with self._reading.setdefault(window.id, asyncio.Lock()):
            return await self._read(window, deadline, actions=actions)

    async def _read(self, window: Window, deadline: float, *, actions: bool) -> Seen:
        await self.permitted(window)
        tree, popups = self.platform.tree, await self.popups(window)
        snapshot = await tree.snapshot(window, popups=popups, deadline=deadline, actions=actions)
        if await self.platform.wake(snapshot):
            snapshot = await tree.snapshot(window, popups=popups, deadline=deadline, actions=actions)
        before = self.seen.get(window.id)
        if before is None or not before.snapshot.elements:
            watched = await self.platform.tree.watch(snapshot)
            seen = self.seen[window.id] = Seen(snapshot, watched)
        else:
            seen = before
            seen.snapshot = snapshot
        now = time.monotonic()
        seen.since = {key: seen.since.get(key, now) for key in snapshot.by_key}
        for key in self.refs.keys_of(window.id) - snapshot.by_key.keys():
            self.refs.retire(key)
            self._named.pop(key, None)
        return seen

    def read_soon(self, window: Window) -> None:
        """Read a window in the background; the reading is given up when it fails."""

        async def read() -> None:
            with contextlib.suppress(AlongsideError):
                await self.read(window)

        self._readings[window.id] = asyncio.create_task(read())

    async def readings(self, window: Window) -> None:
        """Wait until a window is no longer being read in the background."""
        if (reading := self._readings.pop(window.id, None)) is not None:
            await reading

    def moved_by_itself(self, seen: Seen, old: Snapshot, new: Snapshot) -> None:
        """Note what changed between two readings with no step under way: by its events, and by the difference."""
        if old.toolkit in self.platform.tells:
            since = max(old.taken, seen.stepped + GRACE)
            seen.restless.update({event.key: event.at for event in self.platform.tree.heard(since)})
            by_difference = not self.platform.tells_all(old) and old.taken > seen.stepped + GRACE
        else:
            by_difference = old.taken > seen.stepped
        if by_difference:
            seen.restless.update(dict.fromkeys(differing(old, new), new.taken))

    def ref(self, element: Element, window: str) -> int:
        """The ref of an element that is being shown to the caller."""
        self._named[element.key] = element.role, element.name
        return self.refs.give(element.key, window)

    def identity(self, element: Element) -> tuple[str, str]:
        """The role and name under which the caller last saw an element, whatever was read since."""
        return self._named.get(element.key, (element.role, element.name))

    def _window(self, native: NativeWindow) -> Window:
        # A window's number may come again for another process; the pair is what is named for good.
        key = native.native, native.pid
        if key not in self._ids:
            self._ids[key] = f"{self.name}.{self.next_window}"
            self.next_window += 1
        return _as_window(native, self._ids[key], self.name)

    def _forget(self, present: set[tuple[int, int]], now: float) -> None:
        """Drop what is gone for good: a window manager takes a window out of sight for a moment when it frames it."""
        for key in list(self._ids):
            if key in present:
                self._absent.pop(key, None)
            elif now - self._absent.setdefault(key, now) > _GONE:
                del self._absent[key]
                gone = self._ids.pop(key)
                self.seen.pop(gone, None)
                for element in self.refs.keys_of(gone):
                    self.refs.retire(element)


def _as_window(native: NativeWindow, name: str, desktop: str) -> Window:
    return Window(
        id=name,
        native=native.native,
        title=native.title,
        app=_application(native),
        pid=native.pid,
        wm_class=native.wm_class,
        bounds=native.bounds,
        kind=native.kind,
        states=native.states,
        owner=native.owner,
        desktop=desktop,
    )


def _application(native: NativeWindow) -> str:
    """What people would call the program: its window class, else the name of its process."""
    if native.wm_class:
        return native.wm_class
    try:
        return Path(f"/proc/{native.pid}/comm").read_text().strip()
    except OSError:
        return "unknown"


def _programs(pid: int) -> list[str]:
    """The names of a process's program: that of its file, and the one it goes by (a script has its own)."""
    found = []
    with contextlib.suppress(OSError):  # of another user's process the file is not told
        found.append(Path(f"/proc/{pid}/exe").readlink().name.removesuffix(" (deleted)"))
    with contextlib.suppress(OSError):
        found.append(Path(f"/proc/{pid}/comm").read_text().strip())
    return found


def _matching(windows: list[Window], name: str) -> list[Window]:
    if _ID.fullmatch(name):
        return [one for one in windows if one.id == name]
    low = name.casefold()
    if low == "active":
        return [one for one in windows if "active" in one.states][:1]
    if low.startswith("app:"):
        wanted = low.removeprefix("app:").strip()
        found = [one for one in windows if wanted in one.app.casefold()]
        return found if len(found) < 2 else [_main(found)]
    if low.startswith("pid:") and low.removeprefix("pid:").strip().isdigit():
        return [one for one in windows if one.pid == int(low.removeprefix("pid:"))]
    for same in (
        lambda one: one.title == name,
        lambda one: one.title.casefold() == low,
        lambda one: bool(low) and low in one.title.casefold(),
    ):
        found = [one for one in windows if same(one)]
        if found:
            return found
    return []


def _main(windows: list[Window]) -> Window:
    """An application's main window: the one that shows the most."""
    return max(
        windows, key=lambda one: (not one.states & {"minimised", "hidden"}, one.kind == "normal", one.bounds.area)
    )
