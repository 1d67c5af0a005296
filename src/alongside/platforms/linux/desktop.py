"""The Linux desktop: X11 for windows, pictures and input, AT-SPI for what is in the windows."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from typing import TYPE_CHECKING

from alongside.core.errors import AlongsideError, NeedsSandbox, Unavailable
from alongside.core.geometry import Point
from alongside.core.ports import Act, Delivery, Passed, Row
from alongside.platforms.linux import apps, devices, gtk_actions, texts
from alongside.platforms.linux.atspi import actions
from alongside.platforms.linux.atspi.bus import Bus
from alongside.platforms.linux.atspi.tree import AtspiTree
from alongside.platforms.linux.gtk_actions import GtkActions
from alongside.platforms.linux.x11.activation import Activation, undo_told
from alongside.platforms.linux.x11.clipboard import Clipboard, is_lent
from alongside.platforms.linux.x11.connection import X11
from alongside.platforms.linux.x11.drop import undo_drags
from alongside.platforms.linux.x11.events import Events
from alongside.platforms.linux.x11.focus import FocusKeeper
from alongside.platforms.linux.x11.input import Input
from alongside.platforms.linux.x11.screen import Screen
from alongside.platforms.linux.x11.selection import Selections
from alongside.platforms.linux.x11.windows import Windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alongside.core.elements import Element, Snapshot, Window
    from alongside.core.ports import Ledger

# A sandbox's display and bus come up while its driver starts (seconds).
_COMES_UP = 10.0
_POLL = 0.002
# How long a page takes to draw again (seconds).
_WAKES = 0.3
_MOST_MENUS = 6  # that are open at once


class _Tree(AtspiTree):
    """The tree, and what is read of exported menus."""

    def __init__(self, bus: Bus, menus: GtkActions) -> None:
        super().__init__(bus)
        self._menus = menus

    async def read(self, element: Element, *, deadline: float = 1.0) -> Element | None:
        """An element read again; None when it is gone."""
        if element.source == gtk_actions.SOURCE:
            return await self._menus.read(element, deadline)
        return await super().read(element, deadline=deadline)


class LinuxDesktop:
    """All ports of one desktop; only one of the agent's own has an ``input``."""

    # Their events tell of every change of a name, value or state (GTK 4 and LibreOffice leave some out: measured).
    tells = frozenset({"GTK 3", "Qt", "Chromium"})

    def __init__(
        self, x: X11, events: Events, bus: Bus, *, ledger: Ledger, pointer: Input | None, screen: Screen
    ) -> None:
        self.windows = Windows(x, events)
        self.screen = screen
        self._menus = GtkActions(x, os.environ.get("DBUS_SESSION_BUS_ADDRESS"))
        self.tree = _Tree(bus, self._menus)
        self.input = pointer
        self.bus = bus
        self._x, self._events, self.ledger = x, events, ledger
        self._selections: Selections | None = None
        self._clipboard: Clipboard | None = None
        # On a desktop of the agent's own nobody's focus is kept.
        self.focus = FocusKeeper(x, self.windows, events) if pointer is None else None
        self._apps = apps.Apps()
        # Where and when the agent's pointer clicked last.
        self.pressed, self.pressed_at = Point(0, 0), 0.0

    @classmethod
    async def open(cls, kind: str, ledger: Ledger) -> LinuxDesktop:
        """Connect to the display and the accessibility bus of the environment; ``Unavailable`` says what is missing."""
        display = os.environ.get("DISPLAY")
        if not display:
            raise Unavailable("There is no display here (DISPLAY is not set).", next='desktop(action="start")')
        own = kind == "own"
        address = os.environ.get("DBUS_SESSION_BUS_ADDRESS")
        x, bus = await asyncio.gather(_display(display, own=own), _bus(address, own=own))
        events = await Events.open(x)
        pointer = await Input.open(x, events, ledger.hold, ledger.released) if own else None
        # What the last driver of this desktop held when it died, the latest first.
        await undo_told(x, ledger)
        await undo_drags(x, ledger)
        if pointer is not None and ledger.entries:
            left = [int(what.partition(":")[2]) for what in ledger.entries if what.startswith("menu:")]
            await pointer.undo(ledger.entries[::-1])
            await pointer.release_all()
            await _close_menus(Windows(x, events), pointer, left)
        screen = await Screen.open(x)
        self = cls(x, events, bus, ledger=ledger, pointer=pointer, screen=screen)
        if is_lent(ledger):
            with contextlib.suppress(AlongsideError):  # then it is somebody else's by now
                await (await self.clipboard()).undo()
        return self

    async def menu_item(self, window: Window, path: Sequence[str]) -> Element | None:
        """An item of the menus that a window exports on the session bus."""
        return await self._menus.item(window, path)

    async def deliver(self, technique: str, act: Act) -> Delivery:
        """Send a step by one technique; ``Passed`` when it cannot."""
        if technique == "gtk.action":
            return await self._menus.deliver(act)
        if technique in actions.TECHNIQUES:
            if act.element is not None and act.element.source == gtk_actions.SOURCE:
                raise Passed("it is not in the tree")
            return await actions.TECHNIQUES[technique](self.bus, act)
        deliver = texts.TECHNIQUES.get(technique) or devices.TECHNIQUES[technique]
        if technique in devices.SENT or technique in texts.TECHNIQUES:
            if act.snapshot.toolkit == "Chromium" and "minimised" in act.window.states:
                raise Passed("a minimised page takes no events")  # measured
            ledger = self.ledger
            async with Activation(self._x, self._events, act.window.native, ledger.hold, ledger.released) as sent:
                return await deliver(self, sent, act)
        if self.input is None:
            raise Passed("this desktop has no pointer and keyboard of the agent's own")
        opens = f"menu:{act.window.native}" if technique == "xtest.choose" else ""
        if not opens:
            return await deliver(self, self.input, act)
        self.ledger.hold(opens)
        try:
            return await deliver(self, self.input, act)
        finally:
            self.ledger.released(opens)

    async def selections(self) -> Selections:
        """What owns and reads selections; connected when it is first needed."""
        if self._selections is None:
            self._selections = await Selections.open(self._x.display, self._x.kind)
        return self._selections

    async def clipboard(self) -> Clipboard:
        """The clipboard, for what asks for it by name."""
        if self._clipboard is None:
            self._clipboard = Clipboard(await self.selections(), self.ledger)
        return self._clipboard

    async def launch(self, application: str, arguments: Sequence[str]) -> int:
        """Start an application; its process id."""
        if self.input is None:
            raise NeedsSandbox(
                "Applications are launched in a sandbox, not on the person's desktop.", next='desktop(action="start")'
            )
        return await self._apps.start(application, arguments)

    def tells_all(self, snapshot: Snapshot) -> bool:
        """Whether events tell of everything that comes and goes: Qt and GTK 3 say nothing of rows (measured)."""
        rows = snapshot.toolkit == "GTK 3" and any(one.role in {"table", "tree"} for one in snapshot)
        return snapshot.toolkit in {"GTK 3", "Chromium"} and not rows

    async def wake(self, snapshot: Snapshot) -> bool:
        """Have a page go on drawing where nobody sees it: covered, it draws nothing and its tree stays as it was.

        Measured: a fully covered Chromium takes clicks, but no wheel, and publishes nothing of what they did.
        """
        new = snapshot.toolkit == "Chromium" and await self.screen.keep(snapshot.window.native)
        if new:
            await asyncio.sleep(_WAKES)
        return new

    def ended(self, pid: int) -> str | None:
        """How an application that was launched here ended, with the last lines it wrote; None while it runs."""
        return self._apps.ended(pid)

    def lives(self, pid: int) -> bool:
        """Whether a process runs; one that is being killed does not, though its windows stand a little longer."""
        return apps.lives(pid)

    async def status(self) -> list[Row]:
        """The display, the window manager and the accessibility bus, as they answer now."""
        rows = []
        for name, asked in (("windows", self._count_windows()), ("accessibility", self._count_applications())):
            try:
                rows.append(Row(name, ok=True, told=await asked))
            except AlongsideError as error:
                rows.append(Row(name, ok=False, told=error.message, mend=error.next or ""))
        return rows

    async def _count_windows(self) -> str:
        width, height = await self.screen.size()
        return f"{len(await self.windows.list())} windows on a display of {width}x{height}"

    async def _count_applications(self) -> str:
        return f"{len(await self.tree.applications())} applications on the accessibility bus"

    @property
    def alive(self) -> bool:
        """Whether display and accessibility bus are still connected."""
        return self._x.connected and self.bus.connected

    async def release(self) -> None:
        """Let go of every key and button that is held down, or that a window was told to be down."""
        await undo_told(self._x, self.ledger)
        if self.input is not None:
            await self.input.release_all()

    async def close(self) -> None:
        """Let go of what is held, and of the connections, whichever of them still stand."""
        if self.focus is not None:
            await self.focus.stop()
        for work in (self.release, self.screen.close, self._x.close):
            with contextlib.suppress(AlongsideError):
                await work()
        if self._selections is not None:
            with contextlib.suppress(AlongsideError):
                await self._selections.close()
        self._events.close()
        self.tree.close()
        self.bus.close()
        self._menus.close()


async def _close_menus(windows: Windows, pointer: Input, left: Sequence[int]) -> None:
    """Close what a driver opened for a step of these windows and did not live to close."""
    for _ in range(_MOST_MENUS if left else 0):
        listed = await windows.list()
        processes = {one.pid for one in listed if one.native in left}
        if not any(one.kind == "popup" and (one.pid in processes or one.owner in left) for one in listed):
            return
        await pointer.keys("escape")


async def _display(display: str, *, own: bool) -> X11:
    if own:
        await _accepting(f"/tmp/.X11-unix/X{display.lstrip(':').split('.')[0]}")  # noqa: S108 - where X puts it
    return await X11.open(display, "own" if own else "user")


async def _bus(address: str | None, *, own: bool) -> Bus:
    if own and address:
        await _accepting(address.removeprefix("unix:path=").split(",")[0])
    return await Bus.connect(address)


async def _accepting(path: str) -> None:
    """Wait for a socket of a desktop that comes up while its driver starts."""
    loop = asyncio.get_running_loop()
    end = loop.time() + _COMES_UP
    while loop.time() < end:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(path)
            except OSError:
                await asyncio.sleep(_POLL)
            else:
                return
