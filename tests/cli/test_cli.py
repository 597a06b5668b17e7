from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module

import pytest

from thpi import __version__
from thpi.cli import COMMANDS, run


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert "Usage: thpi " + name in capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_of_a_paragraph_is_broken_at_80_columns(name: str) -> None:
    """The help keeps the lines of the docstring: one that is too long would leave a word on a line of its own."""
    module = import_module(f"thpi.cli.{name}")
    group = getattr(module, "app", None)
    functions = [getattr(module, name)] if group is None else [c.callback for c in group.registered_commands]
    for function in functions:
        for paragraph in inspect.cleandoc(getattr(module, "HELP", function.__doc__)).split("\n\n"):
            lines = paragraph.splitlines()
            assert len(lines) == 1 or lines[0] == "\b" or max(map(len, lines)) <= 78, paragraph


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["papers"]) == 2
    assert "papers" in capsys.readouterr().err


def test_help_does_not_load_the_heavy_libraries() -> None:
    code = (
        "import sys; from thpi.cli import run; run(['--help']); "
        "print(sorted({'sklearn', 'faiss', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
