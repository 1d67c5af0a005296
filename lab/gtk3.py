"""A GTK 3 window that logs every event it gets: run by the system's Python, which has PyGObject."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import gi

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
gi.require_versions({"Gdk": "3.0", "Gtk": "3.0"})

from gi.repository import Gdk, Gtk  # noqa: E402  # the version has to be chosen first

from lab import common, gtk3_hostile  # noqa: E402  # the checkout is found by the path above
from lab.gtk3_page import Page  # noqa: E402

TEXT_TARGETS = [Gtk.TargetEntry.new("text/plain", 0, 0)]


def menu(page: Page, path: str, entries: Iterable[Any]) -> Any:
    """A menu: a text is a plain entry, `*text` a checked one, a pair a name and what is under it."""
    out = Gtk.Menu()
    for entry in entries:
        if not isinstance(entry, str):
            out.append(submenu(page, path, *entry))
        elif entry.startswith("*"):
            item = Gtk.CheckMenuItem(label=entry[1:])
            item.connect("toggled", lambda it: page.log(it.get_label().lower(), "toggled", it.get_active()))
            out.append(item)
        else:
            item = Gtk.MenuItem(label=entry)
            item.connect("activate", lambda it: page.log("menu", "activated", path + it.get_label()))
            out.append(item)
    return out


def submenu(page: Page, path: str, name: str, entries: Iterable[Any]) -> Any:
    item = Gtk.MenuItem(label=name)
    item.set_submenu(menu(page, f"{path}{name}/", entries))
    return item


def people(page: Page) -> Any:
    box = Gtk.ListBox(selection_mode=Gtk.SelectionMode.NONE)
    box.get_accessible().set_name("People")
    for person in common.PEOPLE:
        line = Gtk.Box(spacing=4)
        line.pack_start(Gtk.Label(label=person), True, True, 0)
        line.pack_start(page.button("Delete", value=person), False, False, 0)
        row = Gtk.ListBoxRow()
        row.get_accessible().set_name(person)
        row.add(line)
        box.add(row)
    return box


def radios(page: Page) -> list[Any]:
    first = Gtk.RadioButton(label=common.SIZES[0])
    rest = [Gtk.RadioButton(label=size, group=first) for size in common.SIZES[1:]]

    def toggled(radio: Any) -> None:
        if radio.get_active():
            page.log("size", "selected", radio.get_label())

    for radio in (first, *rest):
        radio.connect("toggled", toggled)
    return [first, *rest]


def save_button(page: Page) -> tuple[Any, Any]:
    status = Gtk.Label(label="Status", xalign=0)
    save = page.button("Save")
    saved = [0]

    def on_save(_button: Any) -> None:
        saved[0] += 1
        status.set_text(f"Saved {saved[0]}")

    save.connect("clicked", on_save)
    return save, status


def fields(page: Page) -> list[Any]:
    notes = Gtk.TextView(accepts_tab=False)
    notes.get_buffer().connect("changed", lambda it: page.log("notes", "text", it.get_property("text")))
    password = page.entry("Password")
    password.set_visibility(False)
    colour = Gtk.ComboBoxText()
    for name in common.COLOURS:
        colour.append_text(name)
    colour.connect("changed", lambda it: page.log("colour", "selected", it.get_active_text()))
    amount = Gtk.SpinButton.new_with_range(0, 100, 1)
    amount.connect("value-changed", lambda it: page.log("amount", "value", it.get_value()))
    volume = Gtk.Scale.new_with_range(Gtk.Orientation.HORIZONTAL, 0, 100, 1)
    volume.connect("value-changed", lambda it: page.log("volume", "value", it.get_value()))
    return [
        page.labelled("Name", page.entry("Name")),
        page.labelled("City", page.entry("City", "Paris")),
        page.labelled("Notes", page.scrolled(notes, "notes", 60), notes),
        page.labelled("Password", password),
        page.labelled("Colour", colour),
        page.labelled("Amount", amount),
        page.labelled("Volume", volume),
    ]


def collections(page: Page) -> list[Any]:
    fruits = Gtk.ListStore(str)
    for fruit in common.FRUITS:
        fruits.append([fruit])
    places = Gtk.TreeStore(str)
    for continent, countries in common.PLACES.items():
        top = places.append(None, [continent])
        for country, cities in countries.items():
            middle = places.append(top, [country])
            for city in cities:
                places.append(middle, [city])
    return [
        page.scrolled(page.rows_view("Fruits", fruits, ["Fruits"]), "fruits", 180),
        page.scrolled(page.rows_view("Places", places, ["Places"]), "places", 140),
    ]


def tabs(page: Page) -> Any:
    book = Gtk.Notebook()
    book.append_page(Gtk.Label(label="First page"), Gtk.Label(label="One"))
    book.append_page(page.button("Inner"), Gtk.Label(label="Two"))

    def switched(_book: Any, _child: Any, number: int) -> None:
        if book.get_realized():  # the first page is "switched to" while the window is built
            page.log("tabs", "selected", ("One", "Two")[number])

    book.connect("switch-page", switched)
    return book


def area(name: str) -> Any:
    box = Gtk.EventBox()
    box.get_accessible().set_name(name)
    box.add(Gtk.Label(label=name, margin=6))
    return box


def pointer_areas(page: Page) -> list[Any]:
    token, basket, hover, double = area("Token"), area("Basket"), area("Hover me"), area("Double")
    token.drag_source_set(Gdk.ModifierType.BUTTON1_MASK, TEXT_TARGETS, Gdk.DragAction.COPY)
    token.connect("drag-data-get", lambda _, __, data, *___: data.set(data.get_target(), 8, b"Token"))
    token.connect("drag-end", lambda *_: page.down.clear())  # GTK keeps the release for itself
    basket.drag_dest_set(Gtk.DestDefaults.ALL, TEXT_TARGETS, Gdk.DragAction.COPY)

    def received(_widget: Any, _context: Any, _x: int, _y: int, data: Any, *_rest: Any) -> None:
        page.log("basket", "dropped", data.get_data().decode())

    basket.connect("drag-data-received", received)
    hover.connect("enter-notify-event", lambda *_: page.log("hover", "entered"))

    def pressed(_widget: Any, event: Any) -> None:
        if event.type == Gdk.EventType.DOUBLE_BUTTON_PRESS:
            page.log("double", "double_clicked")

    double.connect("button-press-event", pressed)
    options = page.button("Options")
    context = menu(page, "Options/", ["Rename", "Remove"])
    context.show_all()  # not attached to the button: GTK 3 hides an attached menu from the accessibility bus

    def right_clicked(_widget: Any, event: Any) -> bool:
        if event.type == Gdk.EventType.BUTTON_PRESS and event.button == Gdk.BUTTON_SECONDARY:
            page.log("options", "context_menu")
            context.popup_at_pointer(event)
            return True
        return False

    options.connect("button-press-event", right_clicked)
    return [token, basket, hover, double, options]


def build_normal(page: Page) -> None:
    bar = Gtk.MenuBar()
    bar.append(submenu(page, "", "File", ["Save", ("Export", ["As Text...", "As Picture"])]))
    bar.append(submenu(page, "", "View", ["*Zoom"]))
    page.content.pack_start(bar, False, False, 0)
    locked = page.button("Locked")
    locked.set_sensitive(False)
    link = Gtk.LinkButton(uri="help:contents", label="Help")

    def followed(_link: Any) -> bool:
        page.log("help", "activated")
        return True  # else GTK looks for a program that opens it

    link.connect("activate-link", followed)
    save, status = save_button(page)
    if page.tells:
        page.log.tell = status.set_text
    page.column(save, status, page.button("Quiet"), locked, page.check("Subscribe"), *radios(page), link, people(page))
    page.column(*fields(page))
    page.column(*collections(page))
    prices = Gtk.ListStore(str, str, str)
    for price in common.PRICES:
        prices.append(price)
    page.column(tabs(page), page.rows_view("Prices", prices, common.PRICE_COLUMNS), *pointer_areas(page))


def build_big(page: Page, rows: int) -> None:
    grid = Gtk.Grid()
    for index in range(rows):
        kind, name = common.big_kind(index)
        if kind == "button":
            widget = page.button(name)
        elif kind == "check":
            widget = page.check(name)
        elif kind == "entry":
            widget = page.entry(name)
            widget.get_accessible().set_name(name)
        else:
            widget = Gtk.Label(label=name)
        grid.attach(widget, index % 8, index // 8, 1, 1)
    page.column(page.scrolled(grid, "grid", 400))


def main() -> None:
    options = common.options(common.parser(__doc__ or "").parse_args())
    page = Page(options, common.EventLog(options.log))
    if options.set == "normal":
        build_normal(page)
    elif options.set == "big":
        build_big(page, options.rows)
    else:
        gtk3_hostile.build(page)
    page.window.show_all()
    Gtk.main()


if __name__ == "__main__":
    main()
