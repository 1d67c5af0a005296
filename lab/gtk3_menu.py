"""A GTK 3 application whose menu bar is exported on the session bus: run by the system's Python, which has PyGObject.

Every action that is carried out is logged as `menu activated NAME`, a state that changes as `NAME state VALUE`.
"""

import os
import sys
from pathlib import Path
from typing import Any

import gi

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
gi.require_version("Gtk", "3.0")

from gi.repository import Gio, GLib, Gtk  # noqa: E402  # the version has to be chosen first

from lab import common  # noqa: E402  # the checkout is found by the path above

# What stands in the menus: a label and an action, or a label and a list of sections.
_MENUS: list[Any] = [
    (
        "_File",
        [
            [("_Save", "win.save"), ("my__file", "win.file"), ("Locked", "win.locked"), ("Nothing", "win.nothing")],
            [
                (
                    "_Export ",
                    [
                        [("As Text…", "win.text"), ("As Picture  ", "win.picture")],
                        [("Deep", [[("Deeper", [[("Deepest", "win.deepest")]])]])],
                    ],
                )
            ],
            [("Ask…", "win.ask"), ("Quit", "app.quit")],
        ],
    ),
    (
        "_View",
        [
            [("Ruler", "win.ruler")],
            [("Small", "win.size::small"), ("Normal", "win.size::normal"), ("Large", "win.size::large")],
            [("Twin", "win.twin"), ("_Twin", "win.other-twin")],
        ],
    ),
]
_PLAIN = ("save", "file", "text", "picture", "deepest", "twin", "other-twin")


def menu(sections: list[Any]) -> Any:
    out = Gio.Menu()
    for section in sections:
        part = Gio.Menu()
        for label, what in section:
            if isinstance(what, str):
                part.append(label, what)
            else:
                part.append_submenu(label, menu(what))
        out.append_section(None, part)
    return out


def fill(window: Any, log: common.EventLog) -> None:
    status = Gtk.Label(label="Status")
    window.add(status)

    def done(action: Any, _parameter: Any) -> None:
        log("menu", "activated", action.get_name())
        status.set_text(f"Done: {action.get_name()}")

    def ask(_action: Any, _parameter: Any) -> None:
        """Answers its call only when the dialog has closed, as applications with gtk_dialog_run do."""
        dialog = Gtk.MessageDialog(transient_for=window, modal=True, text="Sure?", buttons=Gtk.ButtonsType.OK)
        dialog.set_title("Question")
        dialog.connect("map-event", lambda *_: log("dialog", "opened"))
        dialog.run()
        dialog.destroy()
        log("dialog", "closed")

    for name in (*_PLAIN, "locked"):
        action = Gio.SimpleAction(name=name, enabled=name != "locked")
        action.connect("activate", done)
        window.add_action(action)
    action = Gio.SimpleAction(name="ask")
    action.connect("activate", ask)
    window.add_action(action)
    ruler = Gio.SimpleAction.new_stateful("ruler", None, GLib.Variant("b", False))
    size = Gio.SimpleAction.new_stateful("size", GLib.VariantType("s"), GLib.Variant("s", "normal"))
    for action in (ruler, size):
        action.connect("notify::state", lambda it, _: log(it.get_name(), "state", it.get_state().unpack()))
        window.add_action(action)


def main() -> None:
    options = common.options(common.parser(__doc__ or "").parse_args())
    log = common.EventLog(options.log)
    # An id of its own: a second one is another application.
    app = Gtk.Application(application_id=f"org.alongside.lab.p{os.getpid()}")
    pokes = common.PokeFile(options.poke) if options.poke else None

    def activated(_app: Any) -> None:
        bar = Gio.Menu()
        for label, sections in _MENUS:
            bar.append_submenu(label, menu(sections))
        app.set_menubar(bar)
        leave = Gio.SimpleAction(name="quit")
        leave.connect("activate", lambda *_: app.quit())
        app.add_action(leave)
        window = Gtk.ApplicationWindow(application=app, title=options.title, show_menubar=True)
        window.set_default_size(*(options.size or (400, 200)))
        if options.position:
            window.move(*options.position)
        fill(window, log)
        window.connect("map-event", lambda *_: log("window", "ready"))
        window.show_all()
        if pokes is not None:
            GLib.timeout_add(common.POLL_MS, read_pokes, window)

    def read_pokes(window: Any) -> bool:
        for line in pokes.take() if pokes else ():
            word, _, rest = line.partition(" ")
            if word == "title":
                window.set_title(rest)
            log("window", "poked", line)
        return True

    app.connect("activate", activated)
    app.run(None)


if __name__ == "__main__":
    main()
