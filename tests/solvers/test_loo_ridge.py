from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from thpi.solvers.loo_ridge import PENALTIES, loo_ridge


@pytest.fixture(params=[(40, 6), (12, 30)], ids=["tall", "wide"])
def rows(request):
    rng = np.random.RandomState(0)
    n, d = request.param
    X = rng.standard_normal((n, d))
    T = X @ rng.standard_normal((d, 3)) + rng.standard_normal((n, 3))
    return X - X.mean(axis=0), T - T.mean(axis=0)


def _alpha(X, penalty):
    s = np.linalg.svd(X, compute_uv=False)
    return penalty * (s[s > 1e-6 * s[0]] ** 2).mean()


def test_coefficients_are_those_of_scikit_learn(rows):
    X, T = rows
    fit = loo_ridge(X, T)
    expected = Ridge(alpha=_alpha(X, fit.penalty), fit_intercept=False).fit(X, T).coef_.T
    np.testing.assert_allclose(fit.W, expected, atol=1e-8)


def test_penalty_and_explained_share_are_those_of_leaving_out_one_by_one(rows):
    X, T = rows
    n = len(X)
    errors = []
    for penalty in PENALTIES:
        alpha = _alpha(X, penalty)
        residuals = []
        for i in range(n):
            others = np.arange(n) != i
            residuals.append(T[i] - Ridge(alpha=alpha).fit(X[others], T[others]).predict(X[i : i + 1])[0])
        errors.append(np.sum(np.square(residuals)))
    fit = loo_ridge(X, T)
    assert fit.penalty == PENALTIES[int(np.argmin(errors))]
    np.testing.assert_allclose(fit.explained, 1 - min(errors) / np.sum(T**2), rtol=1e-6)


def test_extra_rows_take_part_in_the_fit_alone(rows):
    X, T = rows
    rng = np.random.RandomState(1)
    X_e, T_e = rng.standard_normal((7, X.shape[1])), rng.standard_normal((7, 3))
    fit = loo_ridge(X, T, extra=(X_e, T_e))
    assert fit.penalty == loo_ridge(X, T).penalty
    expected = Ridge(alpha=_alpha(X, fit.penalty), fit_intercept=False).fit(np.vstack([X, X_e]), np.vstack([T, T_e]))
    np.testing.assert_allclose(fit.W, expected.coef_.T, atol=1e-8)


def test_rows_that_do_not_vary_predict_nothing():
    fit = loo_ridge(np.zeros((5, 2)), np.ones((5, 1)))
    np.testing.assert_array_equal(fit.W, np.zeros((2, 1)))
    assert fit.explained == 0
