"""A window that writes down the text in it: ``text_window.py gtk3|qt5 OUT``, run by the system's Python.

It takes commands on stdin and says what it did on stdout, one line a command, ``shown`` first.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

COLOUR = (32, 96, 160)


def say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


def gtk(out: Path) -> None:
    import gi  # noqa: PLC0415 - each toolkit has a process of its own

    gi.require_version("Gtk", "3.0")
    gi.require_version("Gdk", "3.0")
    from gi.repository import Gdk, GLib, Gtk  # noqa: PLC0415 - each toolkit has a process of its own

    window = Gtk.Window(title="Text gtk3")
    window.set_default_size(400, 300)
    area = Gtk.TextView()
    band = Gtk.EventBox(name="band")
    band.set_size_request(-1, 100)
    style = Gtk.CssProvider()
    style.load_from_data(f"#band {{ background: rgb{COLOUR}; }}".encode())
    Gtk.StyleContext.add_provider_for_screen(Gdk.Screen.get_default(), style, 600)
    box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
    box.pack_start(area, True, True, 0)
    box.pack_start(band, False, False, 0)
    window.add(box)
    text = area.get_buffer()
    text.connect("changed", lambda _: out.write_text(text.get_text(*text.get_bounds(), True), encoding="utf-8"))
    keys = out.with_suffix(".keys").open("a", buffering=1)
    state = Gdk.ModifierType.CONTROL_MASK | Gdk.ModifierType.SHIFT_MASK | Gdk.ModifierType.MOD1_MASK
    window.connect(
        "key-press-event", lambda _, e: keys.write(f"{Gdk.keyval_name(e.keyval)} {int(e.state & state)}\n") and False
    )
    pointer = out.with_suffix(".pointer").open("a", buffering=1)
    band.add_events(
        Gdk.EventMask.BUTTON_PRESS_MASK | Gdk.EventMask.BUTTON_RELEASE_MASK | Gdk.EventMask.BUTTON_MOTION_MASK
    )
    band.add_events(Gdk.EventMask.SCROLL_MASK)
    for name in ("button-press-event", "button-release-event", "motion-notify-event", "scroll-event"):
        band.connect(name, lambda _, e: pointer.write(f"{e.type.value_nick} {e.x:.0f},{e.y:.0f}\n") and False)
    menu = Gtk.Menu()
    menu.append(Gtk.MenuItem(label="An item"))
    menu.show_all()
    dialog = Gtk.Dialog(title="A dialog", transient_for=window, modal=True)
    dialog.set_default_size(200, 100)

    def command(_source: Any, _condition: Any) -> bool:
        line = sys.stdin.readline()
        word, _, rest = line.strip().partition(" ")
        match word:
            case "":
                Gtk.main_quit()
                return False
            case "title":
                window.set_title(rest)
            case "move":
                window.move(*map(int, rest.split()))
            case "resize":
                window.resize(*map(int, rest.split()))
            case "minimise":
                window.iconify()
            case "menu":
                menu.popup_at_widget(area, Gdk.Gravity.CENTER, Gdk.Gravity.NORTH_WEST, None)
            case "dialog":
                dialog.show_all()
            case "undialog":
                dialog.hide()
            case "clear":
                text.set_text("")
            case "stall":
                say("stall")
                time.sleep(float(rest))
                return True
        say(word)
        return True

    GLib.io_add_watch(sys.stdin, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, command)

    def mapped(*_: Any) -> None:
        window.disconnect_by_func(mapped)  # it is mapped again when it is restored
        say("shown")

    window.connect("map-event", mapped)
    window.show_all()
    Gtk.main()


def qt(out: Path) -> None:
    from PyQt5 import QtWidgets  # noqa: PLC0415 - each toolkit has a process of its own

    app = QtWidgets.QApplication(sys.argv)
    area = QtWidgets.QPlainTextEdit()
    area.setWindowTitle("Text qt5")
    area.resize(400, 300)
    area.textChanged.connect(lambda: out.write_text(area.toPlainText(), encoding="utf-8"))
    area.show()
    say("shown")
    app.exec_()


if __name__ == "__main__":
    os.environ.setdefault("NO_AT_BRIDGE", "1")
    {"gtk3": gtk, "qt5": qt}[sys.argv[1]](Path(sys.argv[2]))
