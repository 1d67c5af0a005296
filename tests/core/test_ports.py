from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from alongside.core.elements import Element
from alongside.core.ports import Act, Passed
from alongside.core.steps import Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from alongside.core.elements import Snapshot


def test_an_act_on_a_point_has_no_element_and_one_on_an_element_has(snapshot_of: Callable[..., Snapshot]) -> None:
    button = Element("b", "button", "Save")
    snapshot = snapshot_of(button)
    step = Step.parse({"do": "click", "target": "Save"})
    assert Act(step, snapshot.window, snapshot, button).the_element() is button
    with pytest.raises(Passed, match="a point is not an element"):
        Act(step, snapshot.window, snapshot).the_element()


def test_choosing_is_the_same_act_as_a_selection(snapshot_of: Callable[..., Snapshot]) -> None:
    option = Element("o", "option", "Green")
    snapshot = snapshot_of(option)
    step = Step.parse({"do": "set", "target": "Green", "value": "x"})
    chosen = Act(step, snapshot.window, snapshot, option).choosing()
    assert (chosen.step.do, chosen.step.value, chosen.element) == ("select", None, option)
