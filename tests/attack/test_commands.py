"""What a user sees of hostile or missing data, and of too little memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import typer

import thpi
from thpi.cli import run
from thpi.tables import as_ids


def test_control_characters_of_ids_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    about = {"title": "\x1b[31mshop"}
    ids = ["\x1b[2Jcafé\r", "b", "c"]
    thpi.build(tmp_path / "shop.thpi", np.eye(3), ids=ids, hasher=thpi.LSH(8, random_state=0), about=about).close()
    for words in (["info"], ["search", "--id", "b"]):
        assert run([words[0], str(tmp_path / "shop.thpi"), *words[1:]]) == 0
        out = capsys.readouterr().out
        assert "\\x1b[2Jcafé\\r" in out
        assert "\x1b" not in out


@pytest.mark.parametrize("missing", [None, float("nan"), ""])
def test_a_missing_id_is_an_error(missing: object) -> None:
    with pytest.raises(ValueError, match="number 1 .* missing"):
        as_ids(["a", missing])  # type: ignore[list-item]


def test_too_little_memory_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    app = typer.Typer()

    @app.command()
    def greedy() -> None:
        np.empty(2**60, dtype=np.uint8)

    assert run([], app, "greedy") == 2
    message = capsys.readouterr().err
    assert message.startswith("error: not enough memory.")
    assert message.count("\n") == 1
