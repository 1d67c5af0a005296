"""Pictures for a model, made of real pixels and opened again."""

from __future__ import annotations

import io
import random

import pytest
from PIL import Image

from alongside.core.geometry import HIGH, STANDARD, Budget, Mapping, Point, Rect, tokens
from alongside.core.ports import Pixels
from alongside.vision.image import MOST, Picture, Pointer, encode, is_blank

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def plain(width: int, height: int, colour: tuple[int, int, int] = RED) -> Pixels:
    return Pixels(width, height, bytes((*colour[::-1], 0)) * (width * height))


def noise(width: int, height: int) -> Pixels:
    return Pixels(width, height, random.Random(1).randbytes(width * height * 4))


def halves(width: int, height: int) -> Pixels:
    """Red on the left, blue on the right."""
    row = bytes((0, 0, 255, 0)) * (width // 2) + bytes((255, 0, 0, 0)) * (width - width // 2)
    return Pixels(width, height, row * height)


def opened(picture: Picture) -> Image.Image:
    image = Image.open(io.BytesIO(picture.data))
    assert Image.MIME[image.format or ""] == picture.mime
    assert image.size == (picture.mapping.width, picture.mapping.height)
    return image.convert("RGB")


def test_few_colours_are_a_png_with_the_colours_right() -> None:
    picture = encode(halves(400, 300))
    assert picture.mime == "image/png"
    assert picture.mapping == Mapping(400, 300, Rect(0, 0, 400, 300))
    image = opened(picture)
    assert (image.getpixel((10, 10)), image.getpixel((390, 10))) == (RED, BLUE)


def test_many_colours_are_a_jpeg() -> None:
    picture = encode(noise(300, 200))
    assert picture.mime == "image/jpeg"
    opened(picture)


@pytest.mark.parametrize("budget", [STANDARD, HIGH])
def test_large_pictures_fit_the_budget(budget: Budget) -> None:
    picture = encode(noise(3840, 2160), budget)
    image = opened(picture)
    assert max(image.size) <= budget.edge
    assert tokens(*image.size) <= budget.tokens
    assert len(picture.data) <= MOST
    far = picture.mapping.to_window(Point(image.width - 1, image.height - 1))
    assert abs(far.x - 3839) < 4
    assert abs(far.y - 2159) < 4


def test_a_part_comes_at_its_own_resolution() -> None:
    picture = encode(halves(3840, 2160), part=Rect(1900, 100, 40, 50))
    assert picture.mapping == Mapping(40, 50, Rect(1900, 100, 40, 50))
    image = opened(picture)
    assert (image.getpixel((19, 0)), image.getpixel((20, 0))) == (RED, BLUE)
    assert picture.mapping.to_window(Point(20, 5)) == Point(1920, 105)
    overhanging = encode(halves(100, 100), part=Rect(80, 90, 500, 500))
    assert overhanging.mapping.shows == Rect(80, 90, 20, 10)
    with pytest.raises(ValueError, match="outside"):
        encode(plain(10, 10), part=Rect(20, 20, 5, 5))


def test_the_pointer_is_drawn_at_twice_its_size_at_its_hot_spot() -> None:
    # An opaque 4x4 square and a transparent border on its right.
    row = bytes((0, 255, 0, 255)) * 4 + bytes(4) * 4
    pointer = Pointer(Pixels(8, 4, row * 4), hot=Point(1, 1), at=Point(50, 60))
    image = opened(encode(plain(100, 100), pointer=pointer))
    green = [(x, y) for x in range(100) for y in range(100) if image.getpixel((x, y)) == GREEN]
    assert (min(green), max(green)) == ((48, 58), (55, 65))
    assert len(green) == 64
    part = opened(encode(plain(100, 100), part=Rect(40, 40, 30, 30), pointer=pointer))
    assert part.getpixel((10, 20)) == GREEN
    edge = Pointer(pointer.image, pointer.hot, Point(0, 99))
    assert opened(encode(plain(100, 100), pointer=edge)).getpixel((0, 99)) == GREEN


def test_blank_is_one_colour_whatever_the_fourth_byte() -> None:
    assert is_blank(plain(50, 40))
    assert is_blank(Pixels(2, 1, bytes((1, 2, 3, 0, 1, 2, 3, 255))))
    assert not is_blank(halves(50, 40))
    assert not is_blank(Pixels(2, 1, bytes((1, 2, 3, 0, 1, 2, 4, 0))))
