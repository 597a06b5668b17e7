"""The page about the commands: what it shows runs, in its order."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from thpi.cli import COMMANDS, run

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_command_of_the_page_succeeds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = []
    for kind, text in BLOCK.findall(PAGE):
        if kind == "python":
            exec(compile(text, "commands.md", "exec"), {"__name__": "page"})
            continue
        for line in re.findall(r"^\$ (.*)$", text.replace("\\\n", " "), re.MULTILINE):
            before, _, command = line.rpartition("| ")
            given = subprocess.run(before, shell=True, capture_output=True, text=True, check=True).stdout
            monkeypatch.setattr("sys.stdin", io.StringIO(given))
            program, *arguments = shlex.split(command)
            assert program == "thpi"
            assert run(arguments) == 0, line
            ran.append(arguments[0])
    shown_elsewhere = {"demo", "serve", "datasets"}
    assert set(ran) == set(COMMANDS) - shown_elsewhere
