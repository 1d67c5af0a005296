"""The command: what it prints, what it sends, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import alongside
from alongside.cli import act, config, main, own
from alongside.core.errors import Invalid, NotFound
from alongside.server import child, machine

FAKE = Path(__file__).with_name("fake_driver.py").read_text(encoding="utf-8")


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A driver that touches nothing; the file of what it was asked."""
    log = tmp_path / "driver.log"
    monkeypatch.setattr(child, "COMMAND", [sys.executable, "-P", "-c", FAKE])
    monkeypatch.setenv("FAKE_LOG", str(log))
    monkeypatch.setenv("ALONGSIDE_HOME", str(tmp_path / "state"))
    return log


def asked(log: Path) -> dict[str, Any]:
    last: dict[str, Any] = json.loads(log.read_text().splitlines()[-1])
    return {name: value for name, value in last.items() if name != "pid"}


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"alongside {alongside.__version__}\n"
    assert main([]) == 2
    assert "alongside config claude-code" in capsys.readouterr().out
    for command in ("serve", "doctor", "look", "act", "stop", "policy", "config"):
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
        assert f"example: alongside {command}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["nonsense"], ["config", "emacs"], ["act", "Window"], ["look", "--nonsense"]])
def test_wrong_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


def test_both_ways_to_start_it() -> None:
    beside = str(Path(sys.executable).with_name("alongside"))
    for command in ([sys.executable, "-m", "alongside"], [beside]):
        printed = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True).stdout
        assert printed == f"alongside {alongside.__version__}\n"


@pytest.mark.parametrize(
    ("written", "step"),
    [
        ("click Save", {"do": "click", "target": "Save"}),
        ("click button:Save as", {"do": "click", "target": "button:Save as"}),
        ('click "12"', {"do": "click", "target": '"12"'}),
        ("set Name=Ada=1", {"do": "set", "target": "Name", "value": "Ada=1"}),
        ('set Name=" Ada "', {"do": "set", "target": "Name", "value": " Ada "}),
        ("select Colour=Green", {"do": "select", "target": "Colour", "value": "Green"}),
        ("select Green", {"do": "select", "target": "Green"}),
        ('type "hello"', {"do": "type", "text": "hello"}),
        ("key ctrl+s", {"do": "key", "keys": "ctrl+s"}),
        ('menu "File > Save"', {"do": "menu", "path": "File > Save"}),
        ("check Subscribe", {"do": "check", "target": "Subscribe"}),
        ("wait Saved", {"do": "wait", "text": "Saved"}),
        ('{"do": "click", "target": [1, 2]}', {"do": "click", "target": [1, 2]}),
    ],
)
def test_short_steps(written: str, step: dict[str, Any]) -> None:
    assert act.parse(written) == step


@pytest.mark.parametrize(
    "written", ["", "clack Save", "click", "set Name", "click 12", "{", '{"do": "click", "target": 12}']
)
def test_wrong_steps_send_nothing(written: str, driver: Path) -> None:
    with pytest.raises(Invalid):
        act.parse(written)
    assert main(["act", "Settings", "click Save", written]) == 2
    assert not driver.exists()


@pytest.mark.parametrize(("targets", "code"), [(["Save"], 0), (["Save", "Dark"], 1), (["Dark", "Broken"], 3)])
def test_act_ends_with_the_worst_outcome(
    driver: Path, capsys: pytest.CaptureFixture[str], targets: list[str], code: int
) -> None:
    assert main(["act", "--user-desktop", "Settings", *(f"click {target}" for target in targets)]) == code
    steps = [{"do": "click", "target": target} for target in targets]
    assert asked(driver) == {"method": "act", "window": "Settings", "steps": steps}
    assert len(capsys.readouterr().out.splitlines()) == len(targets)


def test_act_needs_leave(driver: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["act", "Settings", "click Save"]) == 2
    told = capsys.readouterr().err
    assert "nothing was sent" in told
    assert "--user-desktop" in told
    assert not driver.exists()
    assert main(["act", "--user-desktop", "Settings", "click Save"]) == 0
    assert main(["look"]) == 0
    greetings = [call for call in map(json.loads, driver.read_text().splitlines()) if call["method"] == "hello"]
    assert [call["acting"] for call in greetings] == [True, False]


def test_what_a_shell_does_is_in_the_journal(driver: Path) -> None:
    assert main(["act", "--user-desktop", "Diary", 'type "hunter2"', "click Broken"]) == 3
    assert main(["act", "--user-desktop", "die", "click Save"]) == 3
    assert main(["look", "Diary"]) == 0
    (file,) = (driver.parent / "state" / "journal").iterdir()
    first, second, third = map(json.loads, file.read_text().splitlines())
    assert (first["tool"], first["outcome"], first["desktop"]) == ("act", "failed", "user")
    assert first["steps"] == [
        {"mark": "✓", "ms": 1.0, "do": "type", "characters": 7},
        {"mark": "✗", "ms": 1.0, "do": "click"},
    ]
    assert (second["outcome"], second["steps"]) == ("unavailable", [{"do": "click"}])
    assert (third["tool"], third["outcome"]) == ("look", "done")
    assert not any(word in file.read_text() for word in ("hunter2", "Diary"))


