"""``alongside act``: steps in a window of the person's desktop, written as JSON or in a short form."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from alongside.cli.own import FAILED, USAGE, asked
from alongside.core.errors import Invalid, NeedsSandbox
from alongside.core.outcomes import Mark
from alongside.core.steps import FORMS, Step
from alongside.core.targets import ByRef

if TYPE_CHECKING:
    import argparse

    from alongside.link.channel import Reply

_WORTH = {Mark.CONFIRMED: 0, Mark.ALREADY: 0, Mark.UNVERIFIED: 1}
_FORMS = """\
a step is one argument, in a short form
  click Save              also double_click, right_click, invoke, focus, clear,
                          check, uncheck, toggle, expand, collapse, hover
  set Name=Ada            also select Colour=Green
  type "hello"
  key ctrl+s
  menu "File > Save"
  wait Saved
or as JSON, with everything a step can have
  '{"do": "set", "target": "Name", "value": "Ada", "expect": "Saved"}'

exit code: 0 every step ✓ or =, 1 some ~, 2 wrong usage, 3 a step failed
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{_FORMS}\n{parser.epilog}"
    parser.add_argument("window", help="title or part of it, app:NAME, pid:N or active")
    parser.add_argument("steps", nargs="+", metavar="STEP", help="what to do, in order")
    parser.add_argument("--user-desktop", action="store_true", help="your leave to act there; nothing is sent without")
    parser.add_argument("--json", action="store_true", help="print the outcomes as JSON")


def run(options: argparse.Namespace) -> int:
    try:
        steps = [parse(written) for written in options.steps]
    except Invalid as error:
        print(error, file=sys.stderr)  # noqa: T201
        return USAGE
    if not options.user_desktop:
        print(_no_leave(), file=sys.stderr)  # noqa: T201
        return USAGE

    def told(reply: Reply) -> int:
        print(json.dumps(reply.result, ensure_ascii=False) if options.json else reply.result["text"])  # noqa: T201
        return max((_WORTH.get(one["mark"], FAILED) for one in reply.result["outcomes"]), default=0)

    return asked("act", {"window": options.window, "steps": steps}, told, acting=True)


def _no_leave() -> NeedsSandbox:
    return NeedsSandbox(
        "Acting on your own desktop has to be allowed; nothing was sent. Only steps that disturb nothing are sent "
        "there.",
        next="the same again with --user-desktop",
    )


def parse(written: str) -> dict[str, Any]:
    """The step that one argument describes; ``Invalid`` shows the right form of a wrong one."""
    if written.lstrip().startswith("{"):
        try:
            step = json.loads(written)
        except ValueError as wrong:
            raise Invalid(f"{written!r:.80} is no JSON: {wrong}", next=FORMS["set"].example) from None
    else:
        do, _, rest = written.strip().partition(" ")
        step = {"do": do, **_arguments(do.lower(), rest.strip())}
    judged = Step.parse(step)
    for target in (judged.target, judged.to):
        if isinstance(target, ByRef):
            raise Invalid(f"{target} is a number that a server gave; this command takes names.", next="click Save")
    return dict(step)


def _arguments(do: str, rest: str) -> dict[str, Any]:
    if not rest:
        return {}
    match do:
        case "set" | "select" if "=" in rest:
            target, _, value = rest.partition("=")
            return {"target": target.strip(), "value": _unquoted(value.strip())}
        case "type" | "wait":
            return {"text": _unquoted(rest)}
        case "key":
            return {"keys": rest}
        case "menu":
            return {"path": _unquoted(rest)}
    return {"target": rest}


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
