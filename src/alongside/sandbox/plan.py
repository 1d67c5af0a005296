"""What a sandbox on this machine needs and may see, decided by the server before the keeper starts."""

from __future__ import annotations

import os
import pwd
import shutil
import site
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict

from alongside.core.errors import Invalid, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterable

Containment = Literal["namespaces", "bubblewrap", "best effort"]
Rule = tuple[Literal["mask", "hide", "show"], str]

_PACKAGES = {"Xvfb": "xvfb", "openbox": "openbox", "dbus-daemon": "dbus-daemon", "at-spi-bus-launcher": "at-spi2-core"}
# Distributions disagree on where programs go that no person starts.
_SEARCHED = ("/usr/bin", "/usr/local/bin", "/usr/libexec", "/usr/lib/at-spi2-core", "/usr/lib", "/usr/libexec/at-spi2")
_PRIVATE_FOLDERS = ("/tmp", "/var/tmp", "/run", "/home", "/root", "/media", "/mnt", "/var/mail", "/var/spool")  # noqa: S108
_PRIVATE_VARIABLES = (
    *(
        "HOME",
        "ALONGSIDE_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "XDG_CACHE_HOME",
    ),
    *("XAUTHORITY", "ICEAUTHORITY", "SSH_AUTH_SOCK", "GNUPGHOME"),
)
_SYSTEM_FOLDERS = ("/usr", "/etc", "/bin", "/sbin", "/lib", "/dev", "/proc", "/sys")
# What name resolution reads or asks; both may lie below /run.
_RESOLVER = ("/etc/resolv.conf", "/run/systemd/resolve")
# A bus below it still has a socket address of at most 107 bytes.
_LONGEST_PLACE = 48
_PASSED_VARIABLES = ("PATH", "LANG", "LANGUAGE", "TZ", "TERM")


class Folder(NamedTuple):
    """A folder of the host that appears in the sandbox's home under its own name."""

    path: Path
    writable: bool = False


class Plan(TypedDict):
    """What the keeper is told, as JSON."""

    id: str
    mode: Containment
    size: tuple[int, int]
    """width and height of the display in pixels"""
    programs: dict[str, str]
    """paths of the services, by name"""
    environment: dict[str, str]
    """what everything inside gets of the person's environment"""
    home: str
    runtime: str
    rules: list[Rule]
    """what is visible, from the outside in (see view.py)"""
    folder: tuple[str, bool] | None
    """host path and whether it may be written"""
    folders: str
    """where a sandbox without namespaces makes its folders"""
    mark: str
    """that folder, once it is made; how its processes are known"""
    scope: bool
    """False: behave as on a kernel that cannot scope abstract sockets"""


def make(name: str, size: tuple[int, int], folder: Folder | None, visible: Iterable[Path]) -> Plan:
    """Plan a sandbox; Unavailable names every missing program, Invalid says what is wrong with the folder."""
    home = os.environ.get("HOME") or _account_home()
    inside = home if _is_private_place(home) else "/run/alongside/home"
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return Plan(
        id=name,
        mode="namespaces",
        size=size,
        programs=find_programs(),
        environment=_passed_environment(),
        home=inside,
        runtime=f"/run/user/{os.getuid()}",
        rules=rules([*program_files(), *map(str, visible)], private_paths(home)),
        folder=(check_folder(folder.path, home), folder.writable) if folder else None,
        folders=_place_for_folders(runtime),
        mark="",
        scope=True,
    )


def find_programs() -> dict[str, str]:
    """Paths of the services, and of `bwrap` where it is installed; Unavailable names all that are missing."""
    places = os.pathsep.join([os.environ.get("PATH", ""), *_SEARCHED])
    found = {name: path for name in (*_PACKAGES, "bwrap") if (path := shutil.which(name, path=places))}
    missing = [name for name in _PACKAGES if name not in found]
    if missing:
        packages = " ".join(_PACKAGES[name] for name in missing)
        raise Unavailable(
            f"a sandbox needs {', '.join(missing)}, not installed here", next=f"sudo apt-get install -y {packages}"
        )
    return found


