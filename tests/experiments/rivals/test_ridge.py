from __future__ import annotations

import numpy as np
from sklearn.linear_model import Ridge

from experiments.rivals.features import FeatureChoice, fit_features
from experiments.rivals.ridge import PENALTIES, loo_ridge


def _rows(rng):
    X = rng.standard_normal((25, 6))
    Y = X @ rng.standard_normal((6, 2)) + 2 * rng.standard_normal((25, 2)) + 5
    return fit_features(X, FeatureChoice(width=1.0), rng).values, Y


def test_one_penalty_gives_ridge_regression(rng):
    Z, Y = _rows(rng)
    weights, intercepts = loo_ridge(Z, Y, np.array([0.1]))
    theirs = Ridge(alpha=0.1 * np.sum(Z[:, 0] ** 2)).fit(Z, Y)
    np.testing.assert_allclose(weights, theirs.coef_.T, atol=1e-8)
    np.testing.assert_allclose(intercepts, theirs.intercept_, atol=1e-8)


def test_the_penalty_is_that_of_least_error_where_each_row_is_left_out(rng):
    Z, Y = _rows(rng)
    errors = []
    for penalty in PENALTIES * np.sum(Z[:, 0] ** 2):
        found = [
            Y[i] - Ridge(alpha=penalty).fit(np.delete(Z, i, 0), np.delete(Y, i, 0)).predict(Z[i : i + 1])[0]
            for i in range(len(Z))
        ]
        errors.append(np.sum(np.square(found)))
    best = int(np.argmin(errors))
    assert 0 < best < len(PENALTIES) - 1  # else the test says little
    np.testing.assert_allclose(loo_ridge(Z, Y)[0], loo_ridge(Z, Y, PENALTIES[[best]])[0])
