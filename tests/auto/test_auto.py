from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

import thpi
from thpi import ITQ, GroupITQ, NeighbourHash
from thpi.auto import RELEVANCES, AutoHasher
from thpi.auto import _trial as trial_module
from thpi.base import TooManyBitsError
from thpi.evaluation import label_relevance, mean_average_precision


@pytest.fixture(scope="module")
def views():
    """Few pairs, whose target is a noisy and distorted view of a source of few dimensions."""
    rng = np.random.RandomState(0)
    S = rng.standard_normal((700, 6)) * [3, 3, 2, 2, 1, 1]
    X = S @ rng.standard_normal((6, 30)) + 4 * rng.standard_normal((700, 30))
    return X[:120], S[:120], S[120:]


@pytest.fixture(scope="module")
def helpful():
    """Most of what varies in the target has nothing to do with the source."""
    rng = np.random.RandomState(0)
    S = rng.standard_normal((700, 6)) * [3, 3, 2, 2, 1, 1]
    X = np.hstack([S @ rng.standard_normal((6, 6)), 8 * rng.standard_normal((700, 24))])
    return X[:120], S[:120], S[120:]


def _auto(relevance, views, **params):
    X, S, S_U = views
    return AutoHasher(16, relevance=relevance, random_state=0, **params).fit(X, privileged=S, source=S_U)


@pytest.fixture(scope="module")
def told_source(views):
    return _auto("source", views)


@pytest.fixture(scope="module")
def helped(helpful):
    return _auto("source", helpful)


@pytest.mark.slow
@pytest.mark.parametrize("relevance", ["target", "source"])
def test_the_bytes_do_not_depend_on_the_number_of_threads(relevance):
    rng = np.random.RandomState(0)
    S = rng.standard_normal((250, 100)) * np.linspace(3, 0.1, 100)
    X = S @ rng.standard_normal((100, 150)) + rng.standard_normal((250, 150))
    found = []
    for n in (1, 2):
        with threadpool_limits(n):
            found.append(_auto(relevance, (X[:160], S[:160], S[160:])))
    np.testing.assert_array_equal(found[0].projection_, found[1].projection_)
    assert found[0].fingerprint_ == found[1].fingerprint_


def _itq(hasher):
    return next(entry for entry in hasher.candidates_ if entry["method"] == "ITQ")


@pytest.mark.slow
def test_a_source_that_helps_is_used(helped):
    hasher = helped
    assert hasher.uses_source_
    assert hasher.choice_.endswith(" with source")
    assert hasher.gain_interval_[0] > 0
    (entry,) = (entry for entry in hasher.candidates_ if entry["chosen"])
    assert entry["uses_source"]
    assert (entry["name"], entry["params"]) == (hasher.choice_, hasher.choice_params_)
    assert entry["gain_low"] < entry["gain"] < entry["gain_high"]
    assert len(entry["scores"]) == 3 * 5


@pytest.mark.slow
def test_shuffled_pairs_lose_the_gain(helpful, helped):
    X, S, S_U = helpful
    order = np.random.RandomState(1).permutation(len(S))
    hasher = _auto("source", (X, S[order], S_U))
    assert hasher.gain_ < 0.2 * helped.gain_


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "relevance"), enumerate(RELEVANCES))
def test_shuffled_pairs_are_found_out_and_the_source_is_left_alone(views, told_source, seed, relevance):
    X, S, S_U = views
    y = np.arange(len(X)) % 3 if relevance == "labels" else None
    assert told_source.pairs_r2_ > 0.05
    order = np.random.RandomState(seed).permutation(len(S))
    hasher = AutoHasher(16, relevance=relevance, n_standard_errors=0.0, random_state=seed)
    hasher.fit(X, y, privileged=S[order], source=S_U)
    assert hasher.pairs_r2_ < 0.02
    assert not hasher.uses_source_  # though any gain would do
    assert any(entry["uses_source"] and entry["gain"] is not None for entry in hasher.candidates_)


@pytest.mark.slow
def test_a_source_independent_of_the_target_is_left_out(views):
    X = views[0]
    noise = np.random.RandomState(1).standard_normal((700, 6))
    hasher = _auto("target", (X, noise[:120], noise[120:]))
    assert not hasher.uses_source_
    assert hasher.choice_.endswith(" without source")
    alone = AutoHasher(16, relevance="target", random_state=0).fit(X)
    assert not any(entry["uses_source"] for entry in alone.candidates_)


def test_itq_is_itq_to_the_bit(views):
    X = views[0]
    y = np.arange(len(X)) % 3
    hasher = AutoHasher(16, relevance="labels", n_standard_errors=1e6, random_state=0).fit(X, y, privileged=views[1])
    assert hasher.choice_ == "ITQ without source"
    np.testing.assert_array_equal(hasher.codes_, ITQ(16, random_state=0).fit(X).codes_)
    assert hasher.projection_.tobytes() == ITQ(16, random_state=0).fit(X).projection_.tobytes()


