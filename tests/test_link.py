"""Both ends of the link, over a real socket pair."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from alongside.core.errors import Stale, TimedOut, Unavailable
from alongside.link.channel import Link, LinkClosed, Reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from alongside.link.channel import Say

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Other:
    """What the other end answers."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()

    async def answer(self, method: str, params: dict[str, Any], say: Say) -> Reply:
        match method:
            case "echo":
                say({"step": 1})
                return Reply(params, b"\0picture")
            case "fail":
                raise Stale("[1] is gone.", next="look")
            case "break":
                raise ZeroDivisionError
            case "unsendable":
                return Reply({"x": object()})
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return Reply({})


async def nothing(method: str, _params: dict[str, Any], _say: Say) -> Reply:
    raise Unavailable(method)


@asynccontextmanager
async def linked() -> AsyncIterator[tuple[Link, Link, Other]]:
    here, there = socket.socketpair()
    other = Other()
    link, far = await Link.over(here, nothing), await Link.over(there, other.answer)
    yield link, far, other
    await link.close()
    await far.close()


async def test_answers_bytes_and_events() -> None:
    async with linked() as (link, _, _other):
        heard: list[dict[str, Any]] = []
        reply = await link.call("echo", {"text": "\ud83d é"}, heard=heard.append)
        assert (reply.result, reply.data, heard) == ({"text": "\ud83d é"}, b"\0picture", [{"step": 1}])


async def test_errors_cross_it() -> None:
    async with linked() as (link, far, _):
        with pytest.raises(Stale, match="gone"):
            await link.call("fail")
        with pytest.raises(Unavailable, match="ZeroDivisionError"):
            await link.call("break")
        with pytest.raises(Unavailable, match="cannot be written as JSON"):
            await link.call("unsendable")
        with pytest.raises(Unavailable, match="question"):
            await far.call("question")


async def test_a_call_given_up_ends_at_the_other_end() -> None:
    async with linked() as (link, _, other):
        with pytest.raises(TimedOut):
            await link.call("wait", timeout=0.05)
        async with asyncio.timeout(5):
            await other.cancelled.wait()
        other.cancelled.clear()
        call = asyncio.create_task(link.call("wait"))
        await link.call("echo")
        call.cancel()
        async with asyncio.timeout(5):
            await other.cancelled.wait()


async def test_the_end_of_the_other_end_is_noticed() -> None:
    async with linked() as (link, far, other):
        call = asyncio.create_task(link.call("wait"))
        await link.call("echo")
        await far.close()
        with pytest.raises(LinkClosed):
            await call
        async with asyncio.timeout(5):
            await link.closed.wait()
            await other.cancelled.wait()
        with pytest.raises(LinkClosed):
            await link.call("echo")
