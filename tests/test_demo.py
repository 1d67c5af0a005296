"""The demo, with its three real applications: as it is, and where the sandbox has no network."""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import mcp
import pytest
from mcp import StdioServerParameters

from alongside.cli import demo, main

if TYPE_CHECKING:
    from pathlib import Path

MISSING = [program for program in ("mousepad", "localc", "chromium") if not shutil.which(program)]
# The server on a kernel that cannot scope abstract sockets.
OLD_KERNEL = """
import sys
from alongside.sandbox import plan
make = plan.make
plan.make = lambda *given: {**make(*given), "scope": False}
from alongside.cli import main
sys.exit(main(["serve"]))
"""


@pytest.mark.skipif(bool(MISSING), reason=f"real applications that are not installed: {', '.join(MISSING)}")
@pytest.mark.parametrize("network", [True, False])
def test_three_applications_are_filled_in_and_nothing_is_left(
    network: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALONGSIDE_HOME", str(tmp_path / "state"))
    if not network:
        monkeypatch.setattr(mcp, "StdioServerParameters", _on_an_old_kernel)
    # With a listener of this name, only a network of its own keeps a sandbox from it.
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0alongside-test-{os.getpid()}")
        listener.listen()
        code = main(["demo", "--pictures", str(tmp_path / "pictures")])
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert ("cannot reach the machine's network" in printed) is not network
    for what in ("the note", "the table", "the order", "0 processes, sockets and locks are left"):
        assert what in printed
    assert {file.stem for file in (tmp_path / "pictures").iterdir()} == {"mousepad", "calc", "chromium"}


def _on_an_old_kernel(**given: Any) -> StdioServerParameters:
    return StdioServerParameters(**{**given, "args": ["-c", OLD_KERNEL]})


def test_missing_applications_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert demo.run(argparse.Namespace(pictures=str(tmp_path / "pictures"))) == 2
    assert "apt-get install mousepad libreoffice-calc libreoffice-gtk3 chromium" in capsys.readouterr().out
    assert not (tmp_path / "pictures").exists()


def test_only_what_a_sandbox_can_leave_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    before = demo._left_files()
    (tmp_path / "somebody-elses").touch()
    folder = tmp_path / "alongside-sandbox-0-x"
    folder.mkdir()
    lock = folder / "lock"
    lock.touch()
    assert demo._left_files() - before == {str(folder)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert demo._left_files() - before == set()
        holder.communicate()


HOLD = """
import fcntl, sys
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""
