"""The demo: a real MCP client has our server fill in three applications in a sandbox, and checks what came of it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import http.server
import os
import re
import shutil
import sys
import tempfile
import threading
import time
import urllib.parse
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from mcp import Client

_NOTE = "Alongside was here.\nIt wrote this in a desktop that nobody sees: äéΩ😀\n"
_TABLE = (("Item", "Price"), ("Tea", "3.5"), ("Cake", "4.25"), ("Sum", "=B2+B3"))
_FORM = {"name": "Ada Lovelace", "drink": "Tea", "note": "No sugar,\nplease.", "terms": "yes"}
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Order</title>
<style>body {font: 16px sans-serif; margin: 2em; display: grid; gap: 1em; max-width: 24em}</style>
<h1>Order</h1><form method="post" style="display: grid; gap: 1em">
<label>Name <input name="name"></label>
<label>Drink <select name="drink"><option>Coffee<option>Tea<option>Water</select></label>
<label>Note <textarea name="note" rows="3"></textarea></label>
<label><input type="checkbox" name="terms" value="yes"> I agree</label>
<button>Send order</button></form>"""
# The same where nobody listens: what arrived stands in the title.
_FILED = _PAGE.replace('method="post"', 'action="thanks.html"')
_FILED_THANKS = """<!doctype html><html lang=en><title>Thank you</title><h1>Thank you</h1>
<script>document.title = "Thank you " + location.search</script>"""
_THANKS = "<!doctype html><html lang=en><title>Thank you</title><h1>Thank you, {name}</h1>"
_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_PROGRAMS = {"mousepad": "mousepad", "localc": "libreoffice-calc libreoffice-gtk3", "chromium": "chromium"}
_GONE_WITHIN = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pictures", metavar="FOLDER", default="out/demo", help="where the pictures go (out/demo)")


def run(arguments: argparse.Namespace) -> int:
    """Run it; 0 if everything was as it should be."""
    missing = [package for program, package in _PROGRAMS.items() if not shutil.which(program)]
    if missing:
        _say(f"The demo needs more applications: apt-get install {' '.join(missing)} (or run scripts/demo)")
        return 2
    pictures = Path(arguments.pictures)
    pictures.mkdir(parents=True, exist_ok=True)
    try:
        asyncio.run(_demo(pictures))
    except* DemoError as wrong:
        _say(f"✗ {_innermost(wrong)}")
        return_code = 1
    except* KeyboardInterrupt:
        _say("stopped")
        return_code = 130
    else:
        return_code = 0
    return return_code


class DemoError(Exception):
    """Something did not come out as it should."""


def _innermost(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


async def _demo(pictures: Path) -> None:
    from mcp import Client, StdioServerParameters  # noqa: PLC0415 - loaded when the demo runs

    started = time.monotonic()
    left_before = _left_files()
    with tempfile.TemporaryDirectory(prefix="alongside-demo-") as shared, _order_page() as (address, orders):
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "alongside", "serve"], env=dict(os.environ), cwd=str(Path.cwd())
        )
        _say("A client starts `alongside serve`, as Claude Code or Cursor would:")
        async with Client(server, read_timeout_seconds=60) as client:
            show = Show(client, pictures)
            answer = await show.call("desktop", action="start", folder=shared, writable=True)
            inside = re.search(r"is '([^']+)' inside", answer)
            if inside is None:
                raise DemoError(f"the sandbox does not show the shared folder: {answer}")
            await _note(show, inside[1])
            await _table(show, inside[1])
            if "network: off" in answer:
                _say("\nThis sandbox cannot reach the machine's network: the form is a file in the shared folder.")
                orders.append(await _filed_order(show, Path(shared), inside[1]))
            else:
                await _order(show, address)
            running = _descendants(os.getpid())
            await show.call("desktop", action="stop")
        _say("\nWhat came of it, read from the files and the form that arrived:")
        _check("the note", (Path(shared) / "note.txt").read_text(encoding="utf-8"), _NOTE)
        _check("the table", _cells(Path(shared) / "table.xlsx"), {"A2": "Tea", "B3": "4.25", "B4": "7.75 =B2+B3"})
        _check("the order", orders, [{**_FORM, "note": _FORM["note"].replace("\n", "\r\n")}])
    await _nothing_left(running, left_before)
    _say(f"\n✓ done in {time.monotonic() - started:.1f} s; pictures of the windows are in {pictures}")


