"""The X11 platform on a display of its own with openbox; what arrived is judged by the applications."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import itertools
import os
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import xcffib
import xcffib.composite
import xcffib.xproto
import xcffib.xtest

from alongside.core.errors import Invalid, Minimised, NotFound, Policy, TimedOut, Unavailable
from alongside.core.geometry import Point, Rect
from alongside.platforms.linux.x11 import keymap, properties
from alongside.platforms.linux.x11.connection import X11
from alongside.platforms.linux.x11.events import Events
from alongside.platforms.linux.x11.guard import ALLOWED, CORE, Guarded, Kind
from alongside.platforms.linux.x11.input import Input, path
from alongside.platforms.linux.x11.screen import Screen
from alongside.platforms.linux.x11.windows import Windows, is_covered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from alongside.core.ports import NativeWindow, Pixels

HERE = Path(__file__).resolve().parent
COLOUR = (32, 96, 160)  # of the band at the bottom of text_window.py
TEXT = "Привет 漢字 ñ😀 _-/:;@\\^~\"'ñßçЙ中é"

if not shutil.which("Xvfb") or not shutil.which("openbox"):
    pytest.skip("needs Xvfb and openbox", allow_module_level=True)


class Display:
    """An X server of the test's own."""

    def __init__(self, folder: Path, *, manager: bool = True) -> None:
        ours, theirs = os.pipe()
        command = ["Xvfb", "-displayfd", str(theirs), "-screen", "0", "1000x700x24", "-nolisten", "tcp", "-noreset"]
        self.server = subprocess.Popen(command, pass_fds=[theirs], stderr=subprocess.DEVNULL)
        os.close(theirs)
        with os.fdopen(ours) as told:
            self.name = f":{told.readline().strip()}"
        self.folder = folder
        self.environment = {**os.environ, "DISPLAY": self.name, "HOME": str(folder), "GSETTINGS_BACKEND": "memory"}
        self.environment.pop("DBUS_SESSION_BUS_ADDRESS", None)
        self.environment.pop("WAYLAND_DISPLAY", None)
        self.processes = [self.server]
        self.manager = manager
        if manager:
            self.start("openbox")

    def start(self, *command: str, **options: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(command, env=self.environment, stderr=subprocess.DEVNULL, **options)
        self.processes.append(process)
        return process

    def end(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()


class TextWindow:
    """A window of text_window.py and what it wrote down."""

    def __init__(self, display: Display, toolkit: str = "gtk3") -> None:
        self.out = display.folder / f"{len(display.processes)}.txt"
        self._process = display.start(
            "/usr/bin/python3", str(HERE / "text_window.py"), toolkit, str(self.out),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.pid = self._process.pid
        self._said()

    def do(self, command: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{command}\n".encode())
        self._process.stdin.flush()
        assert self._said() == command.split(maxsplit=1)[0]

    def text(self) -> str:
        return self.out.read_text(encoding="utf-8") if self.out.exists() else ""

    def lines(self, of: str) -> list[str]:
        return self.out.with_suffix(f".{of}").read_text().splitlines()

    def _said(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().decode().strip()


class Desk:
    """All ports on a display, and what the ledger was told."""

    x: X11
    events: Events
    windows: Windows
    screen: Screen
    input: Input

    def __init__(self) -> None:
        self.held: list[str] = []
        self.told: list[str] = []

    def hold(self, what: str) -> None:
        self.held.append(what)
        self.told.append(f"+{what}")

    def released(self, what: str) -> None:
        if what in self.held:
            self.held.remove(what)
        self.told.append(f"-{what}")

    async def find(self, title: str, **wanted: Any) -> NativeWindow:
        """The window of a title, once it is what is wanted: ``kind``, or ``states`` it must have."""
        deadline = time.monotonic() + 5
        while True:
            seen = self.events.number
            listed = await self.windows.list()
            for one in listed:
                fits = one.kind == wanted.get("kind", one.kind) and wanted.get("states", set()) <= one.states
                if one.title == title and fits:
                    return one
            assert time.monotonic() < deadline, f"no {title} {wanted} in {listed}"
            await self.events.wait_change(seen, 0.2)

    async def ready(self, title: str) -> NativeWindow:
        """A window in front with the focus, and the pointer in its text."""
        await self.windows.activate((await self.find(title)).native)
        # Read again: the window manager places a new window only after it is listed.
        found = await self.find(title, states={"active"})
        await self.input.move(Point(found.bounds.x + 50, found.bounds.y + 50))
        await self.input.press("left")
        await self.input.release("left")
        return found


@contextlib.asynccontextmanager
async def desk(display: Display, kind: Kind = "own") -> AsyncIterator[Desk]:
    out = Desk()
    out.x = await X11.open(display.name, kind)
    out.events = await Events.open(out.x)
    out.windows = Windows(out.x, out.events)
    if display.manager:
        await managed(out.x)
    out.screen = await Screen.open(out.x)
    if kind == "own":
        out.input = await Input.open(out.x, out.events, out.hold, out.released)
    try:
        yield out
    finally:
        await out.screen.close()
        out.events.close()
        await out.x.close()


async def managed(x: X11) -> None:
    """Wait for the window manager; a window mapped before it comes up moves."""
    deadline = time.monotonic() + 5
    while not await x.run(lambda: properties.first(properties.ask(x, x.root, "_NET_SUPPORTING_WM_CHECK").reply())):
        assert time.monotonic() < deadline, "no window manager came up"
        await asyncio.sleep(0.005)


async def until(true: Callable[[], bool], within: float = 5.0) -> None:
    """Wait for what another process does; there is nothing to await."""
    deadline = time.monotonic() + within
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.005)


async def arrives(window: TextWindow, text: str) -> None:
    with contextlib.suppress(AssertionError):
        await until(lambda: window.text() == text)
    assert window.text() == text


@pytest.fixture
def display(tmp_path: Path) -> Iterator[Display]:
    made = Display(tmp_path)
    yield made
    made.end()


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Display]:
    """Without a window manager."""
    made = Display(tmp_path, manager=False)
    yield made
    made.end()


# --- The guard


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
        "XTEST.GetVersion",
        "XTEST.FakeInput",
        "XKEYBOARD.LatchLockState",
        "XKEYBOARD.SetMap",
    }
    reading = ("Get", "Query", "List", "Intern", "Translate", "Use")
    others = {f"{e}.{names[e, o]}" for e, o in ALLOWED["user"] if not names[e, o].startswith(reading)}
    assert others == {
        ".ChangeWindowAttributes", ".FreePixmap", "Composite.RedirectWindow", "Composite.RedirectSubwindows",
        "Composite.NameWindowPixmap", "DAMAGE.Create", "DAMAGE.Destroy", "DAMAGE.Subtract", "MIT-SHM.Attach",
        "MIT-SHM.Detach", "RANDR.SelectInput",
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


# --- Windows


def test_windows_are_listed_with_what_they_are(display: Display) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            first, second = TextWindow(display), TextWindow(display, "qt5")
            gtk = await ours.find("Text gtk3")
            qt = await ours.find("Text qt5")
            assert (gtk.pid, qt.pid, gtk.kind) == (first.pid, second.pid, "normal")
            assert gtk.wm_class == "Text_window.py"
            assert gtk.bounds[2:] == (400, 300)
            assert gtk.frame.overlap(gtk.bounds) == gtk.bounds
            assert gtk.frame.height > gtk.bounds.height
            first.do("title Änderung ☂ " + "x" * 300)
            renamed = await ours.find("Änderung ☂ " + "x" * 300)
            assert renamed.native == gtk.native
            first.do("title Text gtk3")
            first.do("dialog")
            dialog = await ours.find("A dialog", kind="dialog", states={"modal"})
            assert dialog.owner == gtk.native
            first.do("undialog")
            await ours.windows.activate(gtk.native)
            first.do("menu")
            menu = await popup(ours)
            assert (menu.owner, menu.pid) == (gtk.native, first.pid)
            assert await ours.windows.at(menu.bounds.centre) == menu.native
            await ours.input.keys("escape")
            first.do("minimise")
            await ours.find("Text gtk3", states={"minimised"})
            await until_minimised(ours, gtk)
            await ours.windows.activate(gtk.native)
            active = await ours.find("Text gtk3", states={"active"})
            assert "minimised" not in active.states
            for one in (gtk, qt):
                await ours.windows.activate(one.native)
            second_frame = (await ours.find("Text qt5", states={"active"})).frame
            first.do(f"move {second_frame.x + 2} {second_frame.y}")
            first.do("resize 200 100")
            covered = await ours.find("Text gtk3", states={"covered"})
            assert await ours.windows.at(covered.bounds.centre) == qt.native
            assert [one.title for one in await ours.windows.list()] == ["Text gtk3", "Text qt5"]
            with pytest.raises(NotFound):
                await ours.windows.activate(0x7FFFFFF)

    asyncio.run(go())


async def until_minimised(ours: Desk, window: NativeWindow) -> None:
    """Openbox says it first, then shows an animation, then unmaps the window."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            await ours.screen.window(window.native)
        except Minimised:
            return
    pytest.fail("its picture could still be taken")


async def popup(ours: Desk) -> NativeWindow:
    found: list[NativeWindow] = []
    deadline = time.monotonic() + 5
    while not found:
        assert time.monotonic() < deadline
        seen = ours.events.number
        found = [one for one in await ours.windows.list() if one.kind == "popup"]
        await ours.events.wait_change(seen, 0.05)
    return found[0]


def test_windows_and_pictures_without_a_manager(bare: Display) -> None:
    async def go() -> None:
        async with desk(bare) as ours:
            window = TextWindow(bare)
            found = await ours.find("Text gtk3")
            assert found.frame == found.bounds
            assert found.kind == "normal"
            await picture_of(ours, found)
            with pytest.raises(Unavailable, match="window manager"):
                await ours.windows.activate(found.native)
            seen = ours.events.number
            window.do("title Other")
            assert await ours.events.wait_change(seen, 5) > seen
            assert await ours.events.wait_change(ours.events.number, 0) == ours.events.number

    asyncio.run(go())


def test_what_is_left_uncovered() -> None:
    window = Rect(10, 10, 100, 100)
    assert is_covered(window, [Rect(0, 0, 60, 200), Rect(60, 0, 60, 200)])
    assert not is_covered(window, [Rect(0, 0, 60, 200), Rect(61, 0, 60, 200)])
    assert not is_covered(window, [Rect(20, 20, 50, 50)])
    assert not is_covered(window, [])


# --- Pictures


def colour(pixels: Pixels, x: int, y: int) -> tuple[int, ...]:
    at = 4 * (y * pixels.width + x)
    return tuple(pixels.data[at : at + 3][::-1])


async def picture_of(ours: Desk, window: NativeWindow) -> Pixels:
    """The window's picture once it is painted."""
    deadline = time.monotonic() + 5
    while True:
        pixels = await ours.screen.window(window.native)
        if colour(pixels, 20, pixels.height - 20) == COLOUR:
            return pixels
        assert time.monotonic() < deadline, "the band is not in the picture"
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", ["own", "user"])
def test_pictures_of_covered_and_resized_windows(display: Display, kind: Kind) -> None:
    async def go() -> None:
        async with desk(display, kind) as ours:
            first = TextWindow(display)
            window = await ours.find("Text gtk3")
            TextWindow(display, "qt5")
            cover = await ours.find("Text qt5")
            first.do(f"move {cover.frame.x} {cover.frame.y}")
            await ours.find("Text gtk3", states={"covered"} if kind == "own" else set())
            pixels = await picture_of(ours, window)
            assert (pixels.width, pixels.height) == window.bounds[2:]
            first.do("resize 500 350")
            while (await ours.find("Text gtk3")).bounds[2:] != (500, 350):
                await ours.events.wait_change(ours.events.number, 0.1)
            grown = await picture_of(ours, window)
            assert (grown.width, grown.height) == (500, 350)
            # Partly beyond the edge of the display.
            first.do("move 800 500")
            beyond = await picture_of(ours, window)
            assert (beyond.width, beyond.height) == (500, 350)
            whole = await ours.screen.display()
            assert (whole.width, whole.height) == await ours.screen.size() == (1000, 700)
            image, hot, _ = await ours.screen.pointer()
            assert len(image.data) == 4 * image.width * image.height
            assert hot.x < image.width
            with pytest.raises(NotFound):
                await ours.screen.window(0x7FFFFFF)

    before = segments()
    asyncio.run(go())
    assert segments() == before


def segments() -> set[str]:
    ours = f" {os.getpid()} "
    return {line for line in Path("/proc/sysvipc/shm").read_text().splitlines() if ours in line}


def test_picture_of_a_menu(display: Display) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            window = TextWindow(display)
            await ours.find("Text gtk3")
            window.do("menu")
            menu = await popup(ours)
            pixels = await ours.screen.window(menu.native)
            assert (pixels.width, pixels.height) == menu.bounds[2:]

    asyncio.run(go())


# --- Input


def keyboard_of(display: Display) -> str:
    return subprocess.run(["xkbcomp", display.name, "-"], capture_output=True, check=True, text=True).stdout


@pytest.mark.parametrize("toolkit", ["gtk3", "qt5"])
def test_typed_text_arrives_and_the_keymap_is_left_as_it_was(display: Display, toolkit: str) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            window = TextWindow(display, toolkit)
            await ours.ready(f"Text {toolkit}")
            before = keyboard_of(display)
            wanted = TEXT * 5
            for _ in range(5):
                await ours.input.type(TEXT)
            await arrives(window, wanted)
            await ours.input.type("\tone\r\ntwo\n")
            wanted += "\tone\ntwo\n"
            await arrives(window, wanted)
            # More different characters than there are spare keycodes.
            many = "".join(chr(0x4E00 + number) for number in range(50)) + "x" * 1000
            await ours.input.type(many)
            await arrives(window, wanted + many)
            assert keyboard_of(display) == before
            assert not ours.held

    asyncio.run(go())


def test_typing_on_another_layout_with_caps_lock_on(display: Display) -> None:
    subprocess.run(["setxkbmap", "-display", display.name, "de,ru"], check=True)

    async def go() -> None:
        async with desk(display) as ours:
            window = TextWindow(display)
            await ours.ready("Text gtk3")
            before = keyboard_of(display)
            await ours.input.keys("caps_lock")
            await ours.input.type("yz ÄÖü@\\^~ é ж Q")
            await arrives(window, "yz ÄÖü@\\^~ é ж Q")
            await ours.input.keys("caps_lock")
            await ours.input.type("a")
            await until(lambda: window.text().endswith("Qa"))
            assert keyboard_of(display) == before
            assert "+lock:caps" in ours.told

    asyncio.run(go())


def test_a_slow_application_gets_the_right_characters(display: Display) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            window = TextWindow(display)
            await ours.ready("Text gtk3")
            window.do("stall 1")
            began = time.monotonic()
            await ours.input.type(TEXT)
            assert time.monotonic() - began > 0.5
            await arrives(window, TEXT)

    asyncio.run(go())


def test_cancelled_typing_gives_the_keymap_back(display: Display) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            window = TextWindow(display)
            await ours.ready("Text gtk3")
            before = keyboard_of(display)
            window.do("stall 0.5")
            typing = asyncio.create_task(ours.input.type(TEXT))
            await until(lambda: any(what.startswith("keymap") for what in ours.held))
            typing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await typing
            await ours.x.run(ours.x.sync)
            assert not ours.held
            assert keyboard_of(display) == before

    asyncio.run(go())


def test_what_a_dead_driver_held_is_let_go_of(display: Display) -> None:
    async def go() -> None:
        before = keyboard_of(display)
        async with desk(display) as dead:
            await dead.x.run(dead.input._keyboard.type, "漢")
            await dead.input.hold(["ctrl", "shift"])
            await dead.input.press("left")
            left = list(dead.held)
        async with desk(display) as ours:
            assert left[-1] == "button:1"
            assert any(what.startswith("keymap:") for what in left)
            await ours.input.undo(left[::-1])
            await ours.input.release_all()
            core = ours.x.connection.core
            assert not any(core.QueryKeymap().reply().keys)
            assert not core.QueryPointer(ours.x.root).reply().mask
        assert keyboard_of(display) == before

    asyncio.run(go())


def test_chords_are_pressed_in_order_and_released_in_reverse(display: Display) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            window = TextWindow(display)
            await ours.ready("Text gtk3")
            ours.told.clear()
            await ours.input.keys("Ctrl+Shift+S")
            codes = [int(told.split(":", maxsplit=1)[1]) for told in ours.told]
            assert [told[0] for told in ours.told] == ["+", "+", "+", "-", "-", "-"]
            assert codes[:3] == codes[:2:-1]
            for chord in ("Page_Up", "pageup", "F5", "ctrl+plus", "ctrl+я", "ENTER"):
                await ours.input.keys(chord)
            await ours.input.keys("x", repeat=3)
            await until(lambda: window.text().endswith("xxx"))
            pressed = [line for line in window.lines("keys") if "Control" not in line and "Shift" not in line]
            assert pressed == [
                "S 5", "Page_Up 0", "Page_Up 0", "F5 0", "plus 5", "U+044F 4", "Return 0", "x 0", "x 0", "x 0",
            ]  # fmt: skip
            for chord in ("ctrl+nonsense", "hyper+x", "a+b", "\x07"):
                with pytest.raises(Invalid):
                    await ours.input.keys(chord)
            with pytest.raises(Invalid):
                await ours.input.type("a\x07")
            assert not ours.held

    asyncio.run(go())


def test_dragging_and_the_wheel(display: Display) -> None:
    async def go() -> None:
        async with desk(display) as ours:
            window = TextWindow(display)
            found = await ours.ready("Text gtk3")
            start = Point(found.bounds.x + 20, found.bounds.y + 250)
            await ours.input.drag(start, Point(start.x + 300, start.y))
            await ours.input.wheel("down", 3)
            await until(lambda: sum("scroll" in line for line in window.lines("pointer")) >= 3)
            lines = window.lines("pointer")
            assert lines[0] == "button-press 20,50"
            assert sum("motion" in line for line in lines) >= 5
            assert "button-release 320,50" in lines
            dragging = asyncio.create_task(ours.input.drag(start, Point(start.x + 300, start.y)))
            await until(lambda: ours.held == ["button:1"])
            dragging.cancel()
            with pytest.raises(asyncio.CancelledError):
                await dragging
            await ours.x.run(ours.x.sync)
            assert not ours.held

    asyncio.run(go())


def test_frames_of_a_drag() -> None:
    assert path(Point(5, 5), Point(5, 5)) == []
    assert path(Point(0, 0), Point(20, 0)) == [Point(20, 0)]
    frames = path(Point(0, 0), Point(4000, 0))
    steps = [after.x - before.x for before, after in itertools.pairwise(frames)]
    assert len(frames) == 30
    assert steps == sorted(steps, reverse=True)


def test_names_of_keys() -> None:
    assert keymap.named("Page_Up") == keymap.named("pageup") == keymap.named("Prior")
    assert keymap.named("enter") == keymap.named("RETURN") == 0xFF0D
    assert keymap.parse("ctrl++") == (["ctrl"], ord("+"))
    assert keymap.parse("+") == ([], ord("+"))
    assert keymap.parse("super") == ([], 0xFFEB)
    assert keymap.parse("A") == ([], ord("A"))
    assert keymap.parse("control+A") == (["ctrl"], ord("a"))


def test_nothing_of_pillow_or_numpy_is_loaded() -> None:
    code = (
        "import sys, alongside.platforms.linux.x11.input, alongside.platforms.linux.x11.screen, alongside.vision.image;"
        "import alongside.platforms.linux.x11.windows; sys.exit(bool({'PIL', 'numpy'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
