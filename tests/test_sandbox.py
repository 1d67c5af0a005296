"""Real sandboxes: how they end, what they hide, what they start. Run as a program, this is the server that is ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from alongside.core.errors import Invalid, Unavailable
from alongside.sandbox import display
from alongside.sandbox import plan as plans
from alongside.sandbox.desktop import LINK_VARIABLE, Exit, Sandbox

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator

HERE = Path(__file__).resolve().parent
PYTHON = (sys.executable, "-I", "-S")
MODES = ("namespaces", "bubblewrap", "best effort")
DEADLINE_S = 10.0


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> plans.Containment:
    """Every kind of containment that this machine allows."""
    chosen: plans.Containment = request.param
    if chosen == "bubblewrap" and not shutil.which("bwrap"):
        pytest.skip("bwrap is not installed")
    if chosen not in allowed():
        pytest.skip(f"{chosen} is refused on this machine")
    return chosen


@pytest.fixture
def private_mode(mode: plans.Containment) -> plans.Containment:
    """Those that keep the person's files private."""
    if mode == "best effort":
        pytest.skip("promises no privacy")
    return mode


_allowed: list[str] = []


def allowed() -> list[str]:
    if not _allowed:
        for mode in MODES:
            with contextlib.suppress(Unavailable):
                asyncio.run(start_and_stop(mode))  # type: ignore[arg-type]
                _allowed.append(mode)
    return _allowed


async def start_and_stop(mode: plans.Containment) -> None:
    sandbox = await Sandbox.start("probe", mode=mode)
    await sandbox.stop()


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(3 * DEADLINE_S):
            await work

    asyncio.run(limited())


@contextlib.asynccontextmanager
async def started(name: str = "s1", **options: Any) -> AsyncIterator[Sandbox]:
    sandbox = await Sandbox.start(name, visible=[HERE], **options)
    try:
        yield sandbox
    finally:
        await sandbox.stop()


async def inside(sandbox: Sandbox, code: str, *arguments: str) -> Any:
    """What a Python program inside prints as JSON on its descriptor 3."""
    readable, writable = os.pipe()
    try:
        await sandbox.spawn([*PYTHON, "-c", f"import json, os, socket\n{code}", *arguments], fds={3: writable})
    finally:
        os.close(writable)
    with os.fdopen(readable, "rb") as pipe:
        return json.loads(await asyncio.to_thread(pipe.read))


# The end of it.


