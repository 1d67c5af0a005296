"""Looking at a window: the outline of its elements, and a picture of it when one is asked for."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alongside.core import outline, targets
from alongside.core.errors import AppGone, Blank, Invalid, Unavailable
from alongside.core.geometry import HIGH, STANDARD
from alongside.core.verify import apart

if TYPE_CHECKING:
    from alongside.core.elements import Element, Snapshot, Window
    from alongside.driver.desktop import Desktop, Seen

# How long a first look waits for two passes that agree (seconds), and between them.
_SETTLES = 3.0
_BETWEEN = 0.015
# A web page's tree comes after the window's own.
_LATE = frozenset({"Chromium", "Firefox"})


@dataclass(frozen=True, slots=True)
class Look:
    """What a look answers: its text, and the picture's bytes and kind if one was asked for."""

    text: str
    picture: bytes = b""
    mime: str = ""
    size: tuple[int, int] = (0, 0)


async def look(
    desktop: Desktop,
    name: str,
    *,
    view: str = "controls",
    find: str | None = None,
    under: object = None,
    depth: int | None = None,
    image: str = "none",
    deadline: float = 5.0,
) -> Look:
    """Read a window; ``image`` is none, standard or high."""
    if view not in outline.VIEWS:
        raise Invalid(f"There is no view {view!r:.40}.", next="view: controls, content or raw")
    if image not in {"none", "standard", "high"}:
        raise Invalid(f"There is no image size {image!r:.40}.", next="image: none, standard or high")
    window = await desktop.window(name)
    try:
        seen = await steady(desktop, window, deadline, actions=view == "raw")
        window = seen.snapshot.window
        text = outline.outline(
            seen.snapshot,
            lambda element: desktop.ref(element, window.id),
            view=view,
            find=find,
            depth=depth,
            under=_below(desktop, window, seen.snapshot, under),
        )
        text += await _dialogs(desktop, window)
    except Unavailable as poor:
        window = await desktop.window(window.id)  # it may have gone meanwhile, and then that is what is wrong
        if not desktop.platform.lives(window.pid):
            raise AppGone(f"The application of {window.id} ended.", next="windows()") from None
        if image == "none":
            raise poor from None
        seen, text = desktop.without_tree(window), str(poor)
    # It may have become one that is not to be read while it was read; it was listed again just now.
    await desktop.permitted(window)
    return Look(text) if image == "none" else await _pictured(desktop, window, seen, text, image)


def _below(desktop: Desktop, window: Window, snapshot: Snapshot, under: object) -> Element | None:
    if under is None:
        return None
    target = targets.parse(under)
    if not isinstance(target, targets.ByRef | targets.ByName):
        raise Invalid("`under` names an element: a ref or a name.", next=f'look("{window.id}", under=12)')
    return targets.resolve(target, snapshot, desktop.refs)


async def steady(desktop: Desktop, window: Window, deadline: float = 5.0, *, actions: bool = False) -> Seen:
    """The window as it is; a first look is repeated until two passes agree, for trees that are built when asked for."""
    known = desktop.seen.get(window.id)
    if known is not None:
        old = known.snapshot
        seen = await desktop.read(window, deadline=deadline, actions=actions)
        desktop.moved_by_itself(seen, old, seen.snapshot)
        return seen
    end = time.monotonic() + (0.0 if window.id in desktop.mute else _SETTLES)
    before: Snapshot | None = None
    while True:
        try:
            # Its title and size may come with its contents.
            seen = await desktop.read(await desktop.window(window.id), deadline=deadline, actions=actions)
        except (Unavailable, AppGone):
            if time.monotonic() > end:
                desktop.mute.add(window.id)
                raise
        else:
            now = seen.snapshot
            if before is not None and apart(before, now) == ([], []) and not _unbuilt(now):
                desktop.moved_by_itself(seen, before, now)
                return seen
            before = now
            if time.monotonic() > end:
                return seen
        await asyncio.sleep(_BETWEEN)


def _unbuilt(snapshot: Snapshot) -> bool:
    """Whether a browser shows its frame and no page yet."""
    if snapshot.toolkit not in _LATE:
        return False
    documents = [one for one in snapshot if one.role == "document"]
    return not documents or any("busy" in one.states for one in documents)


async def _dialogs(desktop: Desktop, window: Window) -> str:
    """The open dialogs of a window, named so that they are acted on first."""
    dialogs = [one for one in await desktop.windows() if one.owner == window.native and one.id != window.id]
    return "".join(f"\nin front of it: dialog {one.id} {outline.quote(one.title)}; act there first" for one in dialogs)


async def _pictured(desktop: Desktop, window: Window, seen: Seen, text: str, size: str) -> Look:
    from alongside.vision import image as pictures  # noqa: PLC0415 - loads Pillow, which no other call needs

    pixels = await desktop.platform.screen.window(window.native)
    await desktop.window(window.id)  # as above
    if pictures.is_blank(pixels):
        raise Blank(
            f"The picture of {window.id} is one colour: the application has drawn nothing, or hides from captures.",
            next=f'look("{window.id}") without an image',
        )
    budget = HIGH if size == "high" else STANDARD
    encoded = await asyncio.to_thread(pictures.encode, pixels, budget)
    seen.image, seen.image_size = encoded.mapping, (pixels.width, pixels.height)
    told = f'image {encoded.mapping.width}x{encoded.mapping.height}: points of it are targets, as "x,y"'
    return Look(f"{text}\n{told}", encoded.data, encoded.mime, (encoded.mapping.width, encoded.mapping.height))
