from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes
from scipy.stats import kstest

from thpi.solvers.procrustes import polar, random_frame, random_orthonormal, tall_procrustes


@given(st.integers(0, 10_000), st.integers(1, 8))
def test_square_procrustes_is_that_of_scipy(seed, c):
    rng = np.random.RandomState(seed)
    X, T = rng.standard_normal((20, c)), rng.standard_normal((20, c))
    np.testing.assert_allclose(polar(X.T @ T), orthogonal_procrustes(X, T)[0], atol=1e-7)


@pytest.mark.parametrize(("d", "c"), [(7, 3), (3, 7)])
def test_polar_maximises_the_trace_over_semi_orthogonal_matrices(d, c):
    rng = np.random.RandomState(0)
    A = rng.standard_normal((d, c))
    best = np.vdot(polar(A), A)
    np.testing.assert_allclose(best, np.linalg.norm(A, "nuc"))  # the dual norm: no other matrix can do better
    assert all(np.vdot(random_orthonormal(d, c, rng), A) < best for _ in range(200))


@pytest.mark.parametrize(("d", "c"), [(9, 4), (4, 9)])
def test_polar_is_found_where_the_eigenvectors_of_the_gram_matrix_are_not(d, c, monkeypatch):
    """LAPACK fails on some matrices with an "internal error", on some processors; there the SVD is taken."""

    def fail(*arguments, **options):
        raise np.linalg.LinAlgError("Internal Error.")

    A = np.random.RandomState(0).standard_normal((d, c))
    expected = polar(A)
    monkeypatch.setattr("thpi.solvers.procrustes.linalg.eigh", fail)
    np.testing.assert_allclose(polar(A), expected, atol=1e-9)


@pytest.mark.parametrize(("d", "c"), [(6, 2), (2, 6), (4, 4)])
def test_random_orthonormal_is_semi_orthogonal_and_uniform(d, c):
    rng = np.random.RandomState(0)
    draws = np.array([random_orthonormal(d, c, rng) for _ in range(2000)])
    Q = draws[0]
    np.testing.assert_allclose(Q.T @ Q if d >= c else Q @ Q.T, np.eye(min(d, c)), atol=1e-12)
    # An entry of a Haar-random frame in m dimensions: its square is Beta(1/2, (m-1)/2) distributed, its sign fair.
    m = max(d, c)
    assert kstest(draws[:, 0, 0] ** 2, "beta", args=(0.5, (m - 1) / 2)).pvalue > 0.01
    assert abs((draws[:, 0, 0] > 0).mean() - 0.5) < 0.04


def test_a_frame_along_the_rows_is_as_uniform_whatever_their_spread():
    rng = np.random.RandomState(0)
    Y = rng.standard_normal((30, 3)) * [100.0, 1.0, 0.01]
    draws = np.array([random_frame(Y, 2, rng) for _ in range(1000)])
    np.testing.assert_allclose(draws[0].T @ draws[0], np.eye(2), atol=1e-12)
    for axis in range(3):
        assert kstest(draws[:, axis, 0] ** 2, "beta", args=(0.5, 1.0)).pvalue > 0.01


def _loss(X, R, T):
    return np.linalg.norm(X @ R - T) ** 2


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_tall_procrustes_descends_to_a_stationary_point(seed):
    rng = np.random.RandomState(seed)
    X, T = rng.standard_normal((30, 8)) * np.linspace(2, 0.2, 8), rng.standard_normal((30, 3))
    R = random_orthonormal(8, 3, rng)
    losses = [_loss(X, R, T)]
    for _ in range(30):
        R = tall_procrustes(X.T @ X, X.T @ T, R, max_iter=1)
        losses.append(_loss(X, R, T))
    assert np.all(np.diff(losses) <= 1e-9)
    R = tall_procrustes(X.T @ X, X.T @ T, R, tol=0, max_iter=20_000)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-10)
    # On the Stiefel manifold the gradient G - R sym(R'G) vanishes at a stationary point.
    G = X.T @ (X @ R - T)
    assert np.linalg.norm(G - R @ (R.T @ G + G.T @ R) / 2) < 1e-3 * np.linalg.norm(X.T @ T)


def test_tall_procrustes_beats_the_closed_form_where_that_is_not_exact():
    rng = np.random.RandomState(0)
    X, T = rng.standard_normal((50, 10)) * np.linspace(3, 0.1, 10), rng.standard_normal((50, 4))
    closed = polar(X.T @ T)
    assert _loss(X, tall_procrustes(X.T @ X, X.T @ T, closed), T) < 0.9 * _loss(X, closed, T)


def test_tall_procrustes_finds_a_planted_frame():
    rng = np.random.RandomState(0)
    X, R = rng.standard_normal((200, 9)), random_orthonormal(9, 3, rng)
    T = X @ R
    found = tall_procrustes(X.T @ X, X.T @ T, polar(X.T @ T), tol=1e-14, max_iter=2000)
    np.testing.assert_allclose(found, R, atol=1e-5)
