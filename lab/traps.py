"""A Qt window of things that a hand slips on; its log is the lab's. Run by the system's Python."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lab import common, qt  # the checkout is found by the path above


def combo(page: qt.Page, name: str, options: tuple[str, ...]) -> tuple[Any, Any]:
    """A combo box and the row it is in."""
    box = page.widgets.QComboBox()
    box.addItems(list(options))
    box.currentIndexChanged.connect(lambda index: page.log(name.lower(), "selected", [index, box.currentText()]))
    return box, page.labelled(name, box)


def swapping(page: qt.Page) -> Any:
    """Two buttons that change places when a poke says so."""
    row = page.widgets.QWidget()
    layout = page.widgets.QHBoxLayout(row)
    buttons = [page.button("Keep"), page.button("Drop")]
    for button in buttons:
        layout.addWidget(button)

    def swap() -> None:
        buttons.reverse()
        for place, button in enumerate(buttons):
            layout.insertWidget(place, button)

    page.pokes["swap"] = lambda _: swap()
    return row


def dialog(page: qt.Page) -> None:
    """A dialog that Escape closes, with a combo box whose list never opens."""
    window = page.widgets.QDialog(page.window)
    window.setWindowTitle("Stuck dialog")
    layout = page.widgets.QVBoxLayout(window)
    box, row = combo(page, "Stuck", ("One", "Two"))
    box.showPopup = lambda: None
    layout.addWidget(row)
    window.finished.connect(lambda _: page.log("dialog", "closed"))
    window.show()


def main() -> None:
    parser = common.parser(__doc__ or "")
    parser.add_argument("--binding", choices=("PyQt5", "PyQt6"), default="PyQt5")
    arguments = parser.parse_args()
    options = common.options(arguments)
    page = qt.Page(arguments.binding, options, common.EventLog(options.log))
    page.pokes["move"] = lambda _: page.window.move(20, 40)
    page.pokes["stuck"] = lambda _: dialog(page)
    _, colour = combo(page, "Colour", tuple(f"Colour {number}" for number in range(1, 9)))
    _, twins = combo(page, "Twins", ("Cat", "Ant", "ant", "Bee", "Bee"))
    volume = page.widgets.QSlider(page.core.Qt.Orientation.Horizontal)
    volume.setRange(0, 2000)
    volume.valueChanged.connect(lambda value: page.log("volume", "value", value))
    page.column(colour, page.button("Pay"), page.button("Delete"), page.button("Save"))
    page.column(twins, swapping(page), page.labelled("Volume", volume), page.entry("Name"))
    page.window.show()
    run = getattr(page.application, "exec", None) or page.application.exec_
    run()


if __name__ == "__main__":
    main()
