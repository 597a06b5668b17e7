"""``thpi export`` to real engines: a table holds codes of one model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from thpi.cli import run
from thpi.codes import pack
from thpi.export import STORES, write_npy

MODEL, OTHER = "c4e8709f0e821f23", "0d1f6f3f1c8e9b7a"


@pytest.mark.slow
@pytest.mark.parametrize("store", list(STORES))
def test_codes_of_another_model_are_not_added(
    tmp_path: Path, address_of: Callable[[str], str], capsys: pytest.CaptureFixture[str], store: str
) -> None:
    address = address_of(store)
    codes = pack(np.random.RandomState(0).rand(4, 16) < 0.5)
    for name, model in (("ours", MODEL), ("theirs", OTHER), ("unknown", None), ("more", MODEL), ("others", None)):
        write_npy(tmp_path / name, codes, 16, [f"{name} {i}" for i in range(4)], model)

    def export(name: str, table: str, *options: str) -> str:
        capsys.readouterr()
        ended = run(["export", str(tmp_path / name), address, "--format", store, "--table", f"cli_{table}", *options])
        return capsys.readouterr().err or str(ended)

    assert export("ours", "known") == export("unknown", "unknown") == "0"
    for any_model in ([], ["--any-model"]):
        message = export("theirs", "known", "--append", *any_model)
        assert MODEL in message
        assert OTHER in message
    for name, table in (("others", "known"), ("more", "unknown")):
        assert "--any-model" in export(name, table, "--append")
        assert export(name, table, "--append", "--any-model") == "0"
    assert export("more", "known", "--append") == "0"
