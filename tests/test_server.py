"""The server as a client meets it: the official client over stdio, in both eras, with a driver that touches nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import ImageContent, TextContent

from alongside.core.steps import FIELDS
from alongside.server.person.journal import Journal
from alongside.server.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

pytestmark = pytest.mark.anyio

FAKE = Path(__file__).with_name("fake_driver.py").read_text(encoding="utf-8")
RUN = """
import sys
from alongside.server import child
child.COMMAND[:] = [sys.executable, "-P", "-c", {driver!r}]
{more}
from alongside.cli import main
sys.exit(main(["serve", *{options!r}]))
"""
MODES = ("auto", "legacy")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Server:
    """How it is started, and what is known of it from outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "driver.log"
        self.errors = folder / "stderr"
        self.state = folder / "state"

    @asynccontextmanager
    async def client(self, mode: str = "auto", *options: str, more: str = "", **other: Any) -> AsyncIterator[Client]:
        code = RUN.format(
            driver=FAKE,
            options=options,
            more=f"import os; open({str(self.folder / 'pid')!r}, 'w').write(str(os.getpid()))\n{more}",
        )
        env = {
            "ALONGSIDE_HOME": str(self.state),
            "FAKE_LOG": str(self.log),
            "XDG_RUNTIME_DIR": os.environ.get("XDG_RUNTIME_DIR", ""),
        }
        with self.errors.open("a") as errors:
            started = stdio_client(
                StdioServerParameters(command=sys.executable, args=["-c", code], env=env), errlog=errors
            )
            async with Client(started, mode=mode, read_timeout_seconds=30, **other) as client:
                yield client

    @property
    def pid(self) -> int:
        return int((self.folder / "pid").read_text())

    def calls(self, method: str = "") -> list[dict[str, Any]]:
        written = self.log.read_text().splitlines() if self.log.exists() else []
        return [call for call in map(json.loads, written) if method in {"", call["method"]}]


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


