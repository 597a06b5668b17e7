"""A small shop made of the bundled digits, in every format that the commands read."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import thpi
from thpi.cli import run
from thpi.datasets import load_digits_views
from thpi.export import CodeTable, write_npy
from thpi.index import HammingIndex

N = 300


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with rows (kar), source rows (fou), labels, a collection, a model, codes. Do not write in it."""
    folder = tmp_path_factory.mktemp("shop")
    digits = load_digits_views(target="kar", source="fou")
    rows = np.random.RandomState(0).permutation(digits.n)
    X, labels = digits.target[rows[:N]], digits.labels[rows[:N]]
    np.save(folder / "target.npy", X)
    np.savetxt(folder / "labels.txt", labels, fmt="%d")
    np.savez(folder / "views.npz", target=X, same=digits.source[rows[:N]], more=digits.source[rows[N : 3 * N]])
    names = [f"kar{j}" for j in range(X.shape[1])]
    lines = ["sku,digit," + ",".join(names)]
    lines += [f"A-{i:03d},{labels[i]}," + ",".join(map(repr, X[i].tolist())) for i in range(N)]
    (folder / "shop.csv").write_text("\n".join(lines) + "\n")
    words = ["build", folder / "collection.thpi", folder / "shop.csv", "--id", "sku", "--ignore", "digit", "--bits", 24]
    assert run([str(word) for word in words]) == 0
    with thpi.open(folder / "collection.thpi") as made:
        model, codes, ids = made.estimator(), made.codes_of(made.ids), made.ids
    model.save(folder / "shop.thpi")
    write_npy(folder / "codes.npy", CodeTable.checked(codes, ids, 24, model.fingerprint_))
    index = HammingIndex(24, model=model.fingerprint_)
    index.add(codes, ids)
    index.save(folder / "shop.index")
    return folder


@pytest.fixture
def collection(shop: Path, tmp_path: Path) -> Path:
    """Give a copy of the collection, to be changed."""
    return Path(shutil.copy(shop / "collection.thpi", tmp_path / "collection.thpi"))


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[[list[object]], str]:
    """Give a function that runs a command which must fail with exit code 2 and one line, and returns that line."""

    def check(arguments: list[object]) -> str:
        capsys.readouterr()
        assert run([str(argument) for argument in arguments]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        lines = captured.err.splitlines()
        assert len(lines) == 1, captured.err
        assert lines[0].startswith("error: ")
        return lines[0]

    return check
