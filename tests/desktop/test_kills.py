"""Drivers that are killed at any moment of a batch: within a second nothing is held, and nobody is misled."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from desktop.test_person import COVERS, Person, persons_desktop
from desktop.test_trouble import timed

from alongside.server.desktops import Desktops

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from desktop.support import App, Place, Step

pytestmark = pytest.mark.anyio

KILLS = 10
SEED = int(os.environ.get("KILLS_SEED", "1"))
RELEASED_S = 1.0
# All that a killed driver could leave behind on a display.
STATE = """
import hashlib, json, xcffib, xcffib.xinput, xcffib.xkb, xcffib.xproto
connection = xcffib.connect()
core, setup = connection.core, connection.get_setup()
root = setup.roots[0].root
codes = setup.min_keycode, setup.max_keycode - setup.min_keycode + 1
xinput = connection(xcffib.xinput.key)
xinput.XIQueryVersion(2, 2).reply()
popups = 0
for window in core.QueryTree(root).reply().children:
    try:
        now, size = core.GetWindowAttributes(window).reply(), core.GetGeometry(window).reply()
    except (xcffib.xproto.WindowError, xcffib.xproto.DrawableError):
        continue
    popups += now.override_redirect and now.map_state == 2 and size.width > 1  # toolkits keep helpers of one pixel
meanings = core.GetKeyboardMapping(*codes).reply(), core.GetModifierMapping().reply()
print(json.dumps({
    "keys": sum(core.QueryKeymap().reply().keys),
    "buttons and modifiers": core.QueryPointer(root).reply().mask,
    "pointers": sum(one.type == 1 for one in xinput.XIQueryDevice(0).reply().infos),
    "pop-ups": popups,
    "keymap": hashlib.sha256(str([list(meanings[0].keysyms), list(meanings[1].keycodes)]).encode()).hexdigest(),
}))
"""
UNMOVED = {"focus": False, "buttons": 0}


def batch(turn: int) -> list[Step]:
    """Steps that hold, tell or open something; what they set differs from turn to turn."""
    return [
        {"do": "type", "target": "Notes", "text": f"{turn} words " * 40, "via": "x11.keys"},
        {"do": "scroll", "target": "Fruits", "amount": 20, "direction": ("down", "up")[turn % 2]},
        {"do": "drag", "target": "slider:Volume", "to": ("Prices", "Name")[turn % 2]},
        {"do": "set", "target": "Colour", "value": ("Green", "Blue")[turn % 2]},
        {"do": "hover", "target": "button:Save"},
        {"do": "click", "target": "button:Save", "modifiers": ["shift"]},
        {"do": "double_click", "target": "Double"},
        {"do": "key", "keys": "F5", "repeat": 20},
    ]


def batch_with_real_devices(turn: int) -> list[Step]:
    return [
        {"do": "drag", "target": "Token", "to": "Basket", "modifiers": ["ctrl"]},
        {"do": "type", "target": "Notes", "text": "\u0416\u0443\u043a " * 40, "via": "xtest.keys"},
        {"do": "drag", "target": "slider:Volume", "to": ("Prices", "Name")[turn % 2]},
        {"do": "menu", "path": "File > Export > As Picture", "via": "xtest.choose"},
        {"do": "set", "target": "Colour", "value": ("Green", "Blue")[turn % 2], "via": "xtest.choose"},
        {
            "do": "scroll",
            "target": "Fruits",
            "amount": 30,
            "direction": ("down", "up")[turn % 2],
            "modifiers": ["shift"],
        },
    ]


@pytest.fixture(scope="module")
async def persons(
    anyio_backend: str,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Person]:
    with pytest.MonkeyPatch.context() as patch:
        async with persons_desktop(tmp_path_factory.mktemp("kills")) as person:
            for name in ("DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
                patch.setenv(name, person.environment[name])
            async with Desktops(user_acting=True) as desktops:
                person.desktop = desktops.user
                yield person


async def on_display(person: Person) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", STATE, env=person.environment, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    found: dict[str, Any] = json.loads(out)
    return found


async def beliefs(app: App) -> dict[str, Any]:
    mark = app.log.mark()
    await app.poke("believes")
    found: dict[str, Any] = (await app.log.wait_for("window", "believes", after=mark)).value
    return found


async def settles(clean: Callable[[], Awaitable[tuple[Any, Any]]], killed_at: float, within: float) -> float:
    """Wait until both are the same; how long after the kill that was (seconds)."""
    while True:
        began = time.monotonic()
        found, wanted = await clean()
        if found == wanted:
            return time.monotonic() - killed_at
        assert began - killed_at < within, (found, wanted)


@dataclass
class Victim:
    """Whose driver is killed, and how the display and the window are looked at."""

    app: App
    steps: Callable[[int], list[Step]]
    pid: Callable[[], Awaitable[int]]
    look: Callable[[], Awaitable[dict[str, Any]]]
    believes: Callable[[], Awaitable[dict[str, Any]]]


async def kill_at_random(victim: Victim, name: str) -> None:
    """Kill the driver in the midst of a batch, again and again."""
    app, steps, look = victim.app, victim.steps, victim.look
    chance = random.Random(f"{SEED} {name}")
    before = await look()
    await app.look()
    whole = await app.act(*steps(0))
    assert "✗" not in whole.marks, whole.text
    for turn in range(1, KILLS + 1):
        ref = await app.ref('button "Save"')
        pid, moment = await victim.pid(), chance.uniform(0, whole.seconds)
        acting = asyncio.create_task(timed(app.act(*steps(turn))))
        await asyncio.sleep(moment)  # the moments to try
        os.kill(pid, signal.SIGKILL)
        killed_at = time.monotonic()

        async def clean() -> tuple[Any, Any]:
            return (await look(), await victim.believes()), (before, UNMOVED)

        seconds = await settles(clean, killed_at, RELEASED_S)
        told, _ = await acting
        print(f"{name} seed {SEED} turn {turn}: killed after {moment:.3f} of {whole.seconds:.3f} s, "  # noqa: T201
              f"clean {seconds:.2f} s later ({told[:30]!r})")  # fmt: skip
        mark = app.log.mark()
        answer = await app.act({"do": "click", "target": ref})
        assert (answer.marks, answer.reason) in {("✗", "stale"), ("✗", "not_found")}, answer.text
        assert not await app.saw(mark)
        answer = await app.act({"do": "set", "target": "Name", "value": f"after {turn}"})
        assert answer.marks == "✓", answer.text
        assert await app.ref('button "Save"') > ref
        assert await clean() == ((before, UNMOVED), (before, UNMOVED)), "and it stays so"


@pytest.mark.parametrize("kind", ["gtk3", "qt5"])
async def test_killed_behind_the_persons_window(persons: Person, kind: str) -> None:
    app = await persons.open(kind)
    await persons.open("gtk3", None, "--geometry", COVERS)

    async def pid() -> int:
        return persons.desktop.driver.pid

    await kill_at_random(Victim(app, batch, pid, lambda: on_display(persons), lambda: beliefs(app)), kind)


async def test_killed_with_the_real_pointer_and_keyboard(place: Place) -> None:
    app = await place.open("gtk3")

    async def pid() -> int:
        return await place.host_pid(place.desktop.driver.pid)

    async def look() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(await place.run(sys.executable, "-c", STATE))
        return found

    async def rest() -> dict[str, Any]:
        # Its window has the focus there, rightly.
        return {**await beliefs(app), "focus": False}

    await app.look()
    await app.act({"do": "click", "target": "button:Save"})
    await kill_at_random(Victim(app, batch_with_real_devices, pid, look, rest), "sandbox")