def test_a_driver_refuses_without_leave_whoever_asks(capsys: pytest.CaptureFixture[str]) -> None:
    params = {"window": "Settings", "steps": [{"do": "click", "target": "Save"}]}
    assert own.asked("act", params, lambda _: 0) == 3
    assert "switched off. (needs_sandbox)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ('desktop(action="start")', "alongside doctor; "),
        ('windows(desktop="user")', "alongside look"),
        ("windows()", "alongside look"),
        ('look("user.1", under=12)', "alongside look WINDOW"),
        ("look, and see what is there now", "alongside look WINDOW"),
        ("status()", "alongside doctor"),
        ("leave `via` away", "leave `via` away"),
    ],
)
def test_what_to_do_next_is_a_command_of_the_shell(given: str, told: str) -> None:
    printed = own.in_a_shell(NotFound("It is gone.", next=given))
    assert printed.startswith(f"It is gone. (not_found)\nnext: {told}")
    assert own.in_a_shell(NotFound("It is gone.")) == "It is gone. (not_found)"


def test_look_without_a_display(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    assert main(["look"]) == 3
    told = capsys.readouterr().err
    assert "DISPLAY is not set" in told
    assert "next: alongside doctor" in told


def test_look(driver: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["look"]) == 0
    assert capsys.readouterr().out.startswith("windows of pid")
    picture = tmp_path / "picture.png"
    assert main(["look", "Settings", "--find", "Save", "--image", str(picture)]) == 0
    assert capsys.readouterr().out == "[12] button\n"
    assert picture.read_bytes() == b"\x89PNG fake"
    assert asked(driver) == {
        "method": "look",
        "window": "Settings",
        "view": "controls",
        "image": "high",
        "find": "Save",
    }
    assert main(["look", "Settings", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == "[12] button"
    assert main(["look", "die"]) == 3
    assert "died during this look" in capsys.readouterr().err


@pytest.mark.parametrize("client", config.CLIENTS)
def test_config(client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":7")
    printed = config.lines(client, ["/opt/a b/alongside", "serve"])
    assert printed.startswith("# ")
    if client == "claude-code":
        assert printed.endswith("claude mcp add --scope user alongside -- '/opt/a b/alongside' serve")
        return
    if client == "codex":
        server = tomllib.loads(printed)["mcp_servers"]["alongside"]
        assert "DISPLAY" in server["env_vars"]
    else:
        file = json.loads(printed[printed.index("\n{") :])
        server = file["servers" if client == "vscode" else "mcpServers"]["alongside"]
    assert server["command"] == "/opt/a b/alongside"
    assert server["args"] == ["serve"]
    assert server.get("type") == ("stdio" if client == "vscode" else None)
    assert client != "claude-desktop" or server["env"]["DISPLAY"] == ":7"


def test_config_names_the_command_that_was_run(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = Path(sys.executable).with_name("alongside")
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(sys, "argv", [str(beside)])
    assert config.own_command() == [str(beside)]
    monkeypatch.setenv("PATH", str(beside.parent))
    assert config.own_command() == ["alongside"]
    monkeypatch.setattr(sys, "argv", ["/home/x/.cache/uv/archive-v0/abc/bin/alongside"])
    assert config.own_command() == ["uvx", "alongside"]


def test_doctor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    code = main(["doctor", "--json"])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert code == (0 if all(row["ok"] for row in rows.values() if row["needed"]) else 1)
    assert rows["sandbox"]["needed"]
    assert not rows["person's display"]["ok"]
    assert not rows["person's display"]["needed"]
    for name in ("person's session bus", "person's accessibility"):
        assert "DBUS_SESSION_BUS_ADDRESS is not set" in rows[name]["told"]
        assert "pass DBUS_SESSION_BUS_ADDRESS on" in rows[name]["mend"]
    monkeypatch.setattr("alongside.sandbox.plan._SEARCHED", ())
    monkeypatch.setenv("PATH", "/nonexistent")
    assert main(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "✗ sandbox: " in printed
    assert "mend: sudo apt-get install -y xvfb openbox dbus-daemon at-spi2-core" in printed
    assert "- applications: found: none" in printed


def test_a_check_that_hangs_is_no_check_that_hangs_us(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio  # noqa: PLC0415

    monkeypatch.setattr(machine, "_PATIENCE", 0.05)
    row = asyncio.run(machine._within("bus", asyncio.sleep(9)))
    assert not row.ok
    assert "no answer" in row.told