def in_namespace(namespace: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if str((entry / "ns/pid").readlink()) == namespace:
                    found.append(int(entry.name))
    return found


def with_mark(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if f"ALONGSIDE_SANDBOX={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(") ")[2][0] == "Z"
    except OSError:
        return True


def children(pid: int) -> list[int]:
    try:
        return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except OSError:
        return []  # it has ended


def namespace_pids(pid: int) -> list[int]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []  # it has ended
    return [int(text) for line in lines if line.startswith("NSpid:") for text in line.split()[1:]]


def first_process(keeper: int) -> int:
    """Process 1 of the namespace; without one, the keeper's child."""
    plain = children(keeper)[0]
    found = [pid for pid in (plain, *children(plain)) if namespace_pids(pid)[1:] == [1]]
    return found[0] if found else plain


class Served:
    """A server process of its own, with a sandbox that holds a nasty child."""

    def __init__(self, mode: str, folder: Path) -> None:
        """Start it with a home and folders of its own below a folder with a short name."""
        self.home, self.runtime, self.temporary = (folder / name for name in ("home", "runtime", "temporary"))
        for path in (self.home, self.runtime, self.temporary):
            path.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "TMPDIR": str(self.temporary),
        }
        self.process = subprocess.Popen(
            [sys.executable, __file__, mode], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        told = json.loads(self.process.stdout.readline())
        self.namespace: str = told["namespace"]
        self.mark: str = told["mark"]
        self.number = int(told["display"].removeprefix(":"))
        # Where /tmp is its own, it holds no display of the host.
        self.holder = display.display_holder(self.number) or -1
        self.keeper = children(self.process.pid)[0]
        self.first = first_process(self.keeper)
        assert len(self.left()) >= 5

    def left(self) -> list[int]:
        found = with_mark(self.mark) if self.mark else in_namespace(self.namespace)
        # The end of the keeper hands its child to the host's first process, which may take a second to bury it.
        return [pid for pid in found if not is_zombie(pid)]

    def write(self, text: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def end(self, how: str) -> None:
        assert self.process.stdin is not None
        match how:
            case "stop":
                self.write(b"stop\n")
            case "client closes":
                self.process.stdin.close()
            case "SIGTERM":
                self.process.terminate()
            case "kill server":
                self.process.kill()
            case "kill keeper":
                os.kill(self.keeper, signal.SIGKILL)
            case "kill first":
                os.kill(self.first, signal.SIGKILL)

    def files(self) -> list[str]:
        folders = (self.home, self.runtime, self.temporary)
        return [name for folder in folders for _, *kinds in os.walk(folder) for names in kinds for name in names]

    def display_files(self) -> bool:
        """Whether its X server left a lock or a socket without one; another server may have the number by now."""
        lock, place = display.display_lock(self.number), display.display_socket(self.number)
        return display.display_holder(self.number) == self.holder or (Path(place).exists() and not Path(lock).exists())

    def close(self) -> None:
        self.process.kill()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder in which socket addresses stay short."""
    with tempfile.TemporaryDirectory(prefix="a-", dir="/tmp") as folder:
        yield Path(folder)


def gone_after(seconds: float, served: Served) -> bool:
    deadline = time.monotonic() + seconds
    while served.left() or served.files() or served.display_files():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)  # the interval of a poll with a deadline
    return True


@pytest.mark.parametrize("how", ["stop", "client closes", "SIGTERM", "kill server", "kill keeper", "kill first"])
def test_every_end_leaves_nothing(mode: str, how: str, short_path: Path) -> None:
    served = Served(mode, short_path)
    try:
        served.end(how)
        assert gone_after(3 if how == "kill keeper" else 2, served), (served.left(), served.files())
    finally:
        served.close()


def test_best_effort_next_start_sweeps_what_a_double_kill_left(short_path: Path) -> None:
    served = Served("best effort", short_path)
    try:
        os.kill(served.keeper, signal.SIGSTOP)
        os.kill(served.first, signal.SIGKILL)
        os.kill(served.keeper, signal.SIGKILL)
        assert served.left()
        again = Served("best effort", short_path)
        try:
            assert not served.left()
            again.end("stop")
            assert gone_after(2, again)
        finally:
            again.close()
    finally:
        served.close()


def test_stop_returns_when_nothing_is_left_and_can_be_repeated() -> None:
    async def work() -> None:
        ends: list[str] = []
        async with started() as sandbox:
            sandbox.on_end = lambda: ends.append("end")
            namespace = await inside(sandbox, "os.write(3, json.dumps(os.readlink('/proc/self/ns/pid')).encode())")
            assert sandbox.alive
            await asyncio.gather(sandbox.stop(), sandbox.stop())
            assert not sandbox.alive
            assert not in_namespace(namespace)
            await sandbox.stop()
            assert ends == ["end"]
            with pytest.raises(Unavailable, match="has ended"):
                await sandbox.spawn(["true"])

    run(work())


def test_a_start_that_is_cancelled_leaves_nothing() -> None:
    async def work() -> None:
        before = set(children(os.getpid()))
        for delay in (0.0, 0.01, 0.02, 0.04):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    sandbox = await Sandbox.start("s1")
                    await sandbox.stop()
        async with asyncio.timeout(DEADLINE_S):
            while set(children(os.getpid())) - before:  # noqa: ASYNC110 - a poll of the kernel, with a deadline
                await asyncio.sleep(0.005)

    run(work())


def test_several_at_once_do_not_hold_each_other() -> None:
    async def work() -> None:
        one, two, three = await asyncio.gather(*(Sandbox.start(f"s{n}") for n in range(3)))
        try:
            await asyncio.gather(one.ready(), two.ready(), three.ready())
            await one.stop()
            assert not one.alive
            assert await inside(two, "os.write(3, json.dumps(os.listdir('/tmp/.X11-unix')).encode())")
            assert three.alive
        finally:
            await asyncio.gather(two.stop(), three.stop())

    run(work())


# What it hides.

REACH = """
import sys
def reach(address):
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(chr(0) + address[1:] if address[0] == '@' else address)
        except OSError:
            return False
    return True
told = json.loads(sys.argv[1])
os.write(3, json.dumps({
    'sockets': [reach(address) for address in told['sockets']],
    'files': [os.path.exists(path) for path in told['files']],
    'environment': sorted(os.environ),
    'processes': [name for name in os.listdir('/proc') if name.isdigit()],
}).encode())
"""


def reach_from_here(address: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(address.replace("@", "\0", 1) if address[0] == "@" else address)
        except OSError:
            return False
    return True


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[str]]]:
    """A person with a file at home, a session bus and a display (each by path and abstract), and a token."""
    runtime, token = tmp_path / "runtime", tmp_path / "state" / "token"
    runtime.mkdir()
    token.parent.mkdir()
    token.write_text("secret", encoding="ascii")
    bus, abstract = f"{runtime}/bus", f"alongside-test-{os.getpid()}"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("ALONGSIDE_HOME", str(token.parent))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={bus}")
    monkeypatch.setenv("SECRET_TOKEN", "secret")
    readable, writable = os.pipe()
    services = [
        *(
            subprocess.Popen(["dbus-daemon", "--session", "--nofork", f"--address=unix:{address}"])
            for address in (f"path={bus}", f"abstract={abstract}")
        ),
        subprocess.Popen(
            ["Xvfb", "-displayfd", str(writable), "-nolisten", "tcp"], pass_fds=[writable], stderr=subprocess.DEVNULL
        ),
    ]
    os.close(writable)
    with tempfile.NamedTemporaryFile(dir=Path.home(), prefix=".alongside-canary-") as canary:
        try:
            assert select.select([readable], [], [], DEADLINE_S)[0]
            display = os.read(readable, 16).decode().strip()
            x_path = f"/tmp/.X11-unix/X{display}"  # noqa: S108 - where X servers listen
            sockets = [bus, f"@{abstract}", x_path, f"@{x_path}"]
            deadline = time.monotonic() + DEADLINE_S
            while not all(map(reach_from_here, sockets)):
                assert time.monotonic() < deadline, [address for address in sockets if not reach_from_here(address)]
                time.sleep(0.005)  # the interval of a poll with a deadline
            monkeypatch.setenv("DISPLAY", f":{display}")
            yield {"sockets": sockets, "files": [canary.name, str(token), str(HERE)]}
        finally:
            for service in services:
                service.terminate()
                service.wait()
            os.close(readable)


@pytest.mark.parametrize("scope", [True, False])
def test_what_is_private_cannot_be_reached(
    private_mode: plans.Containment, scope: bool, person: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    make = plans.make
    monkeypatch.setattr(plans, "make", lambda *given: {**make(*given), "scope": scope})

    async def work() -> None:
        async with started(mode=private_mode) as sandbox:
            seen = await inside(sandbox, REACH, json.dumps(person))
            assert seen["sockets"] == [False] * 4
            # The last one is the folder that was asked to be visible.
            assert seen["files"] == [False, False, True]
            assert "SECRET_TOKEN" not in seen["environment"]
            assert len(seen["processes"]) < 20
            assert any("network: off" in note for note in sandbox.notes) is not scope
            own = await inside(sandbox, OWN_NETWORK)
            assert own == [["lo"] if not scope else [name for _, name in socket.if_nameindex()], "through"]

    run(work())


OWN_NETWORK = """
with socket.create_server(('127.0.0.1', 0)) as server, socket.create_connection(server.getsockname()) as client:
    client.send(b'through')
    answer = server.accept()[0].recv(16).decode()
os.write(3, json.dumps([[name for _, name in socket.if_nameindex()], answer]).encode())
"""

WRITE = """
import sys
def can_write(path):
    try:
        open(path + '/probe', 'w').close()
    except OSError:
        return False
    os.unlink(path + '/probe')
    return True
os.write(3, json.dumps([can_write(path) for path in sys.argv[1:]]).encode())
"""


def test_the_system_is_read_only_and_its_own_places_are_not(private_mode: plans.Containment) -> None:
    async def work() -> None:
        async with started(mode=private_mode) as sandbox:
            readonly = ["/", "/usr", "/etc", str(HERE), "/proc/sys/kernel"]
            own = [sandbox.home, sandbox.runtime, "/tmp", "/var/tmp", "/dev/shm"]  # noqa: S108
            seen = await inside(sandbox, WRITE, *readonly, *own)
            assert seen == [False] * len(readonly) + [True] * len(own)

    run(work())


@pytest.mark.parametrize("writable", [True, False])
def test_a_folder_is_brought_in(private_mode: plans.Containment, writable: bool, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "note.txt").write_text("hello", encoding="ascii")

    async def work() -> None:
        async with started(mode=private_mode, folder=plans.Folder(folder, writable)) as sandbox:
            place = f"{sandbox.home}/work"
            assert await inside(sandbox, WRITE, place) == [writable]
            code = "import sys; os.write(3, json.dumps(os.listdir(sys.argv[1])).encode())"
            assert await inside(sandbox, code, place) == ["note.txt"]

    run(work())


def test_best_effort_takes_no_folder_that_is_only_to_be_read(tmp_path: Path) -> None:
    async def work() -> None:
        with pytest.raises(Unavailable, match="nothing can keep it read-only") as error:
            await Sandbox.start("s1", mode="best effort", folder=plans.Folder(tmp_path))
        assert "writable=true" in (error.value.next or "")
        async with started(mode="best effort", folder=plans.Folder(tmp_path, writable=True)) as sandbox:
            assert await inside(sandbox, WRITE, f"{sandbox.home}/{tmp_path.name}") == [True]

    run(work())


def test_a_folder_that_holds_the_home_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for path in (home, tmp_path, Path("/"), home / ".ssh", home / "missing"):
        with pytest.raises(Invalid, match=f"folder {path}"):
            plans.check_folder(path, str(home))


def test_rules_go_from_the_outside_in(tmp_path: Path) -> None:
    program, state, bus = tmp_path / "program", tmp_path / "program" / "state", tmp_path / "program" / "bus"
    state.mkdir(parents=True)
    bus.touch()
    (tmp_path / "link").symlink_to(program)
    private = [str(tmp_path), str(state), str(bus), str(tmp_path / "missing"), "/", "/usr", ""]
    rules = plans.rules([str(program), str(program / "state" / ".."), str(tmp_path / "link"), "/usr/bin"], private)
    assert [rule for rule in rules if rule[1].startswith(str(tmp_path))] == [
        ("mask", str(tmp_path)),
        ("show", str(tmp_path / "link")),
        ("show", str(program)),
        ("hide", str(bus)),
        ("mask", str(state)),
    ]
    assert not [rule for rule in rules if rule[1] in {"/", "/usr", "/usr/bin"}]


# What it starts.


def test_the_driver_gets_its_link_and_nothing_else() -> None:
    async def work() -> None:
        async with started() as sandbox:
            ours, theirs = socket.socketpair()
            code = (
                "import json, os, socket; link = socket.socket(fileno=int(os.environ['ALONGSIDE_LINK_FD']))\n"
                "numbers = sorted(map(int, os.listdir('/proc/self/fd')))\n"
                "link.send(json.dumps([numbers, os.getsid(0) == os.getpid()]).encode())"
            )
            with ours, theirs, os.fdopen(os.memfd_create("ledger")) as ledger:
                pid = await sandbox.spawn_driver([*PYTHON, "-c", code], theirs, ledger.fileno())
                answer = await asyncio.to_thread(ours.recv, 4096)
            # 0 to 2, the link, the ledger, and the one that lists them
            assert json.loads(answer) == [[0, 1, 2, 3, 4, 5], True]
            assert pid > 1
            assert LINK_VARIABLE not in os.environ

    run(work())


def test_ends_and_failures_are_told() -> None:
    async def work() -> None:
        async with started() as sandbox:
            ends: asyncio.Queue[Exit] = asyncio.Queue()
            sandbox.on_exit = ends.put_nowait
            pid = await sandbox.spawn(["sh", "-c", "echo $0 $GREETING >&2; exit 7", "oh"], env={"GREETING": "no"})
            assert await ends.get() == Exit(pid, "sh", 7, "oh no")
            with pytest.raises(FileNotFoundError, match="no-such-program"):
                await sandbox.spawn(["no-such-program"])
            with pytest.raises(FileNotFoundError, match="/missing"):
                await sandbox.spawn(["true"], cwd="/missing")
            pid = await sandbox.spawn(["sleep", "1000"])
            await sandbox.kill(pid)
            assert (await ends.get())[:3] == (pid, "sleep", -signal.SIGKILL)
            await sandbox.kill(pid)

    run(work())


def test_a_window_opens_and_the_buses_answer(mode: plans.Containment) -> None:
    script = (
        "gdbus call --session -d org.a11y.Bus -o /org/a11y/bus -m org.freedesktop.DBus.Properties.Get"
        " org.a11y.Status IsEnabled >&3; openbox --version >/dev/null; echo $DISPLAY >&3"
    )

    async def work() -> None:
        async with started(mode=mode, size=(800, 600)) as sandbox:
            readable, writable = os.pipe()
            await sandbox.spawn(["sh", "-c", script], fds={3: writable})
            os.close(writable)
            with os.fdopen(readable) as pipe:
                said = (await asyncio.to_thread(pipe.read)).splitlines()
            assert said == ["(<true>,)", sandbox.display]
            assert sandbox.containment == mode
            assert bool(sandbox.notes) is (mode == "best effort")

    run(work())


def test_what_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    which = shutil.which
    gone = {"Xvfb", "openbox"}
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None if name in gone else which(name, path=path))
    with pytest.raises(Unavailable, match="Xvfb, openbox") as error:
        plans.find_programs()
    assert error.value.next == "sudo apt-get install -y xvfb openbox"


def test_a_copy_below_tmp_works(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    package = Path(plans.__file__).resolve().parents[1]
    shutil.copytree(package, tmp_path / "src" / "alongside", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(HERE, tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run(
        [tmp_path / "venv/bin/python", "-c", COPY], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == (f"{tmp_path}/src/alongside/__init__.py\n", 0), done.stderr


COPY = """
import asyncio, os, socket, sys
from pathlib import Path
import alongside
from alongside.sandbox.desktop import Sandbox
async def main():
    sandbox = await Sandbox.start('s1')
    ours, theirs = socket.socketpair()
    source = str(Path(alongside.__file__).parents[1])
    code = f"import os, sys; sys.path.append({source!r}); import alongside; os.write(3, alongside.__file__.encode())"
    await sandbox.spawn_driver([sys.executable, '-c', code], theirs, os.memfd_create('ledger'))
    theirs.close()
    print((await asyncio.to_thread(ours.recv, 4096)).decode())
    await sandbox.stop()
asyncio.run(main())
"""


async def serve(mode: plans.Containment) -> None:
    """Be the server that is ended: a sandbox with a nasty child, until standard input says stop or ends."""
    sandbox = await Sandbox.start("s1", mode=mode, visible=[HERE])
    readable, writable = os.pipe()
    await sandbox.spawn([*PYTHON, str(HERE / "nasty.py")], fds={3: writable})
    os.close(writable)
    namespace = await asyncio.to_thread(os.read, readable, 100)
    mark = str(Path(sandbox.home).parent) if mode == "best effort" else ""
    told = {"namespace": namespace.decode(), "mark": mark, "display": sandbox.display}
    print(json.dumps(told), flush=True)  # noqa: T201 - the test reads it
    if await asyncio.to_thread(sys.stdin.readline):
        await sandbox.stop()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))  # type: ignore[arg-type]  # one of MODES
