"""Buttons that open something, in GTK 3: a menu, and a popover. Each opening takes a grab of the person's keyboard."""

import sys
from pathlib import Path

import gi

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
gi.require_version("Gtk", "3.0")

from gi.repository import Gtk  # noqa: E402  # the version has to be chosen first

from lab import common  # noqa: E402  # the checkout is found by the path above


def main() -> None:
    options = common.options(common.parser("Buttons that open something").parse_args())
    log = common.EventLog(options.log)
    window = Gtk.Window(title=options.title)
    if options.position:
        window.move(*options.position)
    box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
    window.add(box)

    menu = Gtk.Menu()
    menu.append(Gtk.MenuItem(label="One"))
    menu.show_all()
    popover = Gtk.Popover()
    popover.add(Gtk.Label(label="Two", visible=True))
    for name, opens in (("Menu", {"popup": menu}), ("Popover", {"popover": popover})):
        button = Gtk.MenuButton(label=name, **opens)
        button.connect("toggled", lambda one: log(one.get_label().lower(), "toggled", one.get_active()))
        box.add(button)
    window.connect("destroy", Gtk.main_quit)
    window.connect("map-event", lambda *_: log("window", "ready"))
    window.show_all()
    Gtk.main()


if __name__ == "__main__":
    main()
