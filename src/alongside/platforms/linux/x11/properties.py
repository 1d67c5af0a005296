"""What windows say of themselves: all is asked before the first answer is awaited, so it takes few round trips."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import xcffib.res
import xcffib.xproto

from alongside.core.geometry import Rect
from alongside.platforms.linux.x11.connection import answer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alongside.platforms.linux.x11.connection import X11

_WANTED = (
    "_NET_WM_NAME",
    "WM_NAME",
    "WM_CLASS",
    "_NET_WM_PID",
    "_NET_WM_STATE",
    "_NET_WM_DESKTOP",
    "_NET_WM_WINDOW_TYPE",
    "WM_STATE",
    "WM_TRANSIENT_FOR",
    "WM_HINTS",
)
_MOST = 1024  # of 4 bytes, of one property; a title may be long, no window needs more
ICONIC = 3  # WM_STATE
_GROUP_HINT = 1 << 6  # WM_HINTS: the group leader is given


@dataclass(frozen=True, slots=True)
class Facts:
    """One window; ``top`` is the child of the root that it is or lies in, ``frame`` that one's rectangle."""

    window: int
    top: int
    bounds: Rect
    frame: Rect
    viewable: bool
    override: bool
    title: str
    wm_class: str
    pid: int
    types: frozenset[str]
    states: frozenset[str]
    iconic: bool
    desktop: int | None
    transient_for: int
    group: int


def numbers(reply: Any) -> tuple[int, ...]:
    """A property of 32-bit numbers; empty where it is not there."""
    if reply is None or reply.format != 32:
        return ()
    return struct.unpack(f"={reply.value_len}I", reply.value.raw)


def first(reply: Any) -> int | None:
    """The first number of a property, None where it is not there."""
    return next(iter(numbers(reply)), None)


def ask(x: X11, window: int, name: str) -> Any:
    """The cookie of a property."""
    return x.connection.core.GetProperty(False, window, x.atom(name), xcffib.xproto.GetPropertyType.Any, 0, _MOST)


def text(x: X11, reply: Any) -> str:
    """A property of text in any of the encodings that ICCCM and EWMH know."""
    if reply is None or reply.format != 8:
        return ""
    raw: bytes = reply.value.raw
    if reply.type == x.atom("UTF8_STRING"):
        return raw.decode("utf-8", "replace")
    if reply.type == x.atom("COMPOUND_TEXT") and b"\x1b%G" in raw:
        # Latin-1, with stretches of UTF-8 between two escape sequences.
        parts = raw.split(b"\x1b%G")
        stretches = [part.partition(b"\x1b%@") for part in parts[1:]]
        return parts[0].decode("latin-1") + "".join(
            inside.decode("utf-8", "replace") + after.decode("latin-1") for inside, _, after in stretches
        )
    return raw.decode("latin-1")


def tops(x: X11, windows: Iterable[int], children: Iterable[int]) -> dict[int, int]:
    """The child of the root that each window is or lies in: its frame; windows that are gone are left out."""
    found: dict[int, int] = {}
    roots = set(children)
    climbing = {window: window for window in windows}
    while climbing:
        found |= {window: at for window, at in climbing.items() if at in roots}
        asked = {w: x.connection.core.QueryTree(at) for w, at in climbing.items() if w not in found}
        trees = {window: answer(cookie) for window, cookie in asked.items()}
        climbing = {window: tree.parent for window, tree in trees.items() if tree is not None and tree.parent}
    return found


def viewable(x: X11, windows: Iterable[int]) -> list[int]:
    """Those of the windows that are mapped and can show something: toolkits keep several others each."""
    asked = {window: x.connection.core.GetWindowAttributes(window) for window in windows}
    known = {window: answer(cookie) for window, cookie in asked.items()}
    return [window for window, one in known.items() if one and _is_viewable(one)]


def _is_viewable(attributes: Any) -> bool:
    shows = attributes._class == xcffib.xproto.WindowClass.InputOutput  # noqa: SLF001 - xcffib's name for `class`
    return bool(shows and attributes.map_state == xcffib.xproto.MapState.Viewable)


def read(x: X11, frames: dict[int, int]) -> list[Facts]:
    """The facts of windows (by window, its top); those that are gone are left out."""
    core = x.connection.core
    asked = [
        (
            window,
            core.GetWindowAttributes(window),
            core.GetGeometry(window),
            core.TranslateCoordinates(window, x.root, 0, 0),
            core.GetGeometry(top),
            [ask(x, window, name) for name in _WANTED],
        )
        for window, top in frames.items()
    ]
    found = []
    for window, *cookies, properties in asked:
        attributes, size, place, frame = (answer(cookie) for cookie in cookies)
        values = dict(zip(_WANTED, map(answer, properties), strict=True))
        if None in (attributes, size, place, frame):
            continue
        border = 2 * frame.border_width
        found.append(
            _facts(
                x,
                window,
                frames[window],
                attributes,
                Rect(place.dst_x, place.dst_y, size.width, size.height),
                Rect(frame.x, frame.y, frame.width + border, frame.height + border),
                values,
            )
        )
    return found


def _facts(  # noqa: PLR0917 - one call, just above
    x: X11, window: int, top: int, attributes: Any, bounds: Rect, frame: Rect, said: dict[str, Any]
) -> Facts:
    hints = numbers(said["WM_HINTS"])
    return Facts(
        window=window,
        top=top,
        bounds=bounds,
        frame=frame,
        viewable=_is_viewable(attributes),
        override=bool(attributes.override_redirect),
        title=text(x, said["_NET_WM_NAME"]) or text(x, said["WM_NAME"]),
        # Two strings: instance and class.
        wm_class=text(x, said["WM_CLASS"]).rstrip("\0").rpartition("\0")[2],
        pid=first(said["_NET_WM_PID"]) or 0,
        types=frozenset(map(x.name, numbers(said["_NET_WM_WINDOW_TYPE"]))),
        states=frozenset(map(x.name, numbers(said["_NET_WM_STATE"]))),
        iconic=first(said["WM_STATE"]) == ICONIC,
        desktop=first(said["_NET_WM_DESKTOP"]),
        transient_for=first(said["WM_TRANSIENT_FOR"]) or 0,
        group=hints[8] if len(hints) > 8 and hints[0] & _GROUP_HINT else 0,
    )


def owners(x: X11, windows: Iterable[int]) -> dict[int, int]:
    """The process that each window's client runs in, as the server knows it: for those that do not say."""
    mask = xcffib.res.ClientIdMask.LocalClientPID
    resources = x.connection(xcffib.res.key)
    asked = {w: resources.QueryClientIds(1, [struct.pack("=II", w, mask)]) for w in windows}
    replies = {window: answer(cookie) for window, cookie in asked.items()}
    return {w: reply.ids[0].value[0] for w, reply in replies.items() if reply is not None and reply.ids}
