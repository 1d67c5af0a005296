"""The command ``alongside``. Each subcommand is loaded only when it is used: ``serve`` has to answer at once."""

from __future__ import annotations

import argparse
import importlib
import sys

_COMMANDS = {
    "serve": ("speak MCP over stdin and stdout; this is what a client starts", "alongside serve"),
    "demo": ("watch a client fill in three applications in a sandbox", "alongside demo"),
    "doctor": ("say what works here, what is missing, and how to mend it", "alongside doctor"),
    "look": ("list the windows of your desktop, or read one", 'alongside look "Text Editor" --find Save'),
    "act": (
        "carry out steps in a window of your desktop",
        'alongside act --user-desktop Settings "set Name=Ada" "click Save"',
    ),
    "stop": ("stop all acting of every agent for two minutes", "alongside stop"),
    "policy": ("check which applications agents must leave alone, or write that anew", "alongside policy --reset"),
    "config": ("print the lines that add Alongside to a client", "alongside config claude-code"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command; its exit code. 2 stands for wrong usage."""
    given = sys.argv[1:] if arguments is None else arguments
    listed = "\n".join(f"  {name:8}{told}" for name, (told, _) in _COMMANDS.items())
    examples = "\n".join(f"  {example}" for _, example in _COMMANDS.values())
    parser = argparse.ArgumentParser(
        prog="alongside",
        description="Lets an AI agent work in desktop applications beside you, never in your way.",
        epilog=f"commands:\n{listed}\n\nexamples:\n{examples}\n\nalongside COMMAND --help tells more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("command", nargs="?", choices=list(_COMMANDS), metavar="COMMAND", help="one of those below")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    chosen = parser.parse_args(given)
    if chosen.version:
        import alongside  # noqa: PLC0415 - only here

        print(f"alongside {alongside.__version__}")  # noqa: T201
        return 0
    if chosen.command is None:
        parser.print_help()
        return 2
    told, example = _COMMANDS[chosen.command]
    command = argparse.ArgumentParser(
        prog=f"alongside {chosen.command}",
        description=told[0].upper() + told[1:] + ".",
        epilog=f"example: {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module = importlib.import_module(f"alongside.cli.{chosen.command}")
    module.add_arguments(command)
    code: int = module.run(command.parse_args(chosen.rest))
    return code
