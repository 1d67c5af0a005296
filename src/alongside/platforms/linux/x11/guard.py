"""The guarded connection: nothing reaches the display that its kind of desktop does not allow.

Every generated request of xcffib, core or extension, passes ``Connection.send_request``; it is the one place to stand.
"""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING, Any, Literal

# Extensions have to be imported before the first connection: it is then that xcffib looks up their numbers.
import xcffib
import xcffib.composite
import xcffib.res
import xcffib.shm
import xcffib.xfixes
import xcffib.xkb
import xcffib.xproto
import xcffib.xtest
from xcffib.ffi import ffi

from alongside.core.errors import Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Kind = Literal["user", "own"]
CORE = ""

# What only reads, or touches nothing but this connection's own resources: by extension, the requests and their opcodes.
_READS: dict[str, dict[str, int]] = {
    CORE: {
        "ChangeWindowAttributes": 2,
        "GetWindowAttributes": 3,
        "GetGeometry": 14,
        "QueryTree": 15,
        "InternAtom": 16,
        "GetAtomName": 17,
        "GetProperty": 20,
        "ListProperties": 21,
        "GetSelectionOwner": 23,
        "QueryPointer": 38,
        "TranslateCoordinates": 40,
        "GetInputFocus": 43,
        "FreePixmap": 54,
        "QueryExtension": 98,
        "ListExtensions": 99,
    },
    "Composite": {"QueryVersion": 0, "RedirectWindow": 1, "RedirectSubwindows": 2, "NameWindowPixmap": 6},
    "MIT-SHM": {"QueryVersion": 0, "Attach": 1, "Detach": 2, "GetImage": 4},
    "X-Resource": {"QueryVersion": 0, "QueryClientIds": 4},
    "XFIXES": {"QueryVersion": 0, "GetCursorImage": 4},
    "XKEYBOARD": {"UseExtension": 0, "GetState": 4, "GetMap": 8},
}
# Messages to one window, which no other client and no window manager ever sees.
_SENDS: dict[str, dict[str, int]] = {CORE: {"SendEvent": 25}}
# Handing a text over as applications do, with a window of our own that nobody sees (see `_ONLY_IF`).
_HANDS_OVER: dict[str, dict[str, int]] = {
    CORE: {"CreateWindow": 1, "ChangeProperty": 18, "SetSelectionOwner": 22, "ConvertSelection": 24}
}
# What a desktop of the agent's own allows on top: its pointer, its keyboard (also which keys are down, which on the
# person's is theirs to know), and messages to its window manager.
_ACTS: dict[str, dict[str, int]] = {
    CORE: {"QueryKeymap": 44},
    "XKEYBOARD": {"LatchLockState": 5, "SetMap": 9},
    "XTEST": {"GetVersion": 0, "FakeInput": 2},
}


def _pairs(*tables: dict[str, dict[str, int]]) -> frozenset[tuple[str, int]]:
    return frozenset((name, opcode) for table in tables for name, ops in table.items() for opcode in ops.values())


ALLOWED: Mapping[Kind, frozenset[tuple[str, int]]] = {
    "user": _pairs(_READS, _SENDS, _HANDS_OVER),
    "own": _pairs(_READS, _SENDS, _HANDS_OVER, _ACTS),
}

_EVENTS = xcffib.xproto.EventMask
# Selecting these only listens; the others (redirection, button presses) only one client may have.
_LISTENS = _EVENTS.StructureNotify | _EVENTS.SubstructureNotify | _EVENTS.PropertyChange
_SELECTION_NOTIFY, _CLIENT_MESSAGE = 31, 33  # the codes of the events
# Keys, buttons, motion, crossings and focus, as the server would send them.
_SIMULATED = range(2, 11)
_PING, _ACTIVE = b"_NET_WM_PING", b"_NET_ACTIVE_WINDOW"
_CLIPBOARD, _DRAGGED, _DRAG_LEAVES = b"CLIPBOARD", b"XdndSelection", b"XdndLeave"
_DRAG = (b"XdndEnter", b"XdndPosition", b"XdndDrop")
_NAMES = (b"WM_PROTOCOLS", _PING, _ACTIVE, _CLIPBOARD, _DRAGGED, _DRAG_LEAVES, *_DRAG)
_INPUT_ONLY = 2
_SENT = 0x80  # the bit of an event that another client made up


