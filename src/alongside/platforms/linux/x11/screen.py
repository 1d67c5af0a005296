"""Pictures of windows, also of covered ones: the Composite extension keeps them, shared memory carries them."""

from __future__ import annotations

import asyncio
import ctypes
import os
from typing import TYPE_CHECKING

import xcffib
import xcffib.composite
import xcffib.shm
import xcffib.xfixes
import xcffib.xproto

from alongside.core.errors import Minimised, NotFound, Unavailable
from alongside.core.geometry import Point, Rect
from alongside.core.ports import Pixels
from alongside.platforms.linux.x11 import properties
from alongside.platforms.linux.x11.connection import answer

if TYPE_CHECKING:
    from alongside.platforms.linux.x11.connection import X11

_Z_PIXMAP = 2
_ALL_PLANES = 0xFFFFFFFF
_BYTES = 4  # of a pixel, in the depths below
_DEPTHS = (24, 32)
# A window that is redirected for the first time has to paint what was covered; measured: 5 to 60 ms.
_REPAINT = 0.1


class Screen:
    """The port of the same name."""

    def __init__(self, x: X11) -> None:
        self._x = x
        self._memory = _Memory(x)

    @classmethod
    async def open(cls, x: X11) -> Screen:
        """``Unavailable`` names the extension that the server lacks."""
        self = cls(x)
        await x.run(self._prepare)
        return self

    async def size(self) -> tuple[int, int]:
        return await self._x.run(self._size)

    async def window(self, native: int) -> Pixels:
        """Take the contents of one window, also where others cover it or it hangs over the edge of the display.

        ``NotFound`` where it is gone, ``Minimised`` where it is not mapped.
        """
        if await self._x.run(self._redirect, native):
            await asyncio.sleep(_REPAINT)
        return await self._x.run(self._window, native)

    async def display(self) -> Pixels:
        return await self._x.run(self._display)

    async def pointer(self) -> tuple[Pixels, Point, Point]:
        """Take the pointer's picture (here the fourth byte is its opacity), its hot spot in it, and where that is."""
        return await self._x.run(self._pointer)

    async def keep(self, native: int) -> bool:
        """Have the server keep a window's whole picture, also where it is covered; whether that is new.

        To the application it is uncovered from then on: on the display nothing changes.
        """
        try:
            return await self._x.run(self._redirect, native)
        except (Minimised, NotFound):
            return False

    async def close(self) -> None:
        await self._x.run(self._memory.free)

    def _prepare(self) -> None:
        connection = self._x.connection
        for name in ("Composite", "MIT-SHM", "XFIXES"):
            if not connection.core.QueryExtension(len(name), name).reply().present:
                raise Unavailable(f"The X server lacks the extension {name}: no pictures.")
        # An extension has to be asked for a version before it answers anything else.
        connection(xcffib.composite.key).QueryVersion(0, 4).reply()
        connection(xcffib.xfixes.key).QueryVersion(5, 0).reply()
        depth = connection.setup.roots[connection.pref_screen].root_depth
        if depth not in _DEPTHS:
            raise Unavailable(f"The display has {depth} bits a pixel: no pictures.", next="a display of depth 24")
        if self._x.kind == "own":
            # From here on every window keeps its whole picture, from its first moment on.
            automatic = xcffib.composite.Redirect.Automatic
            connection(xcffib.composite.key).RedirectSubwindows(self._x.root, automatic, is_checked=True).check()

    def _size(self) -> tuple[int, int]:
        root = self._x.connection.core.GetGeometry(self._x.root).reply()
        return root.width, root.height

    def _top(self, native: int) -> int:
        core = self._x.connection.core
        attributes, tree = core.GetWindowAttributes(native), core.QueryTree(self._x.root)
        seen = answer(attributes)
        tops = properties.tops(self._x, [native], tree.reply().children)
        if seen is None or native not in tops:
            raise NotFound("The window is gone.")
        if seen.map_state != xcffib.xproto.MapState.Viewable:
            raise Minimised("The window is minimised or on another desktop: it has no picture now.")
        return tops[native]

    def _redirect(self, native: int) -> bool:
        """Have the server keep the window's picture; whether that is new."""
        top = self._top(native)
        composite = self._x.connection(xcffib.composite.key)
        pixmap = self._x.connection.generate_id()
        try:
            composite.NameWindowPixmap(top, pixmap, is_checked=True).check()
        except xcffib.xproto.MatchError:
            composite.RedirectWindow(top, xcffib.composite.Redirect.Automatic, is_checked=True).check()
            return True
        self._x.connection.core.FreePixmap(pixmap)
        return False

    def _window(self, native: int) -> Pixels:
        x, core = self._x, self._x.connection.core
        top = self._top(native)
        pixmap = x.connection.generate_id()
        named = x.connection(xcffib.composite.key).NameWindowPixmap(top, pixmap, is_checked=True)
        asked = core.GetGeometry(native), core.TranslateCoordinates(native, top, 0, 0), core.GetGeometry(top)
        size, place, outer = (answer(cookie) for cookie in asked)
        try:
            named.check()
        except xcffib.Error:
            raise Minimised("The window went away while its picture was taken.") from None
        try:
            if None in (size, place, outer):
                raise NotFound("The window is gone.")
            # The pixmap begins at the outer edge of the frame's border.
            border = outer.border_width
            whole = Rect(0, 0, outer.width + 2 * border, outer.height + 2 * border)
            part = Rect(place.dst_x + border, place.dst_y + border, size.width, size.height).overlap(whole)
            return self._memory.picture(pixmap, part)
        finally:
            core.FreePixmap(pixmap)

    def _display(self) -> Pixels:
        return self._memory.picture(self._x.root, Rect(0, 0, *self._size()))

    def _pointer(self) -> tuple[Pixels, Point, Point]:
        image = self._x.connection(xcffib.xfixes.key).GetCursorImage().reply()
        pixels = Pixels(image.width, image.height, image.cursor_image.raw)
        return pixels, Point(image.xhot, image.yhot), Point(image.x, image.y)


