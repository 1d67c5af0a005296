"""Pictures for a model: the part asked for, at the size it will see, as a file of at most 1 MB."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alongside.core.geometry import STANDARD, Budget, Mapping, Point, Rect, fit

if TYPE_CHECKING:
    from PIL.Image import Image

    from alongside.core.ports import Pixels

MOST = 1_000_000  # bytes
QUALITY = 85
_WORSE = (60, 40, 20)  # qualities for a picture that would be too large
_FEW = 256  # colours: as many as a palette holds
_POINTER_SCALE = 2


@dataclass(frozen=True, slots=True)
class Picture:
    """An encoded image, and how its points lie in what it shows."""

    data: bytes
    mime: str
    mapping: Mapping


@dataclass(frozen=True, slots=True)
class Pointer:
    """The pointer's picture (the fourth byte is its opacity), its hot spot in it, and where that is."""

    image: Pixels
    hot: Point
    at: Point


def encode(
    pixels: Pixels,
    budget: Budget = STANDARD,
    *,
    part: Rect | None = None,
    pointer: Pointer | None = None,
    quality: int = QUALITY,
) -> Picture:
    """A picture of ``pixels``, or of a part of them at their own resolution as far as the budget goes.

    A PNG where there are few colours, else a JPEG. ``pointer.at`` is in the coordinates of ``pixels``; it is drawn at
    twice its size. A part that lies outside is a ``ValueError``.
    """
    whole = Rect(0, 0, pixels.width, pixels.height)
    shows = part.overlap(whole) if part else whole
    if not shows.area:
        raise ValueError(f"{part} lies outside the picture of {pixels.width}x{pixels.height}")
    image = _opened(pixels)
    if shows != whole:
        image = image.crop((shows.x, shows.y, shows.x + shows.width, shows.y + shows.height))
    size = fit(shows.width, shows.height, budget)
    if size != image.size:
        from PIL.Image import Resampling  # noqa: PLC0415 - loaded with the first picture

        # Measured, 1920x1080 to 1447x814: 24 ms; LANCZOS 42, BOX 12 but with ragged letters.
        image = image.resize(size, Resampling.HAMMING)
    mapping = Mapping(*size, shows)
    if pointer:
        _draw(image, pointer, mapping)
    data, mime = _written(image, quality)
    return Picture(data, mime, mapping)


def is_blank(pixels: Pixels) -> bool:
    """Whether all pixels have one colour, as a capture has that failed without saying so."""
    return all(
        pixels.data[channel::4].count(pixels.data[channel]) == pixels.width * pixels.height for channel in range(3)
    )


def _opened(pixels: Pixels) -> Image:
    from PIL import Image  # noqa: PLC0415 - loaded with the first picture

    return Image.frombuffer("RGB", (pixels.width, pixels.height), pixels.data, "raw", "BGRX", 0, 1)


def _draw(image: Image, pointer: Pointer, mapping: Mapping) -> None:
    from PIL import Image  # noqa: PLC0415 - loaded with the first picture

    given, shows = pointer.image, mapping.shows
    size = given.width * _POINTER_SCALE, given.height * _POINTER_SCALE
    cursor = Image.frombuffer("RGBa", (given.width, given.height), given.data, "raw", "BGRa", 0, 1).resize(
        size, Image.Resampling.NEAREST
    )
    x = (pointer.at.x - shows.x) * mapping.width // shows.width - pointer.hot.x * _POINTER_SCALE
    y = (pointer.at.y - shows.y) * mapping.height // shows.height - pointer.hot.y * _POINTER_SCALE
    cursor = cursor.convert("RGBA")
    image.paste(cursor, (x, y), cursor)


def _written(image: Image, quality: int) -> tuple[bytes, str]:
    if image.getcolors(_FEW):
        data = _saved(image.quantize(_FEW), "PNG", compress_level=6)
        if len(data) <= MOST:
            return data, "image/png"
    for best in (quality, *_WORSE):
        data = _saved(image, "JPEG", quality=min(best, quality))
        if len(data) <= MOST:
            break
    return data, "image/jpeg"


def _saved(image: Image, form: str, **options: int) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()
