"""A few random steps of each toolkit; `bench/random_steps.py` does a thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from desktop.chance import Effect, Run, effect, parse, wrong
from desktop.support import Answer
from desktop.test_person import COVERS, Person, persons_desktop
from lab_support import LabEvent

from alongside.server.desktops import Desktops

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.anyio
STEPS = 40
SAVED = [LabEvent(0.0, "save", "clicked", None)]
SAVE = Effect("save", "clicked")


@pytest.fixture(scope="module")
async def covered(
    anyio_backend: str,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Person]:
    with pytest.MonkeyPatch.context() as patch:
        async with persons_desktop(tmp_path_factory.mktemp("chance")) as person:
            for name in ("DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
                patch.setenv(name, person.environment[name])
            async with Desktops(user_acting=True) as desktops:
                person.desktop = desktops.user
                yield person


@pytest.mark.parametrize("kind", ["gtk3", "qt5", "qt6", "page"])
async def test_outcomes_agree_with_the_log(covered: Person, kind: str) -> None:
    app = await covered.open(kind)
    await covered.open("gtk3", None, "--geometry", COVERS)
    run = Run(app, seed=1)
    await run.steps(STEPS)
    assert not run.disagreements, "\n".join(run.disagreements)


@pytest.mark.parametrize(
    ("marks", "reason", "seconds", "events", "said"),
    [
        ("✓", "", 0.1, SAVED, ""),
        ("✓", "", 0.1, [], "false ✓"),
        ("✗", "no_effect", 0.1, SAVED, "false ✗"),
        ("✗", "no_effect", 0.1, [], ""),
        ("=", "", 0.1, SAVED, "= although something was logged"),
        ("✗", "needs_sandbox", 0.1, SAVED, "needs_sandbox although something was logged"),
        ("~", "", 0.1, [], ""),
        ("~", "", 9.0, [], "took 9.0 s"),
    ],
)
def test_the_judge(marks: str, reason: str, seconds: float, events: list[LabEvent], said: str) -> None:
    answer = Answer([{"mark": marks, "reason": reason}], "", seconds)
    assert wrong(answer, SAVE, events) == said


def test_what_a_step_must_lead_to() -> None:
    shown = parse('x\n[1] table "Fruits"\n  [2] cell "Fruit 2" selected\n[3] textbox "Name" = "Ada"')
    assert [(one.ref, one.role, one.name, one.inside) for one in shown] == [
        (1, "table", "Fruits", ()),
        (2, "cell", "Fruit 2", ("Fruits",)),
        (3, "textbox", "Name", ()),
    ]
    assert effect({"do": "select"}, shown[1]) == ("fruits", "selected", "Fruit 2")
    assert effect({"do": "set", "value": "Bob"}, shown[2]) == ("name", "text", "Bob")
