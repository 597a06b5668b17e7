"""What a user sees of hostile or missing data, and of too little memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import typer

from thpi.cli import run
from thpi.index import HammingIndex
from thpi.tables import as_ids


def test_control_characters_of_ids_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = HammingIndex(8)
    index.add(np.zeros((1, 1), dtype=np.uint8), ["\x1b[2Jcafé\r"])
    index.save(tmp_path / "shop.index")
    assert run(["index", "info", str(tmp_path / "shop.index")]) == 0
    assert "\\x1b[2Jcafé\\r" in capsys.readouterr().out


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
