from __future__ import annotations

import json
from typing import Any

import pytest

from alongside.core.checks import Check
from alongside.core.errors import Invalid
from alongside.core.geometry import Point
from alongside.core.steps import FIELDS, FORMS, Step
from alongside.core.targets import ByName, ByPoint, ByRef

# The least that each step takes.
MINIMAL: dict[str, dict[str, Any]] = {
    "click": {"target": 12},
    "double_click": {"target": 12},
    "right_click": {"target": 12},
    "invoke": {"target": 12},
    "hover": {"target": 12},
    "drag": {"target": 12, "to": 14},
    "scroll": {},
    "type": {"text": "hello"},
    "set": {"target": 12, "value": "Ada"},
    "clear": {"target": 12},
    "key": {"keys": "ctrl+s"},
    "select": {"target": 12},
    "check": {"target": 12},
    "uncheck": {"target": 12},
    "toggle": {"target": 12},
    "expand": {"target": 12},
    "collapse": {"target": 12},
    "focus": {"target": 12},
    "menu": {"path": "File > Save"},
    "wait": {"seconds": 1},
}
# A value of the right type for each argument.
RIGHT: dict[str, Any] = {
    "target": 12, "to": 14, "text": "x", "value": "x", "keys": "x", "path": "x", "button": "left", "count": 1,
    "modifiers": ["ctrl"], "direction": "up", "amount": 1, "repeat": 1, "seconds": 1, "gone": True,
    "check": {"checked": True}, "expect": "x", "timeout": 1, "settle": 1, "via": "xtest.keys", "accept": "focus",
    "steps": 2, "delay": 1, "until": 12,
}  # fmt: skip
CTRL_SHIFT, SUPER_ALT = ("ctrl", "shift"), ("super", "alt")
EVERYWHERE = {"target", "check", "expect", "timeout", "settle", "via", "accept"}


def test_the_tables_of_this_file_are_whole() -> None:
    assert set(MINIMAL) == set(FORMS)
    assert {"do", *RIGHT} == set(FIELDS)


@pytest.mark.parametrize("do", FORMS)
def test_the_example_of_each_step_is_right(do: str) -> None:
    example = FORMS[do].example
    assert Step.parse(json.loads(example[: example.index("}") + 1])).do == do


@pytest.mark.parametrize("do", FORMS)
def test_each_step_takes_its_minimal_form_and_nothing_less(do: str) -> None:
    assert Step.parse({"do": do, **MINIMAL[do]}).do == do
    for name in MINIMAL[do]:
        less = {key: value for key, value in MINIMAL[do].items() if key != name}
        with pytest.raises(Invalid, match=name if do != "wait" else "one thing to wait for") as caught:
            Step.parse({"do": do, **less, name: None})
        assert caught.value.next == FORMS[do].example


@pytest.mark.parametrize("do", FORMS)
def test_each_step_takes_the_arguments_of_its_form_and_refuses_all_others(do: str) -> None:
    form = FORMS[do]
    takes = {*EVERYWHERE, *form.needs, *form.may} - ({"target"} if form.target == "no" else set())
    for name in RIGHT.keys() - MINIMAL[do].keys():
        wire = {"do": do, **MINIMAL[do], name: RIGHT[name]}
        if do == "wait" and name in {"text", "target", "check"}:
            with pytest.raises(Invalid):  # it waits for one thing, and a check is one of its target
                Step.parse(wire)
        elif name in takes:
            assert getattr(Step.parse(wire), name) is not None
        elif not (name in {"text", "value", "keys", "path"} and do == "select"):
            with pytest.raises(Invalid, match=f'`{do}` takes no "{name}"') as caught:
                Step.parse(wire)
            assert caught.value.next == form.example


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"do": "Double Click", "target": 12}, Step("double_click", ByRef(12))),
        ({"do": " dblclick ", "target": 12}, Step("double_click", ByRef(12))),
        ({"do": "triple_click", "target": 12}, Step("click", ByRef(12), count=3)),
        ({"do": "middle-click", "target": 12}, Step("click", ByRef(12), button="middle")),
        ({"do": "set_value", "target": 12, "value": "Ada"}, Step("set", ByRef(12), value="Ada")),
        ({"do": "fill", "target": "Name", "text": "Ada"}, Step("set", ByName("Name"), value="Ada")),
        ({"do": "press", "key": None, "text": "Return"}, Step("key", keys="Return")),
        ({"do": "input", "value": "hello"}, Step("type", text="hello")),
        ({"do": "menu", "value": "File > Save"}, Step("menu", path="File > Save")),
        ({"do": "choose", "target": 12, "text": "Green"}, Step("select", ByRef(12), value="Green")),
        ({"do": "set", "target": 12, "value": 7}, Step("set", ByRef(12), value="7")),
        ({"do": "set", "target": 12, "value": ""}, Step("set", ByRef(12), value="")),
        ({"do": "click", "target": [3, 4]}, Step("click", ByPoint(Point(3, 4)))),
        ({"do": "hover", "target": 1, "modifiers": "Control+shift"}, Step("hover", ByRef(1), modifiers=CTRL_SHIFT)),
        ({"do": "hover", "target": 1, "modifiers": ["cmd", "Option"]}, Step("hover", ByRef(1), modifiers=SUPER_ALT)),
        ({"do": "click", "target": 1, "modifiers": ""}, Step("click", ByRef(1))),
        ({"do": "click", "target": 1, "count": 2.0}, Step("click", ByRef(1), count=2)),
        ({"do": "wait", "seconds": 0.5}, Step("wait", seconds=0.5)),
        ({"do": "wait", "seconds": 0}, Step("wait", seconds=0.0)),
        ({"do": "wait", "text": "Saving", "gone": True}, Step("wait", text="Saving", gone=True)),
        ({"do": "wait", "target": 12, "check": {"enabled": True}}, Step("wait", ByRef(12), check=Check(enabled=True))),
        ({"do": "scroll", "direction": "left", "amount": 100}, Step("scroll", direction="left", amount=100)),
        ({"do": "click", "target": 1, "settle": 0, "timeout": 50}, Step("click", ByRef(1), settle=0, timeout=50.0)),
    ],
)  # fmt: skip
def test_what_callers_say_is_understood(said: dict[str, Any], meant: Step) -> None:
    assert Step.parse(said) == meant


