"""Starting applications readable and silent: one table of what each kind needs, and finding them by name.

Each row's flags, environment and settings were measured: without them a Chromium tree stays at four nodes, Firefox asks
about a missing profile, LibreOffice shows no window.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from alongside.core.errors import Invalid, NotFound, Refused
from alongside.core.targets import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# What runs whatever somebody wrote into it is not an application.
_REFUSED = (".sh", ".desktop", ".deb", ".rpm", ".run", ".appimage", ".py", ".pl", ".bin", ".exe", ".msi", ".lnk")
_DATA = "/usr/local/share:/usr/share"
_MOST_TOLD = 2_000


def _home() -> Path:
    return Path(os.environ.get("HOME", "/"))


@dataclass(frozen=True, slots=True)
class Kind:
    """What one kind of application needs: ``names`` of its executables, ``flags`` before the caller's arguments."""

    names: tuple[str, ...]
    flags: tuple[str, ...] = ()
    root_flags: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[], tuple[str, ...]] = tuple


def _chromium_profile() -> tuple[str, ...]:
    return (f"--user-data-dir={_home() / '.alongside-chromium'}",)


def _firefox_profile() -> tuple[str, ...]:
    """The folder must be there, or a dialog about a missing profile comes up."""
    profile = _home() / ".alongside-firefox"
    profile.mkdir(parents=True, exist_ok=True)
    lines = "".join(f'user_pref("{name}", {value});\n' for name, value in _FIREFOX.items())
    (profile / "user.js").write_text(lines, encoding="utf-8")
    return ("--profile", str(profile))


def _libreoffice_profile() -> tuple[str, ...]:
    return (f"-env:UserInstallation={(_home() / '.alongside-libreoffice').as_uri()}",)


_FIREFOX = {
    "accessibility.force_disabled": "-1",
    "browser.aboutwelcome.enabled": "false",
    "browser.shell.checkDefaultBrowser": "false",
    "browser.startup.homepage_override.mstone": '"ignore"',
    "browser.tabs.warnOnClose": "false",
    "datareporting.policy.dataSubmissionEnabled": "false",
    "datareporting.policy.dataSubmissionPolicyBypassNotification": "true",
    "termsofuse.bypassNotification": "true",
    "toolkit.telemetry.reportingpolicy.firstRun": "false",
    "trailhead.firstrun.didSeeAboutWelcome": "true",
    "app.update.enabled": "false",
}
_CHROMIUM = (
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-crash-restore-bubble",
    "--disable-sync",
    "--password-store=basic",
    "--use-mock-keychain",
    "--disable-background-networking",
    "--disable-component-update",
    "--force-renderer-accessibility",
    "--ozone-platform=x11",
    "--disable-features=Translate,MediaRouter",
)
# Root has no sandbox of Chromium's own; --test-type keeps it from saying so in every window.
_AS_ROOT = ("--no-sandbox", "--test-type")
KINDS = (
    Kind(
        ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge", "brave-browser"),
        _CHROMIUM,
        _AS_ROOT,
        prepare=_chromium_profile,
    ),
    Kind(
        ("firefox", "firefox-esr"),
        ("--no-remote", "--new-instance"),
        environment={"MOZ_DISABLE_AUTO_SAFE_MODE": "1"},
        prepare=_firefox_profile,
    ),
    Kind(
        ("soffice", "libreoffice", "localc", "lowriter", "loimpress", "lodraw"),
        ("--norestore", "--nologo", "--nofirststartwizard"),
        environment={"SAL_USE_VCLPLUGIN": "gtk3"},
        prepare=_libreoffice_profile,
    ),
    Kind(("code", "codium", "electron"), ("--force-renderer-accessibility",), _AS_ROOT),
)
# For everything that is started, whatever it is (GTK, Qt, Java and browsers each read their own).
ENVIRONMENT = {
    "GTK_MODULES": "gail:atk-bridge",
    "NO_AT_BRIDGE": "0",
    "QT_ACCESSIBILITY": "1",
    "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
    "GNOME_ACCESSIBILITY": "1",
    "ACCESSIBILITY_ENABLED": "1",
    "GDK_BACKEND": "x11",
    "QT_QPA_PLATFORM": "xcb",
    "GTK_USE_PORTAL": "0",
}


@dataclass(slots=True)
class _Started:
    process: subprocess.Popen[bytes]
    log: Path


