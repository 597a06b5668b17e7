from __future__ import annotations

import subprocess
import sys

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
