"""What a platform offers to the driver, as protocols. A platform delivers and reads; it never judges.

Everything is awaited: a platform whose calls block runs them on the one thread that owns its connection.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alongside.core.elements import Element, Snapshot, Window
    from alongside.core.geometry import Point, Rect
    from alongside.core.steps import Button, Step


@dataclass(frozen=True, slots=True)
class NativeWindow:
    """A top-level window as the platform knows it; ``bounds`` of its contents in the display, ``frame`` with borders.

    ``kind`` is normal, dialog, popup (menus, lists of combos, tooltips) or other (docks, desktops). ``states`` are
    active, minimised, maximised, covered, hidden, modal. Listed from the bottom of the stack to its top.
    """

    native: int
    title: str
    wm_class: str
    pid: int
    bounds: Rect
    frame: Rect
    kind: str = "normal"
    states: frozenset[str] = frozenset()
    owner: int | None = None


@dataclass(frozen=True, slots=True)
class Pixels:
    """A picture: rows of 4 bytes a pixel, blue first; the fourth byte means nothing."""

    width: int
    height: int
    data: bytes


class Windows(Protocol):
    async def list(self) -> list[NativeWindow]: ...

    async def changed(self, seconds: float) -> None:
        """Return when a window came, went or changed since the last list, or after so many seconds."""

    async def activate(self, native: int) -> None:
        """Bring it to the front with the focus (desktops of the agent's own)."""

    async def manager(self) -> str:
        """The name of the window manager; empty where there is none."""

    async def at(self, point: Point) -> int | None:
        """The top-level window that a point of the display lies in, pop-ups included."""


class Screen(Protocol):
    async def size(self) -> tuple[int, int]: ...

    async def window(self, native: int) -> Pixels:
        """The contents of one window, also where other windows cover it; ``Minimised`` where it is not mapped."""

    async def display(self) -> Pixels: ...


class Input(Protocol):
    """A pointer and a keyboard: a desktop's own, or made of messages to one window. Points are of the display.

    What was begun is done to its end, also when the caller is cancelled: nothing stays pressed.
    """

    wheeled_at: float  # monotonic seconds, of the last wheel click

    async def move(self, point: Point) -> None: ...

    async def click(self, point: Point, button: Button = "left") -> None: ...

    async def wheel(self, direction: str, clicks: int) -> None:
        """Turn the wheel where the pointer is."""

    async def drag(self, start: Point, end: Point, button: Button = "left") -> None: ...

    async def keys(self, chord: str, repeat: int = 1) -> None:
        """A chord such as ``ctrl+shift+s``; ``Invalid`` names a key that does not exist."""

    async def can_write(self, text: str) -> None:
        """``Passed`` where there is no key for a part of a text, ``Invalid`` where there never is."""

    async def type(self, text: str) -> None:
        """A text; new lines and tabs are the keys Return and Tab. The keymap is as it was afterwards."""

    async def hold(self, modifiers: Sequence[str]) -> None: ...

    async def let_go(self, modifiers: Sequence[str]) -> None: ...


class Ledger(Protocol):
    """What a driver holds of its desktop, written down before it is taken (``key:37``, ``button:1``)."""

    entries: list[str]

    def hold(self, what: str) -> None:
        """Write down what is about to be taken."""

    def released(self, what: str) -> None:
        """Strike out what was let go of."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a technique sent; ``unknown`` where the application did not answer in time (it may still act).

    ``aside`` is what the caller has to know besides, however the step is judged.
    """

    told: str = ""
    unknown: bool = False
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Act:
    """One step with everything it takes to deliver it: the element or the point (in the window's frame) it is for."""

    step: Step
    window: Window
    snapshot: Snapshot
    element: Element | None = None
    point: Point | None = None
    end: Point | None = None
    end_element: Element | None = None

    def choosing(self) -> Act:
        """The same act as a plain selection of its element."""
        return replace(self, step=replace(self.step, do="select", value=None))

    def the_element(self) -> Element:
        if self.element is None:
            raise Passed("a point is not an element")
        return self.element


class Passed(Exception):
    """A technique cannot deliver this step to this element; the reason is kept for the outcome. Nothing was sent."""


class Focus(Protocol):
    """The person's focus while a step works behind it: what an application takes by itself is given back at once."""

    taken: str  # what was taken since the step began, and when it was given back; empty for nothing

    async def begin(self, window: Window) -> None:
        """A step on a window begins."""

    async def settled(self) -> None:
        """Return when it is plain whether a window that came of the step took the focus."""

    def end(self) -> None:
        """It has ended; what the application does a moment later is still watched."""


class Heard(Protocol):
    """One event: when (monotonic seconds), of which element, and whether children came or went."""

    @property
    def at(self) -> float: ...

    @property
    def key(self) -> str: ...

    @property
    def children(self) -> bool: ...


class Tree(Protocol):
    """The accessibility tree of the windows of a desktop."""

    async def snapshot(
        self, window: Window, *, popups: Sequence[Window] = (), deadline: float = 5.0, actions: bool = False
    ) -> Snapshot:
        """Every element of a window and its open pop-ups; ``AppHung`` or ``AppGone``, never a part that looks whole."""

    async def read(self, element: Element, *, deadline: float = 1.0) -> Element | None:
        """The same element read again; None when it is gone. ``AppHung`` where it does not answer."""

    async def watch(self, snapshot: Snapshot) -> float:
        """Listen to the window's application; since when (monotonic seconds)."""

    def heard(self, moment: float) -> Sequence[Heard]:
        """The events since ``moment`` (monotonic seconds): hints of what to read again."""

    async def cell(self, snapshot: Snapshot, row: int, column: int) -> Element | None:
        """The cell of the window's largest table, also where it was not read; None where there is no such table."""

    async def scroll_to(self, element: Element) -> bool:
        """Ask the application to scroll an element into view; whether it says that it did."""


class Platform(Protocol):
    """One desktop: all the ports of it, and the delivery of a step by one technique of the ladder."""

    @property
    def windows(self) -> Windows: ...

    @property
    def screen(self) -> Screen: ...

    @property
    def tree(self) -> Tree: ...

    @property
    def focus(self) -> Focus | None:
        """Keeps the person's focus; None on a desktop of the agent's own."""

    @property
    def tells(self) -> frozenset[str]:
        """The toolkits whose events tell of every change of a name, value or state."""

    def tells_all(self, snapshot: Snapshot) -> bool:
        """Whether events tell also of everything that comes and goes in a window."""

    async def wake(self, snapshot: Snapshot) -> bool:
        """Have an application keep its tree up to date that does not where it cannot be seen; whether that is new."""

    async def menu_item(self, window: Window, path: Sequence[str]) -> Element | None:
        """The item at the end of a menu path, where menus are told without the tree; None where they are not.

        ``NotFound`` and ``Ambiguous`` tell what there is. Nothing is opened.
        """

    async def deliver(self, technique: str, act: Act) -> Delivery:
        """Send a step by one technique; ``Passed`` when it has no such way (then nothing was sent)."""

    async def launch(self, application: str, arguments: Sequence[str]) -> int:
        """Start an application readable and silent; its process id."""

    def ended(self, pid: int) -> str | None:
        """How an application that was launched here ended, with the last lines it wrote; None while it runs."""

    def lives(self, pid: int) -> bool:
        """Whether a process runs; True where its number is not known (0)."""

    async def status(self) -> list[Row]:
        """What works here and what does not."""

    @property
    def alive(self) -> bool:
        """Whether its connections stand; if not, it is closed and opened anew."""

    async def release(self) -> None:
        """Let go of every key and button that is held down."""

    async def close(self) -> None:
        """Let go of everything."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a status: what, whether it works, what was found, and the command that mends it."""

    name: str
    ok: bool
    told: str
    mend: str = ""
