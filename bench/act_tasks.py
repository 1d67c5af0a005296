"""The 14 tasks: how each is asked of us, and what the lab's own log has to say for it to count as done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Step = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """`step` is our step; the lab has to log `event` of `widget` with `value` (any, where it is None)."""

    name: str
    step: Step
    widget: str
    event: str
    value: Any = None


# What nothing in the lab's window shows by itself, its status label tells (`--tell`): a caller can name it as expected.
TASKS = (
    Task("click", {"do": "click", "target": "button:Save"}, "save", "clicked"),
    Task("check", {"do": "check", "target": "Subscribe"}, "subscribe", "toggled", value=True),
    Task("radio", {"do": "check", "target": "Large"}, "size", "selected", "Large"),
    Task("text", {"do": "set", "target": "Name", "value": "Ada"}, "name", "text", "Ada"),
    Task("replace", {"do": "set", "target": "City", "value": "Москва 漢字"}, "city", "text", "Москва 漢字"),
    Task("choose", {"do": "set", "target": "Colour", "value": "Green"}, "colour", "selected", "Green"),
    Task("number", {"do": "set", "target": "Amount", "value": 42}, "amount", "value", 42),
    Task("row", {"do": "select", "target": "Fruit 150"}, "fruits", "selected", "Fruit 150"),
    Task("multiline", {"do": "set", "target": "Notes", "value": "one\ntwo"}, "notes", "text", "one\ntwo"),
    Task("scroll", {"do": "scroll", "target": "Fruits", "direction": "down", "amount": 3}, "fruits", "scrolled"),
    Task(
        "menu",
        {"do": "menu", "path": "File > Export > As Picture", "expect": "Got File/Export/As Picture"},
        *("menu", "activated", "File/Export/As Picture"),
    ),
    Task("key", {"do": "key", "keys": "F5", "expect": "Got F5"}, "window", "key", "F5"),
    Task("tab", {"do": "select", "target": "tab:Two"}, "tabs", "selected", "Two"),
    Task("in the tab", {"do": "click", "target": "button:Inner"}, "inner", "clicked"),
)
