"""Judges the judges: starts each window on a display of its own, and compares what it logs with what was done.

Run by the system's Python (libatspi); hands are xdotool, eyes are libatspi: nothing of the product is used.
"""

import argparse
import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LAB = Path(__file__).resolve().parent
WITHIN_S = 10.0
GTK4_NAMES = ("Save", "Status", "Subscribe", "Name", "Colour", "Fruits")
NORMAL_NAMES = (
    *("Save", "Status", "Quiet", "Locked", "Subscribe", "Small", "Medium", "Large", "Name", "City", "Notes"),
    *("Password", "Colour", "Amount", "Volume", "Fruits", "Fruit 1", "Places", "Europe", "Asia", "One", "Two"),
    *("File", "View", "Help", "Prices", "Cheese", "14.90", "Ada", "Bob", "Delete"),
    *("Token", "Basket", "Hover me", "Double", "Options"),
)
HOSTILE_NAMES = ("Nothing", "Stubborn", "Twin", "Before", "Modal", "Slow", "Slow status", "Sorted", "Ant", "Picky")
ATSPI_BUS = "org.a11y.Bus"
TEXT_ROLES = ("label", "static")


def wait(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.02)
    raise TimeoutError(f"{what}: not within {WITHIN_S:.0f} s")


@contextlib.contextmanager
def running(*command: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, text=True, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def display(folder: Path) -> Iterator[None]:
    """A display with window manager, session bus and accessibility bus, in this process's environment."""
    quiet = {"stderr": subprocess.DEVNULL}
    with contextlib.ExitStack() as stack:
        read, write = os.pipe()
        xvfb = ("Xvfb", "-displayfd", str(write), "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset")
        stack.enter_context(running(*xvfb, pass_fds=[write], **quiet))
        os.close(write)
        with os.fdopen(read) as lines:
            number = lines.readline().strip()
        runtime = folder / "runtime"
        runtime.mkdir(mode=0o700)
        os.environ.update(
            DISPLAY=f":{number}", XDG_RUNTIME_DIR=str(runtime), HOME=str(folder), GSETTINGS_BACKEND="memory"
        )
        os.environ.update(GDK_BACKEND="x11", QT_QPA_PLATFORM="xcb", ACCESSIBILITY_ENABLED="1")
        bus = ("dbus-daemon", "--session", "--nofork", "--print-address=1")
        daemon = stack.enter_context(running(*bus, stdout=subprocess.PIPE, **quiet))
        os.environ["DBUS_SESSION_BUS_ADDRESS"] = first_line(daemon)
        call = ("gdbus", "call", "--session", "-d", ATSPI_BUS, "-o", "/org/a11y/bus", "-m")
        subprocess.run([*call, f"{ATSPI_BUS}.GetAddress"], check=True, stdout=subprocess.DEVNULL)
        enable = ("org.freedesktop.DBus.Properties.Set", "org.a11y.Status", "IsEnabled", "<true>")
        subprocess.run([*call, *enable], check=True, stdout=subprocess.DEVNULL)
        stack.enter_context(running("openbox", **quiet))
        wait(lambda: b"window id" in run("xprop", "-root", "_NET_SUPPORTING_WM_CHECK").encode(), "a window manager")
        yield


def first_line(process: subprocess.Popen[str]) -> str:
    return process.stdout.readline().strip() if process.stdout else ""


def demand(condition: bool, otherwise: str) -> None:
    if not condition:
        raise AssertionError(otherwise)


def run(*command: str) -> str:
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout


def hands(*words: object) -> None:
    subprocess.run(["xdotool", *map(str, words)], check=True, capture_output=True)


class Window:
    """One window under test: its log, its pokes, and its tree as libatspi sees it."""

    def __init__(self, folder: Path, application: str) -> None:
        self.log, self.poke_file, self.application = folder / "log", folder / "poke", application

    def tree(self) -> list[tuple[str, str, tuple[int, int, int, int]]]:
        """Name (or the name of the label), role, and place on the display of every element."""
        script = ("/usr/bin/python3", str(LAB / "tree.py"), self.application)
        return [(name, role, tuple(place)) for name, role, place in json.loads(run(*script) or "[]")]

    def place(self, name: str, role: str = "") -> tuple[int, int]:
        """Centre of the visible element of that name; the field rather than its label, the last of several."""

        def found() -> Any:
            all_ = [(kind, at) for other, kind, at in self.tree() if other == name and at[2] > 1 and at[3] > 1]
            fits = [at for kind, at in all_ if role in kind and kind not in TEXT_ROLES] or [at for _, at in all_]
            return fits[-1] if fits else None

        x, y, width, height = wait(found, f"{role} {name} on the accessibility bus")
        return x + width // 2, y + height // 2

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def expect(self, widget: str, event: str, *value: object) -> None:
        def seen() -> bool:
            fitting = [it["value"] for it in self.events() if (it["widget"], it["event"]) == (widget, event)]
            return bool(fitting) if not value else bool(fitting) and fitting[-1] == value[0]

        wait(seen, f"{widget} {event} {value or ''} in the log")

    def click(self, name: str, role: str = "", *, button: int = 1, times: int = 1) -> None:
        hands("mousemove", *self.place(name, role), "click", "--repeat", times, "--delay", 60, button)

    def type(self, name: str, text: str) -> None:
        self.click(name)
        hands("type", "--delay", 30, text)

    def poke(self, line: str) -> None:
        with self.poke_file.open("a") as out:
            out.write(line + "\n")
        self.expect("window", "poked", line)


def check_normal(window: Window) -> None:
    for name in ("Save", "Quiet"):
        window.click(name, "button")
        window.expect(name.lower(), "clicked")
    wait(lambda: any(name == "Saved 1" for name, _, _ in window.tree()), "Saved 1 on the accessibility bus")
    window.click("Locked")
    window.click("Subscribe")
    window.expect("subscribe", "toggled", True)
    window.click("Medium")
    window.expect("size", "selected", "Medium")
    window.click("Delete", "button")
    window.expect("delete", "clicked", "Bob")
    window.click("Help", "link" if window.application == "Chromium" else "")
    window.expect("help", "activated")
    window.type("Name", "ada")
    window.expect("name", "text", "ada")
    window.type("Notes", "two words")
    window.expect("notes", "text", "two words")
    window.type("Password", "secret")
    window.expect("password", "text", "secret")
    window.click("Amount")
    hands("key", "ctrl+a", "7", "Return")
    window.expect("amount", "value", 7)
    window.click("Volume")
    window.expect("volume", "value")
    window.click("Colour")
    hands("key", "--delay", 150, "Down", "Down", "Return")
    window.expect("colour", "selected")
    window.click("Fruit 3")
    window.expect("fruits", "selected", "Fruit 3")
    hands("click", "--repeat", 3, 5)
    window.expect("fruits", "scrolled")
    window.click("Europe")
    hands("key", "plus")
    window.expect("places", "expanded", "Europe")
    window.click("Two", "tab")
    window.expect("tabs", "selected", "Two")
    window.click("Inner")
    window.expect("inner", "clicked")
    window.click("Cheese", "cell")
    window.expect("prices", "selected", "Cheese")
    hands("mousemove", *window.place("Hover me"))
    window.expect("hover", "entered")
    window.click("Double", times=2)
    window.expect("double", "double_clicked")
    hands("key", "F5", "ctrl+s")
    window.expect("window", "key", "ctrl+s")
    drag(window.place("Token"), window.place("Basket"))
    window.expect("basket", "dropped", "Token")
    for path in (("File", "Export", "As Picture"), ("View", "Zoom")):
        for name in path:
            window.click(name, "menu")
    window.expect("menu", "activated", "File/Export/As Picture")
    window.expect("zoom", "toggled", True)
    window.click("Options", "button", button=3)
    window.expect("options", "context_menu")
    if window.application == "qt.py":  # Qt leaves a context menu out of its accessibility tree
        hands("key", "--delay", 100, "Down", "Down", "Return")
    else:
        window.click("Remove", "menu")
    window.expect("menu", "activated", "Options/Remove")
    demand(all(it["widget"] != "locked" for it in window.events()), "a disabled button was clicked")


def drag(start: tuple[int, int], end: tuple[int, int]) -> None:
    hands("mousemove", *start, "mousedown", 1)
    for step in range(1, 11):
        x, y = (a + (b - a) * step // 10 for a, b in zip(start, end, strict=True))
        hands("mousemove", x, y, "sleep", 0.03)
    hands("sleep", 0.1, "mouseup", 1)


def check_hostile(window: Window) -> None:
    window.click("Nothing")
    window.expect("nothing", "clicked")
    window.click("Stubborn")
    window.expect("stubborn", "toggled", False)
    window.poke("twin")
    window.click("Twin")
    window.expect("twin", "clicked", 2)
    window.type("Picky", "1a2")
    window.expect("picky", "text", "12")
    window.type("Shout", "abc")
    window.expect("shout", "text", "ABC")
    window.type("Short", "abcdefg")
    window.expect("short", "text", "abcde")
    window.click("Slow")
    window.expect("slow", "done")
    window.poke("sort")
    window.poke("rename")
    wait(lambda: window.place("Ant")[1] > window.place("Fox")[1], "rows in the new order")
    window.place("After")
    window.click("Modal")
    window.expect("dialog", "opened")
    window.type("Reason", "why")
    window.expect("reason", "text", "why")
    window.click("Cancel")
    window.expect("dialog", "closed", "Cancel")
    window.poke("dialog")
    window.poke("title Renamed")
    wait(
        lambda: "Renamed" in run("xdotool", "search", "--onlyvisible", "--name", "Renamed", "getwindowname"),
        "the title",
    )
    window.poke("close")
    window.expect("window", "closed")


@contextlib.contextmanager
def open_window(kind: str, which: str, folder: Path) -> Iterator[Window]:
    files = {"gtk3": "gtk3.py", "gtk4": "gtk4.py", "qt5": "qt.py", "qt6": "qt.py", "page": "page.py"}
    window = Window(folder, "Chromium" if kind == "page" else files[kind])
    command = ["/usr/bin/python3", str(LAB / files[kind]), "--log", str(window.log), "--poke", str(window.poke_file)]
    command += ["--set", which, "--geometry", "900x600+40+60"]
    command += ["--binding", f"PyQt{kind[-1]}"] if kind.startswith("qt") else []
    with contextlib.ExitStack() as stack:
        process = stack.enter_context(running(*command, stdout=subprocess.PIPE, cwd=folder))
        if kind == "page":
            flags = ("--force-renderer-accessibility", "--no-first-run", "--no-default-browser-check", "--disable-sync")
            place = (
                "--window-size=1100,760",
                "--window-position=0,0",
                "--ozone-platform=x11",
                "--password-store=basic",
            )
            address, profile = first_line(process), f"--user-data-dir={folder / 'profile'}"
            browser = ("chromium", "--no-sandbox", *flags, *place, profile, f"--app={address}")
            stack.enter_context(running(*browser, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
        window.expect("window", "ready")
        yield window


def check_window(kind: str, which: str, folder: Path) -> str:
    names = GTK4_NAMES if kind == "gtk4" else NORMAL_NAMES if which == "normal" else HOSTILE_NAMES
    with open_window(kind, which, folder) as window:
        missing: set[str] = set()

        def complete() -> bool:
            missing.clear()
            missing.update(set(names) - {name for name, _, _ in window.tree()})
            return not missing

        with contextlib.suppress(TimeoutError):
            wait(complete, "names")
        demand(not missing, f"not on the accessibility bus: {sorted(missing)}")
        if kind == "gtk4":
            window.poke("close")
        elif which == "normal":
            check_normal(window)
        else:
            check_hostile(window)
        return f"{len(names)} names, {len(window.events())} events"


def check_person(python: str, folder: Path, *, disturb: bool) -> str:
    command = (python, str(LAB / "person.py"), "--log", str(folder / "log"))
    with open_window("gtk3", "normal", folder):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with running(*command, **pipes) as person:
            demand(first_line(person) == "ready", "the person got no focus")
            if disturb:
                other = run("xdotool", "search", "--onlyvisible", "--name", "^Lab$").split()[-1]
                hands("mousemove", 900, 700, "sleep", 0.3, "windowactivate", "--sync", other)
            hands("sleep", 2)
            out, _ = person.communicate(timeout=5)
    report = json.loads(out)
    kinds = sorted({found["what"] for found in report["disturbances"]})
    if disturb:
        demand(kinds == ["active", "focus", "pointer", "stacking"], str(report))
        demand(report["typed"] != report["arrived"], "no key was lost")
    else:
        demand(not kinds, str(report))
        demand(report["typed"] == report["arrived"], str(report))
    return f"typed {len(report['typed'])}, arrived {len(report['arrived'])}, seen: {', '.join(kinds) or 'nothing'}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--person-python", default=str(LAB.parent / ".venv/bin/python"), help="a Python with xcffib")
    parser.add_argument("--only", default="", help="run the checks whose name contains this")
    arguments = parser.parse_args()
    sets = [(kind, which) for kind in ("gtk3", "qt5", "qt6", "page") for which in ("normal", "hostile")]
    checks: dict[str, Callable[[Path], str]] = {
        f"{kind} {which}": functools.partial(check_window, kind, which) for kind, which in [*sets, ("gtk4", "normal")]
    }
    for title, disturb in (("person undisturbed", False), ("person disturbed", True)):
        checks[title] = functools.partial(check_person, arguments.person_python, disturb=disturb)
    failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, display(Path(name)):
        for number, (title, check) in enumerate(checks.items()):
            if arguments.only not in title:
                continue
            folder = Path(name) / str(number)
            folder.mkdir()
            try:
                line = f"ok      {title}: {check(folder)}"
            except (AssertionError, TimeoutError) as error:
                failed += 1
                line = f"FAILED  {title}: {error}"
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
