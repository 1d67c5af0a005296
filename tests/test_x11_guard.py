"""What the guard of the X11 connection lets pass, and how a dead display ends."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
import re
import signal
import struct
import time
from typing import TYPE_CHECKING, Any

import pytest
import xcffib
import xcffib.composite
import xcffib.xproto
import xcffib.xtest

from alongside.core.errors import Policy, TimedOut, Unavailable
from alongside.platforms.linux.x11.connection import X11
from alongside.platforms.linux.x11.guard import ALLOWED, CORE, Guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from x11_support import Display


DRAG = ("XdndEnter", "XdndPosition", "XdndDrop")


def requests() -> dict[tuple[str, int], str]:
    """Every request that xcffib can send: its name, by extension and opcode."""
    found = {}
    for module in pkgutil.iter_modules(xcffib.__path__):
        if module.name in ("ffi", "testing", "wrappers", "visualtype"):
            continue
        source = importlib.import_module(f"xcffib.{module.name}")
        key = getattr(source, "key", None)
        extension = key.name if key else CORE
        for name, opcode in re.findall(
            r"def (\w+)\((?:(?!def ).)*?send_request\(\s*(\d+)", inspect.getsource(source), re.DOTALL
        ):
            found[extension, int(opcode)] = name
    return found


def test_guard_passes_exactly_the_allow_list() -> None:
    everything = {(CORE, opcode) for opcode in range(128)} | {
        (extension, opcode) for extension, _ in requests() for opcode in range(256)
    }
    assert len({extension for extension, _ in everything}) > 20
    # A body that every check of content is content with.
    fitting = bytearray(64)
    fitting[8] = xcffib.composite.Redirect.Automatic
    for kind in ("user", "own"):
        guard = Guarded.__new__(Guarded)
        guard.kind, guard._base, guard._mask, guard.nobodys, guard.roots = kind, 0, 0xFF, {0}, {1}
        known = ("WM_PROTOCOLS", "_NET_WM_PING", "CLIPBOARD", "XdndSelection", "XdndLeave", *DRAG)
        guard.names, guard.returns_to, guard.root = {name.encode(): 7 for name in known}, None, 1
        guard.clipboard, guard.taken, guard.asked = 1, {}, []
        passed = set()
        for extension, opcode in everything:
            body = bytes(fitting)
            if (extension, opcode) == (CORE, 2):
                body = b"\0" * 8 + (0x800).to_bytes(4, "little") + b"\0" * 8
            elif (extension, opcode) == (CORE, 1):
                body = struct.pack("=4xII10xH4xIII", 0, 1, 2, 0x800, 0, 0)
            elif (extension, opcode) in {(CORE, 22), (CORE, 24)}:
                body = struct.pack("=4xIII", 5, 7, 7)
            elif (extension, opcode) == (CORE, 25):
                body = b"\0" * 4 + b"\1" * 4 + b"\0" * 4 + bytes([2]) + b"\0" * 31
            if guard.allows(extension, opcode, body):
                passed.add((extension, opcode))
        assert passed == ALLOWED[kind]
    names = {request: name for request, name in requests().items() if request in ALLOWED["own"]}
    assert set(names) == ALLOWED["own"], "the guard allows a request that xcffib does not know"
    changing = {f"{extension}.{names[extension, opcode]}" for extension, opcode in ALLOWED["own"] - ALLOWED["user"]}
    assert changing == {
        ".QueryKeymap",
        "XTEST.GetVersion",
        "XTEST.FakeInput",
        "XKEYBOARD.LatchLockState",
        "XKEYBOARD.SetMap",
    }
    reading = ("Get", "Query", "List", "Intern", "Translate", "Use")
    others = {f"{e}.{names[e, o]}" for e, o in ALLOWED["user"] if not names[e, o].startswith(reading)}
    assert others == {
        ".ChangeWindowAttributes", ".FreePixmap", ".SendEvent", "Composite.RedirectWindow",
        ".CreateWindow", ".ChangeProperty", ".SetSelectionOwner", ".ConvertSelection",
        "Composite.RedirectSubwindows", "Composite.NameWindowPixmap", "MIT-SHM.Attach", "MIT-SHM.Detach",
    }  # fmt: skip


def test_red_lines_hold_before_the_wire(display: Display) -> None:
    modes, attributes = xcffib.xproto.GrabMode, xcffib.xproto.CW
    seen: Any = xcffib.Connection(display.name)  # type: ignore[no-untyped-call]
    root = seen.setup.roots[0].root
    window = seen.generate_id()
    seen.core.CreateWindow(0, window, root, 10, 10, 50, 50, 0, 1, 0, 0, [])
    before = seen.core.QueryPointer(root).reply()
    guarded: Any = Guarded(display.name, "user")
    core = guarded.core
    xtest, composite = guarded(xcffib.xtest.key), guarded(xcffib.composite.key)
    forbidden: list[tuple[str, Callable[[], Any]]] = [
        ("WarpPointer", lambda: core.WarpPointer(0, root, 0, 0, 0, 0, 5, 5)),
        ("SetInputFocus", lambda: core.SetInputFocus(1, window, 0)),
        ("FakeInput", lambda: xtest.FakeInput(6, 0, 0, root, 5, 5, 0)),
        ("ConfigureWindow", lambda: core.ConfigureWindow(window, 64, [0])),
        ("MapWindow", lambda: core.MapWindow(window)),
        ("UnmapWindow", lambda: core.UnmapWindow(window)),
        ("DestroyWindow", lambda: core.DestroyWindow(window)),
        ("KillClient", lambda: core.KillClient(window)),
        ("GrabPointer", lambda: core.GrabPointer(0, root, 0, modes.Async, modes.Async, 0, 0, 0)),
        ("GrabKeyboard", lambda: core.GrabKeyboard(0, root, 0, modes.Async, modes.Async)),
        ("GrabServer", core.GrabServer),
        ("ChangeProperty", lambda: core.ChangeProperty(0, window, 39, 31, 8, 1, b"x")),
        ("SetSelectionOwner", lambda: core.SetSelectionOwner(window, 1, 0)),
        ("ChangeKeyboardMapping", lambda: core.ChangeKeyboardMapping(1, 97, 1, [97])),
        ("QueryKeymap", core.QueryKeymap),
        ("SetScreenSaver", lambda: core.SetScreenSaver(0, 0, 0, 0)),
        # Allowed in other forms.
        ("GetProperty", lambda: core.GetProperty(1, root, 39, 0, 0, 1)),
        ("ChangeWindowAttributes", lambda: core.ChangeWindowAttributes(window, attributes.BackPixel, [1])),
        ("ChangeWindowAttributes", lambda: core.ChangeWindowAttributes(window, attributes.EventMask, [1 << 20])),
        ("FreePixmap", lambda: core.FreePixmap(window)),
        ("RedirectWindow", lambda: composite.RedirectWindow(window, xcffib.composite.Redirect.Manual)),
    ]
    for name, send in forbidden:
        with pytest.raises(Policy, match=rf"{name} \("):
            send()
    after = seen.core.QueryPointer(root).reply()
    assert (before.root_x, before.root_y) == (after.root_x, after.root_y)
    guarded.core.GetInputFocus().reply()
    for connection in (guarded, seen):
        connection.disconnect()


# --- The connection


def test_a_display_that_hangs_or_dies_ends_in_an_error(bare: Display) -> None:
    async def go() -> None:
        x = await X11.open(bare.name, "user", patience=0.3)
        bare.server.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(TimedOut):
            await x.run(x.sync)
        with pytest.raises(Unavailable):
            await x.run(x.sync)
        assert time.monotonic() - began < 1
        bare.server.send_signal(signal.SIGCONT)
        again = await X11.open(bare.name, "user")
        bare.server.kill()
        with pytest.raises(Unavailable, match="gone"):
            await again.run(again.sync)
        with pytest.raises(Unavailable, match="No X server"):
            await X11.open(bare.name, "user")

    asyncio.run(go())


def event(code: int, window: int = 0, kind: int = 0, *words: int) -> bytes:
    return struct.pack("=BBHII5I", code, 32, 0, window, kind, *words, *[0] * (5 - len(words)))


def test_events_go_to_one_window_alone_and_never_to_the_window_manager(display: Display) -> None:
    masks = xcffib.xproto.EventMask
    seen: Any = xcffib.Connection(display.name)  # type: ignore[no-untyped-call]
    root = seen.setup.roots[0].root
    window, other = seen.generate_id(), seen.generate_id()
    for one in (window, other):
        seen.core.CreateWindow(0, one, root, 10, 10, 50, 50, 0, 1, 0, 0, [])
    seen.core.GetInputFocus().reply()
    guarded: Any = Guarded(display.name, "user")
    names, send = guarded.names, guarded.core.SendEvent
    protocols, ping, active = names[b"WM_PROTOCOLS"], names[b"_NET_WM_PING"], names[b"_NET_ACTIVE_WINDOW"]
    take_focus = seen.core.InternAtom(False, 13, "WM_TAKE_FOCUS").reply().atom
    to_manager = masks.SubstructureRedirect | masks.SubstructureNotify
    key, focused, activate = event(2), event(9), event(33, window, active, 2)
    refused = [
        (True, window, 0, key),
        (False, window, masks.KeyPress, key),
        (False, window, masks.FocusChange, focused),
        *((False, nobody, 0, key) for nobody in (root, 0, 1)),
        (False, root, to_manager, activate),
        (False, root, to_manager, event(33, window, take_focus)),
        (False, window, 0, event(33, window, protocols, take_focus)),
        (False, window, 0, event(33, window, active)),
        (False, window, 0, event(28)),
    ]
    for arguments in refused:
        with pytest.raises(Policy, match=r"SendEvent \("):
            send(*arguments)
    for code in range(2, 11):
        send(False, window, 0, event(code))
        guarded.flush()
        assert seen.wait_for_event().response_type & 0x7F == code, "the client of the window gets it"
    send(False, window, 0, event(33, window, protocols, ping, 1, window))
    guarded.flush()
    assert isinstance(seen.wait_for_event(), xcffib.xproto.ClientMessageEvent)
    # The focus goes back to the window that had it, and to no other.
    guarded.returns_to = window
    send(False, root, to_manager, activate)
    for arguments in ((False, root, to_manager, event(33, other, active, 2)), (False, window, to_manager, activate)):
        with pytest.raises(Policy):
            send(*arguments)
    guarded.returns_to = None
    with pytest.raises(Policy):
        send(False, root, to_manager, activate)
    for connection in (guarded, seen):
        connection.disconnect()


def connected(display: Display) -> Any:
    return xcffib.Connection(display.name)  # type: ignore[no-untyped-call]


class TwoSides:
    """A guarded connection with a window of its own, and somebody else's connection with one."""

    def __init__(self, display: Display) -> None:
        self.other = connected(display)
        self.root: int = self.other.setup.roots[0].root
        self.theirs: int = self.other.generate_id()
        self.other.core.CreateWindow(0, self.theirs, self.root, 0, 0, 9, 9, 0, 1, 0, 0, [])
        self.guarded: Any = Guarded(display.name, "user")
        self.core: Any = self.guarded.core
        self.window: int = self.guarded.generate_id()
        self.create(self.window, self.root, INPUT_ONLY, EVENT_MASK, [PROPERTY_CHANGE])
        self.sync()

    def create(self, window: int, parent: int, kind: int, mask: int, values: list[int]) -> None:
        self.core.CreateWindow(0, window, parent, 0, 0, 1, 1, 0, kind, 0, mask, values)

    def atom(self, name: str) -> int:
        return int(self.other.core.InternAtom(False, len(name), name).reply().atom)

    def owner(self, selection: int) -> int:
        return int(self.other.core.GetSelectionOwner(selection).reply().owner)

    def sync(self) -> None:
        self.guarded.core.GetInputFocus().reply()
        self.other.core.GetInputFocus().reply()

    def now(self) -> int:
        """The server's time."""
        self.core.ChangeProperty(2, self.window, 39, 31, 8, 0, b"")
        self.sync()
        events = []
        while (event := self.guarded.poll_for_event()) is not None:
            events.append(event)
        return int(events[-1].time)


