"""A method, a meaning of "relevant", a store, an encoder and a page from outside: each in one place alone."""

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
from thpi.codes import pack
from thpi.encoder import Coding
from thpi.evaluation import Judged, find_truth
from thpi.export import DESTINATIONS, Destination, write
from thpi.hash_functions import LINEAR
from thpi.identity import fingerprint
from thpi.registry import register, unregister
from thpi.report import html_page
from thpi.solvers.moments import principal_axes
from tools.methods_table import methods_table


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


def test_collections_files_and_tables_know_a_registered_method(toy_method, quiet, tmp_path: Path):
    X, S = quiet
    with thpi.build(tmp_path / "toy.thpi", X, hasher=ToyHash(4, shift=2)) as shop:
        expected = ToyHash(4, shift=2).fit(X).transform(X)
        np.testing.assert_array_equal(shop.codes_of(range(150)), expected)
        assert shop.about["settings"] == {"n_bits": 4, "random_state": None, "shift": 2}
    with thpi.open(tmp_path / "toy.thpi") as shop:
        assert isinstance(shop.estimator(), ToyHash)
        assert shop.estimator().shift == 2
        assert shop.search(X[7:8], k=150).ids.shape == (1, 150)
    with thpi.build(tmp_path / "auto.thpi", X, privileged=S, relevance="source", bits=1) as shop:
        assert "ToyHash" in {entry["method"] for entry in shop.estimator().candidates_}
    ToyHash(4).fit(X).save(tmp_path / "model")
    assert isinstance(thpi.load(tmp_path / "model"), ToyHash)
    assert "| `ToyHash` | signs of principal components, the last ones first |" in methods_table()
    unregister("ToyHash")
    with pytest.raises(thpi.ModelFileError, match="'ToyHash'"):
        thpi.load(tmp_path / "model")
    register(ToyHash)


def test_commands_know_a_registered_method(toy_method, quiet, tmp_path: Path, capsys):
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
    unregister("ToyHash")
    with thpi.open(path) as shop, pytest.raises(ValueError, match="'ToyHash'"):
        shop.estimator()
    register(ToyHash)


def test_a_new_meaning_is_one_object(toy_relevance, quiet, tmp_path: Path):
    X, S = quiet
    hasher = AutoHasher(1, relevance="quiet", random_state=0).fit(X, privileged=S)
    assert hasher.choice_ == "ToyHash without source"
    # The only bit is the sign of the last column, nearly.
    agree = np.mean((hasher.signs(X)[:, 0] > 0) == (X[:, -1] > X[:, -1].mean()))
    assert max(agree, 1 - agree) > 0.8
    found = thpi.diagnose(X, S, relevances=["quiet"], n_bits=1, n_folds=2, random_state=0)
    assert "near in the last column" in found.answers[0].sentence
    assert found.answers[0].choice == hasher.choice_
    with thpi.build(tmp_path / "shop.thpi", X, privileged=S, relevance="quiet", bits=1) as shop:
        assert shop.evidence["choice"] == hasher.choice_
        assert shop.model == hasher.fingerprint_
    judged = Judged(X[:3]), Judged(X[3:])
    truth = find_truth("quiet", *judged, neighbours=1)
    nearest = np.abs(X[:3, -1:] - X[3:, -1]).argmin(axis=1)
    np.testing.assert_array_equal(truth.relevant.toarray().argmax(axis=1), nearest)
    assert truth.words == "near in the last column: the 1 nearest rows"
    with pytest.raises(ValueError, match="relevance='loud' must be one of .*groups, quiet"):
        thpi.build(tmp_path / "loud.thpi", X, privileged=S, relevance="loud", bits=1)


def test_commands_know_a_new_meaning(toy_relevance, quiet, tmp_path: Path, capsys):
    X, S = quiet
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


def test_a_store_from_outside_is_one_entry(quiet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def write_lines(collection, target, **options):
        Path(target).write_text("".join(f"{item} {bytes(code).hex()}\n" for item, code in collection))
        return {"items": len(collection)}

    monkeypatch.setitem(DESTINATIONS, "lines", Destination("lines", "an item a line", (".lines",), write_lines))
    X, _ = quiet
    with thpi.build(tmp_path / "shop.thpi", X[:20], bits=8) as shop:
        assert write(shop, tmp_path / "shop.lines")["items"] == 20
        expected = [
            f"{item} {bytes(code).hex()}" for item, code in zip(range(20), shop.codes_of(range(20)), strict=True)
        ]
    assert (tmp_path / "shop.lines").read_text().splitlines() == expected


class Halves(Coding):
    """An encoder that is no estimator of scikit-learn, and not registered: the sides of the median in some columns."""

    def __init__(self, columns: list[int]) -> None:
        self.columns, self.n_bits = columns, len(columns)

    def fit(self, X: np.ndarray, y: object = None) -> Halves:
        self.n_features_in_ = X.shape[1]
        self.mean_, self.projection_ = np.median(X, axis=0), np.eye(X.shape[1])[:, self.columns]
        self.codes_, self.n_iter_, self.converged_ = self.transform(X), 0, True
        return self

    @property
    def method_name(self) -> str:
        return "Halves"

    @property
    def fingerprint_(self) -> str:
        return fingerprint(self.n_bits, {"mean_": self.mean_, "projection_": self.projection_})

    @property
    def hash_name(self) -> str:
        return LINEAR.name

    def get_params(self) -> dict[str, object]:
        return {"n_bits": self.n_bits, "columns": self.columns}

    def transform(self, X: np.ndarray) -> np.ndarray:
        return self._encode(X)

    def _project(self, X: np.ndarray) -> np.ndarray:
        return LINEAR.project(X, vars(self))

    def _check_in_memory(self, X: np.ndarray, finite: bool) -> np.ndarray:
        return np.asarray(X, dtype=np.float64)


def test_an_encoder_from_outside_is_one_class(quiet, tmp_path: Path):
    X, _ = quiet
    with thpi.build(tmp_path / "halves.thpi", X[:100], hasher=Halves([11, 0, 3])) as shop:
        assert shop.about["method"] == "Halves"
        shop.add(X[100:])
    with thpi.open(tmp_path / "halves.thpi") as shop:
        above = X[:, [11, 0, 3]] >= np.median(X[:100, [11, 0, 3]], axis=0)
        np.testing.assert_array_equal(shop.codes_of(range(150)), pack(above))
        assert shop.search(X[:1], k=1).distances.tolist() == [[0]]


def test_a_page_from_outside_is_one_call():
    page = html_page("1 < 2", "<p>A result of <b>ours</b>.</p>", "python ours.py --fast")
    assert page.startswith("<!doctype html>")
    assert "<title>1 &lt; 2</title>" in page
    assert "<p>A result of <b>ours</b>.</p>" in page
    assert f"<code>python ours.py --fast</code>, thpi {thpi.__version__}" in page
    assert "<script" not in page


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
