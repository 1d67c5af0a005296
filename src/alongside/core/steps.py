"""The steps: one flat shape for all of them, and one table of what each takes.

One shape costs a client 2 KB of schema where a union of typed steps costs 16; the table below is what makes a wrong
combination an error that shows the right one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from alongside.core import targets
from alongside.core.checks import Check
from alongside.core.errors import Invalid
from alongside.core.outline import quote

Button = Literal["left", "middle", "right"]
MODIFIERS = ("ctrl", "shift", "alt", "super")
_MODIFIER_NAMES = {"control": "ctrl", "ctl": "ctrl", "option": "alt", "meta": "super", "win": "super", "cmd": "super"}


@dataclass(frozen=True, slots=True)
class Form:
    """What one kind of step takes: the arguments it must have, those it may have, and an example."""

    example: str
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    target: Literal["must", "may", "no"] = "must"


_POINTER = ("button", "count", "modifiers")
FORMS: dict[str, Form] = {
    "click": Form('{"do": "click", "target": 12}', may=_POINTER),
    "double_click": Form('{"do": "double_click", "target": 12}', may=("modifiers",)),
    "right_click": Form('{"do": "right_click", "target": 12}', may=("modifiers",)),
    "invoke": Form('{"do": "invoke", "target": "Save"}'),
    "hover": Form('{"do": "hover", "target": 12}', may=("modifiers",)),
    "drag": Form('{"do": "drag", "target": 12, "to": 14}', needs=("to",), may=("button", "modifiers")),
    "scroll": Form(
        '{"do": "scroll", "target": 12, "direction": "down", "amount": 5}',
        may=("direction", "amount", "modifiers", "steps", "delay", "until"),
        target="may",
    ),
    "type": Form('{"do": "type", "text": "hello"}', needs=("text",), target="may"),
    "set": Form('{"do": "set", "target": "Name", "value": "Ada"}', needs=("value",)),
    "clear": Form('{"do": "clear", "target": "Name"}'),
    "key": Form('{"do": "key", "keys": "ctrl+s"}', needs=("keys",), may=("repeat",), target="may"),
    "select": Form('{"do": "select", "target": "Colour", "value": "Green"}', may=("value",)),
    "check": Form('{"do": "check", "target": "Subscribe"}'),
    "uncheck": Form('{"do": "uncheck", "target": "Subscribe"}'),
    "toggle": Form('{"do": "toggle", "target": "Subscribe"}'),
    "expand": Form('{"do": "expand", "target": "Europe"}'),
    "collapse": Form('{"do": "collapse", "target": "Europe"}'),
    "focus": Form('{"do": "focus", "target": "Name"}'),
    "menu": Form('{"do": "menu", "path": "File > Export > As Text..."}', needs=("path",), target="no"),
    "wait": Form(
        '{"do": "wait", "text": "Saved"}, or seconds, or target with check',
        may=("text", "gone", "seconds"),
        target="may",
    ),
}
_ALIASES = {
    "set_value": "set", "press": "key", "hotkey": "key", "keypress": "key", "left_click": "click", "tap": "click",
    "doubleclick": "double_click", "dblclick": "double_click", "rightclick": "right_click", "input": "type",
    "fill": "set", "choose": "select", "move": "hover", "mouse_move": "hover", "triple_click": "click",
    "middle_click": "click",
}  # fmt: skip
_EVERYWHERE = ("do", "target", "check", "expect", "timeout", "settle", "via", "accept")
# How often is scrolled in search of an element, where a step does not say.
_LOOKING = 50
# What callers say for the text of a step, by the step.
_TEXT_OF = {"type": "text", "set": "value", "key": "keys", "select": "value", "menu": "path"}
_TEXTS = ("text", "value", "keys", "path")


@dataclass(frozen=True, slots=True)
class Step:
    """One act. Which fields mean something depends on ``do``; ``FORMS`` has the table.

    ``timeout``, ``seconds`` and ``delay`` are in seconds, ``settle`` in milliseconds, ``amount`` in wheel clicks.
    """

    do: str
    target: targets.Target | None = None
    to: targets.Target | None = None
    text: str | None = None
    value: str | None = None
    keys: str | None = None
    path: str | None = None
    button: Button = "left"
    count: int = 1
    modifiers: tuple[str, ...] = ()
    direction: Literal["up", "down", "left", "right"] = "down"
    amount: int = 3
    steps: int = 1
    delay: float = 0.0
    until: targets.Target | None = None
    repeat: int = 1
    seconds: float | None = None
    gone: bool = False
    check: Check | None = None
    expect: str | None = None
    timeout: float = 5.0
    settle: int = 350
    via: str | None = None
    accept: Literal["focus"] | None = None

    @staticmethod
    def parse(wire: dict[str, Any]) -> Step:
        """The step that a request describes; ``Invalid`` shows the right form of a wrong one."""
        if not isinstance(wire, dict) or not isinstance(wire.get("do"), str):
            raise Invalid(f"A step is an object with a word in `do`, not {wire!r:.80}.", next=FORMS["click"].example)
        said = wire["do"].strip().lower().replace("-", "_").replace(" ", "_")
        do = _ALIASES.get(said, said)
        form = FORMS.get(do)
        if form is None:
            raise Invalid(f"There is no step {quote(wire['do'], 40)}.", next="one of " + ", ".join(FORMS))
        args = {name: value for name, value in wire.items() if value is not None and name != "do"}
        if said == "triple_click":
            args["count"] = 3
        if said == "middle_click":
            args["button"] = "middle"
        wanted = _TEXT_OF.get(do)
        others = [name for name in _TEXTS if name in args and name != wanted]
        if wanted and wanted not in args and len(others) == 1:
            args[wanted] = args.pop(others[0])
        _fits(do, form, args)
        return Step(do=do, **_typed(do, form, args))

    def named(self) -> str:
        """It in our words, by what was asked."""
        said = self.path or self.keys or (self.text if self.do in {"wait", "type"} else None)
        parts = [self.do]
        if self.target is not None:
            parts.append(targets.quoted(self.target))
        if said:
            parts.append(quote(said, 80))
        return " ".join(parts)

    def wants_text(self) -> str:
        """The text it puts somewhere, empty for the others."""
        return self.text or self.value or ""


def _fits(do: str, form: Form, args: dict[str, Any]) -> None:
    allowed = {*_EVERYWHERE, *form.needs, *form.may}
    if form.target == "no":
        allowed -= {"target"}
    unknown = sorted(set(args) - allowed)
    if unknown:
        raise Invalid(f"`{do}` takes no {', '.join(quote(name, 30) for name in unknown[:6])}.", next=form.example)
    missing = [name for name in form.needs if name not in args]
    if form.target == "must" and "target" not in args:
        missing.insert(0, "target")
    if missing:
        raise Invalid(f"`{do}` needs {', '.join(f'`{name}`' for name in missing)}.", next=form.example)
    if do == "wait" and len({"text", "seconds", "target"} & set(args)) != 1:
        raise Invalid("`wait` takes one thing to wait for: `text`, `seconds` or `target`.", next=form.example)
    if do == "wait" and "target" not in args and "check" in args:
        raise Invalid("A `check` of `wait` is one of its `target`.", next=form.example)


def _typed(do: str, form: Form, args: dict[str, Any]) -> dict[str, Any]:
    typed: dict[str, Any] = {}
    for name, value in args.items():
        match name:
            case "target" | "to" | "until":
                typed[name] = targets.parse(value)
            case "check":
                typed[name] = Check.parse(value)
            case "modifiers":
                typed[name] = _modifiers(value, form)
            case "count" | "amount" | "repeat" | "steps":
                typed[name] = _whole(name, value, form, most=3 if name == "count" else 100)
            case "timeout" | "seconds" | "delay":
                typed[name] = _seconds(name, value, form)
            case "settle":
                typed[name] = _whole(name, value, form, most=10_000, least=0)
            case "accept":
                if value != "focus":
                    raise Invalid(f'`accept` is {value!r:.40}, and takes only "focus".', next=form.example)
                typed[name] = value
            case "gone":
                if not isinstance(value, bool):
                    raise Invalid(f"`gone` is {value!r:.40}, not true or false.", next=form.example)
                typed[name] = value
            case "button" | "direction":
                allowed = ("left", "middle", "right") if name == "button" else ("up", "down", "left", "right")
                if value not in allowed:
                    raise Invalid(f"`{name}` is {value!r:.40}, not one of {', '.join(allowed)}.", next=form.example)
                typed[name] = value
            case _:
                if isinstance(value, bool) or not isinstance(value, str | int | float):
                    raise Invalid(f"`{name}` of `{do}` is {value!r:.60}, not a text.", next=form.example)
                if value == "" and name != "value":
                    raise Invalid(f"`{name}` of `{do}` is empty.", next=form.example)
                typed[name] = str(value)
    if "until" in typed:
        typed.setdefault("steps", _LOOKING)
    return typed


def _modifiers(value: Any, form: Form) -> tuple[str, ...]:
    parts = value.split("+") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise Invalid(f"`modifiers` is {value!r:.60}.", next='"modifiers": ["ctrl", "shift"]')
    names = [_MODIFIER_NAMES.get(part.strip().lower(), part.strip().lower()) for part in parts if part.strip()]
    unknown = [name for name in names if name not in MODIFIERS]
    if unknown:
        raise Invalid(f"{quote(unknown[0], 30)} is no modifier.", next=f"of {', '.join(MODIFIERS)}; {form.example}")
    return tuple(dict.fromkeys(names))


def _whole(name: str, value: Any, form: Form, *, most: int, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value % 1:
        raise Invalid(f"`{name}` is {value!r:.40}, not a whole number.", next=form.example)
    if not least <= value <= most:
        raise Invalid(f"`{name}` is {value}, not between {least} and {most}.", next=form.example)
    return int(value)


def _seconds(name: str, value: Any, form: Form) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 50:
        raise Invalid(f"`{name}` is {value!r:.40}, not between 0 and 50 seconds.", next=form.example)
    return float(value)


FIELDS = tuple(one.name for one in fields(Step))
