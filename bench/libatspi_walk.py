"""A plain walk with libatspi, as most programs do it; run by the system's Python, which has its bindings."""

from __future__ import annotations

import json
import sys
import time
import warnings

import gi

warnings.simplefilter("ignore")
gi.require_version("Atspi", "2.0")
from gi.repository import Atspi  # noqa: E402


def walk(node: Atspi.Accessible) -> int:
    node.get_name()
    node.get_role()
    node.get_state_set().get_states()
    interfaces = node.get_interfaces()
    if "Component" in interfaces:
        node.get_component_iface().get_extents(Atspi.CoordType.SCREEN)
    if "Value" in interfaces:
        node.get_value_iface().get_current_value()
    if "Text" in interfaces:
        Atspi.Text.get_text(node, 0, -1)
    return 1 + sum(walk(node.get_child_at_index(index)) for index in range(node.get_child_count()))


def main() -> None:
    name, runs = sys.argv[1], int(sys.argv[2])
    desktop = Atspi.get_desktop(0)
    applications = [desktop.get_child_at_index(index) for index in range(desktop.get_child_count())]
    application = next(one for one in applications if one.get_name() == name)
    times = []
    count = 0
    for _ in range(runs):
        started = time.perf_counter()
        count = walk(application)
        times.append((time.perf_counter() - started) * 1000)
    print(json.dumps([count, times]))


main()
