"""The permutation test against its formula, with the same permutations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from thpi.solvers.loo_ridge import dependence_p_value


def _statistic(X, Y):
    """Sum over pairs of rows of the centred products, the diagonal of those of X being 0 before K is centred."""
    n = len(X)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    K = np.array([[0.0 if i == j else X[i] @ X[j] for j in range(n)] for i in range(n)])
    H = np.eye(n) - 1 / n
    return np.trace(H @ K @ H @ Y @ Y.T)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_share_of_permutations_that_agree_as_well(seed):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((12, 2)) + 3
    Y = 0.4 * X[:, :1] + rng.standard_normal((12, 1)) - 5
    found = dependence_p_value(X, Y, np.random.RandomState(seed), n_permutations=60)
    same = np.random.RandomState(seed)
    permuted = [_statistic(X, Y[same.permutation(12)]) for _ in range(60)]
    assert found == pytest.approx((1 + np.sum(np.array(permuted) >= _statistic(X, Y))) / 61)


def test_answers_that_do_not_vary_agree_with_every_row():
    assert dependence_p_value(np.random.RandomState(0).standard_normal((9, 2)), np.ones((9, 1)), np.random) == 1.0


def test_of_unrelated_rows_it_is_uniform():
    rng = np.random.RandomState(0)
    # Heavy tails, and one row far from all others: nothing is assumed of the distribution.
    found = [
        dependence_p_value(rng.standard_cauchy((15, 3)), rng.standard_normal((15, 2)), rng, n_permutations=39)
        for _ in range(300)
    ]
    assert kstest(found, "uniform").pvalue > 0.01


def test_of_related_rows_it_is_as_small_as_can_be():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((40, 3))
    assert dependence_p_value(X, X[:, :1] + 0.1 * rng.standard_normal((40, 1)), rng, n_permutations=99) == 0.01
