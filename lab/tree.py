"""Prints an application's accessibility tree as libatspi reads it, as JSON: [name or label, role, place] of each."""

import json
import sys
from typing import Any

import gi

gi.require_version("Atspi", "2.0")

from gi.repository import Atspi, GLib  # noqa: E402  # the version has to be chosen first

MOST_CHILDREN = 30  # of the long list only what is in front


def described(node: Any) -> tuple[str, str, tuple[int, int, int, int]]:
    name = node.get_name()
    labels = [it for it in node.get_relation_set() if it.get_relation_type() == Atspi.RelationType.LABELLED_BY]
    if not name and labels:
        name = labels[0].get_target(0).get_name()
    place = node.get_extents(Atspi.CoordType.SCREEN) if "Component" in node.get_interfaces() else Atspi.Rect()
    return name, node.get_role_name(), (place.x, place.y, place.width, place.height)


def walk(node: Any, out: list[Any]) -> None:
    try:
        out.append(described(node))
        for index in range(min(node.get_child_count(), MOST_CHILDREN)):
            child = node.get_child_at_index(index)
            if child:
                walk(child, out)
    except GLib.Error:
        return  # it vanished meanwhile


def main() -> None:
    out: list[Any] = []
    desktop = Atspi.get_desktop(0)
    for index in range(desktop.get_child_count()):
        application = desktop.get_child_at_index(index)
        if application and application.get_name() == sys.argv[1]:
            walk(application, out)
    sys.stdout.write(json.dumps(out))


if __name__ == "__main__":
    main()