async def _note(show: Show, folder: str) -> None:
    _say("\nA note in Mousepad:")
    window = await show.launch("mousepad")
    await show.look(window)
    await show.act(window, {"do": "type", "text": _NOTE}, {"do": "key", "keys": "ctrl+s"})
    dialog = await show.window("Save As")
    await show.act(
        dialog,
        {"do": "set", "target": "textbox:Name:", "value": f"{folder}/note.txt"},
        {"do": "click", "target": "button:Save"},
    )
    await show.picture(window, "mousepad")


async def _table(show: Show, folder: str) -> None:
    _say("\nA table in LibreOffice Calc:")
    window = await show.launch("localc")
    await show.look(window)
    cells = {f"{'AB'[x]}{y + 1}": value for y, row in enumerate(_TABLE) for x, value in enumerate(row)}
    await show.act(window, *({"do": "set", "target": cell, "value": value} for cell, value in cells.items()))
    await show.picture(window, "calc")
    await show.act(window, {"do": "key", "keys": "ctrl+s"})
    dialog = await show.window("Save")
    await show.act(
        dialog,
        {"do": "set", "target": "textbox:Name:", "value": f"{folder}/table.xlsx"},
        {"do": "key", "keys": "Return", "expect": "Confirm File Format", "timeout": 20},
    )
    question = await show.window("Confirm File Format")
    answer = await show.look(question)
    keep = re.search(r'\[(\d+)\] button "Use (?!ODF)', answer)
    if keep is None:
        raise DemoError(f"no button keeps the format: {answer}")
    await show.act(question, {"do": "click", "target": int(keep[1])})


async def _order(show: Show, address: str) -> None:
    _say("\nA form in Chromium:")
    window = await show.launch("chromium", address)
    await show.act(window, {"do": "wait", "target": "button:Send order", "timeout": 20})
    await show.look(window)
    await show.act(
        window,
        {"do": "set", "target": "Name", "value": _FORM["name"]},
        {"do": "select", "target": "Drink", "value": _FORM["drink"]},
        {"do": "set", "target": "Note", "value": _FORM["note"]},
        {"do": "check", "target": "I agree"},
    )
    await show.picture(window, "chromium")
    await show.act(window, {"do": "click", "target": "Send order", "expect": "Thank you"})


async def _filed_order(show: Show, shared: Path, inside: str) -> dict[str, str]:
    """The order where no server can be reached: the form as a file, and what the browser put into the next address."""
    (shared / "order.html").write_text(_FILED, encoding="utf-8")
    (shared / "thanks.html").write_text(_FILED_THANKS, encoding="utf-8")
    await _order(show, f"file://{inside}/order.html")
    answer = await show.call("windows")
    title = re.search(r'"Thank you \?([^" ]+)', answer)
    if title is None:
        raise DemoError(f"no window shows the order: {answer}")
    return dict(urllib.parse.parse_qsl(title[1]))


