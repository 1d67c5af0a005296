from __future__ import annotations

import pytest

from alongside.core.errors import NotFound, Stale
from alongside.core.refs import RefBook


def test_an_element_keeps_its_number_while_it_lives() -> None:
    book = RefBook()
    assert [book.give(key, "s1.1") for key in ("a", "b", "a", "c")] == [1, 2, 1, 3]
    assert book.element(2, "s1.1") == "b"
    assert book.keys_of("s1.1") == {"a", "b", "c"}
    assert book.keys_of("s1.2") == set()


def test_a_number_is_never_given_again() -> None:
    book = RefBook()
    given = set()
    for turn in range(100):
        ref = book.give(f"key {turn % 3}", "s1.1")
        assert ref not in given
        given.add(ref)
        book.retire(f"key {turn % 3}")
    book.retire("never seen")
    assert book.next == 101


def test_a_new_driver_goes_on_where_the_last_one_stopped() -> None:
    book = RefBook(first=42)
    assert book.give("a", "s1.1") == 42
    with pytest.raises(Stale, match=r"\[41\] named an element that is gone"):
        book.element(41, "s1.1")


def test_a_ref_whose_element_is_gone_is_stale_and_says_to_look() -> None:
    book = RefBook()
    book.give("a", "s1.1")
    book.retire("a")
    with pytest.raises(Stale) as caught:
        book.element(1, "s1.1")
    assert caught.value.next == 'look("s1.1") and take the ref it shows now'


@pytest.mark.parametrize("ref", [2, 10**12, 0, -1])
def test_a_number_that_no_look_showed_is_not_found(ref: int) -> None:
    book = RefBook()
    book.give("a", "s1.1")
    with pytest.raises(NotFound, match="was never given on this desktop"):
        book.element(ref, "s1.1")


def test_a_ref_of_another_window_is_refused_with_the_right_one() -> None:
    book = RefBook()
    book.give("a", "s1.1")
    with pytest.raises(NotFound, match=r"\[1\] is an element of s1.1, not of s1.2") as caught:
        book.element(1, "s1.2")
    assert caught.value.next == 'act("s1.1", ...)'


def test_an_element_that_moved_to_another_window_takes_its_number_along() -> None:
    book = RefBook()
    book.give("a", "s1.1")
    assert book.give("a", "s1.2") == 1
    assert book.element(1, "s1.2") == "a"
