from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from thpi.codes import hamming_distances, pack
from thpi.evaluation import average_precision, mean_average_precision, ranked_average_precision
from thpi.evaluation._measures import expected_precisions, harmonic

from . import brute_force


def by_order(distances, relevant, ties):
    """Average precision where tied rows have an order: each has its own distance."""
    if ties == "stable":
        distances = distances.astype(np.int64) * distances.shape[1] + np.arange(distances.shape[1])
    sign = {"best": -1, "worst": 1, "stable": 0}[ties]
    return ranked_average_precision(2 * distances.astype(np.int64) + sign * relevant, relevant)


def test_stable_is_the_order_of_a_stable_sort(middle_case):
    _, _, grades, distances = middle_case
    order = np.argsort(distances, axis=1, kind="stable")
    expected = [brute_force.average_precision(g[o] > 0) for g, o in zip(grades, order, strict=True)]
    np.testing.assert_allclose(by_order(distances, grades > 0, "stable"), expected)


def test_equals_sklearn_without_ties(untied_case):
    queries, database, grades, distances = untied_case
    expected = average_precision_score(grades[0] > 0, -distances[0])
    np.testing.assert_allclose(average_precision(queries, database, grades > 0, 40), expected)
    for ties in ("best", "worst", "stable"):
        np.testing.assert_allclose(by_order(distances, grades > 0, ties), expected)


def test_expected_is_the_mean_of_shuffled_stable_orders(middle_case):
    queries, database, grades, distances = middle_case
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(400):
        order = rng.permutation(len(database))
        draws.append(by_order(distances[:, order], grades[:, order] > 0, "stable"))
    error = np.std(draws, axis=0) / np.sqrt(len(draws))
    expected = average_precision(queries, database, grades, 12)
    assert (np.abs(np.mean(draws, axis=0) - expected) < 5 * error).all()


def test_groups_far_down_a_long_ranking_keep_their_digits():
    # Differences of plain running sums would leave some seven digits here.
    a, t, r, R = 3_000_000, 3, 2, 1
    sums = harmonic(a + t)
    expected = sum(Fraction(r, t) * (R + 1 + Fraction((j - 1) * (r - 1), t - 1)) / (a + j) for j in range(1, t + 1))
    best = sum(Fraction(R + i, a + i) for i in range(1, r + 1))
    worst = sum(Fraction(R + i, a + t - r + i) for i in range(1, r + 1))
    for group, value in (((t, r, a, R), expected), ((r, r, a, R), best), ((r, r, a + t - r, R), worst)):
        found = expected_precisions(*(np.array([x]) for x in group), sums)[0]
        assert found == pytest.approx(float(value), rel=0, abs=2e-15)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_bounds_and_row_order(data):
    n_bits = data.draw(st.integers(1, 9))
    n = data.draw(st.integers(1, 25))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    queries, database = pack(rng.integers(0, 2, (3, n_bits))), pack(rng.integers(0, 2, (n, n_bits)))
    relevant = rng.random((3, n)) < data.draw(st.floats(0, 1))
    order = rng.permutation(n)
    expected = average_precision(queries, database, relevant, n_bits)
    again = average_precision(queries, database[order], relevant[:, order], n_bits)
    np.testing.assert_array_equal(expected, again)
    best, worst, stable = (
        by_order(hamming_distances(queries, database), relevant, ties) for ties in ("best", "worst", "stable")
    )
    some = relevant.any(axis=1)
    np.testing.assert_array_equal(np.isnan(expected), ~some)
    for middle in (expected, stable):
        assert (best[some] >= middle[some] - 1e-12).all()
        assert (middle[some] >= worst[some] - 1e-12).all()
    assert ((worst[some] > 0) & (best[some] < 1 + 1e-12)).all()


def test_mean_states_and_handles_queries_without_relevant_rows(tied_case):
    queries, database, grades, _ = tied_case
    each = average_precision(queries, database, grades, 3)
    mean = mean_average_precision(queries, database, grades, 3)
    n_empty = int((~(grades > 0).any(axis=1)).sum())
    assert n_empty >= 1
    assert (mean.n_queries, mean.n_empty) == (8, n_empty)
    assert float(mean) == pytest.approx(np.nansum(each) / (8 - n_empty))


def test_mean_without_any_relevant_row_is_nan():
    result = mean_average_precision([[0]], [[0]], [[False]], 2)
    assert np.isnan(result.value)
    assert result.n_empty == 1
