from __future__ import annotations

import os
import subprocess
import sys

import pytest

import thpi
from thpi.cli import COMMANDS, run

START = "from thpi.cli import main; main()"


def _completions(words: str) -> list[str]:
    environment = os.environ | {
        "_THPI_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = subprocess.run([sys.executable, "-c", START], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("thpi ", list(COMMANDS)),
        ("thpi ev", ["evaluate"]),
        ("thpi build --pri", ["--privileged"]),
        ("thpi build --method ", list(thpi.HASHERS)),
    ],
)
def test_words_are_completed(words, expected):
    assert _completions(words) == expected


def test_completing_a_command_loads_no_heavy_library():
    code = (
        "import sys, os; os.environ.update(_THPI_COMPLETE='complete_bash', COMP_WORDS='thpi ', COMP_CWORD='1')\n"
        "from thpi.cli import run; run([])\n"
        "print('heavy:', sorted({'sklearn', 'faiss', 'scipy', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "heavy: []"


def test_the_script_for_a_shell(capsys, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert run(["--show-completion", "bash"]) == 0
    assert "_THPI_COMPLETE=complete_bash" in capsys.readouterr().out
