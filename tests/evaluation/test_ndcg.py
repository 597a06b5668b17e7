from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from thpi.evaluation import ndcg_at_k

from . import brute_force

GAINS = {"linear": lambda grade: grade, "exponential": lambda grade: 2.0**grade - 1}


@pytest.mark.parametrize("gain", GAINS)
def test_equals_the_mean_over_all_tie_orders(tied_case, gain):
    queries, database, grades, distances = tied_case
    ks = [1, 2, 3, 5, 6, 50]
    got = ndcg_at_k(queries, database, grades, 3, ks, gain=gain)
    for column, k in enumerate(ks):
        literal = brute_force.over_orders(
            distances, GAINS[gain](grades), lambda order, k=k: brute_force.ndcg_at(order, k)
        )
        np.testing.assert_allclose(got[:, column], [v.mean() for v in literal], rtol=1e-12)
    assert np.isnan(got[0]).all()


@pytest.mark.parametrize("case", ["untied_case", "middle_case"])
@pytest.mark.parametrize("k", [1, 3, 10, 40, 200])
def test_equals_sklearn(request, case, k):
    queries, database, grades, distances = request.getfixturevalue(case)
    n_bits = 40 if case == "untied_case" else 12
    got = ndcg_at_k(queries, database, grades, n_bits, k)
    expected = [ndcg_score(g[None], -d[None], k=k) for g, d in zip(grades, distances, strict=True)]
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_boolean_relevance_is_grade_one(middle_case):
    queries, database, grades, _ = middle_case
    ks = [1, 10, 100]
    expected = ndcg_at_k(queries, database, (grades > 0).astype(float), 12, ks)
    np.testing.assert_allclose(ndcg_at_k(queries, database, grades > 0, 12, ks), expected)


def test_row_order_makes_no_difference(middle_case):
    queries, database, grades, _ = middle_case
    order = np.random.default_rng(0).permutation(len(database))
    got = ndcg_at_k(queries, database[order], grades[:, order], 12, [5, 50])
    np.testing.assert_allclose(got, ndcg_at_k(queries, database, grades, 12, [5, 50]), rtol=1e-13)
