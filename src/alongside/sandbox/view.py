"""What of the host's files a sandbox sees: all of the system read-only, nothing that is private.

The plan's `rules` are applied from the outside in, each on top of the one that encloses it:
`mask` puts an empty private folder over a folder, `hide` an empty file over a file, `show` brings a host path back
read-only.
Everything writable is memory of the mount namespace, so it ends with the last process and leaves nothing on the host.
"""
# The imports of pathlib cost every start milliseconds. Inside, /tmp is private.
# ruff: noqa: PTH101, PTH102, PTH103, PTH110, PTH112, PTH119, PTH120, PTH211, S108

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from alongside.sandbox import kernel

if TYPE_CHECKING:
    from alongside.sandbox.plan import Plan

BASE = "/run/alongside"
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICE_LINKS = {
    "ptmx": "pts/ptmx",
    "fd": "/proc/self/fd",
    **{f"std{n}": f"/proc/self/fd/{i}" for i, n in enumerate(("in", "out", "err"))},
}
_STICKY = ("/tmp", "/var/tmp")
# Root may write kernel settings by owning these files, without any capability.
_KERNEL_FILES = ("sys", "sysrq-trigger", "irq", "bus", "fs")
_LOG_LIMIT = "16m"


def build(plan: Plan) -> None:
    """Make the view the root of this (new) mount namespace; OSError says which step the kernel refused."""
    root = kernel.clone_tree("/")
    kernel.restrict_tree(root)
    shown = {path: _readable(path) for kind, path in plan["rules"] if kind == "show"}
    devices = {name: kernel.clone_tree(f"/dev/{name}") for name in _DEVICES}
    empty = [kernel.clone_tree("/dev/null") for kind, _ in plan["rules"] if kind == "hide"]
    folder = plan["folder"]
    brought = kernel.clone_tree(folder[0]) if folder else -1
    kernel.enter_tree(root)
    kernel.mount("proc", "/proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    _make_devices(devices)
    for kind, path in plan["rules"]:
        if kind == "mask":
            _make_memory(path, "1777" if path in _STICKY else "0755")
        elif kind == "hide":
            kernel.attach_tree(empty.pop(), path)
        else:
            _make_place(path, like=shown[path])
            kernel.attach_tree(shown[path], path)
    _make_private_folders(plan)
    if folder:
        kernel.restrict_tree(brought, writable=folder[1])
        place = f"{plan['home']}/{os.path.basename(folder[0])}"
        os.mkdir(place)
        kernel.attach_tree(brought, place)
    if os.geteuid() == 0:
        _protect_kernel_files()


def bubblewrap_arguments(plan: Plan) -> list[str]:
    """Describe the same view to `bwrap`."""
    arguments = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for kind, path in plan["rules"]:
        if kind == "mask":
            arguments += ["--perms", "1777" if path in _STICKY else "0755", "--tmpfs", path]
        elif kind == "hide":
            arguments += ["--ro-bind", "/dev/null", path]
        else:
            arguments += ["--ro-bind", path, path]
    for path, mode in _private_folders(plan):
        arguments += ["--perms", mode, "--dir", path]
    folder = plan["folder"]
    if folder:
        name = os.path.basename(folder[0])
        arguments += ["--bind" if folder[1] else "--ro-bind", folder[0], f"{plan['home']}/{name}"]
    return arguments


def _private_folders(plan: Plan) -> list[tuple[str, str]]:
    return [
        (plan["home"], "0700"),
        (plan["runtime"], "0700"),
        (BASE, "0700"),
        (f"{BASE}/log", "0700"),
        ("/tmp/.X11-unix", "1777"),
        ("/tmp/.ICE-unix", "1777"),
    ]


def _make_private_folders(plan: Plan) -> None:
    for path, mode in _private_folders(plan):
        os.makedirs(path, exist_ok=True)
        os.chmod(path, int(mode, 8))
    # Of its own and small, so that a chatty application fills its log and not the runtime folder.
    _make_memory(f"{BASE}/log", "0700", f",size={_LOG_LIMIT}")


def _readable(path: str) -> int:
    tree = kernel.clone_tree(path)
    kernel.restrict_tree(tree)
    return tree


def _make_memory(path: str, mode: str, more: str = "") -> None:
    kernel.mount("tmpfs", path, kernel.MS_NOSUID | kernel.MS_NODEV, f"mode={mode}{more}")


def _make_place(path: str, *, like: int) -> None:
    """Make what a tree is mounted on: a folder for a folder, an empty file for a file."""
    if os.path.isdir(f"/proc/self/fd/{like}"):
        os.makedirs(path, exist_ok=True)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def _make_devices(devices: dict[str, int]) -> None:
    kernel.mount("tmpfs", "/dev", kernel.MS_NOSUID, "mode=0755")
    for name, tree in devices.items():
        os.close(os.open(f"/dev/{name}", os.O_WRONLY | os.O_CREAT, 0o600))
        kernel.attach_tree(tree, f"/dev/{name}")
    for name, target in _DEVICE_LINKS.items():
        os.symlink(target, f"/dev/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"/dev/{name}")
    kernel.mount("devpts", "/dev/pts", kernel.MS_NOSUID | kernel.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
    _make_memory("/dev/shm", "1777")


def _protect_kernel_files() -> None:
    for name in _KERNEL_FILES:
        path = f"/proc/{name}"
        if os.path.exists(path):
            kernel.attach_tree(_readable(path), path)
