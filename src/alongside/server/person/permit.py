"""What the person lets agents do at this moment: asked before every request, and by drivers before every step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alongside.core.errors import Invalid
from alongside.link.channel import Reply
from alongside.server.person.policy import Asked, Policy
from alongside.server.person.stop import Stop

if TYPE_CHECKING:
    from alongside.link.channel import Say
    from alongside.server.machine import Row

_ACTS = frozenset({"act", "launch", "start"})
_JUDGED = _ACTS | {"look"}


class Permit:
    """The stop and the policy together. Refuses by raising ``Stopped`` or ``Policy``."""

    def __init__(self) -> None:
        self.stop, self.policy = Stop(), Policy()

    def prepare(self) -> None:
        """Called once, when a server starts."""
        self.policy.prepare()
        self.stop.prepare()

    def rows(self) -> list[Row]:
        """How both stand, for doctor and status."""
        return [self.stop.row(), self.policy.row()]

    def request(self, method: str, params: dict[str, Any]) -> None:
        """Whether a request may go to a driver at all."""
        if method in _ACTS:
            self.stop.check()
        if method in _JUDGED:
            self.policy.check()
        if method == "launch":
            self.policy.check_program(str(params.get("app", "")))

    async def answer(self, method: str, params: dict[str, Any], _say: Say) -> Reply:
        """What a driver asks: may this window be read, or (``acting``) a step be carried out in it."""
        if method != "permit":
            raise Invalid(f"A server has no call {method!r:.40}.", next="permit")
        if params.get("acting"):
            self.stop.check()
        self.policy.check(*(_asked(one) for one in params["windows"]))
        return Reply({})


def _asked(window: dict[str, Any]) -> Asked:
    return Asked(str(window["title"]), tuple(map(str, window["classes"])), tuple(map(str, window["programs"])))
