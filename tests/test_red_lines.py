"""Nothing that we send to a person's display crosses a red line: read on the wire, by a judge of its own."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
import xcffib
import xcffib.xproto
from desktop.test_person import A_MOMENT, COVERS, QUIET, Person, persons_desktop
from x11_proxy import Proxy, Sent

from alongside.server.desktops import Desktops

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from x11_support import Display

pytestmark = pytest.mark.anyio
KINDS = ("gtk3", "qt5", "page")
BIG = 70_000  # words: more than a request of the core protocol holds


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def watched(
    anyio_backend: str,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[Person, Proxy]]:
    """A person's desktop whose driver works through a proxy; their applications do not."""
    with pytest.MonkeyPatch.context() as patch:
        async with persons_desktop(tmp_path_factory.mktemp("watched")) as person:
            with Proxy(person.environment["DISPLAY"]) as proxy:
                for name in ("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
                    patch.setenv(name, person.environment[name])
                patch.setenv("DISPLAY", proxy.display)
                async with Desktops(user_acting=True) as desktops:
                    person.desktop = desktops.user
                    yield person, proxy
                assert not proxy.broken
                assert not proxy.crossed(), "also what is sent at the end"


@pytest.mark.parametrize("kind", KINDS)
async def test_no_step_crosses_a_red_line(watched: tuple[Person, Proxy], kind: str) -> None:
    person, proxy = watched
    app = await person.open(kind)
    await person.open("gtk3", None, "--geometry", COVERS)
    before = len(proxy.requests)
    await person.call("windows")
    await person.call("status")
    assert 'button "Save"' in await app.look(image="standard")
    for step, (widget, event, value) in QUIET:
        if step["do"] == "menu" and app.kind.startswith("qt"):
            step = {**step, "accept": "focus"}  # noqa: PLW2901 - it ends in an ellipsis; this one opens nothing
        mark = app.log.mark()
        answer = await app.act(step)
        assert answer.marks in {"✓", "~"}, answer.text
        await app.log.wait_for(widget, event, *(() if value is None else (value,)), after=mark)
    sent = [Sent.of(one).code for one in proxy.requests[before:] if str(one) == "SendEvent"]
    assert {2, 3, 4, 5, 6, 9, 10, 33} <= set(sent), "keys, buttons, motion, focus and pings went through it"
    assert proxy.crossed(before) == []


async def test_what_is_refused_sends_nothing_either(watched: tuple[Person, Proxy]) -> None:
    person, proxy = watched
    app = await person.open("gtk3")
    await app.look()
    before = len(proxy.requests)
    for step in (
        {"do": "right_click", "target": "button:Save"},
        {"do": "drag", "target": "Token", "to": "Basket"},
        {"do": "click", "target": "button:Save", "via": "xtest.pointer"},
        {"do": "focus", "target": "City"},
    ):
        assert (await app.act(step)).marks == "✗"
    assert [one for one in proxy.requests[before:] if str(one) == "SendEvent"] == []
    assert proxy.crossed(before) == []


async def test_only_the_focus_that_was_taken_is_given_back(watched: tuple[Person, Proxy]) -> None:
    person, proxy = watched
    await person.open("gtk3")  # Qt 5 does not find a bus on which nobody is yet
    app = await person.open("qt5", None, "--set", "hostile")
    await app.look()
    await person.open("gtk3")
    had = active(person.environment["DISPLAY"])
    before = len(proxy.requests)
    answer = await app.act({"do": "click", "target": "button:Modal"})
    assert "it was given back" in answer.text
    await app.act(A_MOMENT)
    assert active(person.environment["DISPLAY"]) == had
    assert set(proxy.crossed(before)) == {"SendEvent: activates a window"}
    assert proxy.crossed(before, may_return_to=had) == []
    # What is judged as the module ends is judged without this leave.
    del proxy.requests[before:]


def active(display: str) -> int:
    connection: Any = xcffib.connect(display)  # type: ignore[no-untyped-call]
    root, name = connection.get_setup().roots[0].root, "_NET_ACTIVE_WINDOW"
    atom = connection.core.InternAtom(False, len(name), name).reply().atom
    found = int(connection.core.GetProperty(False, root, atom, 0, 0, 1).reply().value.to_atoms()[0])
    connection.disconnect()
    return found


@pytest.mark.parametrize(
    ("command", "crossed"),
    [
        (("mousemove", "11", "22"), {"XTEST 2", "WarpPointer"}),
        (("click", "1"), {"XTEST 2"}),
        (("key", "a"), {"XTEST 2"}),
        (("windowactivate",), {"SendEvent"}),
        (("windowraise",), {"ConfigureWindow"}),
        (("windowfocus",), {"SetInputFocus"}),
        (("windowminimize",), {"SendEvent"}),
    ],
    ids=lambda one: one[0] if isinstance(one, tuple) else "",
)
def test_the_judge_catches_what_crosses_one(display: Display, command: tuple[str, ...], crossed: set[str]) -> None:
    window = mapped(display)
    with Proxy(display.name) as proxy:
        if command[0].startswith("window"):
            command = (*command, str(window))
        environment = {**display.environment, "DISPLAY": proxy.display}
        subprocess.run(["xdotool", *command], env=environment, check=True, timeout=10, stdout=subprocess.DEVNULL)
        found = {one.partition(":")[0] for one in proxy.crossed()}
    assert found & crossed, found
    assert not proxy.broken


def test_the_judge_reads_long_requests(display: Display) -> None:
    """What comes after one of more than 256 KiB is read as what it is, and so is what is in it."""
    window = mapped(display)
    with Proxy(display.name) as proxy:
        connection: Any = xcffib.connect(proxy.display)  # type: ignore[no-untyped-call]
        assert connection.get_maximum_request_length() > BIG  # asks for BIG-REQUESTS
        replace, name, kind = 0, xcffib.xproto.Atom.WM_NAME, xcffib.xproto.Atom.STRING
        connection.core.ChangeProperty(replace, window, name, kind, 8, 4 * BIG, b"x" * 4 * BIG)
        connection.core.SetInputFocus(0, window, 0)
        connection.core.GetInputFocus().reply()
        connection.disconnect()
        sent = [str(one) for one in proxy.requests]
        assert sent[-3:] == ["ChangeProperty", "SetInputFocus", "GetInputFocus"], sent
        assert len(proxy.requests[-3].body) > 4 * BIG
        assert [one.partition(":")[0] for one in proxy.crossed()] == ["ChangeProperty", "SetInputFocus"]
        assert not proxy.broken


def until(holds: Callable[[], object]) -> None:
    """Wait for what another process does."""
    deadline = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


def mapped(display: Display) -> int:
    """A window on a display, once its window manager is there; it goes with the display."""
    connection: Any = xcffib.connect(display.name)  # type: ignore[no-untyped-call]
    screen = connection.get_setup().roots[0]
    window = int(connection.generate_id())
    core, whole = connection.core, xcffib.xproto.WindowClass.InputOutput
    core.CreateWindow(0, window, screen.root, 0, 0, 200, 100, 0, whole, screen.root_visual, 0, [])
    name = "_NET_SUPPORTING_WM_CHECK"
    atom = core.InternAtom(False, len(name), name).reply().atom
    until(lambda: core.GetProperty(False, screen.root, atom, 0, 0, 1).reply().value_len)

    def shown() -> bool:
        core.MapWindow(window)  # openbox misses what is mapped while it starts
        return bool(core.GetWindowAttributes(window).reply().map_state == xcffib.xproto.MapState.Viewable)

    until(shown)
    _kept.append(connection)
    return window


_kept: list[Any] = []
