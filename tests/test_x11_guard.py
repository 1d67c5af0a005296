"""What the guard of the X11 connection lets pass, and how a dead display ends."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
import re
import signal
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
        guard.kind, guard._base, guard._mask = kind, 0, 0
        passed = set()
        for extension, opcode in everything:
            body = bytes(fitting)
            if (extension, opcode) == (CORE, 2):
                body = b"\0" * 8 + (0x800).to_bytes(4, "little") + b"\0" * 8
            elif (extension, opcode) == (CORE, 25):
                body = b"\0" * 12 + bytes([33]) + b"\0" * 31
            if guard.allows(extension, opcode, body):
                passed.add((extension, opcode))
        assert passed == ALLOWED[kind]
    names = {request: name for request, name in requests().items() if request in ALLOWED["own"]}
    assert set(names) == ALLOWED["own"], "the guard allows a request that xcffib does not know"
    changing = {f"{extension}.{names[extension, opcode]}" for extension, opcode in ALLOWED["own"] - ALLOWED["user"]}
    assert changing == {
        ".SendEvent",
        ".QueryKeymap",
        "XTEST.GetVersion",
        "XTEST.FakeInput",
        "XKEYBOARD.LatchLockState",
        "XKEYBOARD.SetMap",
    }
    reading = ("Get", "Query", "List", "Intern", "Translate", "Use")
    others = {f"{e}.{names[e, o]}" for e, o in ALLOWED["user"] if not names[e, o].startswith(reading)}
    assert others == {
        ".ChangeWindowAttributes", ".FreePixmap", "Composite.RedirectWindow", "Composite.RedirectSubwindows",
        "Composite.NameWindowPixmap", "MIT-SHM.Attach", "MIT-SHM.Detach",
    }  # fmt: skip


def test_red_lines_hold_before_the_wire(display: Display) -> None:
    events, modes, attributes = xcffib.xproto.EventMask, xcffib.xproto.GrabMode, xcffib.xproto.CW
    seen: Any = xcffib.Connection(display.name)  # type: ignore[no-untyped-call]
    root = seen.setup.roots[0].root
    window = seen.generate_id()
    seen.core.CreateWindow(0, window, root, 10, 10, 50, 50, 0, 1, 0, 0, [])
    before = seen.core.QueryPointer(root).reply()
    guarded: Any = Guarded(display.name, "user")
    core, message = guarded.core, bytes([33, 32]) + bytes(30)
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
        ("SendEvent", lambda: core.SendEvent(0, root, events.SubstructureRedirect, message)),
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