def program_files() -> list[str]:
    """Paths of this program: the interpreter, its libraries and this package, wherever they were put."""
    package = Path(__file__).resolve().parents[1]
    places = [sys.prefix, sys.base_prefix, sys.exec_prefix, str(package), os.path.realpath(sys.executable)]
    places += site.getsitepackages()
    if site.ENABLE_USER_SITE:
        places.append(site.getusersitepackages())
    return places


def private_paths(home: str) -> list[str]:
    """Paths that must not be seen: folders and single files that are the person's."""
    named = [os.environ[name] for name in _PRIVATE_VARIABLES if os.environ.get(name)]
    for address in os.environ.get("DBUS_SESSION_BUS_ADDRESS", "").split(";"):
        options = dict(option.partition("=")[::2] for option in address.removeprefix("unix:").split(","))
        named.append(options.get("path", ""))
    return [*_PRIVATE_FOLDERS, home, _account_home(), *named]


def rules(shown: Iterable[str], private: Iterable[str]) -> list[Rule]:
    """Order what is shown and what is private from the outside in, without rules that the enclosing one implies."""
    wanted: dict[str, Rule] = {}
    for given in (*_RESOLVER, *shown):
        # Both, because a link that leads there may itself be masked.
        for path in (os.path.realpath(given), os.path.abspath(given)):  # noqa: PTH100 - resolve() follows links
            if Path(path).exists():
                wanted[path] = ("show", path)
    # Second, because a path that is both is private.
    for path in (os.path.realpath(given) for given in private if given):
        if _is_private_place(path) and Path(path).exists():
            wanted[path] = ("mask" if Path(path).is_dir() else "hide", path)
    kept: dict[str, Rule] = {}
    for path in sorted(wanted, key=lambda path: path.split("/")):
        rule = wanted[path]
        enclosing = next((kept[str(above)] for above in Path(path).parents if str(above) in kept), None)
        shown_already = enclosing is None or enclosing[0] == "show"
        if (rule[0] == "show") != shown_already:
            kept[path] = rule
    return list(kept.values())


def check_folder(path: Path, home: str) -> str:
    """Absolute path of a folder that may be brought into a sandbox; Invalid otherwise."""
    folder, own = path.expanduser().resolve(), Path(home).resolve()
    help_ = "name a folder that holds only what the sandbox may see, such as one in your documents"
    if not folder.is_dir():
        raise Invalid(f"folder {path}: not a folder", next=help_)
    named = (os.environ.get(name) for name in ("ALONGSIDE_HOME", "XDG_RUNTIME_DIR"))
    for private in (own, *(Path(place).resolve() for place in named if place)):
        if private == folder or folder in private.parents:
            raise Invalid(f"folder {path}: it holds {private}, which is private", next=help_)
        if private != own and private in folder.parents:
            raise Invalid(f"folder {path}: it lies in {private}, which is private", next=help_)
    if own in folder.parents and folder.relative_to(own).parts[0].startswith("."):
        raise Invalid(f"folder {path}: hidden folders of a home hold keys and settings", next=help_)
    return str(folder)


def _is_private_place(path: str) -> bool:
    """False for what a daemon's account may call its home: the root, a system folder, a folder that is not there."""
    real = os.path.realpath(path)
    return (
        real != "/" and Path(real).exists() and not any(f"{place}/".startswith(f"{real}/") for place in _SYSTEM_FOLDERS)
    )


def _place_for_folders(runtime: str) -> str:
    """First folder that is short enough for the buses below it."""
    places = [place for place in (runtime, tempfile.gettempdir()) if Path(place).is_dir() and place]
    return next((place for place in places if len(place) <= _LONGEST_PLACE), "/tmp")  # noqa: S108 - always short


def _account_home() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/"


def _passed_environment() -> dict[str, str]:
    passed = {key: value for key, value in os.environ.items() if key in _PASSED_VARIABLES or key.startswith("LC_")}
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = "user"
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        **passed,
        "USER": user,
        "LOGNAME": user,
        "SHELL": "/bin/sh",
    }
