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
    from collections.abc import Callable

    from x11_support import Display


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
        guard.kind, guard._base, guard._mask, guard.nobodys = kind, 0, 0, {0}
        guard.names, guard.returns_to, guard.root = dict.fromkeys((b"WM_PROTOCOLS", b"_NET_WM_PING"), 7), None, 1
        passed = set()
        for extension, opcode in everything:
            body = bytes(fitting)
            if (extension, opcode) == (CORE, 2):
                body = b"\0" * 8 + (0x800).to_bytes(4, "little") + b"\0" * 8
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
