"""What the benchmark asks of a tool: to read a window, and the ways in which it would do a task, in its own order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from act_tasks import Task


@dataclass(frozen=True)
class Claim:
    """What a tool says of what it did: its own word for it, and what it told; `ms` where it timed its calls itself."""

    word: str
    told: str
    ms: float | None = None


Attempt = Callable[[], Awaitable[Claim]]


class Tool(Protocol):
    """One tool at work on one window; by the words `sure` it says that a task is done, by `failed` that it is not."""

    name: str
    sure: frozenset[str]
    failed: frozenset[str]

    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...
    async def read(self, task: Task) -> None:
        """Look at the window before a task."""

    def attempts(self, task: Task) -> Iterator[Attempt]:
        """The ways to do a task; the next one is asked for when the lab does not show the effect of the last."""
