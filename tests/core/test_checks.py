from __future__ import annotations

from typing import Any

import pytest

from alongside.core.checks import Check, same_value
from alongside.core.elements import Element
from alongside.core.errors import Invalid

NAME = Element("n", "textbox", "Name", "Ada", frozenset({"focused"}), knows=frozenset({"focused"}))
BOX = Element("b", "checkbox", "Subscribe", None, frozenset({"checked"}), knows=frozenset({"checked"}))
GREY = Element("g", "button", "Save", None, frozenset({"disabled"}))
SECRET = Element("s", "textbox", "Password", "hunter2", frozenset({"secret"}))


@pytest.mark.parametrize(
    ("wire", "check"),
    [
        ({"value": "Ada"}, Check(value="Ada")),
        ({"value": ""}, Check(value="")),
        ({"value": 3}, Check(value="3")),
        ({"contains": 1.5}, Check(contains="1.5")),
        ({"checked": False, "value": None}, Check(checked=False)),
        ({"target": "button:Save", "enabled": True}, Check("button:Save", enabled=True)),
        ({"target": 12, "exists": False}, Check(12, exists=False)),
    ],
)
def test_a_check_is_what_it_says(wire: dict[str, Any], check: Check) -> None:
    assert Check.parse(wire) == check


@pytest.mark.parametrize(
    "wire",
    [
        *(None, True, "checked", ["checked"], 1),
        *({}, {"target": 12}, {"value": None}, {"target": 12, "checked": None}),
        *({"checked": "true"}, {"checked": 1}, {"checked": []}, {"checked": {}}),
        *({"value": True}, {"value": []}, {"value": {"a": 1}}, {"value": [["x" * 100_000]]}),
        *({"contains": False}, {"exists": 0}),
        *({"checked": True, "x" * 100_000: 1}, {"a\nb": 1}, {f"n{n}": 1 for n in range(1_000)}),
        *({"checked": True, "target": []}, {"checked": True, "target": ""}, {"checked": True, "target": True}),
    ],
)
def test_a_check_that_makes_no_sense_is_refused_with_the_right_form(wire: object) -> None:
    with pytest.raises(Invalid) as caught:
        Check.parse(wire)
    assert caught.value.next
    assert caught.value.message.isprintable()
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("check", "element", "holds"),
    [
        (Check(value="Ada"), NAME, True),
        (Check(value="ada"), NAME, False),
        (Check(value="Ada"), GREY, None),
        (Check(value="hunter2"), SECRET, None),
        (Check(contains="d"), NAME, True),
        (Check(contains="Bob"), NAME, False),
        (Check(contains="Sav"), GREY, True),
        (Check(contains="hunter"), SECRET, None),
        (Check(checked=True), BOX, True),
        (Check(checked=False), BOX, False),
        (Check(checked=True), NAME, None),
        (Check(selected=False), BOX, None),
        (Check(focused=True), NAME, True),
        (Check(expanded=True), NAME, None),
        (Check(enabled=True), NAME, True),
        (Check(enabled=True), GREY, False),
        (Check(enabled=False), GREY, True),
        (Check(exists=True), NAME, True),
        (Check(exists=False), NAME, False),
        (Check(exists=True), None, False),
        (Check(exists=False), None, True),
        (Check(12, exists=False), None, True),
        (Check(value="Ada"), None, False),
        (Check(exists=False, value="Ada"), None, False),
        (Check(value="Ada", focused=True), NAME, True),
        (Check(value="Ada", checked=True), NAME, None),
        (Check(value="Bob", checked=True), NAME, False),
        (Check(value="Ada", focused=False), NAME, False),
    ],
)
def test_a_check_holds_or_not_or_that_is_unknown(check: Check, element: Element | None, holds: bool | None) -> None:
    assert check.holds(element) is holds


@pytest.mark.parametrize(
    ("role", "shown", "wanted", "same"),
    [
        ("slider", "50", "50.0", True),
        ("spinbutton", "7", " 7", True),
        ("cell", "1234.5", "1234.50", True),
        ("slider", "50", "51", False),
        ("slider", "50", "half", False),
        ("spinbutton", "nan", "nan", True),
        ("slider", "nan", "NaN", False),
        ("textbox", "7", "007", False),
        ("cell", "7", "007", False),
        ("cell", "1000", "1_000", False),
        ("spinbutton", "7", "007", True),
        ("textbox", "4930123", "+4930123", False),
        ("textbox", "10", "1_0", False),
        ("combobox", "Dark green", "dark green", True),
        ("combobox", "Green", "Blue", False),
        ("textbox", "Green", "green", False),
        ("textbox", "", "", True),
        ("textbox", None, "", None),
    ],
)
def test_numbers_are_compared_as_numbers_and_texts_as_texts(
    role: str, shown: str | None, wanted: str, same: bool | None
) -> None:
    assert same_value(Element("k", role, value=shown), wanted) is same


def test_a_check_is_told_in_one_short_line(hostile: str) -> None:
    assert str(Check(value="Ada", checked=True, exists=False)) == 'value "Ada" and checked true and exists false'
    told = str(Check(12, value=hostile, contains=hostile))
    assert told.isprintable()
    assert len(told) < 1_200
