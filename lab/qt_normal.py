"""The normal set in Qt: one of each common widget."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from lab import common


def fill_menu(page: Any, menu: Any, path: str, entries: Iterable[Any]) -> None:
    """Append entries: a text is a plain one, `*text` a checked one, a pair a name and what is under it."""
    for entry in entries:
        if not isinstance(entry, str):
            fill_menu(page, menu.addMenu(entry[0]), f"{path}{entry[0]}/", entry[1])
            continue
        action = page.action_class()(entry.lstrip("*"), menu)
        menu.addAction(action)
        if entry.startswith("*"):
            action.setCheckable(True)
            action.toggled.connect(partial(page.log, entry[1:].lower(), "toggled"))
        else:
            action.triggered.connect(partial(tell, page, path + entry))


def tell(page: Any, path: str, _checked: bool) -> None:
    page.log("menu", "activated", path)


def people(page: Any) -> Any:
    group = page.widgets.QGroupBox("People")
    layout = page.widgets.QVBoxLayout(group)
    for person in common.PEOPLE:
        row = page.widgets.QWidget()
        row.setAccessibleName(person)
        line = page.widgets.QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(page.widgets.QLabel(person))
        line.addWidget(page.button("Delete", value=person))
        layout.addWidget(row)
    return group


def radios(page: Any) -> Any:
    box = page.widgets.QGroupBox("Size")
    layout = page.widgets.QVBoxLayout(box)
    for size in common.SIZES:
        radio = page.widgets.QRadioButton(size)
        radio.setChecked(size == common.SIZES[0])
        radio.toggled.connect(lambda on, name=size: page.log("size", "selected", name) if on else None)
        layout.addWidget(radio)
    return box


def save_button(page: Any) -> list[Any]:
    status, save, saved = page.widgets.QLabel("Status"), page.button("Save"), [0]
    if page.tells:
        page.log.tell = status.setText

    def on_save() -> None:
        saved[0] += 1
        status.setText(f"Saved {saved[0]}")

    save.clicked.connect(on_save)
    return [save, status]


def fields(page: Any) -> list[Any]:
    notes = page.widgets.QPlainTextEdit()
    notes.setTabChangesFocus(True)
    notes.setMaximumHeight(80)
    notes.textChanged.connect(lambda: page.log("notes", "text", notes.toPlainText()))
    notes.verticalScrollBar().valueChanged.connect(lambda value: page.log("notes", "scrolled", value))
    password = page.entry("Password")
    password.setEchoMode(page.widgets.QLineEdit.EchoMode.Password)
    colour = page.widgets.QComboBox()
    colour.addItems(common.COLOURS)
    colour.setCurrentIndex(-1)
    colour.currentIndexChanged.connect(lambda _: page.log("colour", "selected", colour.currentText()))
    amount = page.widgets.QSpinBox()
    amount.setRange(0, 100)
    amount.valueChanged.connect(lambda _: page.log("amount", "value", amount.value()))
    volume = page.widgets.QSlider(page.core.Qt.Orientation.Horizontal)
    volume.setRange(0, 100)
    volume.valueChanged.connect(lambda value: page.log("volume", "value", value))
    return [
        page.labelled("Name", page.entry("Name")),
        page.labelled("City", page.entry("City", "Paris")),
        page.labelled("Notes", notes),
        page.labelled("Password", password),
        page.labelled("Colour", colour),
        page.labelled("Amount", amount),
        page.labelled("Volume", volume),
    ]


def places(page: Any) -> Any:
    tree = page.widgets.QTreeWidget()
    tree.setHeaderLabel("Places")
    tree.setAccessibleName("Places")
    item = page.widgets.QTreeWidgetItem
    for continent, countries in common.PLACES.items():
        top = item(tree, [continent])
        for country, cities in countries.items():
            middle = item(top, [country])
            for city in cities:
                item(middle, [city])
    tree.itemExpanded.connect(lambda it: page.log("places", "expanded", it.text(0)))
    tree.itemCollapsed.connect(lambda it: page.log("places", "collapsed", it.text(0)))
    tree.itemActivated.connect(lambda it: page.log("places", "activated", it.text(0)))
    tree.itemSelectionChanged.connect(
        lambda: page.log("places", "selected", next((it.text(0) for it in tree.selectedItems()), None))
    )
    return tree


def prices(page: Any) -> Any:
    table = page.widgets.QTableWidget(len(common.PRICES), len(common.PRICE_COLUMNS))
    table.setAccessibleName("Prices")
    table.setHorizontalHeaderLabels(common.PRICE_COLUMNS)
    table.setSelectionBehavior(page.widgets.QAbstractItemView.SelectionBehavior.SelectRows)
    table.setEditTriggers(page.widgets.QAbstractItemView.EditTrigger.NoEditTriggers)
    for row, cells in enumerate(common.PRICES):
        for column, text in enumerate(cells):
            table.setItem(row, column, page.widgets.QTableWidgetItem(text))
    table.resizeColumnsToContents()
    table.itemSelectionChanged.connect(
        lambda: page.log("prices", "selected", next((it.text() for it in table.selectedItems()), None))
    )
    return table


def tabs(page: Any) -> Any:
    book = page.widgets.QTabWidget()
    book.addTab(page.widgets.QLabel("First page"), "One")
    book.addTab(page.button("Inner"), "Two")
    book.currentChanged.connect(lambda number: page.log("tabs", "selected", ("One", "Two")[number]))
    return book


def pointer_areas(page: Any) -> list[Any]:
    token, basket, hover, double = (page.widgets.QLabel(name) for name in ("Token", "Basket", "Hover me", "Double"))
    for area in (token, basket, hover, double):
        area.setFrameShape(page.widgets.QFrame.Shape.Box)

    def drag(_event: Any) -> None:
        started, data = page.gui.QDrag(token), page.core.QMimeData()
        data.setText("Token")
        started.setMimeData(data)
        (getattr(started, "exec", None) or started.exec_)(page.core.Qt.DropAction.CopyAction)

    def dropped(event: Any) -> None:
        page.log("basket", "dropped", event.mimeData().text())
        event.acceptProposedAction()

    token.mousePressEvent = lambda event: event.accept()  # else no move follows
    token.mouseMoveEvent = drag
    basket.setAcceptDrops(True)
    basket.dragEnterEvent = lambda event: event.acceptProposedAction()
    basket.dropEvent = dropped
    hover.enterEvent = lambda _event: page.log("hover", "entered")
    double.mouseDoubleClickEvent = lambda _event: page.log("double", "double_clicked")
    options = page.button("Options")
    context = page.widgets.QMenu(options)
    fill_menu(page, context, "Options/", ["Rename", "Remove"])

    def open_context(point: Any) -> None:
        page.log("options", "context_menu")
        context.popup(options.mapToGlobal(point))

    options.setContextMenuPolicy(page.core.Qt.ContextMenuPolicy.CustomContextMenu)
    options.customContextMenuRequested.connect(open_context)
    return [token, basket, hover, double, options]


def build(page: Any) -> None:
    bar = page.window.menuBar()
    fill_menu(page, bar, "", [("File", ["Save", ("Export", ["As Text...", "As Picture"])]), ("View", ["*Zoom"])])
    locked = page.button("Locked")
    locked.setEnabled(False)
    link = page.widgets.QLabel('<a href="help:contents">Help</a>')
    link.setAccessibleName("Help")
    link.setSizePolicy(page.widgets.QSizePolicy.Policy.Fixed, page.widgets.QSizePolicy.Policy.Fixed)
    flags = page.core.Qt.TextInteractionFlag
    link.setTextInteractionFlags(flags.LinksAccessibleByMouse | flags.LinksAccessibleByKeyboard)
    link.linkActivated.connect(lambda _: page.log("help", "activated"))
    page.column(
        *save_button(page), page.button("Quiet"), locked, page.check("Subscribe"), radios(page), link, people(page)
    )
    page.column(*fields(page))
    page.column(page.list_view("Fruits", common.FRUITS), places(page))
    page.column(tabs(page), prices(page), *pointer_areas(page))