INPUT_ONLY, EVENT_MASK = xcffib.xproto.WindowClass.InputOnly, xcffib.xproto.CW.EventMask
PROPERTY_CHANGE = xcffib.xproto.EventMask.PropertyChange


@pytest.fixture
def sides(bare: Display) -> Iterator[TwoSides]:
    two = TwoSides(bare)
    yield two
    two.guarded.disconnect()
    two.other.disconnect()


def test_windows_are_made_only_where_nobody_ever_sees_them(sides: TwoSides) -> None:
    new = sides.guarded.generate_id()
    for parent, kind, mask, values in (
        (sides.root, xcffib.xproto.WindowClass.InputOutput, EVENT_MASK, [PROPERTY_CHANGE]),
        (sides.root, xcffib.xproto.WindowClass.CopyFromParent, EVENT_MASK, [PROPERTY_CHANGE]),
        (sides.theirs, INPUT_ONLY, EVENT_MASK, [PROPERTY_CHANGE]),
        (sides.window, INPUT_ONLY, EVENT_MASK, [PROPERTY_CHANGE]),
        (sides.root, INPUT_ONLY, EVENT_MASK, [xcffib.xproto.EventMask.KeyPress]),
        (sides.root, INPUT_ONLY, EVENT_MASK | xcffib.xproto.CW.Cursor, [PROPERTY_CHANGE, 0]),
        (sides.root, INPUT_ONLY, 0, []),
    ):
        with pytest.raises(Policy, match="CreateWindow"):
            sides.create(new, parent, kind, mask, values)
    for name, request in (("MapWindow", sides.core.MapWindow), ("DestroyWindow", sides.core.DestroyWindow)):
        with pytest.raises(Policy, match=name):
            request(sides.window)


