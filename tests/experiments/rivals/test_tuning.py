from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold

import thpi
from experiments.rivals import RIVALS, tuning
from experiments.rivals.features import FEATURES, FeatureChoice
from experiments.rivals.hasher import RivalHasher
from experiments.rivals.rival import Affine, Rival
from experiments.rivals.tuning import Pairs, average_precisions, tuned
from thpi.auto import Spaces
from thpi.evaluation import average_precision


def _pairs(n=60, y=None, **more):
    rng = np.random.RandomState(3)
    S = rng.standard_normal((n + 40, 4))
    X = S[:n] @ rng.standard_normal((4, 7)) + 0.5 * rng.standard_normal((n, 7))
    return Pairs(X, np.arange(n) % 3 if y is None else y, S[:n], S[n:], seed=5, **more)


@pytest.mark.parametrize("n_bits", [2, 7, 32])
def test_average_precision_is_that_of_the_metrics_with_the_row_itself_left_out(rng, n_bits):
    projections, relevant = rng.standard_normal((25, n_bits)), rng.uniform(size=(25, 25)) < 0.2
    np.fill_diagonal(relevant, False)
    relevant[4] = False  # no query
    codes = thpi.codes.pack_signs(projections)
    wanted = [
        average_precision(codes[i : i + 1], np.delete(codes, i, 0), np.delete(relevant[i : i + 1], i, 1), n_bits)[0]
        for i in range(25)
        if i != 4
    ]
    np.testing.assert_allclose(average_precisions(projections, relevant), wanted, atol=1e-12)


def test_folds_are_three_of_the_pairs_with_held_out_rows_apart():
    pairs = _pairs()
    wanted = list(KFold(3, shuffle=True, random_state=5).split(np.arange(60)))
    for part, (train, held) in zip(pairs.folds, wanted, strict=True):
        np.testing.assert_array_equal(part.train, train)
        np.testing.assert_array_equal(part.held, held)


def test_a_fold_of_many_pairs_learns_from_334_and_holds_out_500():
    rng = np.random.RandomState(0)
    folds = Pairs(rng.standard_normal((2000, 2)), seed=0).folds
    assert [(len(part.train), len(part.held)) for part in folds] == [(334, 500)] * 3
    assert not any(set(part.train) & set(part.held) for part in folds)


def test_what_is_relevant_is_what_auto_hasher_means():
    pairs = _pairs()
    S = pairs.source.rows[:60]
    for meaning, spaces in (
        ("target", Spaces(pairs.X)),
        ("source", Spaces(pairs.X, source=S)),
        ("labels", Spaces(pairs.X, labels=pairs.y)),
    ):
        np.testing.assert_array_equal(pairs.relevant(meaning), thpi.RELEVANCES[meaning].of_pairs(spaces))
    assert pairs.relevant("groups").any()


def test_labels_are_shown_only_if_they_decide_what_is_relevant():
    pairs = _pairs()
    known = {meaning: pairs.training(pairs.whole, FeatureChoice(), meaning).labels for meaning in thpi.RELEVANCES}
    assert known["labels"].shape == (60, 3)
    assert known["target"] is known["source"] is known["groups"] is None


def test_the_best_of_all_combinations_of_a_stage_is_taken():
    def learn(training, n_bits, params, rng):
        weights = np.zeros((training.Z.shape[1], n_bits))
        if params["good"] and params["sign"] > 0:
            weights[:n_bits, :n_bits] = np.eye(n_bits)
        return Affine(weights, np.zeros(n_bits))

    stage = {"features": FEATURES[:1], "good": (False, True), "sign": (-1, 1)}
    found = tuned(Rival("toy", "", ("target",), learn, (stage, {"last": (1, 2)})), _pairs(), "target", 4)
    assert found.params == {"features": FEATURES[0], "good": True, "sign": 1, "last": 1}
    assert 0 < found.score < 1


def test_too_few_pairs_take_the_first_parameters():
    found = tuned(RIVALS["thermometer"], _pairs(n=10), "target", 8)
    assert found.score is None
    assert found.params == RIVALS["thermometer"].first


def test_folds_in_which_nothing_is_relevant_cannot_choose():
    found = tuned(RIVALS["one_hot"], _pairs(n=30, y=np.arange(30)), "labels", 8)
    assert found.score is None


def test_features_are_computed_once_for_all_rivals(monkeypatch):
    pairs, made = _pairs(), []
    whole = tuning.fit_features
    monkeypatch.setattr(tuning, "fit_features", lambda X, choice, rng: made.append(choice) or whole(X, choice, rng))
    for name in ("kernel_pca", "one_hot", "cca"):
        tuned(RIVALS[name], pairs, "labels", 4)
    assert len(made) <= 3 * len(FEATURES) + 3


EVERY = [(name, meaning) for name, rival in RIVALS.items() for meaning in rival.meanings]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "meaning"), EVERY)
def test_every_rival_has_as_many_bits_as_asked_and_the_same_twice(name, meaning):
    pairs = _pairs(n=45)
    first, second = (RivalHasher(name, 12, meaning).fit(_pairs(n=45)) for _ in range(2))
    projections = first.decision_function(pairs.X)
    assert projections.shape == (45, 12)
    assert np.isfinite(projections).all()
    np.testing.assert_array_equal(projections, second.decision_function(pairs.X))
    assert first.transform(pairs.X).shape == (45, 2)
    signs = np.unpackbits(first.transform(pairs.X), axis=1, bitorder="little")[:, :12]
    np.testing.assert_array_equal(signs == 1, projections >= 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, meaning in EVERY if meaning == "labels"])
def test_tags_are_labels_too(name):
    tags = (np.random.RandomState(1).uniform(size=(60, 8)) < 0.25).astype(int)
    tags[3] = 0
    tags[:, 7] = 0  # a tag that no row has
    found = tuned(RIVALS[name], _pairs(y=tags), "labels", 12)
    assert found(np.ones((2, 7))).shape == (2, 12)


@pytest.mark.slow
@pytest.mark.parametrize("y", [np.zeros(40, dtype=int), np.arange(40)], ids=["one class", "a class for each row"])
@pytest.mark.parametrize("name", [name for name, meaning in EVERY if meaning == "labels"])
def test_labels_that_say_nothing_do_no_harm(name, y):
    found = tuned(RIVALS[name], _pairs(n=40, y=y), "labels", 6)
    assert np.isfinite(found(np.ones((2, 7)))).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["discriminant", "one_hot", "cca", "sdh", "fsdh", "ksh"])
def test_rivals_that_know_the_labels_find_classes_better_than_kernel_pca(name):
    rng = np.random.RandomState(0)
    y = np.arange(120) % 4
    X = np.hstack(
        [2.5 * rng.standard_normal((4, 3))[y] + rng.standard_normal((120, 3)), 4 * rng.standard_normal((120, 6))]
    )
    pairs = Pairs(X, y, seed=0)
    assert tuned(RIVALS[name], pairs, "labels", 8).score > tuned(RIVALS["kernel_pca"], pairs, "labels", 8).score + 0.05