class _Memory:
    """One segment of shared memory, as large as the largest picture so far; used on the connection's thread."""

    def __init__(self, x: X11) -> None:
        self._x = x
        self._size = 0
        self._address = 0
        self._segment = 0

    def picture(self, drawable: int, part: Rect) -> Pixels:
        size = part.area * _BYTES
        if not size:
            raise Minimised("Nothing of the window is shown now.")
        if size > self._size:
            self.free()
            self._take(size)
        shm = self._x.connection(xcffib.shm.key)
        try:
            shm.GetImage(drawable, *part, _ALL_PLANES, _Z_PIXMAP, self._segment, 0).reply()
        except xcffib.xproto.MatchError:
            raise Minimised("The window went away while its picture was taken.") from None
        return Pixels(part.width, part.height, ctypes.string_at(self._address, size))

    def _take(self, size: int) -> None:
        connection = self._x.connection
        number = _libc.shmget(_IPC_PRIVATE, size, _IPC_CREAT | 0o600)
        if number < 0:
            raise Unavailable(f"No shared memory of {size >> 20} MB: {os.strerror(ctypes.get_errno())}.")
        try:
            address = _libc.shmat(number, None, 0)
            if address in (None, ctypes.c_void_p(-1).value):
                raise Unavailable(f"Shared memory cannot be attached: {os.strerror(ctypes.get_errno())}.")
            segment = connection.generate_id()
            try:
                connection(xcffib.shm.key).Attach(segment, number, False, is_checked=True).check()
            except xcffib.Error:
                _libc.shmdt(address)
                raise Unavailable(
                    "The X server cannot reach our shared memory: it is elsewhere or in another IPC namespace."
                ) from None
        finally:
            # Freed by the system with its last user, whatever becomes of us.
            _libc.shmctl(number, _IPC_RMID, None)
        self._size, self._address, self._segment = size, address, segment

    def free(self) -> None:
        if self._size:
            self._x.connection(xcffib.shm.key).Detach(self._segment)
            self._x.sync()
            _libc.shmdt(self._address)
            self._size = 0


_IPC_PRIVATE, _IPC_CREAT, _IPC_RMID = 0, 0o1000, 0
_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmget.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_int]
_libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
_libc.shmat.restype = ctypes.c_void_p
_libc.shmdt.argtypes = [ctypes.c_void_p]
_libc.shmctl.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
