"""Every way a request can end badly, one class for each reason code.

::

    AlongsideError
    ├── Invalid                 invalid              the request itself makes no sense; shows the right form
    ├── Unavailable             unavailable          a part this machine lacks, with the command that installs it
    ├── TargetError             what a step names cannot be acted on
    │   ├── NotFound            not_found
    │   ├── Ambiguous           ambiguous            lists the candidates
    │   ├── Stale               stale                the ref's element is gone
    │   ├── IdentityChanged     identity_changed     it is not what was looked at any more
    │   ├── Offscreen           offscreen
    │   ├── Disabled            disabled
    │   ├── CoveredByDialog     covered_by_dialog
    │   ├── Minimised           minimised
    │   ├── Resized             resized              a point of an image that no longer fits its window
    │   └── SecretField         secret_field
    ├── Refused                 nothing was sent, by rule
    │   ├── NeedsSandbox        needs_sandbox
    │   ├── NeedsForeground     needs_foreground
    │   ├── BackgroundUnavailable  background_unavailable   the pinned route does not work here
    │   ├── NeedsPrivilege      needs_privilege
    │   ├── Policy              policy
    │   └── Stopped             stopped              the person has stopped all acting for a while
    └── Undone                  it was tried
        ├── Rejected            rejected             the application changed or refused the value
        ├── NoEffect            no_effect
        ├── TimedOut            timeout              unknown: it may still happen; never retried blindly
        ├── AppGone             app_gone
        ├── AppHung             app_hung
        ├── OpenedElsewhere     opened_elsewhere
        └── Blank               blank                a capture without a picture

An error tells what was looked for, what was found instead and, in ``next``, the call to make.
"""

from __future__ import annotations

from typing import ClassVar


class AlongsideError(Exception):
    """A request that could not be carried out; ``reason`` is its code, ``next`` the call that helps."""

    reason: ClassVar[str] = "unavailable"

    def __init__(self, message: str, *, next: str | None = None) -> None:  # noqa: A002 - the word users read
        super().__init__(message)
        self.message = message
        self.next = next

    def __str__(self) -> str:
        told = f"{self.message} ({self.reason})"
        return f"{told}\nnext: {self.next}" if self.next else told

    def to_wire(self) -> dict[str, str]:
        """As a JSON object, for the link."""
        wire = {"reason": self.reason, "message": self.message}
        if self.next:
            wire["next"] = self.next
        return wire

    @staticmethod
    def from_wire(wire: dict[str, str]) -> AlongsideError:
        """The error that ``to_wire`` wrote down; an unknown reason becomes ``Unavailable``."""
        kind = _BY_REASON.get(wire.get("reason", ""), Unavailable)
        return kind(wire.get("message", "no message"), next=wire.get("next"))


class Invalid(AlongsideError):
    reason = "invalid"


class Unavailable(AlongsideError):
    reason = "unavailable"


class TargetError(AlongsideError):
    reason = "not_found"


class NotFound(TargetError):
    reason = "not_found"


class Ambiguous(TargetError):
    reason = "ambiguous"


class Stale(TargetError):
    reason = "stale"


class IdentityChanged(TargetError):
    reason = "identity_changed"


class Offscreen(TargetError):
    reason = "offscreen"


class Disabled(TargetError):
    reason = "disabled"


class CoveredByDialog(TargetError):
    reason = "covered_by_dialog"


class Minimised(TargetError):
    reason = "minimised"


class Resized(TargetError):
    reason = "resized"


class SecretField(TargetError):
    reason = "secret_field"


class Refused(AlongsideError):
    reason = "policy"


class NeedsSandbox(Refused):
    reason = "needs_sandbox"


class NeedsForeground(Refused):
    reason = "needs_foreground"


class BackgroundUnavailable(Refused):
    reason = "background_unavailable"


class NeedsPrivilege(Refused):
    reason = "needs_privilege"


class Policy(Refused):
    reason = "policy"


class Stopped(Refused):
    reason = "stopped"


class Undone(AlongsideError):
    reason = "no_effect"


class Rejected(Undone):
    reason = "rejected"


class NoEffect(Undone):
    reason = "no_effect"


class TimedOut(Undone):
    reason = "timeout"


class AppGone(Undone):
    reason = "app_gone"


class AppHung(Undone):
    reason = "app_hung"


class OpenedElsewhere(Undone):
    reason = "opened_elsewhere"


class Blank(Undone):
    reason = "blank"


def _leaves(kind: type[AlongsideError]) -> list[type[AlongsideError]]:
    below = kind.__subclasses__()
    return [leaf for child in below for leaf in _leaves(child)] if below else [kind]


_BY_REASON = {kind.reason: kind for kind in _leaves(AlongsideError)}
