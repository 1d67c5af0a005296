"""Starting applications readable and silent: one table of what each kind needs, and finding them by name.

Each row's flags, environment and settings were measured: without them a Chromium tree stays at four nodes, Firefox asks
about a missing profile, LibreOffice shows no window.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from alongside.core.errors import Invalid, NotFound, Refused
from alongside.core.targets import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# What runs whatever somebody wrote into it is not an application.
_REFUSED = (".sh", ".desktop", ".deb", ".rpm", ".run", ".appimage", ".py", ".pl", ".bin", ".exe", ".msi", ".lnk")
_SHELLS = frozenset(
    (
        *("sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh", "busybox", "env", "xargs", "nohup", "setsid"),
        *("sudo", "su", "doas", "pkexec", "apt", "apt-get", "aptitude", "dpkg", "rpm", "dnf", "zypper", "pacman"),
    )
)
# These are launched with the file of a program, never with code.
_INTERPRETER = re.compile(r"(python|perl|ruby|node|nodejs|lua|php|tclsh|wish|gjs|guile)[0-9.]*")
_DATA = "/usr/local/share:/usr/share"
_MOST_TOLD = 2_000
_EXITING = 0x4  # the kernel's PF_EXITING


def _home() -> Path:
    return Path(os.environ.get("HOME", "/"))


@dataclass(frozen=True, slots=True)
class Kind:
    """What one kind of application needs: ``names`` of its executables, ``flags`` before the caller's arguments.

    ``refused`` are patterns of the options (lower case, without dashes and value) that no caller may give.
    """

    names: tuple[str, ...]
    refused: tuple[str, ...] = ()
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
# Profile, debug port, extensions, the browser's own sandbox, and what it runs as a part of itself.
_NOT_CHROMIUM = (
    *("user-data-dir", "profile-*", "temp-profile", "remote-debugging-*", "inspect*", "g", "debug"),
    *("load-extension", "load-and-launch-app", "disable-extensions-except", "enable-remote-extensions"),
    *("install-extension", "extension*", "no-sandbox", "disable-*sandbox*"),
    *("*-cmd-prefix", "gpu-launcher", "browser-subprocess-path"),
)
_NOT_FIREFOX = (
    *("p", "profile", "profilemanager", "createprofile", "app", "install-*"),
    *("start-debugger-server", "remote-debugging-*", "remote-allow-*", "marionette"),
)
_NOT_LIBREOFFICE = ("env:*", "accept")
# Root has no sandbox of Chromium's own; --test-type keeps it from saying so in every window.
_AS_ROOT = ("--no-sandbox", "--test-type")
KINDS = (
    Kind(
        ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge", "brave-browser"),
        _NOT_CHROMIUM,
        _CHROMIUM,
        _AS_ROOT,
        prepare=_chromium_profile,
    ),
    Kind(
        ("firefox", "firefox-esr"),
        _NOT_FIREFOX,
        ("--no-remote", "--new-instance"),
        # As root in a sandbox its own sandbox cannot map its user, and every page's process would crash.
        environment={"MOZ_DISABLE_AUTO_SAFE_MODE": "1", "MOZ_ASSUME_USER_NS": "0"},
        prepare=_firefox_profile,
    ),
    Kind(
        ("soffice", "libreoffice", "localc", "lowriter", "loimpress", "lodraw"),
        _NOT_LIBREOFFICE,
        ("--norestore", "--nologo", "--nofirststartwizard"),
        environment={"SAL_USE_VCLPLUGIN": "gtk3"},
        prepare=_libreoffice_profile,
    ),
    Kind(("code", "codium", "electron"), _NOT_CHROMIUM, ("--force-renderer-accessibility",), _AS_ROOT),
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
        check_arguments(command, arguments)
        argv = [*command]
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


def lives(pid: int) -> bool:
    """Whether a process runs and is not being killed; True where its number is not known (0)."""
    if not pid:
        return True
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return state not in "ZX" and not int(rest[5]) & _EXITING


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
            return [_application(str(path))]
        raise NotFound(f"There is no program at {application!r:.200}.", next="launch it by its name")
    if found := shutil.which(name):
        return [_application(found)]
    listed = list(_entries())
    for shown, command in listed:
        if plain(shown) == plain(name):
            return command
    near = sorted({shown for shown, _ in listed if plain(name) in plain(shown)})[:8]
    hint = f" Near: {', '.join(near)}." if near else ""
    raise NotFound(f"No application is called {application!r:.80} here.{hint}", next="install it, or use another")


def _application(path: str) -> str:
    if shells := _names(path) & _SHELLS:
        raise Refused(
            f"{min(shells)} runs commands or installs; only applications are launched.",
            next="launch the application itself",
        )
    return path


def kind_of(command: str) -> Kind | None:
    """The row of the table for an executable."""
    return next((kind for kind in KINDS if _names(command) & {*kind.names}), None)


def check_arguments(command: Sequence[str], arguments: Sequence[str]) -> None:
    """``Refused`` for code given to an interpreter, and for the options that a kind of application is not given."""
    if any(map(_INTERPRETER.fullmatch, _names(command[0]))):
        # A menu's command may name the program already.
        program = [*command[1:], *arguments][:1]
        if not program or program[0].startswith("-") or not Path(_home(), program[0]).is_file():
            raise Refused(
                f"{command[0]!r:.80} is an interpreter: it is launched with the file of a program, not with code.",
                next=f'launch("{Path(command[0]).name:.40}", arguments=["/path/to/program.py"])',
            )
    kind = kind_of(command[0])
    for argument in arguments:
        option = argument.lstrip("-").partition("=")[0].lower()
        if kind and argument.startswith("-") and any(fnmatchcase(option, pattern) for pattern in kind.refused):
            raise Refused(
                f"{argument!r:.80} is refused: profile, debug port, extensions and sandbox of an application are not "
                "chosen by the caller.",
                next="launch it without",
            )


def _names(command: str) -> set[str]:
    """The name of a program, and that of what it is a link to."""
    return {Path(command).name, Path(command).resolve().name}


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
