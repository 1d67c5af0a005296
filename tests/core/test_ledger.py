from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from alongside.driver.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def fd() -> Iterator[int]:
    descriptor = os.memfd_create("ledger")
    yield descriptor
    os.close(descriptor)


def test_the_next_driver_finds_what_the_last_one_held(fd: int) -> None:
    first = Ledger(fd)
    assert first.entries == []
    for held in ("key:37", "button:1", "keymap:25 U+00E4"):
        first.hold(held)
    first.released("button:1")
    assert Ledger(fd).entries == ["key:37", "keymap:25 U+00E4"]


def test_what_is_held_twice_is_let_go_of_twice(fd: int) -> None:
    ledger = Ledger(fd)
    ledger.hold("key:37")
    ledger.hold("key:37")
    ledger.released("key:37")
    assert Ledger(fd).entries == ["key:37"]


def test_letting_go_of_what_was_not_held_changes_nothing(fd: int) -> None:
    ledger = Ledger(fd)
    ledger.hold("key:37")
    ledger.released("key:38")
    assert Ledger(fd).entries == ["key:37"]


def test_a_driver_that_died_while_it_wrote_leaves_too_much_and_never_too_little(
    fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(fd)
    for held in ("button:1", "key:37", "key:50"):
        ledger.hold(held)
    monkeypatch.setattr(os, "ftruncate", lambda *_: None)
    ledger.released("button:1")
    assert Ledger(fd).entries[:2] == ["key:37", "key:50"]


def test_without_a_file_it_lives_in_the_process() -> None:
    ledger = Ledger()
    ledger.hold("key:37")
    assert ledger.entries == ["key:37"]
    ledger.released("key:37")
    assert ledger.entries == []


def test_nonsense_in_the_file_is_read_as_far_as_it_goes(fd: int) -> None:
    os.pwrite(fd, b"key:37\n\n\xff\xfe\nbutton", 0)
    assert Ledger(fd).entries == ["key:37", "\ufffd\ufffd", "button"]
