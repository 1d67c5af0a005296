"""Points, rectangles, and the sizes of pictures.

Three spaces, all in physical pixels with y downwards: the *display* (origin top left of the whole desktop), a *window*
(origin top left of its contents), and an *image* (a picture of a window, perhaps smaller than it).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple


class Point(NamedTuple):
    x: int
    y: int


class Rect(NamedTuple):
    """A rectangle by its top left corner and its size; ``width`` and ``height`` are never negative."""

    x: int
    y: int
    width: int
    height: int

    @property
    def centre(self) -> Point:
        return Point(self.x + self.width // 2, self.y + self.height // 2)

    @property
    def area(self) -> int:
        return self.width * self.height

    def holds(self, point: Point) -> bool:
        return self.x <= point.x < self.x + self.width and self.y <= point.y < self.y + self.height

    def moved(self, dx: int, dy: int) -> Rect:
        return Rect(self.x + dx, self.y + dy, self.width, self.height)

    def overlap(self, other: Rect) -> Rect:
        """The part both share; of size 0 where they share none."""
        x, y = max(self.x, other.x), max(self.y, other.y)
        right = min(self.x + self.width, other.x + other.width)
        bottom = min(self.y + self.height, other.y + other.height)
        return Rect(x, y, max(0, right - x), max(0, bottom - y))


@dataclass(frozen=True, slots=True)
class Budget:
    """What a picture may be for a model: its longer edge in pixels, and its tokens (one for each 28 x 28 tile)."""

    edge: int
    tokens: int


# Larger pictures are scaled down by the model's own side, and points given in them then miss.
STANDARD = Budget(edge=1568, tokens=1568)
HIGH = Budget(edge=2000, tokens=4784)
TILE = 28


def tokens(width: int, height: int) -> int:
    """What a picture of this size costs."""
    return ceil(width / TILE) * ceil(height / TILE)


def fit(width: int, height: int, budget: Budget = STANDARD) -> tuple[int, int]:
    """The largest size of the same shape within ``budget``; never larger than the picture is."""
    scale = min(1.0, budget.edge / max(1, width, height))
    while True:
        size = max(1, round(width * scale)), max(1, round(height * scale))
        if tokens(*size) <= budget.tokens:
            return size
        scale *= 0.99


@dataclass(frozen=True, slots=True)
class Mapping:
    """How points of an image lie in its window: the image's size, and the part of the window it shows."""

    width: int
    height: int
    shows: Rect

    def to_window(self, point: Point) -> Point:
        """The window's point under the middle of an image's pixel; a point outside the image is a ``ValueError``."""
        if not Rect(0, 0, self.width, self.height).holds(point):
            raise ValueError(f"{point.x},{point.y} lies outside the image of {self.width}x{self.height}")
        return Point(
            self.shows.x + int((point.x + 0.5) * self.shows.width / self.width),
            self.shows.y + int((point.y + 0.5) * self.shows.height / self.height),
        )
