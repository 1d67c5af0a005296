"""A Qt window (PyQt5 or PyQt6) that logs every event it gets: run by the system's Python."""

import importlib
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lab import common, qt_hostile, qt_normal  # the checkout is found by the path above


class Page:
    """One window, its log, and the rows of labelled widgets that both sets are built of."""

    def __init__(self, binding: str, options: common.Options, log: common.EventLog, *, nograb: bool = False) -> None:
        self.core = importlib.import_module(f"{binding}.QtCore")
        self.gui = importlib.import_module(f"{binding}.QtGui")
        self.widgets = importlib.import_module(f"{binding}.QtWidgets")
        self.application = self.widgets.QApplication(sys.argv[:1] + ["-nograb"] * nograb)
        self.log = log
        self.tells = options.tell
        self.window = self.widgets.QMainWindow()
        self.window.setWindowTitle(options.title)
        if options.size:
            self.window.resize(*options.size)
        if options.position:
            self.window.move(*options.position)
        central = self.widgets.QWidget()
        self.columns = self.widgets.QHBoxLayout(central)
        self.window.setCentralWidget(central)
        self.pokes: dict[str, Callable[[str], object]] = {
            "believes": lambda _: self._tell_beliefs(),
            "close": lambda _: self.window.close(),
            "dialog": lambda _: self.open_dialog(),
            "title": self.window.setWindowTitle,
        }
        # An instance attribute overrides a virtual method in PyQt; so no class depends on the binding.
        self.window.showEvent = self._shown
        self.window.closeEvent = self._closed
        for keys in ("F5", "Ctrl+S"):
            shortcut = self.shortcut_class()(self.gui.QKeySequence(keys), self.window)
            shortcut.activated.connect(partial(self.log, "window", "key", "ctrl+s" if keys == "Ctrl+S" else keys))
        if options.poke:
            self.every(common.POLL_MS, partial(self._read_pokes, common.PokeFile(options.poke)))

    def shortcut_class(self) -> Any:
        return getattr(self.gui, "QShortcut", None) or self.widgets.QShortcut  # Qt 6 moved it

    def action_class(self) -> Any:
        return getattr(self.gui, "QAction", None) or self.widgets.QAction  # Qt 6 moved it

    def _shown(self, _event: Any) -> None:
        self.later(0, self._tell_when_exposed)

    def _tell_when_exposed(self) -> None:
        if self.window.windowHandle().isExposed():
            self.log("window", "ready")
        else:
            self.later(common.POLL_MS, self._tell_when_exposed)

    def _closed(self, event: Any) -> None:
        self.log("window", "closed")
        event.accept()

    def _tell_beliefs(self) -> None:
        """Whether it believes to have the focus, and how many buttons it believes to be down."""
        down = self.application.mouseButtons()
        buttons = (down.value if hasattr(down, "value") else int(down)).bit_count()  # Qt 6 has enums
        self.log("window", "believes", {"focus": self.application.activeWindow() is not None, "buttons": buttons})

    def _read_pokes(self, file: common.PokeFile) -> None:
        for line in file.take():
            word, _, rest = line.partition(" ")
            self.pokes[word](rest)
            self.log("window", "poked", line)

    def every(self, milliseconds: int, call: Callable[[], object]) -> None:
        timer = self.core.QTimer(self.window)
        timer.timeout.connect(call)
        timer.start(milliseconds)

    def later(self, milliseconds: int, call: Callable[[], object]) -> None:
        self.core.QTimer.singleShot(milliseconds, call)

    def column(self, *widgets: Any) -> None:
        layout = self.widgets.QVBoxLayout()
        for widget in widgets:
            layout.addWidget(widget)
        layout.addStretch()
        self.columns.addLayout(layout)

    def button(self, name: str, value: object = None) -> Any:
        button = self.widgets.QPushButton(name)
        button.clicked.connect(lambda: self.log(name.lower(), "clicked", value))
        return button

    def check(self, name: str) -> Any:
        check = self.widgets.QCheckBox(name)
        check.toggled.connect(lambda on: self.log(name.lower(), "toggled", on))
        return check

    def entry(self, name: str, text: str = "") -> Any:
        entry = self.widgets.QLineEdit(text)
        entry.textChanged.connect(lambda value: self.log(name.lower(), "text", value))
        entry.returnPressed.connect(lambda: self.log(name.lower(), "activated", entry.text()))
        return entry

    def labelled(self, name: str, field: Any) -> Any:
        row = self.widgets.QWidget()
        layout = self.widgets.QHBoxLayout(row)
        layout.setContentsMargins(0, 0, 0, 0)
        label = self.widgets.QLabel(name)
        label.setFixedWidth(70)
        label.setBuddy(field)
        layout.addWidget(label)
        layout.addWidget(field)
        return row

    def list_view(self, name: str, rows: Iterable[str]) -> Any:
        key, view = name.lower(), self.widgets.QListWidget()
        view.setAccessibleName(name)
        view.addItems(list(rows))
        view.itemSelectionChanged.connect(
            lambda: self.log(key, "selected", next((item.text() for item in view.selectedItems()), None))
        )
        view.itemActivated.connect(lambda item: self.log(key, "activated", item.text()))
        view.verticalScrollBar().valueChanged.connect(lambda value: self.log(key, "scrolled", value))
        return view

    def open_dialog(self) -> None:
        dialog = self.widgets.QDialog(self.window)
        dialog.setWindowTitle("Reason")
        dialog.setModal(True)
        kinds = self.widgets.QDialogButtonBox.StandardButton
        buttons = self.widgets.QDialogButtonBox(kinds.Ok | kinds.Cancel)
        for kind, name in ((kinds.Ok, "OK"), (kinds.Cancel, "Cancel")):
            buttons.button(kind).setText(name)  # without the mnemonic
        buttons.accepted.connect(dialog.accept)
        buttons.rejected.connect(dialog.reject)
        layout = self.widgets.QVBoxLayout(dialog)
        layout.addWidget(self.labelled("Reason", self.entry("Reason")))
        layout.addWidget(buttons)
        dialog.finished.connect(lambda result: self.log("dialog", "closed", "OK" if result else "Cancel"))
        dialog.show()
        self.log("dialog", "opened")


def build_big(page: Page, rows: int) -> None:
    inside = page.widgets.QWidget()
    grid = page.widgets.QGridLayout(inside)
    for index in range(rows):
        kind, name = common.big_kind(index)
        if kind == "button":
            widget = page.button(name)
        elif kind == "check":
            widget = page.check(name)
        elif kind == "entry":
            widget = page.entry(name)
            widget.setAccessibleName(name)
        else:
            widget = page.widgets.QLabel(name)
        grid.addWidget(widget, index // 8, index % 8)
    area = page.widgets.QScrollArea()
    area.setWidget(inside)
    area.setMinimumHeight(400)
    page.column(area)


def main() -> None:
    parser = common.parser(__doc__ or "")
    parser.add_argument("--binding", choices=("PyQt5", "PyQt6"), default="PyQt5")
    parser.add_argument("-nograb", action="store_true", help="Qt's own option: no menu or list takes a grab")
    arguments = parser.parse_args()
    options = common.options(arguments)
    page = Page(arguments.binding, options, common.EventLog(options.log), nograb=arguments.nograb)
    if options.set == "normal":
        qt_normal.build(page)
    elif options.set == "big":
        build_big(page, options.rows)
    else:
        qt_hostile.build(page)
    page.window.show()
    run = getattr(page.application, "exec", None) or page.application.exec_
    run()


if __name__ == "__main__":
    main()
