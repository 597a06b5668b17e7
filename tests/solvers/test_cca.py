from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from sklearn.cross_decomposition import CCA as SklearnCCA

from thpi.solvers.cca import residual_axes, ridge_cca


@pytest.fixture
def views():
    rng = np.random.RandomState(0)
    shared = rng.standard_normal((400, 4))
    X = shared @ rng.standard_normal((4, 9)) + rng.standard_normal((400, 9))
    Y = shared @ rng.standard_normal((4, 7)) + rng.standard_normal((400, 7))
    return X - X.mean(axis=0), Y - Y.mean(axis=0)


def _correlations(A, B):
    return np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(A.T, B.T, strict=True)])


def test_agrees_with_scikit_learn(views):
    X, Y = views
    result = ridge_cca(X, Y, 3, ridge=0)
    A, B = X @ result.x_directions, Y @ result.y_directions
    C, D = SklearnCCA(n_components=3, max_iter=5000, tol=1e-12).fit(X, Y).transform(X, Y)
    np.testing.assert_allclose(_correlations(A, B), _correlations(C, D), atol=1e-6)
    np.testing.assert_allclose(result.correlations, _correlations(A, B), atol=1e-6)
    np.testing.assert_allclose(np.abs(_correlations(A, C)), 1, atol=1e-4)


def test_constraints_of_the_ridge_problem_hold(views):
    X, Y = views
    result = ridge_cca(X, Y, 5, ridge=0.3)
    for view, W in ((X, result.x_directions), (Y, result.y_directions)):
        covariance = view.T @ view / (len(view) - 1)
        covariance += 0.3 * np.trace(covariance) / view.shape[1] * np.eye(view.shape[1])
        np.testing.assert_allclose(W.T @ covariance @ W, np.eye(5), atol=1e-9)
    cross = result.x_directions.T @ (X.T @ Y / (len(X) - 1)) @ result.y_directions
    np.testing.assert_allclose(cross, np.diag(result.correlations), atol=1e-9)
    assert np.all(np.diff(result.correlations) <= 0)
    assert result.correlations[0] < ridge_cca(X, Y, 5, ridge=0).correlations[0]


@pytest.mark.parametrize("ridge", [1e-6, 0.3, 10.0])
def test_directions_solve_the_generalised_eigenproblem(views, ridge):
    """``Cxy Cyy^-1 Cyx w = rho^2 Cxx w``, both covariances with their ridge: its largest eigenvalues, in order."""
    X, Y = views
    within = [view.T @ view / (len(view) - 1) for view in views]
    Cxx, Cyy = (C + ridge * np.trace(C) / len(C) * np.eye(len(C)) for C in within)
    Cxy = X.T @ Y / (len(X) - 1)
    values, W = linalg.eigh(Cxy @ np.linalg.solve(Cyy, Cxy.T), Cxx)
    result = ridge_cca(X, Y, 4, ridge=ridge)
    np.testing.assert_allclose(result.correlations**2, values[::-1][:4], rtol=1e-8)
    np.testing.assert_allclose(np.abs(W[:, ::-1][:, :4].T @ Cxx @ result.x_directions), np.eye(4), atol=1e-6)


def test_axes_of_the_residual_are_its_principal_components(views):
    X, Y = views
    W = ridge_cca(X, Y, 2).x_directions
    axes = residual_axes(400, X.T @ X, W, 3, ridge=0.2)
    _, s, Vt = np.linalg.svd(X - X @ W @ np.linalg.pinv(W))
    lengths = np.sqrt(s[:3] ** 2 / 399 + 0.2 * np.trace(X.T @ X) / 399 / 9)
    np.testing.assert_allclose(np.abs(axes), np.abs(Vt[:3].T / lengths), atol=1e-8)


def test_scale_of_a_view_does_not_matter(views):
    X, Y = views
    one, other = ridge_cca(X, Y, 3, ridge=0.1), ridge_cca(1000 * X, Y / 50, 3, ridge=0.1)
    np.testing.assert_allclose(one.correlations, other.correlations)
    np.testing.assert_allclose(one.x_directions, 1000 * other.x_directions)


def test_more_columns_than_rows_and_constant_views_work():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((10, 30))
    X -= X.mean(axis=0)
    assert np.isfinite(ridge_cca(X, X[:, :20], 4, ridge=0.1).x_directions).all()
    assert (ridge_cca(X, np.zeros((10, 5)), 3).correlations == 0).all()
