"""CLIPBOARD, lent for as long as a paste takes: what was there is saved in all its forms, and put back afterwards."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import struct
import time
from typing import TYPE_CHECKING

from alongside.core.errors import NoEffect, Unavailable
from alongside.platforms.linux.x11.selection import Owned, Piece, text_content

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from alongside.core.ports import Ledger
    from alongside.platforms.linux.x11.selection import Selections

# What an owner may take to say something, and to hand over everything it has (seconds).
_PATIENCE, _ALL = 0.5, 2.0
# How long an application may take to fetch what is pasted, and how long it keeps it then (seconds).
_FETCHES, _KEEPS = 3.0, 0.1
# Bytes of the old content that the ledger holds, for the case that the driver dies.
_KEPT = 256 * 1024
# No forms of a selection: answers about it, what makes its owner do something, and what lives no longer than its owner.
_NO_FORMS = frozenset(
    {
        *("TARGETS", "TIMESTAMP", "MULTIPLE", "SAVE_TARGETS", "DELETE", "INSERT_PROPERTY", "INSERT_SELECTION"),
        *("PIXMAP", "BITMAP", "DRAWABLE", "COLORMAP"),
    }
)
_ENTRY = "clipboard:"


class Clipboard:
    """The clipboard of a desktop; one paste at a time."""

    def __init__(self, selections: Selections, ledger: Ledger) -> None:
        self._selections, self._ledger = selections, ledger
        self._name = selections.atom("CLIPBOARD")
        self._lending = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None
        # What of the old content could not be saved for the last paste; empty for nothing.
        self.lost = ""

    @contextlib.asynccontextmanager
    async def lent(self, text: str) -> AsyncIterator[Owned]:
        """Have a text in CLIPBOARD inside of this, and what was there before in it again after it.

        ``Unavailable`` where the text that others would read there is another one: then nothing is to be pasted.
        """
        selections = self._selections
        async with self._lending:
            with selections.clipboard_asked_for():
                old = await self._saved()
                if self._watch is not None:
                    self._watch.cancel()
                entry = _entry(old, text)
                earlier = [one for one in self._ledger.entries if one.startswith(_ENTRY)]
                self._ledger.hold(entry)
                for one in earlier:
                    self._ledger.released(one)
                try:
                    owned = await selections.take(self._name, text_content(selections, text))
                    if not await self._holds(_digest(text.encode())):
                        raise Unavailable("What was put into the clipboard is not what can be read there.")
                    owned.had.clear()
                    yield owned
                finally:
                    await asyncio.shield(self._restore(old, text, entry))

    async def fetched(self, owned: Owned, window: int) -> None:
        """Return once the application of a window has the text and time to take it; ``NoEffect`` if it never asks."""
        client = self._selections.client(window)
        end = time.monotonic() + _FETCHES
        while client not in owned.had:
            if owned.lost:
                raise NoEffect("Something else was copied on this desktop before the text was pasted.")
            try:
                async with asyncio.timeout(end - time.monotonic()):
                    await owned.changed.wait()
            except TimeoutError:
                raise NoEffect(f"The application did not fetch what was pasted in {_FETCHES:g} s.") from None
        had = 0.0
        while had != owned.had[client]:  # it may fetch another form as well
            had = owned.had[client]
            await asyncio.sleep(had + _KEEPS - time.monotonic())

    async def undo(self) -> None:
        """Put back what an earlier driver had saved and did not live to serve, unless somebody has copied since."""
        for entry in [one for one in self._ledger.entries if one.startswith(_ENTRY)]:
            try:
                old, digest = _parsed(entry)
            except ValueError:
                self._ledger.released(entry)  # the driver died while it wrote it
                continue
            with self._selections.clipboard_asked_for():
                owner = await self._selections.owner(self._name)
                if old and (not owner or await self._holds(digest)):
                    self._serve(await self._selections.take(self._name, old), entry)
                else:
                    self._ledger.released(entry)

    async def _saved(self) -> Mapping[int, Piece]:
        """What is in the clipboard, in all the forms that its owner hands over in time."""
        selections, self.lost = self._selections, ""
        if (ours := selections.owned.get(self._name)) is not None:
            return ours.content
        found: dict[int, Piece] = {}
        targets: list[int] = []
        if not await selections.owner(self._name):
            return found
        try:
            async with asyncio.timeout(_ALL):
                told = await selections.read(self._name, selections.atom("TARGETS"), _PATIENCE)
                targets = await selections.without(_NO_FORMS, _numbers(told))
                for target in targets:
                    piece = await selections.read(self._name, target, _PATIENCE)
                    if piece is not None:
                        found[target] = piece
        except TimeoutError:
            some = f"{len(found)} of its {len(targets)} forms were" if found else "it was not"
            self.lost = f"what had been copied before could not all be saved: {some} handed over in time"
        return found

    async def _restore(self, old: Mapping[int, Piece], text: str, entry: str) -> None:
        """Put back what was there, unless something else has been copied meanwhile."""
        selections = self._selections
        with selections.clipboard_asked_for():
            # A clipboard manager may have taken our text over.
            ours = self._name in selections.owned or await self._holds(_digest(text.encode()))
            if ours and old:
                with contextlib.suppress(Unavailable):  # somebody copies at this moment
                    self._serve(await selections.take(self._name, old), entry)
                    return
            await selections.give_up(self._name)
            self._ledger.released(entry)

    async def _holds(self, digest: str) -> bool:
        """Whether the text in the clipboard is the one of that digest."""
        try:
            piece = await self._selections.read(self._name, self._selections.atom("UTF8_STRING"), _PATIENCE)
        except TimeoutError:
            return False
        return piece is not None and _digest(piece.data) == digest

    def _serve(self, owned: Owned, entry: str) -> None:
        """Keep the ledger's entry for as long as nobody else copies anything."""

        async def until_lost() -> None:
            while not owned.lost:
                await owned.changed.wait()
            self._ledger.released(entry)

        self._watch = asyncio.create_task(until_lost())


def is_lent(ledger: Ledger) -> bool:
    """Whether an earlier driver had something saved of the clipboard."""
    return any(one.startswith(_ENTRY) for one in ledger.entries)


def _numbers(piece: Piece | None) -> tuple[int, ...]:
    return struct.unpack(f"={len(piece.data) // 4}I", piece.data) if piece is not None and piece.unit == 32 else ()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _entry(old: Mapping[int, Piece], text: str) -> str:
    """A line of the ledger: the digest of our text, and of the old content what is not too large, the small first."""
    left, kept = _KEPT, []
    for target, piece in sorted(old.items(), key=lambda one: len(one[1].data)):
        left -= len(piece.data)
        if left < 0:
            break
        kept.append([target, piece.kind, piece.unit, base64.b64encode(piece.data).decode()])
    return _ENTRY + json.dumps([_digest(text.encode()), kept])


def _parsed(entry: str) -> tuple[dict[int, Piece], str]:
    digest, kept = json.loads(entry.removeprefix(_ENTRY))
    return {target: Piece(kind, unit, base64.b64decode(data)) for target, kind, unit, data in kept}, digest
