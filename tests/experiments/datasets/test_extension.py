"""A data set that is registered from outside is loaded, listed, prepared and verified like the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments import datasets
from experiments.__main__ import run
from experiments.datasets import DATASETS, DatasetInfo, PaperRole
from experiments.datasets.preprocessing import fit_transform_views, standardised
from experiments.harness.data import DataSpec, data_identity, load_rows
from thpi.datasets import PairedDataset


def load_toy(*, data_home: object = None) -> PairedDataset:
    rng = np.random.RandomState(0)
    labels = np.arange(400) % 3
    X = rng.standard_normal((400, 80)) + 3 * labels[:, None]
    names = tuple(f"toy-{i}" for i in range(400))
    return PairedDataset("toy", X, X @ rng.standard_normal((80, 70)), names, labels, ("a", "b", "c"))


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> DatasetInfo:
    entry = DatasetInfo(
        name="toy",
        title="Toy blobs",
        home_page="https://example.org/toy",
        licence="CC0",
        citation="Nobody",
        target="80 numbers",
        source="70 numbers",
        loader=load_toy,
        preprocessing="both standardised",
        pipelines=lambda: (standardised(), standardised()),
        folder="toy",
        files={"toy.txt": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"},
        paper=PaperRole("BBC", "stand-in"),
    )
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "toy.txt").write_text("x")
    monkeypatch.setitem(DATASETS, entry.name, entry)
    return entry


def test_it_is_loaded_and_prepared_by_name(toy: DatasetInfo, tmp_path: Path) -> None:
    loaded = datasets.load("toy", tmp_path)
    assert loaded.n == 400
    views = fit_transform_views(loaded, *toy.pipelines(), np.arange(100), query_rows=[])
    np.testing.assert_allclose(views.target[:100].mean(axis=0), 0, atol=1e-12)
    assert load_rows(DataSpec("toy", 50), str(tmp_path)).n == 50
    assert data_identity(DataSpec("toy"), tmp_path)["files"] == dict(toy.files)


def test_the_commands_know_it(toy: DatasetInfo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = ["--data-home", str(tmp_path)]
    assert run(["datasets", "list", *home]) == 0
    assert "Toy blobs" in capsys.readouterr().out
    assert run(["datasets", "info", "toy", *home]) == 0
    assert "stand-in for BBC" in capsys.readouterr().out
    assert run(["datasets", "verify", "toy", *home]) == 0
    assert capsys.readouterr().out == "ok        toy/toy.txt\n"


def test_it_is_gone_afterwards() -> None:
    assert "toy" not in datasets.list_datasets()
