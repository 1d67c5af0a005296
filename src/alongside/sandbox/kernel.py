"""The system calls that a sandbox is made of, by ctypes: Python 3.11 offers none of them."""
# The imports of pathlib cost every start milliseconds.
# ruff: noqa: PTH123

import ctypes
import fcntl
import os
import signal
import socket
import struct

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 0x2, 0x4, 0x8, 0x4000, 0x40000

_ATTR_RDONLY, _ATTR_NOSUID = 0x1, 0x2
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH, _MNT_DETACH = 0x1, 0x4, 0x2
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP = 1, 4, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_CAPABILITY_VERSION_3 = 0x20080522
# What root keeps to use files of others where they may be written at all: CHOWN, DAC_OVERRIDE, FOWNER.
_KEPT_CAPABILITIES = (0, 1, 3)
# Numbers from 424 on are the same on every architecture; keyctl is older.
_SYS_OPEN_TREE, _SYS_MOVE_MOUNT, _SYS_MOUNT_SETATTR = 428, 429, 442
_SYS_LANDLOCK_CREATE_RULESET, _SYS_LANDLOCK_RESTRICT_SELF = 444, 446
_SYS_KEYCTL = {"x86_64": 250, "aarch64": 219}
_KEYCTL_JOIN_SESSION_KEYRING = 1
_LANDLOCK_CREATE_RULESET_VERSION, _LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET = 0x1, 0x1
_LANDLOCK_ABI_WITH_SCOPES = 6
_SIOCSIFFLAGS, _IFF_UP, _IFF_RUNNING = 0x8914, 0x1, 0x40

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _syscall(number: int, what: str, *arguments: object) -> int:
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments), what)


def _prctl(option: int, value: int, what: str) -> None:
    zero = ctypes.c_ulong(0)
    _checked(_libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero), what)


def unshare(flags: int) -> None:
    """Give this process (PID: its next children) namespaces of its own; OSError where that is refused."""
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def map_own_ids(uid: int, gid: int) -> None:
    """In a new user namespace: this user and group are themselves, everybody else is nobody."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def clone_tree(path: str) -> int:
    """Copy the mounts at and under a path, attached nowhere; returns the descriptor that holds them."""
    flags = _OPEN_TREE_CLONE | _AT_RECURSIVE | os.O_CLOEXEC
    return _syscall(_SYS_OPEN_TREE, f"open_tree {path}", _AT_FDCWD, path.encode(), ctypes.c_uint(flags))


def restrict_tree(tree: int, *, writable: bool = False) -> None:
    """Set a copied tree read-only (unless writable), without set-user-ID, cut off from mounts of the host."""
    attributes = _ATTR_NOSUID | (0 if writable else _ATTR_RDONLY)
    # struct mount_attr: attr_set, attr_clr, propagation, userns_fd
    request = struct.pack("=4Q", attributes, 0, MS_PRIVATE, 0)
    flags = ctypes.c_uint(_AT_EMPTY_PATH | _AT_RECURSIVE)
    _syscall(_SYS_MOUNT_SETATTR, "mount_setattr", tree, b"", flags, request, ctypes.c_size_t(len(request)))


def attach_tree(tree: int, path: str) -> None:
    """Mount a copied tree at a path and close its descriptor."""
    flags = ctypes.c_uint(_MOVE_MOUNT_F_EMPTY_PATH)
    _syscall(_SYS_MOVE_MOUNT, f"move_mount {path}", tree, b"", _AT_FDCWD, path.encode(), flags)
    os.close(tree)


def mount(kind: str | None, path: str, flags: int = 0, options: str = "") -> None:
    """Mount a new file system of a kind at a path, or (kind None) change what is mounted there."""
    name = kind.encode() if kind else None
    result = _libc.mount(name, path.encode(), name, ctypes.c_ulong(flags), options.encode())
    _checked(result, f"mount {kind} at {path}")


def enter_tree(tree: int) -> None:
    """Make a copied tree the root of this mount namespace; the root before it is gone.

    In a chroot the namespace's own root lies outside; joining the namespace anew leaves the chroot, so that the tree
    takes the place of the real root and no second way leads out.
    """
    self_fd = os.pidfd_open(os.getpid())
    _checked(_libc.setns(self_fd, CLONE_NEWNS), "setns")
    os.close(self_fd)
    mount(None, "/", MS_REC | MS_PRIVATE)
    keep = os.dup(tree)
    attach_tree(tree, "/")
    os.fchdir(keep)
    os.close(keep)
    _checked(_libc.pivot_root(b".", b"."), "pivot_root")
    _checked(_libc.umount2(b".", _MNT_DETACH), "umount of the old root")
    os.chdir("/")


def raise_loopback() -> None:
    """Switch on the loopback interface of a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP | _IFF_RUNNING))


def die_with_parent() -> None:
    """Be killed when the thread that forked this process ends; for a single-threaded parent only."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, "PR_SET_PDEATHSIG")


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, "PR_SET_CHILD_SUBREAPER")


def give_up_privileges() -> None:
    """No program started from here gains rights by set-user-ID, and none may trace this process."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, "PR_SET_NO_NEW_PRIVS")
    _prctl(_PR_SET_DUMPABLE, 0, "PR_SET_DUMPABLE")


def drop_capabilities() -> None:
    """Keep no capability that could undo the sandbox: mounting, tracing, devices, network, kernel."""
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as file:
        last = int(file.read())
    for number in range(last + 1):
        if number not in _KEPT_CAPABILITIES:
            _prctl(_PR_CAPBSET_DROP, number, "PR_CAPBSET_DROP")
    kept = sum(1 << number for number in _KEPT_CAPABILITIES)
    header = struct.pack("=2I", _CAPABILITY_VERSION_3, 0)
    # effective, permitted, inheritable, twice 32 bits
    _checked(_libc.capset(header, struct.pack("=6I", kept, kept, 0, 0, 0, 0)), "capset")


def leave_keyring() -> None:
    """Leave the person's session keyring, where tickets and tokens lie, for an empty one."""
    number = _SYS_KEYCTL.get(os.uname().machine)
    # A kernel without keyrings or a filter that forbids them has nothing to leave.
    if number:
        _libc.syscall(ctypes.c_long(number), _KEYCTL_JOIN_SESSION_KEYRING, None)


def can_scope_abstract_sockets() -> bool:
    """Whether Landlock here can keep a process from abstract sockets of processes outside (Linux 6.12, ABI 6)."""
    flags = ctypes.c_uint(_LANDLOCK_CREATE_RULESET_VERSION)
    abi: int = _libc.syscall(ctypes.c_long(_SYS_LANDLOCK_CREATE_RULESET), None, ctypes.c_size_t(0), flags)
    return abi >= _LANDLOCK_ABI_WITH_SCOPES


def scope_abstract_sockets() -> None:
    """From here on this process and all it starts reach only abstract sockets made by themselves."""
    # struct landlock_ruleset_attr: handled_access_fs, handled_access_net, scoped
    request = struct.pack("=3Q", 0, 0, _LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET)
    rules = _syscall(
        _SYS_LANDLOCK_CREATE_RULESET,
        "landlock_create_ruleset",
        request,
        ctypes.c_size_t(len(request)),
        ctypes.c_uint(0),
    )
    _syscall(_SYS_LANDLOCK_RESTRICT_SELF, "landlock_restrict_self", rules, ctypes.c_uint(0))
    os.close(rules)
