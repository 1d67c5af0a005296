"""The policy file: what it refuses, and that nothing is allowed where it cannot be read."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

import pytest
from test_server import Server, said

from alongside.cli import main
from alongside.core import errors
from alongside.server import state
from alongside.server.person import policy
from alongside.server.person.policy import Asked, Policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder of a first start."""
    monkeypatch.setenv("ALONGSIDE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def ready(home: Path) -> Policy:
    del home
    found = Policy()
    found.prepare()
    return found


# By what applications of these kinds call themselves; that a pattern fits its window is seen in tests/desktop.
CLASSES = """
KeePassXC Bitwarden 1Password Enpass org.gnome.seahorse.Application Polkit-gnome-authentication-agent-1 lxpolkit
xfce-polkit Lxqt-sudo polkit-kde-authentication-agent-1 Gcr-prompter Pinentry-gtk-2 pinentry kwalletd6 ksshaskpass
Ssh-askpass i3lock XScreenSaver Gksu lightdm-gtk-greeter Light-locker Xfce4-screensaver kscreenlocker_greet
""".split()  # noqa: SIM905 - a list of words is easier read as one
PROGRAMS = """
keepassxc bitwarden gcr-prompter pinentry-qt xscreensaver polkit-mate-authentication-agent-1 sddm-greeter ssh-askpass
""".split()  # noqa: SIM905 - as above
TITLES = (
    "Password Required - Mozilla Firefox", "about:logins", "Google Password Manager - Chromium",
    "Vaults | Bitwarden Web Vault", "Unlock Login Keyring", "Authentication Required", "Authenticate",
    "KDE Wallet Service", "Wi-Fi Network Authentication Required",
)  # fmt: skip
REFUSED = (
    *(Asked("x", (name,), ("x",)) for name in CLASSES),
    *(Asked("x", ("X",), (name,)) for name in PROGRAMS),
    *(Asked(title, ("X",), ("x",)) for title in TITLES),
)
ALLOWED = (
    Asked("Untitled 1 - Mousepad", ("Mousepad",), ("mousepad",)),
    Asked("Sign in to your account - Chromium", ("Chromium",), ("chromium",)),
    Asked("Home - File Manager", ("Thunar",), ("thunar",)),
    Asked("Settings", ("Gdmap",), ("gdmap",)),
    Asked("", (), ()),
)


@pytest.mark.parametrize("asked", REFUSED, ids=str)
def test_the_defaults_refuse(ready: Policy, asked: Asked) -> None:
    with pytest.raises(errors.Policy, match="neither read nor driven"):
        ready.check(Asked("fine"), asked)


@pytest.mark.parametrize("asked", ALLOWED, ids=str)
def test_the_defaults_allow(ready: Policy, asked: Asked) -> None:
    ready.check(asked)


def test_a_first_start_writes_it_and_no_later_one(home: Path, ready: Policy) -> None:
    file = home / policy.NAME
    assert file.read_bytes() == policy.DEFAULTS.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {one.name for one in home.iterdir()} == {policy.NAME, policy._MARK}
    file.unlink()
    for late in (ready, Policy()):
        late.prepare()
        with pytest.raises(errors.Policy, match="is missing; every action is refused"):
            late.check()
        assert not late.row().ok
    assert not file.exists()


def test_one_that_is_there_before_the_first_start_is_kept(home: Path) -> None:
    home.mkdir()
    (home / policy.NAME).write_text("version = 1\nrefused = []\n")
    found = Policy()
    found.prepare()
    found.check(Asked("KeePassXC", ("KeePassXC",)))
    assert (home / policy.NAME).read_text() == "version = 1\nrefused = []\n"


def test_a_change_holds_from_the_next_question_on(home: Path, ready: Policy) -> None:
    ready.check(Asked("Diary", ("Mousepad",)))
    file = home / policy.NAME
    file.write_text('version = 1\n[[refused]]\nwhat = "mine"\nclass = ["mouse*"]\n')
    with pytest.raises(errors.Policy, match='"Diary" is refused by the person\'s policy \\(mine\\)'):
        ready.check(Asked("Diary", ("Mousepad",)))
    ready.check(Asked("Diary", ("Gedit",)))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no line `version = 1`"),
        ("version = 2\nrefused = []", "no line `version = 1`"),
        ("version = 1", "to refuse nothing, write"),
        ("version = 1\nrefused = 3", "to refuse nothing, write"),
        ("version = 1\nrefuse = []\nrefused = []", "`refuse` means nothing"),
        ('version = 1\n[[refused]]\nwhat = "x"', "neither class, program nor title"),
        ('version = 1\n[[refused]]\nclass = ["x"]', "has no `what`"),
        ('version = 1\n[[refused]]\nwhat = "x"\nclas = ["x"]', "`clas` means nothing"),
        ('version = 1\n[[refused]]\nwhat = "x"\nclass = "x"', "no list of texts"),
        ('version = 1\n[[refused]]\nwhat = "x"\nclass = [1]', "no list of texts"),
        ("version = 1\n[[refused", "Expected"),
        ("version = 1\n\x00", "Invalid statement"),
    ],
)
def test_a_mistake_in_it_refuses_everything(home: Path, ready: Policy, text: str, told: str) -> None:
    (home / policy.NAME).write_text(text)
    with pytest.raises(errors.Policy, match="every action is refused") as wrong:
        ready.check()
    assert told in wrong.value.message
    assert "alongside policy" in str(wrong.value.next)
    (home / policy.NAME).write_bytes(policy.DEFAULTS.read_bytes())
    ready.check()


