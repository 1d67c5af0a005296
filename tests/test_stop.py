"""The emergency stop: what runs ends at once, nothing stays held, and nothing lifts it before its time."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from desktop.support import PROGRAMS, Place, step, until
from desktop.test_person import persons_desktop
from desktop.test_trouble import held
from lab_support import LAB
from test_server import Server, said

from alongside.cli import main
from alongside.core.errors import Stopped
from alongside.server import state
from alongside.server.desktops import Desktops
from alongside.server.person import stop
from alongside.server.person.stop import Stop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from pathlib import Path

    from desktop.support import Answer, App

pytestmark = pytest.mark.anyio

PROGRAMS["input"] = ("input.py",)
WITHIN = 0.25
NOTHING = {"keys": 0, "buttons and modifiers": 0, "borrowed keys": 0}
CLICK = [{"do": "click", "target": "Save"}]
ACROSS = step("drag", [30, 60], to=[1130, 60], modifiers=["ctrl"])
# Letters of the keyboard and one that is not on it, so that the keymap is borrowed while it is typed.
LONG = "lorem ipsum ω " * 358


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", autouse=True)
def _own_stop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is stopped here stops no other test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALONGSIDE_HOME", str(tmp_path_factory.mktemp("stopped")))
        yield


@pytest.fixture(scope="module")
async def place(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:  # noqa: ARG001
    async with Place.started(tmp_path_factory.mktemp("lab")) as place:
        yield place


@pytest.fixture
async def app(place: Place) -> AsyncIterator[App]:
    place.desktops.permit.stop._until = -1.0  # what an earlier test stopped
    app = await place.app("input", "--geometry", "1200x600+0+0")
    await app.look(image="standard")
    yield app
    await app.settled()
    assert await held(place) == NOTHING


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALONGSIDE_HOME", str(tmp_path / "home"))
    return state.folder()


def by_hand() -> float:
    """Press without our program; when (monotonic seconds)."""
    pressed = time.monotonic()
    (state.place() / "stop").write_text(json.dumps({"by": "a hand", "pid": 1, "nonce": os.urandom(4).hex()}))
    return pressed


def by_command() -> float:
    """Press with ``alongside stop``; when it wrote the file, not when it was started."""
    subprocess.run([sys.executable, "-m", "alongside", "stop"], check=True, stdout=subprocess.DEVNULL, timeout=20)
    written: float = json.loads((state.place() / "stop").read_text())["since_boot_s"]
    return written - time.clock_gettime(time.CLOCK_BOOTTIME) + time.monotonic()


async def stopped(app: App, press: Callable[[], float], begun: Callable[[], bool], *steps: Any) -> tuple[Answer, float]:
    """Press once it has begun; the answer, and when was pressed."""
    mark = app.log.mark()
    running = asyncio.create_task(app.act(*steps))
    await until(begun, "the act begins")
    pressed = await asyncio.to_thread(press)
    answer = await running
    answered = time.monotonic() - pressed
    seen, count = await app.saw(mark), -1
    while len(seen) > count:  # a poke may overtake events that wait in the application's queue
        count, seen = len(seen), await app.saw(mark)
    last = max((one.t for one in seen), default=pressed) - pressed
    kinds = ",".join(one["do"] for one in steps)
    print(f"{press.__name__} {kinds}: last event {1000 * last:.0f} ms, answer {1000 * answered:.0f} ms after the press")  # noqa: T201
    assert last <= WITHIN
    assert answered <= WITHIN
    assert answer.reason == "stopped", answer.text
    return answer, pressed


BOTH = pytest.mark.parametrize("press", [by_hand, by_command])


@pytest.mark.parametrize(("press", "turn"), [(by_hand, 0), (by_hand, 3), (by_hand, 6), (by_command, 0)])
async def test_a_drag_ends(app: App, press: Callable[[], float], turn: int) -> None:
    mark = app.log.mark()

    def dragging() -> bool:
        return len([one for one in app.log.events()[mark:] if one.event == "motion-notify"]) > 1 + turn

    # The command takes half a second to start, as long as one drag lasts.
    steps = [ACROSS] * 5 if press is by_command else [ACROSS, step("click", "Save")]
    answer, _ = await stopped(app, press, dragging, *steps)
    assert answer.marks.endswith("✗" + "-" * (len(steps) - len(answer.marks.rstrip("-")))), answer.text
    assert "-" in answer.marks
    events = [one for one in app.log.events()[mark:] if one.widget == "area"]
    assert events[-1].event == "button-release"
    assert press is by_command or events[-1].value < 1100, "it had come to its end by itself"
    assert not any(one.widget == "save" for one in app.log.events()[mark:])


@BOTH
async def test_typing_ends(app: App, press: Callable[[], float]) -> None:
    mark = app.log.mark()

    def typing() -> bool:
        return app.log.mark() > mark + 500

    answer, _ = await stopped(app, press, typing, step("type", "Text", text=LONG, via="xtest.keys"), *CLICK)
    assert answer.marks == "✗-", answer.text
    typed = [one for one in app.log.events()[mark:] if one.widget == "key" and one.event == "press"]
    assert 100 < len(typed) < len(LONG), "it had come to its end by itself"


@BOTH
@pytest.mark.parametrize("wait", [step("wait", seconds=30), step("wait", text="never there", timeout=30)])
async def test_a_wait_ends(app: App, press: Callable[[], float], wait: dict[str, Any]) -> None:
    ready = time.monotonic() + 0.2
    answer, _ = await stopped(app, press, lambda: time.monotonic() > ready, step("wait", seconds=0), wait, *CLICK)
    assert answer.marks == "✓✗-", answer.text
    assert "stopped by" in answer.text


async def test_after_it_nothing_acts_and_reading_goes_on(place: Place, app: App) -> None:
    mark = app.log.mark()
    by_hand()
    await until(lambda: place.desktops.permit.stop.left > 0, "the stop is seen")
    with pytest.raises(Stopped, match='stopped, by "a hand"'):
        await app.act(*CLICK)
    with pytest.raises(Stopped):
        await place.call("launch", app="mousepad")
    with pytest.raises(Stopped):
        await place.desktops.start((640, 480))
    (state.place() / "stop").unlink()
    with pytest.raises(Stopped):
        await app.act(*CLICK)
    assert 'button "Save"' in await app.look(image="standard")
    assert await app.saw(mark) == []


async def test_an_act_that_waited_for_another_is_refused(app: App) -> None:
    first = asyncio.create_task(app.act(step("wait", seconds=30)))
    second = asyncio.create_task(app.act(*CLICK))
    await asyncio.sleep(0.1)  # nothing tells that both have been sent
    mark = app.log.mark()
    by_hand()
    assert (await first).reason == "stopped"
    with pytest.raises(Stopped):
        await second
    assert await app.saw(mark) == []


async def test_a_driver_that_is_asked_directly_asks_back(place: Place, app: App) -> None:
    by_hand()
    await until(lambda: place.desktops.permit.stop.left > 0, "the stop is seen")
    mark = app.log.mark()
    for do in (CLICK[0], step("wait", seconds=30), step("type", "Text", text="x")):
        reply = await place.desktop.driver.call("act", {"window": app.window, "steps": [do, *CLICK]})
        assert [one["mark"] for one in reply.result["outcomes"]] == ["✗", "-"]
        assert reply.result["outcomes"][0]["reason"] == "stopped"
    assert await app.saw(mark) == []


async def test_on_the_persons_desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with persons_desktop(tmp_path) as person:
        for name in ("DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
            monkeypatch.setenv(name, person.environment[name])
        async with Desktops(user_acting=True) as desktops:
            person.desktop = desktops.user
            app = await person.open("gtk3", str(LAB / "input.py"))
            await app.look()
            typing = step("type", "Text", text="lorem ipsum " * 417, via="x11.keys")
            for far in (typing, step("wait", seconds=30)):
                desktops.permit.stop._until = -1.0
                mark, ready = app.log.mark(), time.monotonic() + 0.2  # nothing tells that the wait has begun
                types = far is typing

                def begun(mark: int = mark, ready: float = ready, *, types: bool = types) -> bool:
                    return app.log.mark() > mark + 3 if types else time.monotonic() > ready

                answer, _ = await stopped(app, by_hand, begun, far, *CLICK)
                assert answer.marks == "✗-", answer.text
                seen = [one.event for one in app.log.events()[mark:]]
                assert seen.count("press") == seen.count("release") < len(typing["text"])


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


@pytest.fixture
def other(tmp_path: Path, server: Server) -> Server:
    """Another server of the same person."""
    (tmp_path / "other").mkdir()
    other = Server(tmp_path / "other")
    other.state = server.state
    return other


async def test_every_server_is_stopped_also_one_that_starts_later(
    server: Server, other: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALONGSIDE_HOME", str(server.state))
    async with server.client("auto", "--user-desktop") as one, other.client("auto", "--user-desktop") as two:
        for client in (one, two):
            assert await said(client, "act", window="x", steps=CLICK) == "✓ click"
        await asyncio.to_thread(by_command)
        later = "import time; at = time.time; time.time = lambda: at() + 86400"  # somebody sets the clock
        async with server.client("auto", "--user-desktop", more=later) as three:
            for client in (one, two, three):
                told = await said(client, "act", failed=True, window="x", steps=CLICK)
                assert re.search(r'stopped, by "alongside stop of \w+" \(pid \d+\), for 1[12]\d s more', told), told
                assert "(stopped)" in told
                assert "(stopped)" in await said(client, "desktop", failed=True, action="start")
                assert await said(client, "look", window="x") == "[12] button"
                assert "✗ emergency stop: pressed by" in await said(client, "status")
        assert len(server.calls("act") + other.calls("act")) == 2
        (server.state / "stop").unlink()
        for client in (one, two):
            assert "(stopped)" in await said(client, "act", failed=True, window="x", steps=CLICK)
    entries = [
        json.loads(line) for file in (server.state / "journal").iterdir() for line in file.read_text().splitlines()
    ]
    assert [one["outcome"] for one in entries if one["tool"] == "act"].count("stopped") == 5


async def test_it_ends_after_its_time_and_a_new_press_starts_it_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALONGSIDE_HOME", str(server.state))
    short = "from alongside.server.person import stop; stop.HOLD = 1.5"
    async with server.client("auto", "--user-desktop", more=short) as client:

        async def acts() -> bool:
            told = await client.call_tool("act", {"window": "x", "steps": CLICK})
            return not told.is_error

        assert await acts()
        first = by_hand()
        while time.monotonic() < first + 1.0:
            assert not await acts()
        second = by_hand()
        while time.monotonic() < second + 1.4:
            assert not await acts()
        await reaches(acts, second + 2)


async def reaches(holds: Callable[[], Awaitable[bool]], deadline: float) -> None:
    while not await holds():
        assert time.monotonic() < deadline


async def test_a_driver_hears_of_it_at_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALONGSIDE_HOME", str(server.state))
    async with server.client("auto", "--user-desktop") as client:
        await said(client, "windows")
        pressed = by_hand()
        await until(lambda: "stopped at the driver" in server.errors.read_text(), "the driver is told")
        assert time.monotonic() - pressed < WITHIN


def _empty(path: Path) -> None:
    path.touch()


def _broken(path: Path) -> None:
    path.write_bytes(b'{"by": \xff')


def _deep(path: Path) -> None:
    path.write_text("[" * 4000)


def _another(path: Path) -> None:
    path.write_text('["a list"]')


def _folder(path: Path) -> None:
    path.mkdir()


def _link(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def _unreadable(path: Path) -> None:
    path.write_text("{}")
    path.chmod(0)


def _of_another(path: Path) -> None:
    if os.getuid():
        pytest.skip("only root can make a file of another user")
    path.write_text(json.dumps({"by": "another user", "pid": 1, "nonce": "n"}))
    os.chown(path, 65534, 65534)
    path.chmod(0o600)


@pytest.mark.parametrize(
    "make", [_empty, _broken, _deep, _another, _folder, _link, _dangling, _pipe, _huge, _unreadable, _of_another]
)
def test_whatever_stands_there_is_a_press(home: Path, make: Callable[[Path], None]) -> None:
    running = Stop()
    running.prepare()
    running.check()
    make(home / "stop")
    began = time.monotonic()
    with pytest.raises(Stopped):
        running.check()
    late = Stop()
    late.prepare()
    with pytest.raises(Stopped):
        late.check()
    assert time.monotonic() - began < 0.1
    # And our own press is one above it.
    running._until = late._until = -1.0
    stop.press("us")
    for one in (running, late):
        with pytest.raises(Stopped):
            one.check()


def test_a_press_is_latched(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pressed: list[str] = []
    running = Stop()
    running.prepare()
    running.pressed = pressed.append
    stop.press("one")
    running.look()
    running.look()
    assert len(pressed) == 1
    # The same press, written once more, is no new one; nor does its end lift it.
    content = (home / "stop").read_bytes()
    (home / "stop").unlink()
    running.look()
    (home / "stop").write_bytes(content)
    running.look()
    assert len(pressed) == 1
    for wrong in (0.0, 4e9):
        monkeypatch.setattr(time, "time", lambda wrong=wrong: wrong)
        assert 119 < running.left <= 120
        late = Stop()
        late.prepare()
        assert 119 < late.left <= 120


def test_an_old_press_is_over(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop.press("one")
    told = json.loads((home / "stop").read_text())
    now = stop._clock()
    monkeypatch.setattr(stop, "_clock", lambda: now + 121)
    late = Stop()
    late.prepare()
    late.check()
    # Of another boot: by the age of the file.
    (home / "stop").write_text(json.dumps(told | {"boot": "another", "nonce": "x"}))
    late = Stop()
    late.prepare()
    assert 119 < late.left <= 120
    real = time.time()
    monkeypatch.setattr(time, "time", lambda: real + 121)
    late = Stop()
    late.prepare()
    late.check()


def test_the_command_says_when_it_cannot(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert main(["stop"]) == 0
    assert "no agent acts for 120 s" in capsys.readouterr().out
    assert json.loads((home / "stop").read_text())["hold_s"] == 120
    assert main(["doctor"]) == 1
    assert "✗ emergency stop: pressed by" in capsys.readouterr().out
    (home.parent / "file").write_text("")
    monkeypatch.setenv("ALONGSIDE_HOME", str(home.parent / "file"))
    assert main(["stop"]) == 3
    told = capsys.readouterr().err
    assert "Nothing was stopped" in told
    assert "end its `alongside serve`" in told


def test_a_full_disk_does_not_keep_it_from_being_pressed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    running = Stop()
    running.prepare()
    monkeypatch.setattr(state, "write", full)
    for _ in range(2):
        running._until = -1.0
        stop.press("us")
        with pytest.raises(Stopped):
            running.check()
    assert (home / "stop").exists()


def test_looking_costs_next_to_nothing(home: Path) -> None:
    stop.press("one")
    running = Stop()
    running.prepare()
    began, cpu = time.monotonic(), time.process_time()
    for _ in range(1000):
        running.look()
    spent = time.process_time() - cpu
    print(f"a look takes {1000 * spent:.1f} µs; {100 * spent / 1000 / stop.POLL:.3f} % of a core")  # noqa: T201
    assert time.monotonic() - began < 1
    assert home.exists()


def test_a_folder_that_cannot_be_written(home: Path) -> None:
    running = Stop()
    running.prepare()
    home.chmod(0o500)
    if os.access(home, os.W_OK):
        pytest.skip("root may write everywhere")
    try:
        with pytest.raises(OSError, match="denied"):
            stop.press("us")
        running.check()
        home.chmod(0o700)
        stop.press("us")
        running._until = -1.0
        # Written before, it can still be touched.
        home.chmod(0o500)
        stop.press("us")
        with pytest.raises(Stopped):
            running.check()
    finally:
        home.chmod(0o700)