def test_properties_are_written_only_where_somebody_asked_for_them(sides: TwoSides) -> None:
    selection, place, other_place = sides.atom("XdndSelection"), sides.atom("PLACE"), sides.atom("OTHER")

    def write(window: int, name: int) -> None:
        sides.core.ChangeProperty(0, window, name, 31, 8, 1, b"x")

    def notify(window: int, requestor: int = 0, mask: int = 0, propagate: bool = False) -> None:
        told = struct.pack("=BBHIIIII", 31, 0, 0, 0, requestor or window, selection, 31, place)
        sides.core.SendEvent(propagate, window, mask, told.ljust(32, b"\0"))

    def refused(do: Callable[..., None], *arguments: Any) -> None:
        with pytest.raises(Policy):
            do(*arguments)

    write(sides.window, place)
    refused(write, sides.theirs, place)
    refused(write, sides.root, place)
    refused(notify, sides.theirs)
    sides.core.SetSelectionOwner(sides.window, selection, sides.now())
    sides.sync()
    # What another client makes up is no request, nor is one for the root.
    made_up = struct.pack("=BBHIIIIII", 30, 0, 0, 0, sides.window, sides.theirs, selection, 31, place)
    sides.other.core.SendEvent(False, sides.window, 0, made_up.ljust(32, b"\0"))
    sides.other.core.ConvertSelection(sides.root, selection, 31, place, 0)
    sides.sync()
    while sides.guarded.poll_for_event() is not None:
        pass
    refused(write, sides.theirs, place)
    refused(write, sides.root, place)
    sides.other.core.ConvertSelection(sides.theirs, selection, 31, place, 0)
    sides.sync()
    while sides.guarded.poll_for_event() is not None:
        pass
    write(sides.theirs, place)
    refused(write, sides.theirs, other_place)
    refused(write, sides.root, place)
    refused(notify, sides.root)
    refused(notify, sides.window, sides.theirs)
    refused(notify, sides.theirs, sides.window)
    refused(notify, sides.theirs, 0, xcffib.xproto.EventMask.PropertyChange)
    refused(notify, sides.theirs, 0, 0, True)
    notify(sides.theirs)
    sides.guarded.answered(sides.theirs, place)
    refused(write, sides.theirs, place)
    refused(notify, sides.theirs)
    # What was read is deleted at one's own place alone.
    sides.core.GetProperty(True, sides.window, place, 0, 0, 1).reply()
    with pytest.raises(Policy):
        sides.core.GetProperty(True, sides.theirs, place, 0, 0, 1)