async def said(client: Client, tool: str, *, failed: bool = False, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    first = result.content[0]
    assert isinstance(first, TextContent)
    assert bool(result.is_error) is failed, first.text
    assert result.structured_content is None
    return first.text


async def until(true: Callable[[], bool], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - it is another process that changes this
            await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("mode", MODES)
async def test_tools_are_few_and_small(server: Server, mode: str) -> None:
    async with server.client(mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["desktop", "launch", "windows", "look", "act", "status"]
        whole = json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools])
        assert len(whole) <= 8 << 10
        assert '"title"' not in whole
        assert '"null"' not in whole
        assert all(tool.output_schema is None for tool in tools)
        upfront = {tool.name for tool in tools if (tool.meta or {}).get("anthropic/alwaysLoad")}
        assert upfront == {"desktop", "launch", "windows", "look", "act"}
        assert len(client.instructions or "") in range(1000, 2001)


def test_schema_of_a_step_is_that_of_the_core() -> None:
    step = TOOLS["act"].schema()["properties"]["steps"]["items"]
    assert tuple(step["properties"]) == FIELDS


@pytest.mark.parametrize("mode", MODES)
async def test_text_and_image(server: Server, mode: str) -> None:
    async with server.client(mode) as client:
        result = await client.call_tool("look", {"window": "Settings", "image": "standard"})
        text, image = result.content
        assert isinstance(text, TextContent)
        assert isinstance(image, ImageContent)
        assert (text.text, image.mime_type, image.data) == ("[12] button", "image/png", "iVBORyBmYWtl")
        assert len((await client.call_tool("look", {"window": "Settings"})).content) == 1
        assert await said(client, "look", window="odd") == "half a pair: ?, a line\r\nand \u2028 more"
    looked = server.calls("look")[0]
    assert {name: looked[name] for name in ("window", "view", "image")} == {
        "window": "Settings", "view": "controls", "image": "standard",
    }  # fmt: skip


async def test_nothing_but_protocol_on_stdout(server: Server) -> None:
    noise = """
from alongside.server import tools
def chatter(steps):
    print("a library prints", flush=True)
    os.write(1, b"and writes\\n")
    os.system("echo a child prints")
tools.judge = chatter
"""
    async with server.client("auto", "--user-desktop", more=noise) as client:
        assert await said(client, "look", window="print") == "[12] button"
        assert await said(client, "act", window="x", steps=[{"do": "click", "target": 1}]) == "✓ click"
    errors = server.errors.read_text()
    assert "a line on stdout\nand another" in errors
    assert "a library prints\nand writes\na child prints" in errors


async def test_wrong_arguments_are_taught(server: Server) -> None:
    async with server.client() as client:
        told = await said(client, "look", failed=True, windw="x")
        assert "`look` needs `window`" in told
        assert "takes no `windw`" in told
        assert 'next: look(window="s1.1")' in told
        told = await said(client, "look", failed=True, window="x", image="huge")
        assert "`image` is 'huge': it should be 'none', 'standard' or 'high'" in told
        assert "pydantic" not in told
        steps = [{"do": "click", "target": 1}, {"do": "clack"}, {"do": "set", "target": "a", "vlue": "1"}, 7]
        told = await said(client, "act", failed=True, window="x", steps=steps)
        assert told.startswith("Nothing was sent.\nstep 2: There is no step")
        assert 'Right: {"do": "set"' in told
        assert "step 4" in told
        assert "`steps` is empty" in await said(client, "act", failed=True, window="x", steps=[])
        assert server.calls("act") == []
        with pytest.raises(Exception, match="no tool `lok`"):
            await client.call_tool("lok", {})


async def test_acting_on_the_persons_desktop_has_to_be_allowed(server: Server) -> None:
    click = [{"do": "click", "target": "Save"}]
    async with server.client() as client:
        told = await said(client, "act", failed=True, window="user.1", steps=click)
        assert "(needs_sandbox)" in told
        assert "--user-desktop" in told
        assert "needs_sandbox" in await said(client, "launch", failed=True, app="x", desktop="user")
        await said(client, "windows")
        assert server.calls("act") == server.calls("launch") == []
        told = await said(client, "launch", failed=True, app="x")
        assert 'next: desktop(action="start")' in told
    # The driver is told as well.
    assert [call["acting"] for call in server.calls("hello")] == [False]
    async with server.client("auto", "--user-desktop") as client:
        assert await said(client, "act", window="user.1", steps=click) == "✓ click"
        assert [call["acting"] for call in server.calls("hello")] == [False, True]
        assert await said(client, "act", window="user.1", steps=json.dumps(click[0])) == "✓ click"
        failing = [*click, {"do": "click", "target": "Broken"}]
        assert "✗ click" in await said(client, "act", failed=True, window="user.1", steps=failing)


async def test_progress(server: Server) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with server.client("auto", "--user-desktop") as client:
        steps = [{"do": "click", "target": "A"}, {"do": "clear", "target": "B"}]
        await client.call_tool("act", {"window": "x", "steps": steps}, progress_callback=hear)
    assert heard == [(0, 2, "click"), (1, 2, "clear")]


async def test_acts_wait_for_each_other_and_looks_do_not(server: Server) -> None:
    async with server.client("auto", "--user-desktop") as client:
        await said(client, "windows")
        ended: list[str] = []

        async def ends(name: str, call: Awaitable[str]) -> None:
            await call
            ended.append(name)

        slow = [{"do": "click", "target": "A"}]
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for name in ("act 1", "act 2"):
                group.create_task(ends(name, said(client, "act", window="slow", steps=slow)))
            await until(lambda: bool(server.calls("act")))
            group.create_task(ends("look", said(client, "look", window="x")))
        assert ended == ["look", "act 1", "act 2"]
        assert time.monotonic() - began >= 1.0


@pytest.mark.parametrize("mode", MODES)
async def test_a_cancelled_call_ends_at_the_driver(server: Server, mode: str) -> None:
    async with server.client(mode) as client:
        await said(client, "windows")
        call = asyncio.create_task(client.call_tool("look", {"window": "slow"}))
        await until(lambda: bool(server.calls("look")))
        call.cancel()
        await until(lambda: "cancelled at the driver" in server.errors.read_text())
        assert "windows" in await said(client, "windows")


@pytest.mark.parametrize(("window", "limit"), [("die", 1.0), ("freeze", 3.0)])
async def test_a_driver_that_dies_or_hangs_is_started_again(server: Server, window: str, limit: float) -> None:
    async with server.client() as client:
        await said(client, "look", window="x")
        began = time.monotonic()
        told = await said(client, "look", failed=True, window=window)
        assert time.monotonic() - began < limit
        assert "unknown" in told
        assert "nothing is sent again" in told
        assert "next: look" in told
        assert "windows of pid" in await said(client, "windows")
    first, second = server.calls("hello")
    assert first["pid"] != second["pid"]
    assert (first["first_ref"], second["first_ref"]) == (1, 11)
    assert first["desktop"] == "user"
    assert first["kind"] == "user"
    assert not alive(first["pid"])
    assert not alive(second["pid"])


async def test_numbers_in_an_error_outlive_the_driver(server: Server) -> None:
    async with server.client() as client:
        assert "[12]" in await said(client, "look", failed=True, window="many")
        await said(client, "look", failed=True, window="die")
        await said(client, "windows")
    first, second = server.calls("hello")
    names = ("first_ref", "first_window", "ids")
    assert [first[name] for name in names] == [1, 1, []]
    assert [second[name] for name in names] == [11, 5, [[77, 7, "user.4"]]]


async def test_a_driver_killed_while_idle_is_not_noticed_by_the_next_call(server: Server) -> None:
    async with server.client() as client:
        await said(client, "windows")
        pid = server.calls("hello")[0]["pid"]
        os.kill(pid, signal.SIGKILL)
        await until(lambda: not alive(pid))
        assert "windows of pid" in await said(client, "windows")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
async def test_no_process_is_left(server: Server, number: signal.Signals) -> None:
    async with server.client() as client:
        await said(client, "windows")
        await said(client, "desktop", action="start")
        left = [pid for pid in processes() if _below(pid, server.pid)]
        assert len(left) > 2
        os.kill(server.pid, number)
        await until(lambda: not alive(server.pid), 5)
        await until(lambda: not any(map(alive, left)), 3)


def processes() -> list[int]:
    return [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()]


def _below(pid: int, ancestor: int) -> bool:
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
        if pid == ancestor:
            return True
    return False


async def test_sandboxes(server: Server) -> None:
    async with server.client() as client:
        first = await said(client, "desktop", action="start", width=800, height=600)
        assert first.startswith("s1: sandbox 800x600")
        pid_in_s1 = await said(client, "windows")
        assert pid_in_s1 != await said(client, "windows", desktop="user")
        assert await said(client, "launch", app="mousepad") == "launched mousepad"
        assert await said(client, "act", window="s1.1", steps=[{"do": "click", "target": "A"}]) == "✓ click"
        await said(client, "desktop", action="start")
        assert "Several sandboxes run: s1, s2." in await said(client, "windows", failed=True)
        assert "is not on the desktop `s2`" in await said(client, "look", failed=True, window="s1.1", desktop="s2")
        assert "There is no desktop `s7`" in await said(client, "look", failed=True, window="s7.1")
        listed = await said(client, "desktop")
        assert [line.partition(":")[0] for line in listed.splitlines()] == ["s1", "s2", "user"]
        assert "Which one?" in await said(client, "desktop", failed=True, action="stop")
        assert await said(client, "desktop", action="stop", id="s1") == "s1 is stopped; everything in it is gone."
        assert "gone: it was stopped" in await said(client, "look", failed=True, window="s1.1")
        await said(client, "desktop", action="stop")
        assert (await said(client, "desktop", action="start")).startswith("s3:")
        # The first process of the sandbox dies, and everything in it.
        keepers = [pid for pid in processes() if _is_keeper_of(pid, server.pid)]
        assert len(keepers) == 1
        os.kill(keepers[0], signal.SIGKILL)
        await until(lambda: not alive(keepers[0]))
        assert "s3 is gone: it ended by itself" in await said(client, "desktop")
        assert "No sandbox is running (s1 is gone" in await said(client, "launch", failed=True, app="x")


async def test_a_stop_that_fails_is_told(server: Server) -> None:
    short = "from alongside.sandbox import desktop; desktop._STOP_S = 0.3"
    async with server.client(more=short) as client:
        await said(client, "desktop", action="start")
        (keeper,) = [pid for pid in processes() if _is_keeper_of(pid, server.pid)]
        os.kill(keeper, signal.SIGSTOP)
        try:
            told = await said(client, "desktop", failed=True, action="stop")
            assert "s1 was told to stop, but its end was not confirmed" in told
            assert "whether everything in it has ended is not known" in await said(client, "desktop")
        finally:
            os.kill(keeper, signal.SIGCONT)
        await until(lambda: not alive(keeper), 5)


def _is_keeper_of(pid: int, server: int) -> bool:
    try:
        return (
            _below(pid, server) and b"keeper.py" in Path(f"/proc/{pid}/cmdline").read_bytes() and _parent(pid) == server
        )
    except OSError:
        return False


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def test_a_machine_that_lacks_everything_still_answers(server: Server) -> None:
    bare = "import os; os.environ['PATH'] = '/nonexistent'; from alongside.sandbox import plan; plan._SEARCHED = ()"
    async with server.client(more=bare) as client:
        assert (await client.list_tools()).tools
        told = await said(client, "desktop", failed=True, action="start")
        assert "Xvfb, openbox, dbus-daemon, at-spi-bus-launcher" in told
        assert "sudo apt-get install -y xvfb openbox dbus-daemon at-spi2-core" in told
        status = await said(client, "status")
        assert "sudo apt-get install -y xvfb openbox dbus-daemon at-spi2-core" in status
        assert "DISPLAY is not set" in status


async def test_no_call_lasts_for_ever(server: Server) -> None:
    short = "from alongside.server import desktops; desktops.LIMIT = 0.2"
    async with server.client("auto", "--user-desktop", more=short) as client:
        await said(client, "windows")
        told = await said(client, "act", failed=True, window="slow", steps=[{"do": "click", "target": "A"}])
        assert "it was cancelled. What was done is unknown." in told
        await until(lambda: "cancelled at the driver" in server.errors.read_text())


async def test_a_driver_that_cannot_start_is_told(server: Server) -> None:
    async with server.client(more='child.COMMAND[:] = ["/nonexistent/driver"]') as client:
        assert "The driver of user cannot be started" in await said(client, "windows", failed=True)
    async with server.client(more='child.COMMAND[:] = ["false"]') as client:
        assert "The driver of user does not start" in await said(client, "windows", failed=True)
        assert "✗ The driver of user does not start" in await said(client, "status")


async def test_journal_keeps_lengths_not_texts(server: Server) -> None:
    async with server.client("auto", "--user-desktop") as client:
        secret = [{"do": "type", "text": "hunter2"}, {"do": "click", "target": "Holiday plans"}]
        await said(client, "act", window="Diary", steps=secret)
        await said(client, "look", failed=True, window="die")
        crash = [secret[1], {"do": "set", "target": "Crash", "value": "hunter2", "via": "atspi.text"}, secret[0]]
        await said(client, "act", failed=True, window="Diary", steps=crash)
        await said(client, "look", failed=True, window="user.1", desktop="s1")
    folder = server.state / "journal"
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(server.state.stat().st_mode) == 0o700
    acted, looked, crashed, wrong = map(json.loads, file.read_text().splitlines())
    assert acted["tool"] == "act"
    assert acted["desktop"] == "user"
    assert acted["outcome"] == "done"
    assert acted["steps"] == [
        {"do": "type", "mark": "✓", "ms": 1.0, "characters": 7},
        {"do": "click", "mark": "✓", "ms": 1.0},
    ]
    assert (looked["outcome"], looked["desktop"]) == ("unavailable", "user")
    assert (crashed["outcome"], crashed["desktop"], crashed["step"]) == ("unavailable", "user", 2)
    assert crashed["steps"] == [
        {"do": "click"},
        {"do": "set", "via": "atspi.text", "characters": 7},
        {"do": "type", "characters": 7},
    ]
    assert (wrong["outcome"], "desktop" in wrong) == ("invalid", False)
    assert "step" not in acted
    assert not any(word in file.read_text() for word in ("hunter2", "Holiday", "Diary"))


def test_journal_forgets_after_two_weeks_and_never_breaks_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALONGSIDE_HOME", str(tmp_path / "a"))
    journal = Journal()
    journal.write({"tool": "look"})
    folder = tmp_path / "a" / "journal"
    (today,) = folder.iterdir()
    for name in ("2020-01-01.jsonl", "2020-01-01.txt"):
        (folder / name).write_text("")
    Journal().write({"tool": "look"})
    assert {file.name for file in folder.iterdir()} == {today.name, "2020-01-01.txt"}
    assert len(today.read_text().splitlines()) == 2
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ALONGSIDE_HOME", str(tmp_path / "file"))
    for _ in range(2):
        journal.write({"tool": "look"})
    assert capsys.readouterr().err.count("the journal cannot be written") == 1
