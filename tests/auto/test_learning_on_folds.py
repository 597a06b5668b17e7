"""What a fold learns from and what it scores, and which of several starts is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from thpi import ITQ, AutoHasher, ClassITQ, TransferITQ, TwoSidedITQ
from thpi.auto import Candidate
from thpi.auto._folds import FOLD_LIMITS, LEAST_STARTS, FoldScores
from thpi.auto._trial import FINAL_LIMITS, FINAL_STARTS, Trial, first_of_best
from thpi.codes import pack_signs
from thpi.evaluation import average_precision, ranked_average_precision
from thpi.hashers._itq import learn

PLAIN = Candidate(ITQ, uses_source=False)
TRANSFER = Candidate(TransferITQ, {"source_weight": 8.0})
LABELS = Candidate(ClassITQ)
SIDES = Candidate(TwoSidedITQ)


def _views(n=70):
    rng = np.random.RandomState(0)
    S = rng.standard_normal((n + 40, 5))
    X = S[:n] @ rng.standard_normal((5, 9)) + rng.standard_normal((n, 9)) + 2
    y = (S[:n, 0] > 0) + 2 * (S[:n, 1] > 0)
    return X, y, S[:n], S[n:], rng.standard_normal((20, 9)) + 2


def _trial(views=None, relevance="source", **params):
    hasher = AutoHasher(6, relevance=relevance, kernel=False, **({"n_repeats": 2, "random_state": 0} | params))
    X, y, S, S_U, more = _views() if views is None else views
    return hasher.trial(hasher.check_views(X, y, S, S_U, more), np.random.RandomState(0))


@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_every_pair_is_held_out_once_in_every_repetition(n_folds):
    fold_of = _trial(n_folds=n_folds, n_repeats=3).linear.folds.fold_of
    assert fold_of.shape == (3, 70)
    for row in fold_of:
        sizes = np.bincount(row, minlength=n_folds)
        assert len(sizes) == n_folds
        assert np.ptp(sizes) <= 1
    # Divided anew, not in the order of the rows.
    assert len(np.unique(fold_of, axis=0)) == 3
    assert (np.diff(fold_of[0]) < 0).any()


def test_a_fold_learns_from_all_pairs_outside_it_and_from_no_other():
    trial = _trial(relevance="labels")
    folds, whole = trial.linear.folds, trial.linear.geometry
    for repeat in range(2):
        for fold in range(3):
            geometry = folds._geometry(repeat, fold)
            outside = np.flatnonzero(folds.fold_of[repeat] != fold)
            np.testing.assert_array_equal(geometry.rows, outside)
            np.testing.assert_allclose(geometry.X + geometry.mean, whole.X[outside], atol=1e-12)
            np.testing.assert_array_equal(geometry.labels, whole.labels[outside])
            np.testing.assert_allclose(geometry.real[len(outside) :] + geometry.mean, whole.real[70:], atol=1e-12)
            assert geometry.without_source.source is None


def test_of_many_further_target_rows_a_fold_learns_from_some_evenly_spaced(monkeypatch):
    monkeypatch.setattr("thpi.auto._folds.MOST_MORE", 5)
    trial = _trial()
    geometry = trial.linear.folds._geometry(0, 1)
    more = trial.linear.geometry.real[70:]
    assert len(more) == 20
    np.testing.assert_allclose(geometry.real[-5:] + geometry.mean, more[[0, 4, 9, 14, 19]], atol=1e-12)


@pytest.mark.parametrize("candidate", [PLAIN, TRANSFER, LABELS, SIDES])
def test_learning_never_sees_targets_or_labels_that_are_held_out(candidate):
    """With other target rows and labels in their places, a fold learns the same."""
    trial = _trial(relevance="labels")
    folds = trial.linear.folds
    held = folds.fold_of[1] == 2
    before = learn(candidate.make(6), folds._geometry(1, 2), 0, FOLD_LIMITS)
    rng = np.random.RandomState(1)
    changed = replace(folds, X=np.where(held[:, None], 100 * rng.standard_normal(folds.X.shape), folds.X))
    changed.labels = np.where(held, rng.permutation(folds.labels), folds.labels)
    after = learn(candidate.make(6), changed._geometry(1, 2), 0, FOLD_LIMITS)
    np.testing.assert_allclose(after.projection, before.projection, atol=1e-9)
    # In a fold that learns from them it does not.
    other = learn(candidate.make(6), changed._geometry(1, 0), 0, FOLD_LIMITS)
    shown = learn(candidate.make(6), folds._geometry(1, 0), 0, FOLD_LIMITS)
    assert not np.allclose(other.projection, shown.projection, atol=1e-3)


def _learned(folds, candidate, repeat, fold):
    """The geometry, and what is learned from each start of a repetition."""
    geometry = folds._geometry(repeat, fold)
    shown = geometry if candidate.uses_source else geometry.without_source
    n_starts = -(-LEAST_STARTS // folds.division.n_repeats)
    starts = range(repeat * n_starts, (repeat + 1) * n_starts)
    return geometry, [learn(candidate.make(6), shown, start, FOLD_LIMITS) for start in starts]


@pytest.mark.parametrize("n_repeats", [1, 2])
@pytest.mark.parametrize("candidate", [PLAIN, TRANSFER])
def test_held_out_rows_are_queries_among_the_others_of_their_fold(candidate, n_repeats):
    folds = _trial(n_repeats=n_repeats).linear.folds
    scores = folds.score(candidate, range(n_repeats))
    np.testing.assert_array_equal(scores.fold_of, folds.fold_of)
    for repeat in range(n_repeats):
        for fold in range(3):
            geometry, learned = _learned(folds, candidate, repeat, fold)
            held = np.flatnonzero(folds.fold_of[repeat] == fold)
            for query in held:
                others = held[held != query]
                relevant = folds.relevant[query, others][None]
                expected = []
                for each in learned:
                    codes = pack_signs((folds.X - geometry.mean) @ each.projection)
                    expected.append(average_precision(codes[[query]], codes[others], relevant, 6)[0])
                np.testing.assert_allclose(scores.precisions[repeat, query], 100 * np.mean(expected))


@pytest.mark.parametrize("candidate", [PLAIN, SIDES])
def test_by_sides_queries_are_projections_and_items_codes(candidate):
    folds = _trial().linear.folds
    scores = folds.score_sides(candidate, [1])
    for fold in range(3):
        geometry, (learned,) = _learned(folds, candidate, 1, fold)
        held = np.flatnonzero(folds.fold_of[1] == fold)
        queries = (folds.X[held] - geometry.mean) @ learned.projection
        if learned.offset is not None:
            queries = queries - learned.offset
        items = queries
        if candidate is SIDES:
            items = folds.source.coordinates.values[held] @ learned.source_projection
        distances = -queries @ np.where(items >= 0, 1.0, -1.0).T
        for row, query in enumerate(held):
            others = np.arange(len(held)) != row
            relevant = folds.found_by_search[query, held[others]]
            expected = ranked_average_precision(distances[[row]][:, others], relevant[None])[0]
            # The query itself comes last among its items: it is relevant to nobody, so it changes nothing.
            np.testing.assert_allclose(scores.precisions[0, query], 100 * expected)


def test_candidates_that_are_clearly_behind_the_best_of_their_kind_are_not_repeated():
    trial = _trial()
    default = trial.plan.relevance.default
    fold_of = np.repeat([0, 1, 2], 20)[None]
    swing = np.tile([1.0, -1.0], 30)

    def scores(mean, phase):
        return FoldScores((mean + np.roll(swing, phase))[None], fold_of)

    far, near, best = (Candidate(TransferITQ) for _ in range(3))
    alone_far, alone_best = (Candidate(ITQ, uses_source=False) for _ in range(2))
    error = 2 / np.sqrt(59)  # of differences that are 2 or -2
    found = {
        far: scores(50 - 2.1 * error, 1),
        near: scores(50 - 1.9 * error, 1),
        best: scores(50, 0),
        alone_far: scores(20 - 2.1 * error, 1),
        alone_best: scores(20, 0),
        default: scores(1, 1),  # the one that is taken if nothing can be trusted
    }
    assert trial._close(found) == [near, best, alone_best, default]


def test_the_best_with_and_without_source_has_the_highest_score():
    trial = _trial(n_repeats=1, relevance="target")
    scores = trial.scores
    for uses_source in (False, True):
        rivals = [c for c in scores if c.uses_source == uses_source]
        means = [np.nanmean(scores[c].precisions) for c in rivals]
        assert min(means) < max(means)
        assert trial.best(uses_source=uses_source) is rivals[int(np.argmax(means))]


# ---------------------------------------------------------------- starts


def _kept(trial, candidate):
    """What all starts learn, and the number of the one that is kept."""
    geometry = trial.linear.geometry
    hasher = candidate.make(6)
    found = [hasher.learn_start(geometry, number, FINAL_LIMITS) for number in range(1, FINAL_STARTS + 1)]
    assert trial.trusted
    projection = trial.learn(candidate)["projection_"]
    same = [np.allclose(trial.linear.fitted(each)["projection_"], projection, atol=1e-9) for each in found]
    assert any(same)
    return found, same.index(True)


def test_for_neighbours_in_the_target_the_start_of_the_lowest_loss_is_kept():
    found, kept = _kept(_trial(relevance="target"), TRANSFER)
    losses = [each.objective[-1] for each in found]
    assert losses[kept] == pytest.approx(min(losses), rel=1e-8)
    assert max(losses) > 1.001 * min(losses)


@pytest.mark.parametrize(("relevance", "candidate"), [("source", TRANSFER), ("labels", LABELS)])
def test_else_the_start_by_which_the_pairs_find_each_other_best_is_kept(relevance, candidate):
    trial = _trial(relevance=relevance)
    found, kept = _kept(trial, candidate)
    relevant = trial.linear.folds.relevant
    merits = []
    for each in found:
        codes = pack_signs(trial.linear.geometry.X @ each.projection)
        precisions = []
        for query in np.flatnonzero(relevant.any(axis=1)):
            others = np.delete(np.arange(70), query)
            precisions.append(average_precision(codes[[query]], codes[others], relevant[[query]][:, others], 6)[0])
        merits.append(np.mean(precisions))
    assert merits[kept] == pytest.approx(max(merits), rel=1e-8)
    assert min(merits) < 0.99 * max(merits)


def test_of_equal_merits_the_first_is_taken():
    assert first_of_best([1.0, 2.0, 2.0]) == 1
    assert first_of_best([-3.0, -1.0, -2.0]) == 1
    assert first_of_best([2.0 - 1e-13, 2.0, 1.0]) == 0
    assert first_of_best([2.0 - 1e-6, 2.0, 1.0]) == 1
    assert first_of_best([-1.0, 0.0, 0.0]) == 1


# ---------------------------------------------------------------- the best candidate


def test_without_scores_the_best_is_the_first_of_its_kind():
    trial = _trial(tuple(None if rows is None else rows[:8] for rows in _views()))
    assert trial.scores is None
    for uses_source in (False, True):
        of_kind = [each for each in trial.plan.candidates if each.uses_source == uses_source]
        assert trial.best(uses_source=uses_source) is of_kind[0]


def test_the_best_has_the_highest_mean_of_those_with_all_repetitions():
    trial = _trial()
    for uses_source in (False, True):
        rivals = [c for c in trial.plan.candidates if c.uses_source == uses_source and c in trial.scores]
        whole = [c for c in rivals if len(trial.scores[c].precisions) == 2]
        best = trial.best(uses_source=uses_source)
        assert best in whole
        assert trial.scores[best].mean == max(trial.scores[c].mean for c in whole)


def test_without_a_choice_there_are_no_folds():
    trial = _trial()
    for candidates in ((PLAIN,), (PLAIN, TRANSFER)):
        again = Trial(trial.views, trial.plan._replace(candidates=candidates), np.random.RandomState(0))
        assert (again.scores is None) == (len(candidates) == 1)


@pytest.mark.parametrize("n", [32, 34, 39, 58])
def test_no_start_is_left_out(n):
    """With these rows the first or the last start is the best one at times."""
    X, _, S, S_U, more = _views()
    found, kept = _kept(_trial((X[:n], None, S[:n], S_U, more), relevance="target"), TRANSFER)
    losses = [each.objective[-1] for each in found]
    assert losses[kept] == pytest.approx(min(losses), rel=1e-8)


@pytest.mark.parametrize(("n", "n_folds"), [(11, 3), (12, 3), (15, 8), (16, 8)])
def test_fewer_than_12_pairs_or_two_a_fold_are_not_divided(n, n_folds):
    X, _, S, S_U, more = _views()
    trial = _trial((X[:n], np.zeros(n, dtype=int), S[:n], S_U, more), relevance="labels", n_folds=n_folds, n_repeats=1)
    assert (trial.scores is None) == (n in (11, 15))


@pytest.mark.parametrize(("relevance", "share", "most"), [("source", 1 / 30, 50), ("groups", 1 / 10, None)])
def test_what_a_search_finds_is_judged_among_all_source_rows(relevance, share, most):
    X, y, S, _, more = _views()
    S_U = np.random.RandomState(1).standard_normal((2000, 5))
    trial = _trial((X, y, S, S_U, more), relevance=relevance)
    folds, source = trial.linear.folds, trial.linear.geometry.source
    rows = (source.linear if relevance == "source" else source.diffusion)[:70]
    distances = cdist(rows, rows)
    for found, part in ((folds.relevant, share), (folds.found_by_search, min(share, most / 2070) if most else share)):
        least = 5 if found is folds.relevant else 1
        k = max(least, round(part * 70))
        radius = np.sort(distances, axis=1)[:, k].mean()
        np.testing.assert_array_equal(found, (distances < radius) & ~np.eye(70, dtype=bool))