def test_selections_are_taken_only_for_a_drop_or_where_the_clipboard_was_asked_for(sides: TwoSides) -> None:
    drag, clipboard, primary = sides.atom("XdndSelection"), sides.atom("CLIPBOARD"), 1
    now = sides.now()

    def refused(owner: int, selection: int, time: int) -> None:
        with pytest.raises(Policy, match="SetSelectionOwner"):
            sides.core.SetSelectionOwner(owner, selection, time)

    for selection in (clipboard, primary):
        refused(sides.window, selection, now)
        refused(0, selection, now)
    refused(sides.theirs, drag, now)
    refused(sides.window, drag, 0)
    refused(0, drag, now)
    sides.core.SetSelectionOwner(sides.window, drag, now)
    refused(0, drag, now + 1)
    refused(0, drag, 0)
    # It is given up with the time it was taken with: what somebody took since stays theirs.
    later = sides.now()
    while later == now:
        later = sides.now()
    sides.other.core.SetSelectionOwner(sides.theirs, drag, later)
    sides.sync()
    sides.core.SetSelectionOwner(0, drag, now)
    sides.sync()
    assert sides.owner(drag) == sides.theirs
    sides.guarded.clipboard += 1
    sides.core.SetSelectionOwner(sides.window, clipboard, sides.now())
    sides.sync()
    assert sides.owner(clipboard) == sides.window
    refused(sides.window, primary, now)
    sides.guarded.clipboard -= 1
    refused(sides.window, clipboard, sides.now())


