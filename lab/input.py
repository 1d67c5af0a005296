"""A GTK 3 window that logs every press, release and motion it gets, and how long its text is.

`--program NAME` is what it calls itself: its window's class, as GTK derives it.
"""

import sys
from pathlib import Path

import gi

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
gi.require_version("Gtk", "3.0")
gi.require_version("Gdk", "3.0")

from gi.repository import Gdk, GLib, Gtk  # noqa: E402  # the version has to be chosen first

from lab import common, gtk3_page  # noqa: E402  # the checkout is found by the path above


def main() -> None:
    parser = common.parser(__doc__ or "")
    parser.add_argument("--program", default="input")
    arguments = parser.parse_args()
    GLib.set_prgname(arguments.program)
    Gdk.set_program_class(arguments.program)
    options = common.options(arguments)
    log = common.EventLog(options.log)
    page = gtk3_page.Page(options, log)
    text = Gtk.TextView(wrap_mode=Gtk.WrapMode.CHAR)
    text.get_accessible().set_name("Text")
    text.get_buffer().connect("changed", lambda it: log("text", "length", it.get_char_count()))
    area = Gtk.EventBox()
    area.get_accessible().set_name("Area")
    area.set_size_request(900, 200)
    area.add_events(
        Gdk.EventMask.BUTTON_PRESS_MASK | Gdk.EventMask.BUTTON_RELEASE_MASK | Gdk.EventMask.BUTTON_MOTION_MASK
    )
    for name in ("button-press-event", "button-release-event", "motion-notify-event"):
        area.connect(name, lambda _, event: log("area", event.type.value_nick, round(event.x)))
    page.window.connect("key-press-event", lambda _, event: log("key", "press", Gdk.keyval_name(event.keyval)))
    page.window.connect("key-release-event", lambda _, event: log("key", "release", Gdk.keyval_name(event.keyval)))
    page.column(area, page.scrolled(text, "text", 200), page.button("Save"))
    page.window.show_all()
    Gtk.main()


if __name__ == "__main__":
    main()