class Apps:
    """The applications that this driver started; they outlive it, and end with the desktop."""

    def __init__(self) -> None:
        self._started: dict[int, _Started] = {}

    async def start(self, application: str, arguments: Sequence[str]) -> int:
        """Start one by its command, its path, or the name that menus show; its process id."""
        command = find(application)
        kind = kind_of(command[0])
        argv = [*command[:1], *command[1:]]
        environment = {**os.environ, **ENVIRONMENT}
        if kind is not None:
            argv += [*kind.prepare(), *kind.flags, *(kind.root_flags if os.geteuid() == 0 else ())]
            environment.update(kind.environment)
        argv += arguments
        log = _log_file(Path(command[0]).name)
        with log.open("ab") as output:
            try:
                process = subprocess.Popen(  # noqa: ASYNC220 - a millisecond, and no thread of asyncio's for each
                    argv,
                    env=environment,
                    cwd=_home() if _home().is_dir() else "/",
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            except OSError as error:
                raise NotFound(f"{application!r:.80} cannot be started: {error.strerror}.") from None
        self._started[process.pid] = _Started(process, log)
        self._reap(process)
        return process.pid

    def ended(self, pid: int) -> str | None:
        """How one ended, with the last that it wrote; None while it runs."""
        started = self._started[pid]
        code = started.process.poll()
        if code is None:
            return None
        said = ""
        with contextlib.suppress(OSError):
            said = started.log.read_bytes()[-_MOST_TOLD:].decode(errors="replace").strip()
        return f"exit code {code}" + (f"; its last words: {said}" if said else "")

    def _reap(self, process: subprocess.Popen[bytes]) -> None:
        loop = asyncio.get_running_loop()
        descriptor = os.pidfd_open(process.pid)

        def ended() -> None:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            process.poll()

        loop.add_reader(descriptor, ended)


def find(application: str) -> list[str]:
    """The command of an application: an executable by path or name, or the name that a menu shows."""
    name = application.strip()
    if not name or "\0" in name or name.startswith("-"):
        raise Invalid(f"{application!r:.80} is no application.", next='launch("mousepad") or launch("Text Editor")')
    if name.lower().endswith(_REFUSED):
        raise Refused(
            f"{application!r:.80} is a script, a shortcut or an installer; only applications are launched.",
            next="launch the application that it is for",
        )
    if "/" in name:
        path = Path(name).expanduser()
        if path.is_file() and os.access(path, os.X_OK):
            return [str(path)]
        raise NotFound(f"There is no program at {application!r:.200}.", next="launch it by its name")
    if found := shutil.which(name):
        return [found]
    listed = list(_entries())
    for shown, command in listed:
        if plain(shown) == plain(name):
            return command
    near = sorted({shown for shown, _ in listed if plain(name) in plain(shown)})[:8]
    hint = f" Near: {', '.join(near)}." if near else ""
    raise NotFound(f"No application is called {application!r:.80} here.{hint}", next="install it, or use another")


def kind_of(command: str) -> Kind | None:
    """The row of the table for an executable."""
    name = Path(command).name
    return next((kind for kind in KINDS if name in kind.names), None)


def _entries() -> Iterator[tuple[str, list[str]]]:
    """The names and commands of the desktop entries that menus show."""
    import configparser  # noqa: PLC0415 - only where an application is named as menus show it
    import shlex  # noqa: PLC0415

    folders = os.environ.get("XDG_DATA_DIRS", _DATA).split(":")
    for folder in folders:
        for path in sorted(Path(folder, "applications").glob("*.desktop")):
            parser = configparser.RawConfigParser(strict=False, interpolation=None)
            with contextlib.suppress(OSError, configparser.Error, UnicodeDecodeError, ValueError):
                parser.read(path, encoding="utf-8")
                entry = parser["Desktop Entry"] if parser.has_section("Desktop Entry") else {}
                if entry.get("type") == "Application" and entry.get("nodisplay", "false") != "true":
                    # %f, %U and their like stand for files, of which there are none here.
                    words = [word for word in shlex.split(entry.get("exec", "")) if not word.startswith("%")]
                    if words and shutil.which(words[0]):
                        yield entry.get("name", path.stem), words


def _log_file(name: str) -> Path:
    folder = Path(os.environ.get("XDG_RUNTIME_DIR", "/tmp")) / "alongside-applications"  # noqa: S108 - private in a sandbox
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / f"{name}.log"
