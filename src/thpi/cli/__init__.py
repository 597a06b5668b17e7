"""The ``thpi`` command; one file per command, imported when it is used.

To add a command: write ``thpi/cli/<name>.py`` with a function of that name or, for subcommands, a ``typer.Typer``
named ``app``, and add the name to ``COMMANDS``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from thpi._signals import resend_lost_interrupts, run_program

__all__ = ["COMMANDS", "app", "main", "run"]

COMMANDS = (
    *("build", "search", "add", "remove", "info", "evaluate", "refit", "serve", "export"),
    *("diagnose", "compare", "demo"),
)


class _LazyGroup(TyperGroup):
    def list_commands(self, ctx: object) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: object, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"thpi.cli.{cmd_name}")
        member: typer.Typer | None = getattr(module, "app", None)
        if member is None:
            member = typer.Typer(add_completion=False)
            # Help that is longer than a function may be.
            member.command(cmd_name, help=getattr(module, "HELP", None))(getattr(module, cmd_name))
        command = typer.main.get_command(member)
        command.name = cmd_name
        return command


app = typer.Typer(cls=_LazyGroup, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def _thpi(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """Search by image embedding in 4 bytes per item, improved by the text or tags you have only at training time."""
    if version:
        from thpi import __version__

        typer.echo(__version__)
        raise typer.Exit


def run(arguments: Sequence[str] | None = None, group: typer.Typer = app, name: str = "thpi") -> int:
    """Run a command line and return the exit code: 0, or 2 with one line on standard error for bad input.

    ``group`` holds the commands, and ``name`` is that of the program in the help.

    >>> run(["info", "not-there.thpi"])
    2
    """
    try:
        group(None if arguments is None else list(arguments), prog_name=name)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:  # outside the part in which typer handles it
        return 130
    except (ValueError, OSError, KeyError, ImportError, MemoryError) as error:
        if os.environ.get("THPI_TRACEBACK"):  # for developers of thpi
            raise
        memory = "not enough memory. " if isinstance(error, MemoryError) else ""
        typer.echo(f"error: {memory}{error}", err=True)
        return 2
    return 0


def load() -> Callable[[], int]:
    """Return what runs the command line of this process."""
    resend_lost_interrupts()
    return run


def main() -> None:
    """Run the command line of this process, and exit."""
    run_program(load)
