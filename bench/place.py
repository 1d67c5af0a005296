"""A display, a bus and lab windows for the benchmarks, ended with the process ids that were started."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from alongside.platforms.linux.apps import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent


def quiet_line() -> str:
    """What the machine is doing: figures count only on a quiet one."""
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores, load {load:.2f}" + ("" if load < 0.5 else " - not quiet: compare ratios only")


class Place:
    """A display with a window manager, a session bus and an accessibility bus."""

    def __init__(self, folder: Path, manager: Sequence[str] = ("openbox",), screen: str = "1280x1024") -> None:
        self._folder, self._manager, self._screen = folder, manager, screen
        self._started: list[subprocess.Popen[bytes]] = []
        self.environment: dict[str, str] = {}

    def __enter__(self) -> Self:
        runtime, home = self._folder / "run", self._folder / "home"
        runtime.mkdir(mode=0o700)
        home.mkdir()
        reading, writing = os.pipe()
        xvfb = [
            "Xvfb",
            "-displayfd",
            str(writing),
            "-screen",
            "0",
            f"{self._screen}x24",
            "-nolisten",
            "tcp",
            "-noreset",
        ]
        self._started.append(subprocess.Popen(xvfb, pass_fds=[writing], stderr=subprocess.DEVNULL))
        os.close(writing)
        with os.fdopen(reading) as told:
            display = told.readline().strip()
        self.environment = {
            "DISPLAY": f":{display}",
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(runtime),
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus",
            "GTK_MODULES": "gail:atk-bridge",
            "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
            "GSETTINGS_BACKEND": "memory",
        }
        address = self.environment["DBUS_SESSION_BUS_ADDRESS"]
        self.start("dbus-daemon", "--session", f"--address={address}", "--nofork", "--nopidfile")
        wait_for((runtime / "bus").exists, "the session bus")
        self.start("/usr/libexec/at-spi-bus-launcher", "--launch-immediately", "--a11y=1")
        self.start(*self._manager)
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._started):
            process.terminate()
        for process in reversed(self._started):
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """End a program that was started here."""
        self._started.remove(process)
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def start(self, *command: str, output: int | IO[bytes] = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command, env={**os.environ, **self.environment}, stdout=output, stderr=subprocess.DEVNULL
        )
        self._started.append(process)
        return process

    @property
    def folder(self) -> Path:
        return self._folder


def lab(place: Place, script: str, *options: str) -> subprocess.Popen[bytes]:
    """A lab window, once it says that it is ready."""
    log = place.folder / f"{script}.log"
    process = place.start("/usr/bin/python3", str(ROOT / "lab" / script), "--log", str(log), *options)
    wait_for(lambda: log.exists() and "ready" in log.read_text(encoding="utf-8"), script)
    return process


def chromium(place: Place, rows: int) -> subprocess.Popen[bytes]:
    """A page of so many elements in Chromium, once it says that it is ready."""
    log = place.folder / "page.log"
    options = ("--log", str(log), "--set", "big", "--rows", str(rows))
    server = place.start("/usr/bin/python3", str(ROOT / "lab" / "page.py"), *options, output=subprocess.PIPE)
    assert server.stdout is not None  # noqa: S101 - it was asked for
    address = server.stdout.readline().decode().strip()
    kind = kind_of("chromium")
    assert kind is not None  # noqa: S101 - it is in the table
    browser = place.start(
        "chromium", *kind.flags, *kind.root_flags, f"--user-data-dir={place.folder / 'chromium'}", address
    )
    wait_for(lambda: log.exists() and "ready" in log.read_text(encoding="utf-8"), "the page")
    time.sleep(3)  # its tree comes after the page
    return browser


def wait_for(holds: object, what: str, seconds: float = 30) -> None:
    assert callable(holds)  # noqa: S101 - a condition
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            sys.exit(f"{what} did not come up in {seconds:g} s")
        time.sleep(0.02)
