"""Precision and recall at K, which share the expected number of relevant rows."""

from __future__ import annotations

import numpy as np
import pytest

from thpi.evaluation import precision_at_k, recall_at_k

from . import brute_force

K = [1, 2, 3, 4, 5, 6, 7, 100]  # the database has 6 rows


@pytest.mark.parametrize(
    ("function", "literal"),
    [(precision_at_k, brute_force.precision_at), (recall_at_k, brute_force.recall_at)],
)
def test_equals_the_mean_over_all_tie_orders(tied_case, function, literal):
    queries, database, grades, distances = tied_case
    got = function(queries, database, grades, 3, K)
    for column, k in enumerate(K):
        values = brute_force.over_orders(distances, grades, lambda order, k=k: literal(order, k))
        np.testing.assert_allclose(got[:, column], [v.mean() for v in values], rtol=1e-13, err_msg=str(k))
        np.testing.assert_array_equal(function(queries, database, grades, 3, k), got[:, column])


@pytest.mark.parametrize("function", [precision_at_k, recall_at_k])
def test_row_order_makes_no_difference(middle_case, function):
    queries, database, grades, _ = middle_case
    order = np.random.default_rng(0).permutation(len(database))
    got = function(queries, database[order], grades[:, order], 12, K)
    np.testing.assert_array_equal(got, function(queries, database, grades, 12, K))


def test_precision_and_recall_agree_with_each_other(middle_case):
    queries, database, grades, _ = middle_case
    found = precision_at_k(queries, database, grades, 12, K) * K
    total = (grades > 0).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(recall_at_k(queries, database, grades, 12, K) * total, found)


@pytest.mark.parametrize("k", [0, -1, 1.5, [1, 0], [[1]]])
def test_bad_k_is_named(k):
    for function in (precision_at_k, recall_at_k):
        with pytest.raises(ValueError, match=r"k=.*must be an integer >= 1"):
            function([[0]], [[0]], [[True]], 2, k)
