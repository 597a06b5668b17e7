"""A method and a meaning of "relevant" that are added from outside work everywhere, without any other edit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import thpi
from thpi import HASHERS, ITQ, RELEVANCES, AutoHasher, BaseHasher, TransferITQ
from thpi.auto import Candidate, Relevance
from thpi.base import Views
from thpi.cli import run
from thpi.registry import methods_table, register, unregister
from thpi.solvers.moments import principal_axes


@dataclass(eq=False, repr=False, kw_only=True)
class ToyHash(BaseHasher):
    """Signs of the principal components, the last ones first."""

    summary = "signs of principal components, the last ones first"
    uses_source = True

    shift: int = 0

    def _fit(self, views: Views, rng: np.random.RandomState) -> dict[str, np.ndarray]:
        V, _ = principal_axes(views.X, views.mean, views.X.shape[1])
        return {"projection_": np.roll(V[:, ::-1], self.shift, axis=1)[:, : self.n_bits]}


@pytest.fixture
def toy_method() -> Iterator[type[BaseHasher]]:
    register(ToyHash, candidates={"source": [{}, {"shift": 4}]})
    yield ToyHash
    unregister("ToyHash")
    assert "ToyHash" not in HASHERS


@pytest.fixture
def toy_relevance() -> Iterator[Relevance]:
    plain, toy = Candidate(ITQ, uses_source=False), Candidate(ToyHash, uses_source=False)
    listed = (plain, Candidate(TransferITQ), toy)
    meaning = Relevance("quiet", "near in the last column", listed, plain, space=lambda s: s.target[:, -1:])
    RELEVANCES[meaning.name] = meaning
    yield meaning
    del RELEVANCES[meaning.name]


@pytest.fixture
def quiet() -> tuple[np.ndarray, np.ndarray]:
    """Rows whose source is their quietest column, which ITQ does not look at."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((150, 12)) * [*np.linspace(6, 2, 11), 0.3]
    return X, np.hstack([X[:, -1:], 0.1 * rng.standard_normal((150, 2))])


def test_autohasher_tries_a_registered_method(toy_method, quiet):
    X, S = quiet
    hasher = AutoHasher(4, relevance="source", random_state=0).fit(X, privileged=S)
    tried = [entry for entry in hasher.candidates_ if entry["method"] == "ToyHash"]
    assert tried
    assert tried[0]["name"] == "ToyHash with source"
    assert tried[0]["params"] == {}
    alone = AutoHasher(1, relevance="source", random_state=0).fit(X, privileged=S)
    score = {entry["method"]: entry["score"] for entry in reversed(alone.candidates_)}
    assert score["ToyHash"] > score["ITQ"] + 3  # its only bit is the sign of the quiet column


def test_commands_files_and_tables_know_a_registered_method(toy_method, quiet, tmp_path: Path, capsys):
    X, _ = quiet
    np.save(tmp_path / "rows.npy", X)
    path = tmp_path / "toy.thpi"
    arguments = ["build", str(path), str(tmp_path / "rows.npy"), "--method", "ToyHash", "--bits", "4"]
    assert run([*arguments, "--set", "shift=2"]) == 0
    with thpi.open(path) as shop:
        loaded = shop.estimator()
        np.testing.assert_array_equal(shop.codes_of(range(150)), loaded.transform(X))
    assert isinstance(loaded, ToyHash)
    assert loaded.shift == 2
    assert run(["search", str(path), "--id", "3", "-k", "2"]) == 0
    capsys.readouterr()
    assert run(["build", "--methods"]) == 0
    assert "ToyHash" in capsys.readouterr().out
    assert "| `ToyHash` | signs of principal components, the last ones first |" in methods_table()
    unregister("ToyHash")
    with thpi.open(path) as shop, pytest.raises(ValueError, match="'ToyHash'"):
        shop.estimator()
    register(ToyHash)


def test_a_new_meaning_is_one_object(toy_relevance, quiet, tmp_path: Path, capsys):
    X, S = quiet
    hasher = AutoHasher(1, relevance="quiet", random_state=0).fit(X, privileged=S)
    assert hasher.choice_ == "ToyHash without source"
    # The only bit is the sign of the last column, nearly.
    agree = np.mean((hasher.signs(X)[:, 0] > 0) == (X[:, -1] > X[:, -1].mean()))
    assert max(agree, 1 - agree) > 0.8
    found = thpi.diagnose(X, S, relevances=["quiet"], n_bits=1, n_folds=2, random_state=0)
    assert "near in the last column" in found.answers[0].sentence
    assert found.answers[0].choice == hasher.choice_
    for name, rows in (("x", X), ("s", S)):
        np.save(tmp_path / f"{name}.npy", rows)
    capsys.readouterr()
    paths = [str(tmp_path / "x.npy"), "--privileged", str(tmp_path / "s.npy")]
    assert run(["diagnose", *paths, "--relevance", "quiet", "--bits", "1", "--folds", "2"]) == 0
    assert "near in the last column" in capsys.readouterr().out
    build = ["build", str(tmp_path / "q.thpi"), *paths, "--bits", "1", "--relevance"]
    assert run([*build, "quiet"]) == 0
    assert "ToyHash without source" in capsys.readouterr().out
    assert run([*build[:-3], "--relevance", "loud", "--force"]) == 2
    assert "groups, quiet" in capsys.readouterr().err
    assert run(["diagnose", *paths, "--relevance", "loud"]) == 2
    assert "groups, quiet" in capsys.readouterr().err


def test_what_cannot_be_registered_is_named():
    with pytest.raises(ValueError, match="'ITQ' is registered already"):
        register(ITQ)

    class Silent(ToyHash):
        summary = ""

    with pytest.raises(ValueError, match=r"Silent.summary is empty"):
        register(Silent)

    class Curved(ToyHash):
        def _project(self, X):
            return X[:, : self.n_bits] ** 2

    with pytest.raises(ValueError, match="Curved overrides _project"):
        register(Curved, candidates={"target": [{}]})
    with pytest.raises(ValueError, match="candidates has 'colour'"):
        register(ToyHash, candidates={"colour": [{}]})
    assert "ToyHash" not in HASHERS
