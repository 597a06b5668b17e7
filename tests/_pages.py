"""Pages of the documentation as a reader goes through them: blocks run, and what the page shows comes out of them.

``python`` blocks share a namespace. The comment behind a ``print`` is what it prints, and an ``output`` block is all
that the block above it prints. Lines of a ``console`` block that begin with ``$ thpi`` are commands, and the lines
below one are its output; if there are none, the command only has to succeed. ``py`` and ``sh`` are shown, and not run.
"""

from __future__ import annotations

import builtins
import io
import re
import shlex
import sys
import tokenize
from collections import defaultdict
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tests._shown import check_shown
from thpi.cli import run

FENCE = re.compile(r"^```(python|console|output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str, str]]:
    """The line, kind and text of each block that runs or shows output."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, block.start(2)), block[1], block[2]) for block in FENCE.finditer(text)]


def run_page(page: Path, folder: Path) -> None:
    """Run all blocks of the page in ``folder``, and compare what they print."""
    namespace: dict[str, Any] = {"__name__": "page"}
    printed = ""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "80")
        for line, kind, block in blocks(page):
            where = f"{page.name}, line {line + 1},"
            if kind == "console":
                _run_commands(block, where)
            elif kind == "python":
                # Blank lines in front make a traceback point at the line of the page.
                printed = _run_python("\n" * line + block, page, namespace)
            else:
                check_shown(block, printed, where)


def _run_commands(block: str, where: str) -> None:
    before, *commands = re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)
    assert not before, f"A line of a console block is neither a command nor its output: {before}"
    for command, _, shown in (part.partition("\n") for part in commands):
        program, *arguments = shlex.split(command, comments=True)
        assert program == "thpi", command
        with redirect_stdout(io.StringIO()) as out:
            assert run(arguments) == 0, command
        if shown.strip():
            check_shown(shown, out.getvalue(), where)


def _run_python(code: str, page: Path, namespace: dict[str, Any]) -> str:
    """Run a block, compare the comments behind ``print``, and return all that it prints."""
    by_line: dict[int, str] = defaultdict(str)
    everything = io.StringIO()

    def recorded(*values: object, **options: Any) -> None:
        with redirect_stdout(io.StringIO()) as out:
            builtins.print(*values, **options)
        by_line[sys._getframe(1).f_lineno] += out.getvalue()
        everything.write(out.getvalue())

    namespace["print"] = recorded
    exec(compile(code, str(page), "exec"), namespace)
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("print("):
            line = token.start[0]
            check_shown(token.string.removeprefix("#"), by_line[line], f"{page.name}, line {line},")
    return everything.getvalue()
