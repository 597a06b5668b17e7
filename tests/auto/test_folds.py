from __future__ import annotations

import numpy as np
import pytest

from thpi.auto import RELEVANCES, FoldScores, Spaces
from thpi.codes import pack_signs
from thpi.evaluation import average_precision, average_precision_among


def test_precision_of_a_row_among_the_others_leaves_the_row_out():
    rng = np.random.RandomState(0)
    codes = pack_signs(rng.standard_normal((12, 6)))
    relevant = rng.uniform(size=(12, 12)) < 0.4
    np.fill_diagonal(relevant, False)
    expected = []
    for row in range(12):
        others = np.delete(np.arange(12), row)
        expected.append(average_precision(codes[[row]], codes[others], relevant[[row]][:, others], 6)[0])
    np.testing.assert_allclose(average_precision_among(codes, relevant, 6), expected)
    relevant[3] = False
    assert np.isnan(average_precision_among(codes, relevant, 6)[3])


def test_gain_and_its_error():
    fold_of = np.array([[0, 0, 1, 1]])
    base = FoldScores(np.zeros((1, 4)), fold_of)
    # Queries differ, fold means do not: the error is that of the queries.
    scores = FoldScores(np.array([[1.0, 3.0, 1.0, 3.0]]), fold_of)
    assert scores.gain_over(base) == pytest.approx((2, np.std([1, 3, 1, 3], ddof=1) / 2))
    assert scores.gain_on_new_rows(base) == scores.gain_over(base)
    # Folds differ more than their queries. Two halves, each learned from the other: the variance is 1/2 + 1 of theirs.
    scores = FoldScores(np.array([[0.0, 0.0, 4.0, 4.0]]), fold_of)
    assert scores.gain_over(base) == pytest.approx((2, np.std([0, 0, 4, 4], ddof=1) / 2))
    assert scores.gain_on_new_rows(base) == pytest.approx((2, np.std([0, 4], ddof=1) * np.sqrt(1.5)))


def test_repetitions_are_averaged_by_query_and_those_that_are_no_query_do_not_count():
    fold_of = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    scores = FoldScores(np.array([[1.0, np.nan, 3.0, 5.0], [3.0, np.nan, 3.0, 3.0]]), fold_of)
    np.testing.assert_array_equal(scores.by_fold, [1.0, 4.0, 3.0, 3.0])
    assert scores.mean == 3
    base = FoldScores(np.zeros((1, 4)), fold_of[:1])
    gain, error = scores.gain_over(base)  # in the repetition that both have
    assert gain == 3
    assert error == pytest.approx(np.std([1, 3, 5], ddof=1) / np.sqrt(3))


def test_near_means_within_the_mean_distance_to_the_fifth_neighbour_of_few_rows():
    X = np.arange(30.0)[:, None]
    relevant = RELEVANCES["target"].of_pairs(Spaces(X))
    fifth = np.mean([np.sort(np.abs(X[:, 0] - x))[5] for x in X[:, 0]])
    np.testing.assert_array_equal(relevant, (np.abs(X - X.T) < fifth) & ~np.eye(30, dtype=bool))


@pytest.mark.parametrize(("size", "k"), [(200, 4), (1500, 4), (3000, 2), (60_000, 1)])
def test_in_a_search_among_many_items_fifty_of_all_are_near(size, k):
    """A thirtieth of the rows or, of more than 1,500 items, the share that fifty of these are."""
    X = np.arange(120.0)[:, None]
    relevant = RELEVANCES["source"].of_search(Spaces(None, source=X), size)
    radius = np.mean([np.sort(np.abs(X[:, 0] - x))[k] for x in X[:, 0]])
    np.testing.assert_array_equal(relevant, (np.abs(X - X.T) < radius) & ~np.eye(120, dtype=bool))


def test_labels_and_tags():
    y = np.array([0, 1, 0])
    np.testing.assert_array_equal(
        RELEVANCES["labels"].of_pairs(Spaces(np.zeros((3, 1)), y)),
        [[False, False, True], [False] * 3, [True, False, False]],
    )
    tags = np.array([[True, True], [False, True], [True, False]])
    assert RELEVANCES["labels"].of_pairs(Spaces(np.zeros((3, 1)), tags)).sum() == 4
