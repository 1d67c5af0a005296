from __future__ import annotations

from itertools import product

import pytest

from alongside.core.geometry import HIGH, STANDARD, Budget, Mapping, Point, Rect, fit, tokens

SIZES = [1, 2, 27, 28, 29, 300, 1568, 1569, 2000, 2576, 3840, 16_384, 100_000]


def test_a_rectangle_holds_its_top_left_corner_and_not_its_bottom_right() -> None:
    place = Rect(-10, 5, 20, 10)
    assert place.area == 200
    assert place.centre == Point(0, 10)
    assert place.holds(place.centre)
    assert place.holds(Point(-10, 5))
    assert not place.holds(Point(10, 5))
    assert not place.holds(Point(-10, 15))
    assert not Rect(0, 0, 0, 0).holds(Point(0, 0))
    assert place.moved(10, -5) == Rect(0, 0, 20, 10)


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (Rect(0, 0, 10, 10), Rect(5, 5, 10, 10), Rect(5, 5, 5, 5)),
        (Rect(-5, -5, 10, 10), Rect(0, 0, 100, 100), Rect(0, 0, 5, 5)),
        (Rect(0, 0, 10, 10), Rect(2, 2, 3, 3), Rect(2, 2, 3, 3)),
    ],
)
def test_overlap_is_what_both_share(one: Rect, other: Rect, shared: Rect) -> None:
    assert one.overlap(other) == other.overlap(one) == shared


@pytest.mark.parametrize("other", [Rect(10, 0, 5, 5), Rect(50, 50, 5, 5), Rect(3, 3, 0, 0)])
def test_rectangles_apart_share_nothing_and_no_negative_size(other: Rect) -> None:
    shared = Rect(0, 0, 10, 10).overlap(other)
    assert shared.area == 0
    assert min(shared.width, shared.height) == 0
    assert Rect(0, 0, 10, 10).overlap(Rect(50, 50, 5, 5))[2:] == (0, 0)


@pytest.mark.parametrize("budget", [STANDARD, HIGH, Budget(edge=200, tokens=4)])
def test_a_fitted_picture_keeps_to_its_budget_and_its_shape(budget: Budget) -> None:
    for width, height in product(SIZES, SIZES):
        small, tall = fit(width, height, budget)
        assert 1 <= small <= width
        assert 1 <= tall <= height
        assert max(small, tall) <= budget.edge
        assert tokens(small, tall) <= budget.tokens
        scale = max(small, tall) / max(width, height)
        assert abs(small - max(1, width * scale)) <= 1
        assert abs(tall - max(1, height * scale)) <= 1


def test_a_picture_within_the_budget_is_left_alone() -> None:
    assert fit(1000, 700) == (1000, 700)
    assert fit(1568, 784) == (1568, 784)
    assert fit(1569, 28) == (1568, 28)
    assert fit(1920, 1080, HIGH) == (1920, 1080)
    assert fit(0, 0) == (1, 1)


def test_tokens_are_counted_in_whole_tiles() -> None:
    assert tokens(28, 28) == 1
    assert tokens(29, 28) == 2
    assert tokens(1568, 784) == 1568


@pytest.mark.parametrize("shows", [Rect(0, 0, 640, 480), Rect(100, 50, 320, 240), Rect(5, 5, 3000, 2000)])
def test_every_pixel_of_an_image_lies_in_what_it_shows(shows: Rect) -> None:
    mapping = Mapping(*fit(shows.width, shows.height), shows)
    for x, y in product((0, 1, mapping.width // 2, mapping.width - 1), (0, mapping.height // 3, mapping.height - 1)):
        assert shows.holds(mapping.to_window(Point(x, y)))


def test_an_image_of_full_size_maps_one_to_one_and_a_smaller_one_to_the_middle_of_its_pixels() -> None:
    assert Mapping(640, 480, Rect(0, 0, 640, 480)).to_window(Point(120, 80)) == Point(120, 80)
    assert Mapping(320, 240, Rect(100, 50, 640, 480)).to_window(Point(10, 10)) == Point(121, 71)


@pytest.mark.parametrize("point", [Point(-1, 0), Point(0, -1), Point(640, 0), Point(0, 480)])
def test_a_point_outside_the_image_is_refused(point: Point) -> None:
    with pytest.raises(ValueError, match="lies outside the image of 640x480"):
        Mapping(640, 480, Rect(0, 0, 640, 480)).to_window(point)
