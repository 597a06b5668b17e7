from __future__ import annotations

import numpy as np
import pytest

from thpi.comparison import Cut, Truth
from thpi.comparison._compare import measured
from thpi.evaluation import paired_difference

rng = np.random.RandomState(0)
DATABASE, QUERIES = rng.standard_normal((60, 5)), rng.standard_normal((12, 5))
CUTS = [Cut(1, 1), Cut(5, 5), Cut(5, 20)]


def brute_force(found: np.ndarray, k: int, candidates: int) -> list[float]:
    values = []
    for query, rows in zip(QUERIES, found, strict=True):
        order = sorted(range(len(DATABASE)), key=lambda i: float(((DATABASE[i] - query) ** 2).sum()))
        values.append(len(set(order[:k]) & set(rows[:candidates].tolist())) / k)
    return values


def test_recall_is_that_of_sorted_distances():
    truth = Truth(QUERIES, DATABASE, CUTS)
    found = np.array([rng.permutation(60)[:20] for _ in QUERIES])
    recalls = truth.recalls(found)
    for cut in CUTS:
        np.testing.assert_allclose(recalls[cut], brute_force(found, *cut))


def test_rows_tied_with_the_last_count_and_recall_is_at_most_one():
    database = np.array([[0.0], [1.0], [1.0], [1.0], [5.0]])
    truth = Truth(np.array([[0.0]]), database, [Cut(2, 2), Cut(2, 5)])
    recalls = truth.recalls(np.array([[0, 3, 1, 2, 4]]))
    assert [values.tolist() for values in recalls.values()] == [[1.0], [1.0]]


def test_the_interval_is_students_and_within_zero_and_one():
    values = np.array([1.0, 0.9, 1.0, 0.8])
    mean, low, _, _ = paired_difference(values, np.zeros(4))
    assert measured(values) == (pytest.approx(mean), pytest.approx(low), 1.0)