def _word(body: bytes, offset: int) -> int:
    return int(struct.unpack_from("=I", body, offset)[0])


def _only_listens(body: bytes, _guard: Guarded) -> bool:
    return _word(body, 8) == xcffib.xproto.CW.EventMask and not _word(body, 12) & ~_LISTENS


def _keeps_property(body: bytes, guard: Guarded) -> bool:
    return not body[1] or guard.owns(_word(body, 4))  # its first argument: delete what was read


def _is_never_seen(body: bytes, guard: Guarded) -> bool:
    """Whether a window is a child of a root that has no picture and takes no input; nothing here maps it."""
    parent, kind, attributes = struct.unpack_from("=I10xH4xI", body, 8)
    only_listens = attributes == xcffib.xproto.CW.EventMask and not _word(body, 32) & ~_LISTENS
    return parent in guard.roots and kind == _INPUT_ONLY and only_listens


def _was_asked_for(body: bytes, guard: Guarded) -> bool:
    """Whether a property is one of our own window's, or the place where somebody wants a selection of ours."""
    window, name = struct.unpack_from("=II", body, 4)
    return guard.owns(window) or (window, name) in guard.asked


def _takes_selection(body: bytes, guard: Guarded) -> bool:
    """Whether a selection is one that we may take now, or one that is given up by whoever took it with that time."""
    owner, selection, time = struct.unpack_from("=III", body, 4)
    if not owner:
        return bool(time) and guard.taken.get(selection) == time  # with it the server lets go of nobody else's
    if not time or not guard.owns(owner) or selection not in guard.may_take():
        return False
    guard.taken[selection] = time
    return True


def _reads_clipboard(body: bytes, guard: Guarded) -> bool:
    window, selection = struct.unpack_from("=II", body, 4)
    return guard.owns(window) and guard.clipboard > 0 and selection == guard.names[_CLIPBOARD]


def _of_this_connection(body: bytes, guard: Guarded) -> bool:
    return guard.owns(_word(body, 4))


def _stays_on_screen(body: bytes, _guard: Guarded) -> bool:
    return body[8] == xcffib.composite.Redirect.Automatic  # redirected manually, a window is shown no more


def _sends(body: bytes, guard: Guarded) -> bool:
    """Whether an event goes to one application alone, or where it goes to the window manager, may go there."""
    propagate, window, mask, code, message, word = body[1], *struct.unpack_from("=IIB", body, 4), *_message(body)
    # Without an event mask only the client that made the window gets it: a window manager that sees a simulated FocusIn
    # believes that the focus has moved (measured: xfwm4, metacity).
    to_one = not propagate and not mask and window not in guard.nobodys
    if code == _CLIENT_MESSAGE:
        names = guard.names
        if to_one and message == names[b"WM_PROTOCOLS"]:
            return word == names[_PING]  # WM_TAKE_FOCUS takes it (measured)
        if to_one and message == names[_DRAG_LEAVES]:
            return True  # also of a driver that died in the middle
        if to_one and message in {names[one] for one in _DRAG}:
            return guard.owns(word)
        if guard.kind == "own":
            return True
        return message == names[_ACTIVE] and window == guard.root and guard.returns_to == _word(body, 16)
    if code == _SELECTION_NOTIFY:
        return to_one and any(requestor == window == _word(body, 20) for requestor, _ in guard.asked)
    return to_one and code in _SIMULATED


def _message(body: bytes) -> tuple[int, int]:
    """The type and the first word of a client message."""
    return _word(body, 20), _word(body, 24)


