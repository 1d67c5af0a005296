"""One call from outside: judged, carried out, written into the journal. It always ends in an answer."""

from __future__ import annotations

import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from alongside.core.errors import AlongsideError, Invalid
from alongside.server.tools import Answer

if TYPE_CHECKING:
    from alongside.server.person.journal import Journal
    from alongside.server.tools import House, Tool


async def carry_out(tool: Tool, arguments: dict[str, Any], house: House, journal: Journal) -> Answer:
    """The answer of a tool; every error becomes one that says what was wrong and what to do."""
    began = time.monotonic()
    outcome = "cancelled"
    try:
        answer = await tool.run(_judged(tool, arguments), house)
        outcome = "failed" if answer.failed else "done"
    except AlongsideError as error:
        outcome, answer = error.reason, Answer(str(error), failed=True)
    except Exception as error:  # noqa: BLE001 - a client must never wait for an answer in vain
        traceback.print_exception(error, file=sys.stderr)
        outcome, answer = "broken", Answer(f"{tool.name} broke: {error!r:.500}\nnext: status()", failed=True)
    finally:
        milliseconds = round((time.monotonic() - began) * 1000, 1)
        journal.write({"tool": tool.name, "ms": milliseconds, "outcome": outcome, **house.record})
    return answer


def _judged(tool: Tool, arguments: dict[str, Any]) -> Any:
    try:
        return tool.arguments.model_validate(arguments)
    except ValidationError as error:
        wrong = [_told(tool, one) for one in error.errors(include_url=False, include_context=False)[:5]]
        raise Invalid(" ".join(wrong), next=tool.example) from None


def _told(tool: Tool, wrong: Any) -> str:
    name = ".".join(
        str(part) for part in wrong["loc"] if not isinstance(part, str) or part in tool.arguments.model_fields
    )
    match wrong["type"]:
        case "missing":
            return f"`{tool.name}` needs `{name}`."
        case "extra_forbidden":
            known = ", ".join(f"`{one}`" for one in tool.arguments.model_fields)
            return f"`{tool.name}` takes no `{wrong['loc'][-1]!s:.40}`; it takes {known}."
    told = wrong["msg"].replace("Input should be", "it should be")
    return f"`{name}` is {wrong['input']!r:.80}: {told}."
