"""Working on a desktop that is a person's, while they type: all of it must arrive, and nothing of theirs may change."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from typing import TYPE_CHECKING, Any

import pytest
from dbus_fast import BusType, Message, MessageType, Variant
from dbus_fast.aio import MessageBus
from desktop.support import DEADLINE_S, App
from lab_support import LAB, LabLog, ScriptedPerson, lab_command

from alongside.core.errors import AlongsideError
from alongside.platforms.linux import apps
from alongside.server.desktops import Desktop, Desktops

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from desktop.support import Step

pytestmark = pytest.mark.anyio

COVERS = "1270x760+0+0"
A_MOMENT = {"do": "wait", "seconds": 0.5}  # in which the person types on
KINDS = ("gtk3", "qt5", "qt6", "page")


class Person:
    """The person's display, window manager and buses, and a driver of kind `user` on them."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment
        self.desktop: Desktop
        self.processes: list[asyncio.subprocess.Process] = []
        self.count = 0

    async def start(self, *command: str, **options: Any) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *command, env=self.environment, stderr=asyncio.subprocess.DEVNULL, **options
        )
        self.processes.append(process)
        return process

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        reply: dict[str, Any] = (await self.desktop.call(method, params)).result
        return reply

    async def open(self, kind: str, script: str | None = None, *given: str) -> App:
        """The window of that kind, or of another script of the lab."""
        self.count += 1
        title = f"Lab {kind} {self.count}"
        log, pokes = self.folder / f"{title}.log", self.folder / f"{title}.poke"
        options = ("--poke", str(pokes), "--title", title, "--geometry", "600x400+40+40", *given)
        command = lab_command("gtk3" if script else kind, log, *options)
        if kind == "page":
            server = await self.start(*command, stdout=asyncio.subprocess.PIPE)
            assert server.stdout is not None
            url = (await asyncio.wait_for(server.stdout.readline(), DEADLINE_S)).decode().strip()
            # As a person starts theirs, but for a profile that is thrown away, and readable.
            browser = apps.kind_of("chromium")
            assert browser is not None
            flags = (*browser.flags, *(browser.root_flags if os.geteuid() == 0 else ()))
            flags += ("--window-size=600,400", "--window-position=40,40", *os.environ.get("CHR", "").split())
            command = ["chromium", *flags, f"--user-data-dir={self.folder}/chromium", f"--app={url}"]
        await self.start(*(str(LAB / script) if script and one.endswith("gtk3.py") else one for one in command))
        app = App(self, kind, title, LabLog(log), pokes, title)
        await app.log.wait_for("window", "ready", within=2 * DEADLINE_S)
        return app


