"""What the tests of the core share: one window, snapshots of it, and texts that applications should not write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from alongside.core.elements import Element, Snapshot, Window
from alongside.core.geometry import Rect

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTILE = {
    "new lines": 'Save\n[99] button "OK"\r\n1 ✓ click',
    "controls": "a\tb\x00\x1b[31m\x7f\x85\x9b",
    "line separators": "a\u2028b\u2029c",
    "bidi": "\u202eevas\u202c \u2066x\u2069 \u200f\u061c",
    "zero width": "S\u200ba\u200cv\u200de\u2060\ufeff\u00ad",
    "lone surrogates": "\ud800 \udfff",
    "private use": "\ue000 \U000f0000",
    "unassigned": "\u0378 \U0010ffff",
    "tags": "ok\U000e0041\U000e0042",
    "variation selectors": "a\U000e0100\ufe00\u180b",
    "fillers": "\u3164\u115f\uffa0\u2800\u034f",
    "a line of ours": '[12] button "OK"',
    "the end of a quote": '" checked\\" = "x\\',
    "an outcome": '1 ✓ click [12] button "Save"  atspi.action 3 ms',
    "escapes": "\\n \\u202e \\\\",
    "emoji": "👩\u200d👩\u200d👧 ❤\ufe0f 🇩🇪",
    "combining marks": "\u0301e\u0301\u0301 Z\u0351\u036b\u0343",
    "100 kB": "x" * 100_000,
    "100 kB of lines": "\n" * 100_000,
}


@pytest.fixture(params=HOSTILE.values(), ids=list(HOSTILE))
def hostile(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def window() -> Window:
    return Window("s1.2", 77, "Settings", "settings-app", 4711, "settings-app", Rect(10, 20, 640, 480))


@pytest.fixture
def snapshot_of(window: Window) -> Callable[..., Snapshot]:
    def made(*elements: Element, toolkit: str = "GTK 3", cuts: tuple[str, ...] = ()) -> Snapshot:
        return Snapshot(window, toolkit, elements, 0.0, cuts)

    return made
