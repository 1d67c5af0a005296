"""Which programs are applications, and what a caller may give them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from alongside.core.errors import NotFound, Refused
from alongside.platforms.linux import apps

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with a few programs that are never run, and a link to one of them."""
    for name in ("editor", "bash", "python3.11", "chromium", "firefox", "soffice", "tool.sh"):
        (tmp_path / name).touch(mode=0o755)
    for name, target in (("x-www-browser", "chromium"), ("my-shell", "bash"), ("python3", "python3.11")):
        (tmp_path / name).symlink_to(target)
    (tmp_path / "program.py").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_DIRS", str(tmp_path))
    return tmp_path


def test_what_runs_commands_or_installs_is_no_application(programs: Path) -> None:
    assert apps.find("editor") == [str(programs / "editor")]
    for name in ("bash", "my-shell", str(programs / "my-shell"), "tool.sh", str(programs / "tool.sh")):
        with pytest.raises(Refused):
            apps.find(name)
    with pytest.raises(NotFound):
        apps.find("sudo")


@pytest.mark.parametrize("arguments", [[], ["-c", "print()"], ["-"], ["-m", "pdb"], ["missing.py"]])
def test_an_interpreter_gets_a_file_and_no_code(programs: Path, arguments: list[str]) -> None:
    for command in ("python3", "python3.11"):
        apps.check_arguments([str(programs / command)], ["program.py", "-c", "is the program's"])
        apps.check_arguments([str(programs / command)], [str(programs / "program.py")])
        # As an entry of a menu has it.
        apps.check_arguments([str(programs / command), "program.py"], [])
        with pytest.raises(Refused, match="interpreter"):
            apps.check_arguments([str(programs / command)], arguments)


@pytest.mark.parametrize(
    ("program", "argument"),
    [
        ("chromium", "--user-data-dir=/tmp/x"),
        ("chromium", "-user-data-dir=/tmp/x"),
        ("x-www-browser", "--remote-debugging-port=9222"),
        ("chromium", "--remote-debugging-pipe"),
        ("chromium", "--load-extension=/tmp/x"),
        ("chromium", "--profile-directory=Default"),
        ("chromium", "--no-sandbox"),
        ("chromium", "--disable-setuid-sandbox"),
        ("chromium", "--renderer-cmd-prefix=xterm -e"),
        ("firefox", "-P"),
        ("firefox", "--profile"),
        ("firefox", "-ProfileManager"),
        ("firefox", "--remote-debugging-port"),
        ("soffice", "-env:UserInstallation=file:///tmp/x"),
        ("soffice", "--accept=socket,port=2002;urp"),
    ],
)
def test_profile_port_extensions_and_sandbox_are_not_the_callers_choice(
    programs: Path, program: str, argument: str
) -> None:
    with pytest.raises(Refused, match="not chosen by the caller"):
        apps.check_arguments([str(programs / program)], ["https://example.org", argument])


def test_what_an_application_is_for_may_be_given(programs: Path) -> None:
    for program, *arguments in (
        ("chromium", "--app=http://127.0.0.1:1/", "--window-size=800,600", "--incognito"),
        ("firefox", "-private-window", "https://example.org/?p=profile"),
        ("soffice", "--calc", "table.xlsx"),
        ("editor", "--profile", "-P", "--remote-debugging-port=1"),
    ):
        apps.check_arguments([str(programs / program)], arguments)


def test_a_browser_is_known_by_what_its_link_leads_to(programs: Path) -> None:
    kind = apps.kind_of(str(programs / "x-www-browser"))
    assert kind is not None
    assert "chromium" in kind.names
    assert apps.kind_of(sys.executable) is None


def test_a_process_lives_until_it_is_killed() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        assert apps.lives(process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not apps.lives(process.pid), "a zombie"
    assert not apps.lives(process.pid)
    assert apps.lives(0), "nothing is known of it"
