"""Write the reference of the commands from their help: ``python -m tools.commands_page``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from thpi._files import atomic_write
from thpi.cli import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "commands.md"
HEAD = """\
# Commands

<!-- Written by `python -m tools.commands_page`. Change the help of the command instead. -->

Every command prints this with `--help`. `thpi --version` prints the version, and `thpi --install-completion` installs
completion for your shell. [Tables and arrays](file-formats.md#tables-and-arrays) says which files the commands read.

- `--json` prints the result as one line of JSON; `thpi search` prints one line per query. Progress and notes go to
  standard error.
- The exit code is 0 if the command succeeded, 2 for bad input and 130 if it was interrupted. An error is one line on
  standard error. It names the argument, the value and what is allowed.
- An existing output file is replaced only with `--force`. An interrupted command leaves the old file, or none.
"""


def page() -> str:
    """The text of the page."""
    return "\n".join([HEAD, *_sections(typer.main.get_command(app), "thpi")])


def _sections(command: Any, name: str) -> Iterator[str]:
    context = typer.Context(command, info_name=name)
    names = command.list_commands(context) if hasattr(command, "list_commands") else []
    commands = [command.get_command(context, part) for part in names]
    if name != "thpi":
        yield f"## {name}\n"
        if not commands:
            yield f"```text\n{' '.join([name, *_usage(command.params)])}\n```\n"
        yield from _text(command.help)
        if not commands:
            yield from _table(command.params)
    for part in commands:
        yield from _sections(part, f"{name} {part.name}")


def _text(text: str) -> Iterator[str]:
    """Paragraphs, and the examples as a block of shell commands."""
    for paragraph in re.split(r"\n{2,}", inspect.cleandoc(text)):
        if paragraph.startswith("\b"):
            lines = re.sub(r"^Examples?:\n", "", paragraph.removeprefix("\b\n"))
            yield f"```sh\n{inspect.cleandoc(lines)}\n```\n"
        else:
            yield _marked(paragraph) + "\n"


def _table(params: list[Any]) -> Iterator[str]:
    rows = [_row(param) for param in params if not param.hidden and param.name != "help"]
    if rows:
        yield "\n".join(["| argument or option | meaning |", "|---|---|", *rows]) + "\n"


def _row(param: Any) -> str:
    words = [f"`{name}`" for name in (*param.opts, *param.secondary_opts)] if _is_option(param) else []
    value = "" if _is_option(param) and param.is_flag else f" `{_value(param)}`"
    cells = (", ".join(words) + value).strip(), _marked(param.help) + _default(param.default)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _default(value: object) -> str:
    if value is None or value is False or value == "" or callable(value):
        return ""
    shown = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
    return f" Default: {shown}."


def _marked(text: str) -> str:
    """Options, and commands after a colon, as code."""
    command = re.fullmatch(r"(.*:)  (thpi .*)", text)
    return f"{command[1]} `{command[2]}`" if command else re.sub(r"(?<![\w`-])(--[a-z][\w-]*)", r"`\1`", text)


def _usage(params: list[Any]) -> list[str]:
    arguments = [param for param in params if not _is_option(param)]
    return [_value(param) if param.required else f"[{_value(param)}]" for param in arguments] + ["[OPTIONS]"]


def _is_option(param: Any) -> bool:
    return bool(param.param_type_name == "option")


def _value(param: Any) -> str:
    return str(param.metavar or param.name.upper())


if __name__ == "__main__":
    atomic_write(PAGE, page())