class Show:
    """The client's calls, each printed with its answer and its time."""

    def __init__(self, client: Client, pictures: Path) -> None:
        self._client, self._pictures = client, pictures

    async def call(self, tool: str, **arguments: Any) -> str:
        result, text, took = await self._ask(tool, arguments)
        _say(f"  {tool} {took:5.0f} ms  {text.splitlines()[0]}")
        if result.is_error:
            raise DemoError(text)
        return text

    async def launch(self, application: str, *arguments: str) -> str:
        """The id of the window that came up."""
        answer = await self.call("launch", app=application, arguments=list(arguments))
        found = re.search(r"(s\d+\.\d+)", answer)
        if found is None:
            raise DemoError(answer)
        return found[1]

    async def look(self, window: str) -> str:
        return await self.call("look", window=window)

    async def act(self, window: str, *steps: dict[str, Any]) -> None:
        result, text, took = await self._ask("act", {"window": window, "steps": list(steps)})
        for line in text.splitlines():
            _say(f"    {line}")
        _say(f"  act {took:5.0f} ms")
        if result.is_error or "~" in text.splitlines()[-1]:
            raise DemoError(f"not every step was confirmed:\n{text}")

    async def window(self, title: str) -> str:
        """The id of a window that is about to come up."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            _, text, _ = await self._ask("windows", {})
            if found := re.search(rf'^(s\d+\.\d+) "{re.escape(title)}"', text, re.MULTILINE):
                return found[1]
            await asyncio.sleep(0.1)
        raise DemoError(f'no window "{title}" came up; there are:\n{text}')

    async def picture(self, window: str, name: str) -> None:
        """Save a picture of a window as the client gets it."""
        import base64  # noqa: PLC0415 - only here

        result, text, took = await self._ask("look", {"window": window, "image": "standard"})
        images = [block for block in result.content if block.type == "image"]
        if not images:
            raise DemoError(f"no picture of {window}: {text}")
        path = self._pictures / f"{name}.{images[0].mime_type.partition('/')[2]}"
        path.write_bytes(base64.b64decode(images[0].data))
        _say(f"  look {took:5.0f} ms  picture in {path}")

    async def _ask(self, tool: str, arguments: dict[str, Any]) -> tuple[Any, str, float]:
        started = time.monotonic()
        result = await self._client.call_tool(tool, arguments)
        text = "\n".join(block.text for block in result.content if block.type == "text")
        return result, text, (time.monotonic() - started) * 1000


@contextlib.contextmanager
def _order_page() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A form served from loopback, and the orders that arrive."""
    orders: list[dict[str, str]] = []

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(_PAGE)

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            orders.append(dict(urllib.parse.parse_qsl(sent)))
            self._answer(_THANKS.format(name=orders[-1].get("name", "")))

        def _answer(self, text: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Nothing: the demo's own lines are what one reads."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", orders
    finally:
        server.shutdown()
        server.server_close()


def _cells(path: Path) -> dict[str, str]:
    """The cells of a workbook's first sheet: the value, and the formula behind it."""
    with zipfile.ZipFile(path) as book:
        sheet = ET.fromstring(book.read("xl/worksheets/sheet1.xml"))  # noqa: S314 - written by our own LibreOffice
        strings = ET.fromstring(book.read("xl/sharedStrings.xml"))  # noqa: S314
    texts = ["".join(node.itertext()) for node in strings.iter(f"{_SHEET}si")]
    cells = {}
    for cell in sheet.iter(f"{_SHEET}c"):
        value = cell.findtext(f"{_SHEET}v") or ""
        shown = texts[int(value)] if cell.get("t") == "s" else value
        formula = cell.findtext(f"{_SHEET}f")
        cells[cell.get("r", "")] = f"{shown} ={formula}" if formula else shown
    return cells


def _check(what: str, found: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        found = {name: found.get(name) for name in wanted}
    if found != wanted:
        raise DemoError(f"{what} is not what it should be:\n  found  {found!r}\n  wanted {wanted!r}")
    _say(f"  ✓ {what}: {found!r}")


async def _nothing_left(running: dict[int, str], before: set[str]) -> None:
    end = time.monotonic() + _GONE_WITHIN
    # Nothing tells when the processes of another are gone.
    while (left := [pid for pid, started in running.items() if _started(pid) == started]) and time.monotonic() < end:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    files = _left_files() - before
    if left or files:
        raise DemoError(f"left behind: processes {left}, files {sorted(files)}")
    _say(f"  ✓ {len(running)} processes ran; 0 processes, sockets and locks are left")


def _descendants(pid: int) -> dict[int, str]:
    """All processes below one, and when each was started (so that a number used again is not taken for it)."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := _stat(int(entry.name))):
            parents.setdefault(int(stat[1]), []).append(int(entry.name))
    found, new = {}, [pid]
    while new:
        new = [child for one in new for child in parents.get(one, [])]
        found.update({child: _started(child) for child in new})
    return found


def _stat(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return fields if fields[0] != "Z" else []
    return []


def _started(pid: int) -> str:
    stat = _stat(pid)
    return stat[19] if stat else ""


def _left_files() -> set[str]:
    """What a sandbox can leave on this machine: its folder, and its X server's lock and socket, without an owner."""
    places = {Path(place) for place in ("/tmp", tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR") or "/tmp")}  # noqa: S108
    left = {folder for place in places for folder in place.glob("alongside-sandbox-*") if not _is_locked(folder)}
    for socket in Path("/tmp/.X11-unix").glob("X*"):  # noqa: S108 - where X servers listen
        if not Path(f"/tmp/.{socket.name}-lock").exists():  # noqa: S108
            left.add(socket)
    for lock in Path("/tmp").glob(".X*-lock"):  # noqa: S108
        with contextlib.suppress(OSError):  # it is gone
            if not _stat(int(lock.read_text(encoding="ascii"))):
                left.add(lock)
    return set(map(str, left))


def _is_locked(folder: Path) -> bool:
    """Whether the keeper of a sandbox without namespaces still holds its folder."""
    try:
        with (folder / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201
