"""AutoHasher decides between one-sided and two-sided codes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import thpi
from thpi.auto._folds import FoldScores
from thpi.evaluation import ranked_average_precision


def made(seed: int, n: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Items of a clean source, of which the target is a noisy copy."""
    rng = np.random.RandomState(seed)
    S = rng.standard_normal((n, 10))
    return S + noise * rng.standard_normal((n, 10)), S


def auto(n: int, noise: float, **params: object) -> tuple[thpi.AutoHasher, np.ndarray, np.ndarray]:
    X, S = made(0, n + 500, noise)
    hasher = thpi.AutoHasher(8, random_state=0, **({"relevance": "source", "kernel": False} | params))
    return hasher.fit(X[:n], privileged=S[:n], source=S[n : n + 100]), X[n + 100 :], S[n + 100 :]


def value(hasher: thpi.AutoHasher, X: np.ndarray, S: np.ndarray) -> float:
    items = hasher.source_side.signs(S) if hasher.sides_ == "two" else hasher.signs(X)
    distances = -hasher.decision_function(X[:100]) @ items[100:].T.astype(float)
    exact = np.linalg.norm(S[:100, None] - S[None, 100:], axis=2)
    return float(ranked_average_precision(distances, exact <= np.sort(exact, axis=1)[:, 9:10]).mean())


@pytest.mark.slow
def test_two_sides_where_the_target_is_noisy():
    hasher, X, S = auto(300, 1.0, sides="auto")
    alone, _, _ = auto(300, 1.0)
    assert hasher.sides_ == "two"
    assert hasher.sides_gain_interval_[0] > 0
    assert hasher.choice_ == "TwoSidedITQ with source"
    assert value(hasher, X, S) > value(alone, X, S)


@pytest.mark.slow
def test_one_side_where_both_are_alike():
    hasher, _, _ = auto(150, 0.0, sides="auto")
    assert hasher.sides_ == "one"
    assert not hasher.is_two_sided
    low, high = hasher.sides_gain_interval_
    assert low <= hasher.sides_gain_ <= high
    alone, _, _ = auto(150, 0.0)
    np.testing.assert_array_equal(hasher.projection_, alone.projection_)  # trying two sides changes nothing else


@pytest.mark.slow
def test_two_sides_on_demand():
    hasher, X, S = auto(150, 0.0, sides="two")
    assert hasher.sides_ == "two"
    assert [entry["name"] for entry in hasher.candidates_ if entry["chosen"]] == ["TwoSidedITQ with source"]
    assert hasher.transform_source(S).shape == hasher.transform(X).shape


@pytest.mark.slow
@pytest.mark.parametrize("relevance", ["source", "labels", "groups"])
def test_every_meaning_but_target_has_two_sides(relevance):
    X, S = made(1, 200, 0.5)
    y = (S[:, 0] > 0).astype(int) + 2 * (S[:, 1] > 0)
    hasher = thpi.AutoHasher(8, relevance=relevance, sides="two", random_state=0)
    hasher.fit(X, y if relevance == "labels" else None, privileged=S)
    assert hasher.is_two_sided


@pytest.mark.slow
def test_kernel_queries_meet_linear_items(tmp_path):
    hasher, X, S = auto(150, 0.5, sides="two", kernel=True)
    assert hasher.is_kernel_
    assert hasher.is_two_sided
    hasher.save(tmp_path / "m")
    loaded = thpi.load_encoder(tmp_path / "m")
    np.testing.assert_array_equal(loaded.transform(X), hasher.transform(X))
    np.testing.assert_array_equal(loaded.transform_source(S), hasher.transform_source(S))
    assert loaded.fingerprint_ == hasher.fingerprint_


def test_few_pairs_leave_one_side():
    X, S = made(0, 8, 0.1)
    hasher = thpi.AutoHasher(4, relevance="source", sides="auto", random_state=0).fit(X, privileged=S)
    assert hasher.sides_ == "one"
    with pytest.raises(AttributeError):
        _ = hasher.sides_gain_interval_


@pytest.mark.slow
def test_unrelated_views_have_no_two_sides():
    X, S = made(0, 120, 0.1)
    shuffled = S[np.random.RandomState(1).permutation(120)]
    hasher = thpi.AutoHasher(8, relevance="source", random_state=0, sides="auto")
    with pytest.warns(thpi.auto.UnrelatedPairsWarning):
        assert hasher.fit(X, privileged=shuffled).sides_ == "one"
    with pytest.raises(ValueError, match="sides='two' needs a source that the target predicts"):
        hasher.set_params(sides="two").fit(X, privileged=shuffled)


def test_target_neighbours_have_one_side():
    X, S = made(0, 60, 0.1)
    assert thpi.AutoHasher(8, sides="auto", random_state=0).fit(X, privileged=S).sides_ == "one"
    with pytest.raises(ValueError, match="sides='two' needs privileged=.*source, labels, groups"):
        thpi.AutoHasher(8, sides="two", random_state=0).fit(X, privileged=S)


def test_the_interval_of_the_gain_is_that_of_the_folds():
    rng = np.random.RandomState(0)
    folds = np.tile(np.arange(60) % 3, (2, 1))
    one = FoldScores(rng.uniform(20, 40, (2, 60)), folds)
    two = FoldScores(one.precisions + 5 + rng.standard_normal((2, 60)), folds)
    gain, low, high = two.gain_with_interval(one)
    error = two.gain_on_new_rows(one)[1]
    assert (low, high) == pytest.approx((gain - 1.959964 * error, gain + 1.959964 * error))
    assert gain == pytest.approx((two.precisions - one.precisions).mean())


@pytest.mark.parametrize(("max_pairs", "kernel"), [(500, True), (100, False)])
def test_folds_of_a_part_of_the_pairs_do_not_choose_the_kernel(max_pairs, kernel):
    """By the scores of the folds the kernel is better; on all pairs, which depend linearly, the plain one is."""
    rng = np.random.RandomState(0)
    S = rng.standard_normal((400, 12))
    X = S @ rng.standard_normal((12, 30)) + 0.1 * rng.standard_normal((400, 30))
    hasher = thpi.AutoHasher(8, relevance="source", sides="two", max_pairs=max_pairs, n_landmarks=32, random_state=0)
    trial = hasher.trial(hasher.check_views(X, None, S, None, None), np.random.RandomState(0))
    scores = {candidate: SimpleNamespace(mean=float(candidate.kernel)) for candidate in trial.plan.two_sided}
    assert len(scores) == 2
    assert trial.best_two_sided(scores).kernel is kernel
    assert trial.best_two_sided(None) is trial.plan.two_sided[0]