# Requests that are allowed in some forms only. The body is what goes to the wire: 4 bytes of header, then arguments.
_ONLY_IF: dict[tuple[str, int], Callable[[bytes, Guarded], bool]] = {
    (CORE, 1): _is_never_seen,
    (CORE, 2): _only_listens,
    (CORE, 18): _was_asked_for,
    (CORE, 20): _keeps_property,
    (CORE, 22): _takes_selection,
    (CORE, 24): _reads_clipboard,
    (CORE, 25): _sends,
    (CORE, 54): _of_this_connection,
    ("Composite", 1): _stays_on_screen,
    ("Composite", 2): _stays_on_screen,
    ("MIT-SHM", 2): _of_this_connection,
}


class Guarded(xcffib.Connection):
    """A connection on which a request that ``kind`` does not allow raises ``Policy`` before it reaches the wire."""

    setup: Any
    core: Any

    def __init__(self, display: str, kind: Kind) -> None:
        self.kind: Kind = kind
        super().__init__(display)  # type: ignore[no-untyped-call]
        self._base, self._mask = self.setup.resource_id_base, self.setup.resource_id_mask
        self.root: int = self.setup.roots[self.pref_screen].root
        self.roots = {screen.root for screen in self.setup.roots}
        # Destinations that stand for others: None, PointerRoot, and the root that every window manager listens on.
        self.nobodys = {0, 1, *self.roots}
        asked = {name: self.core.InternAtom(False, len(name), name) for name in _NAMES}
        self.names: dict[bytes, int] = {name: cookie.reply().atom for name, cookie in asked.items()}
        # The window that the focus may be given back to, as long as one that took it by itself has it.
        self.returns_to: int | None = None
        # Where others want what we own, by window and property, until they have it (see `answered`).
        self.asked: list[tuple[int, int]] = []
        # The selections that were taken, and with which time.
        self.taken: dict[int, int] = {}
        # How many are at work that may read and take CLIPBOARD: a caller asked for it, or its content is put back.
        self.clipboard = 0

    def hoist_event(self, e: Any) -> Any:
        """What came, as xcffib has it; a request for a selection of ours lets its answer pass."""
        event = super().hoist_event(e)  # type: ignore[no-untyped-call]
        sent = e.response_type & _SENT
        if isinstance(event, xcffib.xproto.SelectionRequestEvent) and not sent and event.requestor not in self.nobodys:
            self.asked.append((event.requestor, event.property or event.target))
        return event

    def answered(self, requestor: int, name: int) -> None:
        """Somebody has what they asked for; nothing more is written there, unless they asked again meanwhile."""
        if (requestor, name) in self.asked:
            self.asked.remove((requestor, name))

    def may_take(self) -> set[int]:
        """The selections that may be taken now."""
        return {self.names[_DRAGGED]} | ({self.names[_CLIPBOARD]} if self.clipboard else set())

    def send_request(self, flags: int, parts: Any, request: Any) -> int:
        extension = CORE if request.ext == ffi.NULL else ffi.string(request.ext.name).decode()
        body = ffi.buffer(parts[0].iov_base, parts[0].iov_len)[:]
        if not self.allows(extension, request.opcode, body):
            # xcffib's generated method is two calls up, and it bears the name of the request.
            name = sys._getframe(2).f_code.co_name  # noqa: SLF001
            raise Policy(
                f"The X11 request {name} ({extension or 'core'} {request.opcode}) is not allowed on "
                + ("the person's desktop." if self.kind == "user" else "this desktop.")
            )
        return int(super().send_request(flags, parts, request))

    def allows(self, extension: str, opcode: int, body: bytes) -> bool:
        if (extension, opcode) not in ALLOWED[self.kind]:
            return False
        fits = _ONLY_IF.get((extension, opcode))
        return fits is None or fits(body, self)

    def owns(self, resource: int) -> bool:
        """Whether a window, a pixmap or a segment was made by this connection."""
        return bool(resource & ~self._mask == self._base)
