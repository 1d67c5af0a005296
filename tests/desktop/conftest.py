"""One sandbox for the tests of a module; the windows in it are the lab's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from desktop.support import Place

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def place(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:  # noqa: ARG001
    async with Place.started(tmp_path_factory.mktemp("lab")) as place:
        yield place
