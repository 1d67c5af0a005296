"""Somebody who copies and pastes: ``clipboard_user.py``, run by the system's Python, with Qt's own clipboard.

It takes commands on stdin and answers each by one line of JSON: ``copy TEXT``, ``copy-all BYTES`` (a text, a picture,
files, and so many bytes of a form of its own), ``forms`` (the digest of every form that can be pasted), ``text``,
``select TEXT`` and ``selected`` (the primary selection), ``manage`` (take over every text that is copied from now on).
"""

import hashlib
import json
import sys
from typing import Any

from PyQt5 import QtCore, QtGui, QtWidgets

OWN = "application/x-lab"
# What Qt lists beside the forms: answers about them, and what lives no longer than their owner.
ABOUT = {"TARGETS", "TIMESTAMP", "MULTIPLE", "SAVE_TARGETS", "PIXMAP", "BITMAP"}


def everything(size: int) -> Any:
    data = QtCore.QMimeData()
    data.setText("the old text, ñ 漢字")
    picture = QtGui.QImage(40, 30, QtGui.QImage.Format_RGB32)
    picture.fill(QtGui.QColor("teal"))
    data.setImageData(picture)
    data.setUrls([QtCore.QUrl("file:///usr/share/doc"), QtCore.QUrl("file:///usr/share/man")])
    data.setData(OWN, bytes(index * 7 % 251 for index in range(1000)) * (size // 1000))
    return data


class User:
    def __init__(self, clipboard: Any) -> None:
        self._clipboard = clipboard
        self._modes = {"copy": clipboard.Clipboard, "select": clipboard.Selection}

    def answer(self, line: str) -> Any:
        word, _, rest = line.partition(" ")
        match word:
            case "copy" | "select":
                self._clipboard.setText(rest, self._modes[word])
            case "copy-all":
                self._clipboard.setMimeData(everything(int(rest)))
            case "forms":
                data = self._clipboard.mimeData()
                names = sorted(set(data.formats()) - ABOUT)
                return {name: hashlib.sha256(bytes(data.data(name))).hexdigest() for name in names}
            case "text":
                return self._clipboard.text()
            case "selected":
                return self._clipboard.text(self._clipboard.Selection)
            case "manage":
                self._clipboard.dataChanged.connect(self.take_over)
        return word

    def take_over(self) -> None:
        if not self._clipboard.ownsClipboard() and self._clipboard.text():
            self._clipboard.setText(self._clipboard.text())


def main() -> None:
    application = QtWidgets.QApplication(sys.argv)
    user = User(QtWidgets.QApplication.clipboard())

    def say(answer: object) -> None:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()

    def read() -> None:
        line = sys.stdin.readline()
        if not line:
            application.quit()
        else:
            say(user.answer(line.rstrip("\n")))

    heard = QtCore.QSocketNotifier(sys.stdin.fileno(), QtCore.QSocketNotifier.Read)
    heard.activated.connect(read)
    say("ready")
    application.exec_()


if __name__ == "__main__":
    main()
