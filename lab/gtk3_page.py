"""The GTK 3 window of the lab: its log, its pokes, and the labelled widgets both sets are built of."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import gi

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
gi.require_versions({"Gdk": "3.0", "Gtk": "3.0"})

from gi.repository import Gdk, GLib, Gtk  # noqa: E402  # the version has to be chosen first

from lab import common  # noqa: E402  # the checkout is found by the path above


class Page:
    """One window, its log, and the rows of labelled widgets that both sets are built of."""

    def __init__(self, options: common.Options, log: common.EventLog) -> None:
        self.log = log
        self.tells = options.tell
        self.window = Gtk.Window(title=options.title)
        if options.size:
            self.window.set_default_size(*options.size)
        if options.position:
            self.window.move(*options.position)
        self.content = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        self.columns = Gtk.Box(spacing=8, border_width=4)
        self.content.pack_end(self.columns, True, True, 0)
        self.window.add(self.content)
        self.down: set[int] = set()  # the buttons that it was told are down
        Gdk.event_handler_set(self._event)
        self.pokes: dict[str, Callable[[str], None]] = {
            "believes": lambda _: self._tell_beliefs(),
            "close": lambda _: self._close(),
            "dialog": lambda _: self.open_dialog(),
            "title": self.window.set_title,
        }
        self.window.connect("map-event", lambda *_: log("window", "ready"))
        self.window.connect("key-press-event", self._key)
        self.window.connect("delete-event", lambda *_: log("window", "closed"))
        self.window.connect("destroy", lambda _: Gtk.main_quit())
        if options.poke:
            GLib.timeout_add(common.POLL_MS, self._read_pokes, common.PokeFile(options.poke))

    def _event(self, event: Any) -> None:
        if event.type == Gdk.EventType.BUTTON_PRESS:
            self.down.add(event.button.button)
        elif event.type == Gdk.EventType.BUTTON_RELEASE:
            self.down.discard(event.button.button)
        Gtk.main_do_event(event)

    def _tell_beliefs(self) -> None:
        """Whether it believes to have the focus, and how many buttons it believes to be down."""
        focus = any(window.has_toplevel_focus() for window in Gtk.Window.list_toplevels())
        self.log("window", "believes", {"focus": focus, "buttons": len(self.down)})

    def _key(self, _window: Any, event: Any) -> bool:
        if event.keyval == Gdk.KEY_F5:
            self.log("window", "key", "F5")
        if event.keyval in (Gdk.KEY_s, Gdk.KEY_S) and event.state & Gdk.ModifierType.CONTROL_MASK:
            self.log("window", "key", "ctrl+s")
        return False

    def _close(self) -> None:
        self.log("window", "closed")
        self.window.destroy()  # close() does nothing while a modal dialog is open

    def _read_pokes(self, file: common.PokeFile) -> bool:
        for line in file.take():
            word, _, rest = line.partition(" ")
            self.pokes[word](rest)
            self.log("window", "poked", line)
        return True

    def column(self, *widgets: Any) -> None:
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=4)
        for widget in widgets:
            grows = isinstance(widget, Gtk.ScrolledWindow)
            box.pack_start(widget, grows, grows, 0)
        self.columns.pack_start(box, True, True, 0)

    def button(self, name: str, key: str = "", value: object = None) -> Any:
        button = Gtk.Button(label=name)
        button.connect("clicked", lambda _: self.log(key or name.lower(), "clicked", value))
        return button

    def check(self, name: str) -> Any:
        check = Gtk.CheckButton(label=name)
        check.connect("toggled", lambda it: self.log(name.lower(), "toggled", it.get_active()))
        return check

    def entry(self, name: str, text: str = "") -> Any:
        entry = Gtk.Entry(text=text, width_chars=16)
        entry.connect("changed", lambda it: self.log(name.lower(), "text", it.get_text()))
        entry.connect("activate", lambda it: self.log(name.lower(), "activated", it.get_text()))
        return entry

    def labelled(self, name: str, field: Any, focus: Any = None) -> Any:
        """The field beside its label; `focus` is the widget the label names, where that is an inner one."""
        box = Gtk.Box(spacing=4)
        box.pack_start(Gtk.Label(label=name, mnemonic_widget=focus or field, xalign=0, width_chars=9), False, False, 0)
        box.pack_start(field, True, True, 0)
        return box

    def rows_view(self, name: str, store: Any, titles: Iterable[str]) -> Any:
        """A view of the rows of a store; what is selected, activated, expanded is logged by its first column."""
        key = name.lower()
        view = Gtk.TreeView(model=store)
        view.get_accessible().set_name(name)
        for index, title in enumerate(titles):
            view.append_column(Gtk.TreeViewColumn(title, Gtk.CellRendererText(), text=index))

        def selected(selection: Any) -> None:
            model, row = selection.get_selected()
            self.log(key, "selected", model[row][0] if row else None)

        view.get_selection().connect("changed", selected)
        view.connect("row-activated", lambda _, path, __: self.log(key, "activated", store[path][0]))
        view.connect("row-expanded", lambda _, row, __: self.log(key, "expanded", store[row][0]))
        view.connect("row-collapsed", lambda _, row, __: self.log(key, "collapsed", store[row][0]))
        return view

    def scrolled(self, child: Any, key: str, height: int) -> Any:
        area = Gtk.ScrolledWindow(min_content_height=height, overlay_scrolling=False)
        area.get_vadjustment().connect("value-changed", lambda it: self.log(key, "scrolled", round(it.get_value())))
        area.add(child)
        return area

    def open_dialog(self) -> None:
        dialog = Gtk.Dialog(title="Reason", transient_for=self.window, modal=True)
        dialog.add_buttons("Cancel", Gtk.ResponseType.CANCEL, "OK", Gtk.ResponseType.OK)
        dialog.get_content_area().add(self.labelled("Reason", self.entry("Reason")))

        def answered(_dialog: Any, response: int) -> None:
            self.log("dialog", "closed", "OK" if response == Gtk.ResponseType.OK else "Cancel")
            dialog.destroy()

        dialog.connect("response", answered)
        dialog.connect("map-event", lambda *_: self.log("dialog", "opened"))
        dialog.show_all()