@contextlib.asynccontextmanager
async def persons_desktop(folder: Path) -> AsyncIterator[Person]:
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    kept = ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"HOME": str(folder), "XDG_RUNTIME_DIR": str(runtime), "GSETTINGS_BACKEND": "memory"}
    environment |= {"GDK_BACKEND": "x11", "QT_QPA_PLATFORM": "xcb", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1"}
    person = Person(folder, environment)
    try:
        readable, writable = os.pipe()
        await person.start(
            *("Xvfb", "-displayfd", str(writable), "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset"),
            pass_fds=[writable],
        )
        os.close(writable)
        with os.fdopen(readable) as told:
            number = (await asyncio.wait_for(asyncio.to_thread(told.readline), DEADLINE_S)).strip()
        environment["DISPLAY"] = f":{number}"
        daemon = await person.start(
            "dbus-daemon", "--session", "--nofork", "--print-address=1", stdout=asyncio.subprocess.PIPE
        )
        assert daemon.stdout is not None
        environment["DBUS_SESSION_BUS_ADDRESS"] = (await daemon.stdout.readline()).decode().strip()
        await accessible(environment["DBUS_SESSION_BUS_ADDRESS"])
        await person.start("openbox")
        yield person
    finally:
        for process in reversed(person.processes):
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def accessible(address: str) -> None:
    """Start the accessibility bus, as a session with a screen reader has it."""
    bus = await MessageBus(bus_address=address, bus_type=BusType.SESSION).connect()
    reply = await bus.call(
        Message(
            destination="org.a11y.Bus",
            path="/org/a11y/bus",
            interface="org.freedesktop.DBus.Properties",
            member="Set",
            signature="ssv",
            body=["org.a11y.Status", "IsEnabled", Variant("b", True)],
        )
    )
    assert reply is not None
    assert reply.message_type is MessageType.METHOD_RETURN, reply.body
    bus.disconnect()


@pytest.fixture(scope="module")
async def person(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Person]:  # noqa: ARG001
    with pytest.MonkeyPatch.context() as patch:
        async with persons_desktop(tmp_path_factory.mktemp("person")) as person:
            for name in ("DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
                patch.setenv(name, person.environment[name])
            async with Desktops(user_acting=True) as desktops:
                person.desktop = desktops.user
                yield person


_open: dict[str, App] = {}


@pytest.fixture(params=KINDS)
async def app(person: Person, request: pytest.FixtureRequest) -> App:
    kind = str(request.param)
    if kind not in _open:
        _open[kind] = await person.open(kind)
    return _open[kind]


@contextlib.asynccontextmanager
async def undisturbed(person: Person) -> AsyncIterator[None]:
    """Work that the person must not notice: they type and click in a window that covers everything."""
    async with ScriptedPerson(person.folder / "person.log", person.environment, COVERS) as hands:
        yield
        report = await hands.finish()
    assert not report.disturbances
    assert report.arrived == report.typed
    assert len(report.typed) > 5


# What can be done there: the step, and what the log must say; without a value any will do.
QUIET: tuple[tuple[Step, tuple[str, str, Any]], ...] = (
    ({"do": "click", "target": "button:Save"}, ("save", "clicked", None)),
    ({"do": "double_click", "target": "button:Save"}, ("save", "clicked", None)),
    ({"do": "click", "target": "button:Save", "modifiers": ["shift"]}, ("save", "clicked", None)),
    ({"do": "click", "target": "Help"}, ("help", "activated", None)),
    ({"do": "check", "target": "Subscribe"}, ("subscribe", "toggled", True)),
    ({"do": "check", "target": "Large"}, ("size", "selected", "Large")),
    ({"do": "set", "target": "Name", "value": "Ada"}, ("name", "text", "Ada")),
    ({"do": "type", "target": "Name", "text": "!\n"}, ("name", "activated", None)),
    ({"do": "set", "target": "Notes", "value": "one\ntwo"}, ("notes", "text", "one\ntwo")),
    ({"do": "clear", "target": "City"}, ("city", "text", "")),
    ({"do": "set", "target": "Colour", "value": "Green"}, ("colour", "selected", "Green")),
    ({"do": "set", "target": "Amount", "value": 42}, ("amount", "value", 42)),
    ({"do": "set", "target": "Volume", "value": 30}, ("volume", "value", 30)),
    ({"do": "select", "target": "Fruit 150"}, ("fruits", "selected", "Fruit 150")),
    ({"do": "scroll", "target": "Fruits"}, ("fruits", "scrolled", None)),
    ({"do": "expand", "target": "Europe"}, ("places", "expanded", "Europe")),
    ({"do": "menu", "path": "File > Export > As Text..."}, ("menu", "activated", "File/Export/As Text...")),
    ({"do": "key", "keys": "F5"}, ("window", "key", "F5")),
    ({"do": "select", "target": "tab:Two"}, ("tabs", "selected", "Two")),
)


async def test_what_disturbs_nothing_works_on_covered_windows(person: Person, app: App) -> None:
    async with undisturbed(person):
        listed = await person.call("windows")
        assert f'"{app.title}"' in listed["text"]
        assert "covered" in next(line for line in listed["text"].splitlines() if app.title in line)
        assert 'button "Save"' in await app.look()
        assert "image" in await app.look(image="standard")
        for step, (widget, event, value) in QUIET:
            if step["do"] == "menu" and app.kind.startswith("qt"):
                step = {**step, "accept": "focus"}  # noqa: PLW2901 - it ends in an ellipsis; this one opens nothing
            mark = app.log.mark()
            answer = await app.act(step)
            assert answer.marks in {"✓", "~"}, answer.text
            assert not str(answer.outcomes[0]["technique"]).startswith("xtest")
            await app.log.wait_for(widget, event, *(() if value is None else (value,)), after=mark)


async def test_text_that_no_key_writes(person: Person, app: App) -> None:
    async with undisturbed(person):
        await app.look()
        mark = app.log.mark()
        answer = await app.act({"do": "set", "target": "Name", "value": "Ада 漢字"})
        if app.kind == "page":
            assert answer.reason == "needs_sandbox", answer.text
            assert "no key of this keyboard writes" in answer.text
            assert not [one for one in await app.saw(mark) if one.event == "text"]
        else:
            assert answer.marks == "✓", answer.text
            await app.log.wait_for("name", "text", "Ада 漢字", after=mark)
        await app.act(A_MOMENT)


# What would take the pointer, the keyboard, the focus or a grab.
DISTURBING: tuple[Step, ...] = (
    {"do": "right_click", "target": "button:Save"},
    {"do": "click", "target": "Colour"},
    {"do": "drag", "target": "Token", "to": "Basket"},
    {"do": "focus", "target": "City"},
)


async def test_everything_else_needs_a_sandbox(person: Person, app: App) -> None:
    await app.look()
    async with undisturbed(person):
        opening: tuple[Step, ...] = () if app.kind == "page" else ({"do": "click", "target": "File"},)
        for step in DISTURBING + opening:
            mark = app.log.mark()
            answer = await app.act(step)
            assert answer.marks == "✗", answer.text
            assert answer.reason == "needs_sandbox", answer.text
            assert "desktop(action=" in answer.text
            assert not await app.saw(mark), answer.text
        answer = await app.act({"do": "click", "target": "button:Save", "via": "xtest.pointer"})
        assert answer.marks == "✗", answer.text
        assert answer.reason == "background_unavailable"
        assert not await app.saw(mark)
        with pytest.raises(AlongsideError) as refused:
            await person.call("launch", app="/usr/bin/openbox")
        assert refused.value.reason == "needs_sandbox"
        await app.act(A_MOMENT)


async def test_a_path_to_a_menu_does_not_open_it(person: Person, app: App) -> None:
    if app.kind == "page":
        pytest.skip("a menu of a page takes hold of nothing")
    await app.look()
    async with undisturbed(person):
        for path in ("File", "File > Export"):
            answer = await app.act({"do": "menu", "path": path})
            assert (answer.marks, answer.reason) == ("✗", "not_found"), answer.text
            await app.act(A_MOMENT)


async def test_exported_menus_are_chosen_from_unseen(person: Person) -> None:
    exporting = await person.open("gtk3_menu", "gtk3_menu.py")
    async with undisturbed(person):
        listed = (await person.call("windows"))["text"]
        assert "covered" in next(line for line in listed.splitlines() if exporting.title in line)
        await exporting.look()
        for path, (widget, event, value) in {
            "File > Save": ("menu", "activated", "save"),
            "File > Export > As Text...": ("menu", "activated", "text"),
            "File > Export > Deep > Deeper > Deepest": ("menu", "activated", "deepest"),
            "View > Ruler": ("ruler", "state", True),
            "View > Large": ("size", "state", "large"),
        }.items():
            mark = exporting.log.mark()
            answer = await exporting.act({"do": "menu", "path": path, "via": "gtk.action"})
            assert answer.marks == "✓", answer.text
            await exporting.log.wait_for(widget, event, value, after=mark)
        for path, reason in {"File > Locked": "disabled", "File": "not_found", "View > Twin": "ambiguous"}.items():
            mark = exporting.log.mark()
            answer = await exporting.act({"do": "menu", "path": path})
            assert (answer.marks, answer.reason) == ("✗", reason), answer.text
            assert not await exporting.saw(mark)


async def test_what_opens_a_menu_needs_a_sandbox(person: Person) -> None:
    """Wherever a menu is opened from, it takes a grab of the person's keyboard."""
    menus = await person.open("menus", "menus.py")
    await menus.look()
    async with undisturbed(person):
        for do in ("click", "invoke"):
            answer = await menus.act({"do": do, "target": "button:Menu"})
            assert (answer.marks, answer.reason) == ("✗", "needs_sandbox"), answer.text
            await menus.act(A_MOMENT)
        assert not menus.log.events("menu")


async def test_a_focus_that_is_taken_is_given_back(person: Person) -> None:
    """Qt's dialogs take it under openbox from whoever has not typed for a moment (measured)."""
    await person.open("gtk3")  # Qt 5 does not find a bus on which nobody is yet
    app = await person.open("qt5", None, "--set", "hostile")
    await app.look()
    editor = await person.open("gtk3")

    async def active() -> str:
        listed = (await person.call("windows"))["windows"]
        return str(next(one["title"] for one in listed if "active" in one["states"]))

    await person.start("xdotool", "search", "--name", f"^{editor.title}$", "windowactivate")
    async with asyncio.timeout(DEADLINE_S):
        while await active() != editor.title:
            await app.act({"do": "wait", "seconds": 0.05})
    modal: Step = {"do": "click", "target": "button:Modal"}
    answer = await app.act(modal)
    assert answer.marks == "✓", answer.text
    assert 'dialog "Reason" took the focus by itself; it was given back' in answer.text
    await app.log.wait_for("dialog", "opened")
    await app.act(A_MOMENT)
    assert await active() == editor.title
    opened = re.search(r"dialog (user\.\d+)", answer.text)
    assert opened is not None
    dialog = app.on(opened[1])
    await dialog.look()
    assert (await dialog.act({"do": "click", "target": "button:Cancel"})).marks == "✓"
    async with undisturbed(person):
        mark = app.log.mark()
        answer = await app.act(modal)
        assert (answer.marks, answer.reason) == ("✗", "needs_sandbox"), answer.text
        assert '"accept": "focus"' in answer.text
        assert not await app.saw(mark)
        await app.act(A_MOMENT)
    answer = await app.act({**modal, "accept": "focus"})
    assert answer.marks == "✓", answer.text