def test_the_clipboard_is_read_only_where_it_was_asked_for(sides: TwoSides) -> None:
    clipboard = sides.atom("CLIPBOARD")

    def read(window: int, selection: int) -> None:
        sides.core.ConvertSelection(window, selection, 31, 39, 0)

    with pytest.raises(Policy, match="ConvertSelection"):
        read(sides.window, clipboard)
    sides.guarded.clipboard += 1
    read(sides.window, clipboard)
    for window, selection in (
        (sides.theirs, clipboard),
        (sides.window, 1),
        (sides.window, sides.atom("XdndSelection")),
    ):
        with pytest.raises(Policy, match="ConvertSelection"):
            read(window, selection)


def test_messages_of_a_drag_go_to_one_window_alone_and_name_their_own_source(sides: TwoSides) -> None:
    def tell(name: str, window: int, source: int, mask: int = 0) -> None:
        sides.core.SendEvent(False, window, mask, event(33, window, sides.atom(name), source))

    for name in (*DRAG, "XdndLeave"):
        tell(name, sides.theirs, sides.window)
        for arguments in (
            (sides.root, sides.window),
            (0, sides.window),
            (sides.theirs, sides.window, xcffib.xproto.EventMask.PropertyChange),
        ):
            with pytest.raises(Policy, match="SendEvent"):
                tell(name, *arguments)
    for name in DRAG:
        with pytest.raises(Policy, match="SendEvent"):
            tell(name, sides.theirs, sides.theirs)
    tell("XdndLeave", sides.theirs, sides.theirs)
    for name in ("XdndStatus", "XdndFinished"):
        with pytest.raises(Policy, match="SendEvent"):
            tell(name, sides.theirs, sides.window)
