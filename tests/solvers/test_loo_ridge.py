from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from thpi.solvers import loo_ridge as module
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


@pytest.mark.parametrize("with_extra", [False, True])
def test_shrinkage_multiplies_the_penalty_of_the_fit_alone(rows, with_extra):
    X, T = rows
    rng = np.random.RandomState(1)
    extra = (rng.standard_normal((7, X.shape[1])), rng.standard_normal((7, 3))) if with_extra else None
    plain, shrunk = (loo_ridge(X, T, extra=extra, shrinkage=factor) for factor in (1.0, 8.0))
    assert shrunk.penalty == pytest.approx(8 * plain.penalty)
    assert shrunk.explained == plain.explained
    joined = [np.vstack(parts) for parts in zip((X, T), extra, strict=True)] if with_extra else (X, T)
    expected = Ridge(alpha=8 * _alpha(X, plain.penalty), fit_intercept=False).fit(*joined).coef_.T
    np.testing.assert_allclose(shrunk.W, expected, atol=1e-8)


def test_of_many_rows_and_answers_evenly_spaced_and_the_largest_are_left_out(monkeypatch):
    monkeypatch.setattr(module, "JUDGED_ROWS", 5)
    monkeypatch.setattr(module, "_JUDGED_COLUMNS", 2)
    rng = np.random.RandomState(2)
    X = rng.standard_normal((21, 4))
    T = (X @ rng.standard_normal((4, 3)) + rng.standard_normal((21, 3))) * [1.0, 5.0, 3.0]
    X, T = X - X.mean(axis=0), T - T.mean(axis=0)
    fit = loo_ridge(X, T)
    some, judged = [0, 5, 10, 15, 20], T[:, 1:]
    errors = []
    for penalty in PENALTIES:
        left_out = []
        for i in some:
            others = np.arange(21) != i
            model = Ridge(alpha=_alpha(X, penalty)).fit(X[others], judged[others])
            left_out.append(judged[i] - model.predict(X[i : i + 1])[0])
        errors.append(np.sum(np.square(left_out)))
    assert fit.penalty == PENALTIES[int(np.argmin(errors))]
    assert fit.explained == pytest.approx(1 - min(errors) / np.sum(judged[some] ** 2))
    expected = Ridge(alpha=_alpha(X, fit.penalty), fit_intercept=False).fit(X, T).coef_.T
    np.testing.assert_allclose(fit.W, expected, atol=1e-8)


def test_rows_that_do_not_vary_predict_nothing():
    fit = loo_ridge(np.zeros((5, 2)), np.ones((5, 1)))
    np.testing.assert_array_equal(fit.W, np.zeros((2, 1)))
    assert fit.explained == 0
