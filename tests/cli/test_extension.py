"""A method that is added from outside is known to the commands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

import thpi
from thpi.base import BaseHasher, Views
from thpi.cli import run
from thpi.registry import register, unregister


@dataclass(eq=False, repr=False, kw_only=True)
class Columns(BaseHasher):
    """Signs of the first columns, from one of them on."""

    summary = "signs of columns"
    first: int = 0

    def _fit(self, views: Views, rng: np.random.RandomState) -> dict[str, np.ndarray]:
        return {"projection_": np.eye(views.X.shape[1])[:, self.first : self.first + self.n_bits]}


@pytest.fixture
def columns() -> Iterator[type[BaseHasher]]:
    register(Columns)
    yield Columns
    unregister("Columns")


def test_the_commands_know_it(columns, tmp_path, capsys, refused):
    X = np.random.RandomState(0).standard_normal((40, 6))
    np.save(tmp_path / "rows.npy", X)
    path = tmp_path / "toy.thpi"
    command = ["build", str(path), str(tmp_path / "rows.npy"), "--method", "Columns", "--bits", "3"]
    assert run([*command, "--set", "first=2"]) == 0
    with thpi.open(path) as shop:
        expected = np.packbits(X[:, 2:5] >= X.mean(axis=0)[2:5], axis=1, bitorder="little")
        np.testing.assert_array_equal(shop.codes_of(range(40)), expected)
        assert shop.about["settings"]["first"] == 2
    assert run(["search", str(path), "--id", "3", "-k", "2"]) == 0
    capsys.readouterr()
    assert run(["build", "--methods"]) == 0
    assert "Columns" in capsys.readouterr().out
    assert "a parameter of Columns: first" in refused([*command, "--force", "--set", "last=2"])
