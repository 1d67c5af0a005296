"""A GTK 3 window with one button: the application of the cold start."""

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gtk  # noqa: E402

window = Gtk.Window(title="Small")
window.add(Gtk.Button(label="Ready"))
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()