@pytest.mark.slow
def test_no_unpaired_source_leaves_nothing_to_impute(views):
    X, S, _ = views
    hasher = AutoHasher(16, relevance="source", random_state=0).fit(X, privileged=S)
    assert hasher.uses_source_
    near = AutoHasher(16, relevance="target", random_state=0).fit(X, privileged=S)
    assert near._chosen["score"] >= _itq(near)["score"]


def test_a_source_equal_to_the_target_does_no_harm(views):
    X = views[0]
    more = np.random.RandomState(2).permutation(np.vstack([X, X + 0.1]))
    hasher = AutoHasher(16, relevance="target", random_state=0).fit(X, privileged=X, source=more)
    assert hasher._chosen["score"] >= _itq(hasher)["score"]


def test_folds_of_fewer_pairs_than_bits(views):
    X, S, S_U = views
    for n in (2, 5, 14):
        hasher = AutoHasher(n - 1, random_state=0).fit(X[:n], privileged=S[:n], source=S_U)
        assert hasher.transform(X).shape == (120, -(-(n - 1) // 8))
        assert hasher.choice_.endswith((" with source", " without source"))
    assert AutoHasher(1, random_state=0).fit(X[:2]).choice_ == "ITQ without source"


def test_more_bits_than_the_rows_have_directions(views):
    X, S, S_U = views
    X = X[:, :6]
    with pytest.raises(TooManyBitsError, match=r"n_bits=7 is more than AutoHasher.*at most 6, the smaller of n_feat"):
        AutoHasher(7, random_state=0).fit(X, privileged=S, source=S_U)
    with pytest.raises(TooManyBitsError, match="at most 9, the smaller of n_features=20 and n_samples - 1=9"):
        AutoHasher(16).fit(np.hstack([X, X, X, X])[:10, :20], privileged=S[:10])
    # Further target rows have directions, too, and so have kernel features.
    assert AutoHasher(5, random_state=0).fit(X[:5], target=X[5:]).codes_.shape == (5, 1)
    options = {"kernel": True, "n_landmarks": 30, "n_repeats": 1, "random_state": 0}
    hasher = AutoHasher(16, **options).fit(X[:40])
    assert len(np.unique(hasher.signs(X), axis=1).T) == 16
    with pytest.raises(TooManyBitsError, match="at most 30, the smaller of n_landmarks=30 and n_samples - 1=39"):
        AutoHasher(31, **options).fit(X[:40])


@pytest.mark.slow
def test_labels(views):
    X, S, S_U = views
    y = (S[:, 4] > 0).astype(int) + 2 * (S[:, 5] > 0)
    hasher = AutoHasher(16, relevance="labels", random_state=0).fit(X, y, privileged=S, source=S_U)
    assert hasher.choice_.startswith("ClassITQ")
    alone = AutoHasher(16, relevance="labels", random_state=0).fit(X, y)
    assert alone.choice_ == "ClassITQ without source"
    assert alone.gain_ == 0
    assert not any(entry["uses_source"] for entry in alone.candidates_)
    tags = AutoHasher(16, relevance="labels", random_state=0).fit(X, sparse.csr_array(np.eye(4)[y]))
    np.testing.assert_array_equal(tags.codes_, alone.codes_)


@pytest.mark.parametrize("seed", range(6))
def test_classes_of_which_a_fold_has_no_two_rows_leave_the_choice_to_itq(views, seed):
    X, S, S_U = views
    y = np.arange(18)
    y[1] = y[0]  # in one fold or in two, by the seed
    hasher = AutoHasher(8, relevance="labels", random_state=seed).fit(X[:18], y, privileged=S[:18], source=S_U)
    assert hasher.choice_ == "ITQ without source"
    assert all(entry["score"] is None for entry in hasher.candidates_)
    assert hasher.gain_ == 0


@pytest.mark.slow
def test_groups_replace_unknown_classes():
    rng = np.random.RandomState(0)
    group = rng.randint(5, size=600)
    S = 4 * rng.standard_normal((5, 8))[group] + rng.standard_normal((600, 8))
    X = np.hstack([S @ rng.standard_normal((8, 20)) / 8, 2 * rng.standard_normal((600, 20))])
    pairs, unseen = slice(0, 100), slice(100, 600)
    hasher = AutoHasher(16, relevance="groups", random_state=0).fit(X[pairs], privileged=S[pairs], source=S[unseen])
    assert hasher.uses_source_
    plain = ITQ(16, random_state=0).fit(X[pairs])
    same = label_relevance(group[200:250], group[250:])
    found = [
        mean_average_precision(h.transform(X[200:250]), h.transform(X[250:]), same, 16).value for h in (plain, hasher)
    ]
    assert found[1] > found[0] + 0.2
    order = np.random.RandomState(1).permutation(100)
    shuffled = AutoHasher(16, relevance="groups", random_state=0)
    shuffled.fit(X[pairs], privileged=S[pairs][order], source=S[unseen])
    assert shuffled.gain_ < 0.2 * hasher.gain_
    with pytest.raises(ValueError, match="relevance='groups' needs privileged=..., which decides"):
        AutoHasher(8, relevance="groups").fit(X)


def test_what_is_missing_is_named(views):
    X, S, S_U = views
    hasher = AutoHasher(8, relevance="labels")
    with pytest.raises(ValueError, match="relevance='labels' needs y.*y=None"):
        hasher.fit(X, privileged=S)
    assert set(vars(hasher)) == set(hasher.get_params())
    with pytest.raises(ValueError, match="relevance='source' needs privileged"):
        AutoHasher(8, relevance="source").fit(X)
    with pytest.raises(ValueError, match="source needs privileged"):
        AutoHasher(8).fit(X, source=S_U)
    with pytest.raises(ValueError, match="privileged has 119 rows and X has 120"):
        AutoHasher(8).fit(X, privileged=S[1:])
    with pytest.raises(ValueError, match="relevance='near' must be one of target, source, labels, groups"):
        AutoHasher(8, relevance="near").fit(X)
    with pytest.raises(AttributeError, match="not fitted yet"):
        _ = hasher.candidates_


@pytest.mark.slow
@pytest.mark.parametrize(
    ("relevance", "method"),
    [
        ("source", NeighbourHash(16, start_penalty=1.0, random_state=0)),
        ("groups", GroupITQ(16, group_weight=0.2, random_state=0)),
    ],
)
def test_if_the_source_is_noise_what_it_calls_relevant_has_no_part(views, relevance, method):
    X, noise = views[0], np.random.RandomState(1).standard_normal((120, 6))
    hasher = AutoHasher(16, relevance=relevance, random_state=0).fit(X, privileged=noise)
    assert hasher.choice_ == f"{type(method).__name__} without source"
    np.testing.assert_array_equal(hasher.codes_, method.fit(X).codes_)


@pytest.mark.slow
def test_saved_with_its_evidence(views, told_source, tmp_path):
    hasher = told_source
    hasher.save(tmp_path / "model.thpi")
    again = thpi.load(tmp_path / "model.thpi")
    assert again.candidates_ == hasher.candidates_ == json.loads(json.dumps(hasher.candidates_))
    for name in ("choice_", "choice_params_", "uses_source_", "gain_", "gain_interval_"):
        assert getattr(again, name) == getattr(hasher, name)
    np.testing.assert_array_equal(again.transform(views[0]), hasher.transform(views[0]))


@pytest.mark.slow
def test_threads_and_limits_change_nothing_or_keep_to_the_rules(views, told_source):
    one, two = told_source, _auto("source", views, n_jobs=2)
    assert one.candidates_ == two.candidates_
    assert one.projection_.tobytes() == two.projection_.tobytes()
    few = _auto("source", views, max_pairs=60, max_unpaired=50, n_repeats=1)
    assert len(_itq(few)["scores"]) == 3
    assert few.codes_.shape == (120, 2)


@pytest.mark.slow
def test_of_many_pairs_a_fold_learns_from_few_and_holds_out_the_more(monkeypatch):
    monkeypatch.setattr(trial_module, "MOST_HELD", 70)
    rng = np.random.RandomState(0)
    S = rng.standard_normal((300, 5))
    X = np.hstack([S, rng.standard_normal((300, 5))])
    hasher = AutoHasher(8, relevance="source", max_pairs=60, random_state=0)
    trial = hasher.trial(hasher.check_views(X, None, S, None, None), np.random.RandomState(0))
    folds = trial.linear.folds
    assert len(folds.division.kept) == 210
    for repeat, fold_of in enumerate(folds.fold_of):
        assert np.bincount(fold_of).tolist() == [70, 70, 70]
        for fold in range(3):
            geometry = folds._geometry(repeat, fold)
            assert len(geometry.X) == 40
            assert not (fold_of[geometry.rows] == fold).any()


@pytest.mark.slow
def test_a_source_that_is_withheld_leaves_folds_and_starts_as_they_are(views, told_source):
    """What then differs from AutoHasher is due to the candidates that use the source, not to other folds."""
    free, withheld = told_source, _auto("source", views, use_source=False)
    assert not any(entry["uses_source"] for entry in withheld.candidates_)
    assert not withheld.uses_source_
    alone = [entry for entry in free.candidates_ if not entry["uses_source"]]
    found = [
        {(e["name"], str(e["params"])): e["scores"][:3] for e in entries} for entries in (alone, withheld.candidates_)
    ]
    assert found[0] == found[1]
