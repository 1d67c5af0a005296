"""The hostile set in GTK 3: widgets that mislead whoever acts on them."""

# mypy: no-disallow-subclassing-any
# ^ an accessible object with actions of its own has to be a subclass, and PyGObject has no types.

import ctypes
from typing import Any

import gi

gi.require_versions({"Atk": "1.0", "Gtk": "3.0"})

from gi.repository import Atk, GLib, Gtk  # noqa: E402  # the version has to be chosen first

from lab import common  # noqa: E402  # after the versions
from lab.gtk3_page import Page  # noqa: E402

ACTIONS = (ctypes.create_string_buffer(b"destroy"), ctypes.create_string_buffer(b"click"))
DESTROY = 0
ACTION_NAME = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
GET_NAME = ACTION_NAME(lambda _accessible, index: ctypes.addressof(ACTIONS[index]))


class DestroyFirstAccessible(Gtk.ButtonAccessible, Atk.Action):
    """A button's accessible whose action 0 removes the button; `click` is action 1."""

    __gtype_name__ = "LabDestroyFirstAccessible"

    def do_get_n_actions(self) -> int:
        return len(ACTIONS)

    def do_do_action(self, index: int) -> bool:
        button = self.get_widget()
        GLib.idle_add(button.remove_itself if index == DESTROY else button.clicked)
        return True


def name_actions() -> None:
    """Write get_name of Atk.Action into the class by hand: PyGObject refuses it, as Atk.Object has one too."""

    class ActionInterface(ctypes.Structure):
        _fields_ = [(name, ctypes.c_void_p) for name in ("type", "instance", "do_action", "get_n", "description")] + [
            ("get_name", ACTION_NAME)
        ]

    gobject, atk = ctypes.CDLL("libgobject-2.0.so.0"), ctypes.CDLL("libatk-1.0.so.0")
    for function in (gobject.g_type_class_ref, gobject.g_type_interface_peek):
        function.restype = ctypes.c_void_p
    atk.atk_action_get_type.restype = ctypes.c_size_t
    kind = gobject.g_type_class_ref(ctypes.c_size_t(hash(DestroyFirstAccessible.__gtype__)))
    interface = gobject.g_type_interface_peek(ctypes.c_void_p(kind), ctypes.c_size_t(atk.atk_action_get_type()))
    ActionInterface.from_address(interface).get_name = GET_NAME


class DestroyFirst(Gtk.Button):
    __gtype_name__ = "LabDestroyFirst"

    def __init__(self, page: Page) -> None:
        super().__init__(label="Fragile")
        self._page = page
        self.connect("clicked", lambda _: page.log("fragile", "clicked"))

    def remove_itself(self) -> None:
        self._page.log("fragile", "destroyed")
        self.destroy()


name_actions()
DestroyFirst.set_accessible_type(DestroyFirstAccessible)


def restless() -> list[Any]:
    """A clock, a spinner and a bar that change without anybody's doing."""
    clock, spinner, bar = Gtk.Label(label="0 s"), Gtk.Spinner(), Gtk.ProgressBar()
    spinner.start()
    seconds = [0]

    def tick() -> bool:
        seconds[0] += 1
        clock.set_text(f"{seconds[0]} s")
        return True

    def advance() -> bool:
        bar.set_fraction((bar.get_fraction() + 0.02) % 1)
        return True

    GLib.timeout_add(1000, tick)
    GLib.timeout_add(100, advance)
    return [clock, spinner, bar]


def stubborn(page: Page) -> Any:
    check = page.check("Stubborn")

    def revert() -> bool:
        check.set_active(False)
        return False

    check.connect("toggled", lambda it: it.get_active() and GLib.timeout_add(common.STUBBORN_MS, revert))
    return check


def twin(page: Page) -> Any:
    """A button that a poke destroys and replaces; the value of a click says which of them got it."""
    box = Gtk.Box()
    generation = [0]

    def replace(_rest: str = "") -> None:
        for child in box.get_children():
            child.destroy()
        generation[0] += 1
        box.add(page.button("Twin", value=generation[0]))
        box.show_all()

    replace()
    page.pokes["twin"] = replace
    return box


def renamed(page: Page) -> Any:
    button = page.button("Before")
    page.pokes["rename"] = lambda _: button.set_label("After")
    return button


def sorted_rows(page: Page) -> Any:
    store = Gtk.ListStore(str)
    for name in common.SORTED:
        store.append([name])
    page.pokes["sort"] = lambda _: store.reorder(list(reversed(range(len(common.SORTED)))))
    return page.scrolled(page.rows_view("Sorted", store, ["Sorted"]), "sorted", 160)


def slow(page: Page) -> list[Any]:
    status, button = Gtk.Label(label="Slow status"), page.button("Slow")

    def finish() -> bool:
        status.set_text("Done")
        page.log("slow", "done")
        return False

    button.connect("clicked", lambda _: GLib.timeout_add(common.SLOW_MS, finish))
    return [button, status]


def replace_text(entry: Any, text: str) -> None:
    entry.set_text(text)
    entry.set_position(-1)  # who types goes on at the end


def picky(page: Page) -> Any:
    """Goes back to the last good text; judged when idle, as setting a text is a removal and an insertion."""
    entry = page.entry("Picky")
    good = [""]

    def judge() -> bool:
        if common.is_number_text(entry.get_text()):
            good[0] = entry.get_text()
        else:
            replace_text(entry, good[0])
        return False

    entry.connect("changed", lambda _: GLib.idle_add(judge))
    return page.labelled("Picky", entry)


def shout(page: Page) -> Any:
    entry = page.entry("Shout")

    def raise_voice(_entry: Any) -> None:
        if entry.get_text() != entry.get_text().upper():
            GLib.idle_add(lambda: replace_text(entry, entry.get_text().upper()))

    entry.connect("changed", raise_voice)
    return page.labelled("Shout", entry)


def build(page: Page) -> None:
    short = page.entry("Short")
    short.set_max_length(5)
    leave = page.button("Quit")
    leave.connect("clicked", lambda _: page.window.destroy())
    modal = page.button("Modal")
    modal.connect("clicked", lambda _: page.open_dialog())
    page.column(page.button("Nothing"), *restless(), stubborn(page), twin(page), renamed(page), DestroyFirst(page))
    page.column(modal, leave, *slow(page), picky(page), shout(page), page.labelled("Short", short))
    page.column(sorted_rows(page), Gtk.Label(label=common.FORGED))