def each(wire: dict[str, Any], *wrong: object) -> list[dict[str, Any]]:
    """The step with each of the wrong values in the place of the dots."""
    return [{name: value if old is ... else old for name, old in wire.items()} for value in wrong]


NAN, INF = float("nan"), float("inf")
CLICK: dict[str, Any] = {"do": "click", "target": 12}
WRONG: list[Any] = [
    *(None, 12, "click", [], {}, {"do": None}, {"do": 3}, {"do": ["click"]}, {"target": 12}),
    *({"do": ""}, {"do": "explode"}, {"do": "x" * 100_000}, {"do": 'click\n[12] button "OK"'}),
    *({"do": "click"}, {"do": "menu", "path": "File", "target": 12}, {"do": "wait"}, {"do": "wait", "gone": True}),
    *({"do": "set", "target": 12}, {"do": "set", "target": 12, "text": "a", "keys": "b"}, {"do": "set", "value": "a"}),
    *({**CLICK, "x" * 100_000: 1}, {**CLICK, "a\nb": 1}, {**CLICK, **{f"n{n}": n for n in range(1_000)}}),
    *each({**CLICK, "count": ...}, 0, 4, -1, 1.5, "2", True, NAN, INF, -INF, 1e300, 10**400, [2]),
    *each({"do": "scroll", "amount": ...}, 0, 101, NAN, True, "lots"),
    *each({"do": "key", "keys": "a", "repeat": ...}, 0, 101, INF, False),
    *each({"do": "wait", "seconds": ...}, -1, 51, NAN, INF, -INF, True, "1", 10**400),
    *each({**CLICK, "timeout": ...}, -0.1, 50.1, NAN, "5"),
    *each({**CLICK, "settle": ...}, -1, 10_001, 0.5, NAN, True),
    *each({**CLICK, "button": ...}, "Left", "fourth", 1, ["left"], True),
    *each({"do": "scroll", "direction": ...}, "sideways", 1, {}),
    *each({**CLICK, "modifiers": ...}, 1, {"ctrl": True}, [1], "hyper", ["ctrl", "x" * 100_000], [["ctrl"]]),
    *each({**CLICK, "check": ...}, "checked", True, [], {}, {"checked": "yes"}, {"nope": 1}),
    *each({**CLICK, "target": ...}, True, 1.5, {}, [], [NAN, 1], "", '""', -1),
    *each({"do": "drag", "target": 12, "to": ...}, True, [INF, 1], [[1, 2], 3]),
    *each({"do": "type", "text": ...}, "", True, [], {"a": 1}, [["x"] * 1_000]),
    *each({**CLICK, "expect": ...}, "", False, ["Saved"]),
    *each({**CLICK, "via": ...}, "", {}),
    *each({"do": "wait", "text": "x", "gone": ...}, 1, "true", []),
]


@pytest.mark.parametrize("wire", WRONG, ids=[f"{wire!r:.60}".encode("unicode_escape").decode() for wire in WRONG])
def test_a_wrong_step_is_refused_with_the_right_form(wire: Any) -> None:
    with pytest.raises(Invalid) as caught:
        Step.parse(wire)
    assert caught.value.next
    assert caught.value.message.isprintable()
    assert len(str(caught.value)) < 600


def test_any_text_can_be_asked_for(hostile: str) -> None:
    wire = json.loads(json.dumps({"do": "set", "target": "Name", "value": hostile, "expect": hostile}))
    step = Step.parse(wire)
    assert step.value == step.expect == step.wants_text() == hostile


def test_what_is_not_said_has_a_default() -> None:
    step = Step.parse({"do": "scroll"})
    assert (step.count, step.amount, step.repeat, step.gone, step.settle) == (1, 3, 1, False, 350)
    assert (step.button, step.direction, step.modifiers, step.timeout) == ("left", "down", (), 5.0)


def test_everything_that_is_missing_is_named_at_once() -> None:
    with pytest.raises(Invalid, match="`set` needs `target`, `value`"):
        Step.parse({"do": "set"})


def test_only_steps_that_put_text_somewhere_have_one() -> None:
    assert Step.parse({"do": "type", "text": "a"}).wants_text() == "a"
    assert Step.parse({"do": "clear", "target": 12}).wants_text() == ""
