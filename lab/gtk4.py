"""A small GTK 4 window that logs every event it gets: run by the system's Python, which has PyGObject."""

import sys
from pathlib import Path
from typing import Any

import gi

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
gi.require_version("Gtk", "4.0")

from gi.repository import GLib, Gtk  # noqa: E402  # the version has to be chosen first

from lab import common  # noqa: E402  # the checkout is found by the path above


def labelled(name: str, field: Any) -> Any:
    box = Gtk.Box(spacing=4)
    box.append(Gtk.Label(label=name, mnemonic_widget=field, width_chars=9, xalign=0))
    box.append(field)
    return box


def save_button(log: common.EventLog) -> list[Any]:
    button, status, saved = Gtk.Button(label="Save"), Gtk.Label(label="Status"), [0]

    def on_save(_button: Any) -> None:
        saved[0] += 1
        status.set_text(f"Saved {saved[0]}")
        log("save", "clicked")

    button.connect("clicked", on_save)
    return [button, status]


def list_of_fruits(log: common.EventLog) -> Any:
    rows = Gtk.ListBox()
    rows.update_property([Gtk.AccessibleProperty.LABEL], ["Fruits"])
    for fruit in common.FRUITS:
        rows.append(Gtk.Label(label=fruit, xalign=0))
    rows.connect("row-selected", lambda _, row: log("fruits", "selected", row.get_child().get_label() if row else None))
    area = Gtk.ScrolledWindow(min_content_height=160, child=rows)
    area.get_vadjustment().connect("value-changed", lambda it: log("fruits", "scrolled", round(it.get_value())))
    return area


def build(log: common.EventLog) -> Any:
    box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=4)
    subscribe = Gtk.CheckButton(label="Subscribe")
    subscribe.connect("toggled", lambda it: log("subscribe", "toggled", it.get_active()))
    entry = Gtk.Entry()
    entry.connect("changed", lambda it: log("name", "text", it.get_text()))
    colour = Gtk.ComboBoxText()
    for name in common.COLOURS:
        colour.append_text(name)
    colour.connect("changed", lambda it: log("colour", "selected", it.get_active_text()))
    widgets = [*save_button(log), subscribe, labelled("Name", entry), labelled("Colour", colour), list_of_fruits(log)]
    for widget in widgets:
        box.append(widget)
    return box


def read_pokes(window: Any, log: common.EventLog, file: common.PokeFile) -> bool:
    for line in file.take():
        word, _, rest = line.partition(" ")
        {"close": lambda _: window.close(), "title": window.set_title}[word](rest)
        log("window", "poked", line)
    return True


def main() -> None:
    options = common.options(common.parser(__doc__ or "").parse_args())
    log = common.EventLog(options.log)
    GLib.set_prgname("gtk4.py")  # else the accessibility bus calls it "Unnamed"
    Gtk.init()
    loop = GLib.MainLoop()
    window = Gtk.Window(title=options.title, child=build(log))
    if options.size:
        window.set_default_size(*options.size)
    window.connect("map", lambda _: log("window", "ready"))

    def closed(_window: Any) -> None:
        log("window", "closed")
        loop.quit()

    window.connect("close-request", closed)
    if options.poke:
        GLib.timeout_add(common.POLL_MS, read_pokes, window, log, common.PokeFile(options.poke))
    window.present()
    loop.run()


if __name__ == "__main__":
    main()