def _folder(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def _binary(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00")


def _anybodys(path: Path) -> None:
    path.write_text("version = 1\nrefused = []\n")
    path.chmod(0o666)


def _of_another(path: Path) -> None:
    if os.getuid():
        pytest.skip("only root can make a file of another user")
    path.write_text("version = 1\nrefused = []\n")
    os.chown(path, 65534, 65534)


@pytest.mark.parametrize("make", [_folder, _pipe, _endless, _huge, _binary, _anybodys, _of_another])
def test_what_is_no_policy_refuses_everything(home: Path, ready: Policy, make: Callable[[Path], None]) -> None:
    (home / policy.NAME).unlink()
    make(home / policy.NAME)
    with pytest.raises(errors.Policy, match="every action is refused"):
        ready.check()


def test_a_folder_that_cannot_be_made_refuses_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ALONGSIDE_HOME", str(tmp_path / "file" / "home"))
    found = Policy()
    found.prepare()
    with pytest.raises(errors.Policy, match="every action is refused"):
        found.check()


def test_the_command(home: Path, capsys: Any) -> None:
    assert main(["policy"]) == 0
    assert "✓ policy: " in capsys.readouterr().out
    (home / policy.NAME).write_text("version = 1\nrefusd = []\n")
    assert main(["policy"]) == 3
    assert "`refusd` means nothing" in capsys.readouterr().out
    assert main(["doctor"]) == 1
    assert "✗ policy: " in capsys.readouterr().out
    assert main(["policy", "--reset"]) == 0
    assert "The old one is " in capsys.readouterr().out
    assert (home / "policy.old1").read_text() == "version = 1\nrefusd = []\n"
    assert main(["policy"]) == 0
    (home / policy.NAME).unlink()
    assert main(["policy", "--reset"]) == 0
    (home / policy.NAME).unlink()
    (home / policy.NAME).mkdir()
    assert main(["policy", "--reset"]) == 0
    assert {"policy.old1", "policy.old2"} < {one.name for one in home.iterdir()}
    Policy().check()


@pytest.mark.anyio
async def test_a_server_refuses_while_it_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(tmp_path)
    monkeypatch.setenv("ALONGSIDE_HOME", str(server.state))
    click = [{"do": "click", "target": "Save"}]
    async with server.client("auto", "--user-desktop") as client:
        assert await said(client, "act", window="x", steps=click) == "✓ click"
        (state.place() / policy.NAME).unlink()
        for tool, arguments in (
            ("act", {"window": "x", "steps": click}),
            ("look", {"window": "x"}),
            ("launch", {"app": "mousepad", "desktop": "user"}),
            ("desktop", {"action": "start"}),
        ):
            told = await said(client, tool, failed=True, **arguments)
            assert "(policy)" in told
            assert "alongside policy --reset" in told
        assert "windows of pid" in await said(client, "windows")
        assert "✗ policy: " in await said(client, "status")
        assert len(server.calls("act")) == 1
    async with server.client("auto", "--user-desktop") as client:
        assert "(policy)" in await said(client, "look", failed=True, window="x")
        assert main(["policy", "--reset"]) == 0
        assert await said(client, "look", window="x") == "[12] button"
        assert "KeePassXC" in await said(client, "launch", failed=True, app="/opt/KeePassXC", desktop="user")
