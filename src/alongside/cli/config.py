"""``alongside config CLIENT``: the lines that add Alongside to an MCP client.

Sources: the clients' own documentation. VS Code's key is ``servers``, everybody else's ``mcpServers``; Codex and Claude
Desktop start servers with a handful of variables only, so what leads to the person's desktop has to be passed on.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

_DESKTOP_VARIABLES = ("DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")
CLIENTS = ("claude-code", "claude-desktop", "cursor", "vscode", "codex")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", choices=CLIENTS, metavar="CLIENT", help=", ".join(CLIENTS))
    parser.add_argument("--user-desktop", action="store_true", help="with leave to act on your own desktop")


def run(options: argparse.Namespace) -> int:
    command = [*own_command(), "serve", *(["--user-desktop"] if options.user_desktop else [])]
    print(lines(options.client, command))  # noqa: T201
    return 0


def own_command() -> list[str]:
    """How this program is started again: its name where it is on the PATH, else in full."""
    program = Path(sys.argv[0])
    # uv keeps what `uvx` runs in its cache, and may remove it from there.
    if ".cache/uv/" in program.as_posix() or "/archive-v0/" in program.as_posix():
        return ["uvx", "alongside"]
    beside = Path(sys.executable).with_name("alongside")
    found = shutil.which("alongside")
    if found and Path(found).resolve() in {beside.resolve(), program.resolve()}:
        return ["alongside"]
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "alongside"]


def lines(client: str, command: list[str]) -> str:
    """What to run or to add where, for one of ``CLIENTS``."""
    program, *arguments = command
    entry: dict[str, Any] = {"command": program, "args": arguments}
    shell = shlex.join(command)
    match client:
        case "claude-code":
            return f"# Run:\nclaude mcp add --scope user alongside -- {shell}"
        case "claude-desktop":
            where = {
                "darwin": "~/Library/Application Support/Claude/claude_desktop_config.json",
                "win32": "%APPDATA%\\Claude\\claude_desktop_config.json",
            }.get(sys.platform, "~/.config/Claude/claude_desktop_config.json")
            if passed := {name: os.environ[name] for name in _DESKTOP_VARIABLES if os.environ.get(name)}:
                entry["env"] = passed
            return f"# Add to {where}, then restart Claude Desktop:\n{_json({'mcpServers': {'alongside': entry}})}"
        case "cursor":
            return f"# Add to ~/.cursor/mcp.json:\n{_json({'mcpServers': {'alongside': entry}})}"
        case "vscode":
            entry = {"type": "stdio", **entry}
            added = shlex.quote(json.dumps({"name": "alongside", **entry}))
            file = _json({"servers": {"alongside": entry}})
            return f"# Run:\ncode --add-mcp {added}\n# or add to .vscode/mcp.json:\n{file}"
        case _:
            # A TOML string and list read like JSON's.
            return (
                "# Add to ~/.codex/config.toml:\n[mcp_servers.alongside]\n"
                f"command = {json.dumps(program)}\nargs = {json.dumps(arguments)}\n"
                f"env_vars = {json.dumps(list(_DESKTOP_VARIABLES))}"
            )


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2)
