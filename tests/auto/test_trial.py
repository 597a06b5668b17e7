from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from thpi.auto._trial import pairs_r2
from thpi.base import Views
from thpi.hashers._itq import ViewGeometry
from thpi.solvers.loo_ridge import least_r2


def _pairs_r2(X, S, S_U=None):
    return pairs_r2(ViewGeometry(Views(X, S, S_U), 4, np.random.RandomState(0), 3000).geometry)


def test_the_share_is_that_of_leaving_rows_out_one_by_one():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((150, 5))
    S = X[:, :2] @ [[2.0, 0.0], [1.0, 1.0]] + 0.5 * rng.standard_normal((150, 2))
    left_out = cross_val_predict(LinearRegression(), X, S, cv=LeaveOneOut())
    expected = 1 - ((S - left_out) ** 2).sum() / ((S - S.mean(axis=0)) ** 2).sum()
    # Little noise and few columns: the penalty that leave-one-out chooses is next to none.
    assert _pairs_r2(X, S) == pytest.approx(expected, abs=0.01)


def test_it_is_that_of_the_better_direction():
    rng = np.random.RandomState(0)
    S = rng.standard_normal((200, 1))
    X = np.hstack([S**2 - 1, 0.1 * rng.standard_normal((200, 3))])
    # No line through X tells the sign of S, but a kernel over S tells X.
    assert _pairs_r2(X, S) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 300])
def test_shuffled_pairs_and_unrelated_views_explain_nothing(n):
    rng = np.random.RandomState(n)
    S = rng.standard_normal((n, 10)) @ rng.standard_normal((10, 30))
    X = S @ rng.standard_normal((30, 20))
    assert _pairs_r2(X, S) > 0.9
    for seed in range(5):
        rng = np.random.RandomState(seed)
        assert _pairs_r2(X, S[rng.permutation(n)]) < least_r2(n)
        assert _pairs_r2(X, rng.standard_normal((n, 30))) < least_r2(n)


def test_the_mean_lies_as_far_below_0_as_is_asked_for_above():
    rng = np.random.RandomState(0)
    assert _pairs_r2(rng.standard_normal((100, 50)), rng.standard_normal((100, 50))) == pytest.approx(
        -least_r2(100), abs=0.005
    )
    assert least_r2(10_000) == least_r2(500)


def test_a_constant_view_explains_nothing():
    X = np.random.RandomState(0).standard_normal((50, 5))
    assert _pairs_r2(X, np.ones((50, 3))) <= 0


def test_the_unit_does_not_matter():
    rng = np.random.RandomState(0)
    S = rng.standard_normal((80, 6))
    X = S[:, :3] + rng.standard_normal((80, 3))
    assert _pairs_r2(1e6 * X, 1e-6 * S) == pytest.approx(_pairs_r2(X, S), rel=1e-6)
