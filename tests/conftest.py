"""Displays of the tests' own."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from x11_support import Display

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the state folder of whoever runs it."""
    before = os.environ.get("ALONGSIDE_HOME")
    os.environ["ALONGSIDE_HOME"] = str(tmp_path_factory.mktemp("state"))
    yield
    os.environ.pop("ALONGSIDE_HOME")
    if before is not None:
        os.environ["ALONGSIDE_HOME"] = before


@pytest.fixture
def display(tmp_path: Path) -> Iterator[Display]:
    """A display with openbox."""
    if not shutil.which("openbox"):
        pytest.skip("openbox is not installed")
    yield from _made(tmp_path, manager=True)


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Display]:
    """A display without a window manager."""
    yield from _made(tmp_path, manager=False)


def _made(folder: Path, *, manager: bool) -> Iterator[Display]:
    if not shutil.which("Xvfb"):
        pytest.skip("Xvfb is not installed")
    made = Display(folder, manager=manager)
    try:
        yield made
    finally:
        made.end()
