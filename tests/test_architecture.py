"""The floors of the house: who may import whom, how large a module may be, and what a driver must not load."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import alongside

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "alongside"
MODULES = sorted(SOURCE.rglob("*.py"))

# The arrows of ARCHITECTURE.md. Each part may also import from itself.
MAY_IMPORT = {
    "core": set(),
    "link": {"core"},
    "platforms": {"core"},
    "vision": {"core"},
    "sandbox": {"link", "core"},
    "driver": {"platforms", "vision", "link", "core"},
    "server": {"sandbox", "link", "core"},
    "cli": {"server", "link", "core"},
    "__main__": {"cli"},
    "__init__": set(),
}
MOST_LINES = 400
# Modules that are longer, with their lines today. It only shrinks: split them, then take them out.
EXCEPTIONS: dict[str, int] = {}
# What a driver must not load before it is asked for what needs it: each costs more than all of its own start.
HEAVY = {"mcp", "pydantic", "numpy", "PIL", "anyio", "starlette", "httpx", "dbus_fast", "xcffib"}
TEXTS = [
    *(path for folder in ("src", "tests", "lab", "bench", "scripts", "docs") for path in (ROOT / folder).rglob("*")),
    *ROOT.glob("*.md"),
    *ROOT.glob("*.toml"),
]


def name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def part(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The dotted names that a module imports anywhere in it: also in functions, and for types only."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name(path)} imports relatively"
            found |= {f"{node.module}.{one.name}" for one in node.names}
    return found


def readable(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts and b"\0" not in path.read_bytes()


def test_every_part_has_its_floor() -> None:
    assert {part(path) for path in MODULES} == set(MAY_IMPORT)


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_imports_follow_the_arrows(path: Path) -> None:
    ours = {one.split(".")[1] for one in imported(path) if one.startswith("alongside.")}
    # Of the package itself only its version may be asked for.
    parts = {one for one in ours if one != "__version__"}
    assert parts - {part(path)} <= MAY_IMPORT[part(path)]


@pytest.mark.parametrize("path", [path for path in MODULES if part(path) == "core"], ids=name)
def test_the_core_needs_nothing_but_the_standard_library(path: Path) -> None:
    others = {one.split(".")[0] for one in imported(path)} - {"alongside"}
    assert others <= sys.stdlib_module_names


def test_modules_stay_small_enough_to_read_at_one_sitting() -> None:
    lines = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    long = {module: count for module, count in lines.items() if count > MOST_LINES}
    assert long.keys() <= EXCEPTIONS.keys(), "split it"
    assert EXCEPTIONS.keys() <= long.keys(), "no exception any more: take it out"
    assert all(count <= EXCEPTIONS[module] for module, count in long.items()), "an exception only shrinks"


def test_a_fresh_driver_is_light() -> None:
    code = "import alongside.driver.main, sys; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=20)
    assert HEAVY & set(ran.stdout.split()) == set()


def test_the_version_is_told_once_and_the_same() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert alongside.__version__ == project["version"]


def test_no_file_names_the_machine_it_was_written_on() -> None:
    # Spelt apart, so that this file does not name them either. Users called "me", "ada", "user" or "x" are examples.
    machine = re.compile(r"(?<![\w.])(?:/wor" + r"k/|/ho" + r"me/(?!me\b|ada\b|user\b|x\b)\w|/Use" + r"rs/\w|/root/\w)")
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in TEXTS if readable(path)}
    named = [f"{path.relative_to(ROOT)}: {found[0]}" for path, text in texts.items() if (found := machine.search(text))]
    assert named == []


def test_every_link_to_a_local_file_leads_somewhere() -> None:
    pages = [path for path in TEXTS if path.suffix == ".md"]
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
        if "://" not in link and not link.startswith("mailto:") and not (page.parent / link).exists()
    ]
    assert broken == []
