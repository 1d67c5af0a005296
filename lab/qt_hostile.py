"""The hostile set in Qt: widgets that mislead whoever acts on them."""

from typing import Any

from lab import common


def restless(page: Any) -> list[Any]:
    """A clock and a bar that change without anybody's doing."""
    clock, bar, seconds = page.widgets.QLabel("0 s"), page.widgets.QProgressBar(), [0]

    def tick() -> None:
        seconds[0] += 1
        clock.setText(f"{seconds[0]} s")

    page.every(1000, tick)
    page.every(100, lambda: bar.setValue((bar.value() + 2) % 100))
    return [clock, bar]


def stubborn(page: Any) -> Any:
    check = page.check("Stubborn")
    check.toggled.connect(lambda on: page.later(common.STUBBORN_MS, lambda: check.setChecked(False)) if on else None)
    return check


def twin(page: Any) -> Any:
    """A button that a poke destroys and replaces; the value of a click says which of them got it."""
    box, generation = page.widgets.QWidget(), [0]
    layout = page.widgets.QHBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)

    def replace(_rest: str = "") -> None:
        while layout.count():
            layout.takeAt(0).widget().deleteLater()
        generation[0] += 1
        layout.addWidget(page.button("Twin", value=generation[0]))

    replace()
    page.pokes["twin"] = replace
    return box


def renamed(page: Any) -> Any:
    button = page.button("Before")
    page.pokes["rename"] = lambda _: button.setText("After")
    return button


def sorted_rows(page: Any) -> Any:
    view, descending = page.list_view("Sorted", common.SORTED), [False]
    orders = page.core.Qt.SortOrder

    def sort(_rest: str) -> None:
        descending[0] = not descending[0]
        view.sortItems(orders.DescendingOrder if descending[0] else orders.AscendingOrder)

    page.pokes["sort"] = sort
    return view


def slow(page: Any) -> list[Any]:
    status, button = page.widgets.QLabel("Slow status"), page.button("Slow")

    def finish() -> None:
        status.setText("Done")
        page.log("slow", "done")

    button.clicked.connect(lambda: page.later(common.SLOW_MS, finish))
    return [button, status]


def picky(page: Any) -> Any:
    """Goes back to the last good text; judged when idle, as setting a text may be a removal and an insertion."""
    entry, good = page.entry("Picky"), [""]

    def judge() -> None:
        if common.is_number_text(entry.text()):
            good[0] = entry.text()
        else:
            entry.setText(good[0])

    entry.textChanged.connect(lambda _: page.later(0, judge))
    return entry


def build(page: Any) -> None:
    shout, short, modal = page.entry("Shout"), page.entry("Short"), page.button("Modal")
    # The text of then: an older one would come back for ever while somebody types.
    shout.textChanged.connect(lambda _: page.later(0, lambda: shout.setText(shout.text().upper())))
    short.setMaxLength(5)
    modal.clicked.connect(page.open_dialog)
    page.column(page.button("Nothing"), *restless(page), stubborn(page), twin(page), renamed(page))
    fields = [("Picky", picky(page)), ("Shout", shout), ("Short", short)]
    leave = page.button("Quit")
    leave.clicked.connect(page.window.close)
    page.column(modal, leave, *slow(page), *(page.labelled(name, field) for name, field in fields))
    forged = page.widgets.QLabel(common.FORGED)
    forged.setTextFormat(page.core.Qt.TextFormat.PlainText)
    page.column(sorted_rows(page), forged)
