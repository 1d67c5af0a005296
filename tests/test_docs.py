"""Pages that are written by programs are as those write them now."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_page_of_toolkits_is_that_of_the_ladder_and_of_the_last_run() -> None:
    spec = importlib.util.spec_from_file_location("toolkits", ROOT / "bench" / "toolkits.py")
    assert spec is not None
    assert spec.loader is not None
    toolkits = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(toolkits)
    written = (ROOT / "docs" / "toolkits.md").read_text(encoding="utf-8")
    assert written == toolkits.page(toolkits.cells()), "write it again: bench/toolkits.py"
