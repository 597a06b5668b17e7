"""Ridge canonical correlation analysis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from thpi._types import Array

# Relative to the largest variance; a direction below it is rounding.
_NO_VARIANCE = 1e-14

__all__ = ["CCAResult", "residual_axes", "ridge_cca", "ridge_cca_of_moments"]


class CCAResult(NamedTuple):
    """Directions of both views, one per column, and their (regularised) correlations, largest first."""

    x_directions: Array
    y_directions: Array
    correlations: Array


def ridge_cca(X: Array, Y: Array, n_components: int, *, ridge: float = 1e-4) -> CCAResult:
    """Directions along which two centred views of the same n rows correlate most.

    Maximises ``tr(U' Cxy V)`` subject to ``U'(Cxx + rx I)U = I`` and ``V'(Cyy + ry I)V = I``, where the C are
    covariances and ``rx = ridge * tr(Cxx) / min(n - 1, dx)``, relative to the mean variance of a direction. With
    Cholesky factors ``Lx Lx' = Cxx + rx I`` the solution is the SVD of ``Lx^-1 Cxy Ly^-T``; its singular values are the
    correlations. The common sign of a pair of directions is arbitrary.

    >>> rng = np.random.RandomState(0)
    >>> t = rng.standard_normal((500, 1))
    >>> X = np.hstack([t, rng.standard_normal((500, 1))]); Y = np.hstack([rng.standard_normal((500, 1)), t])
    >>> ridge_cca(X - X.mean(0), Y - Y.mean(0), 1).correlations.round(2)
    array([1.])
    """
    X64, Y64 = X.astype(np.float64, copy=False), Y.astype(np.float64, copy=False)
    result = ridge_cca_of_moments(len(X), X64.T @ X64, Y64.T @ Y64, X64.T @ Y64, n_components, ridge=ridge)
    return CCAResult(*(part.astype(X.dtype) for part in result))


def ridge_cca_of_moments(
    n: int, scatter_x: Array, scatter_y: Array, cross: Array, n_components: int, *, ridge: float
) -> CCAResult:
    """Solve :func:`ridge_cca` from ``X'X``, ``Y'Y`` and ``X'Y`` of n centred rows.

    The mean variance of a direction is over those that have variance: ``tr(Cxx)`` over the rank of ``Cxx``.

    >>> ridge_cca_of_moments(3, np.eye(2), np.eye(1), np.array([[0.0], [1.0]]), 1, ridge=0.0).correlations.round(3)
    array([1.])
    """
    Lx, Ly = (_ridge_cholesky(scatter / (n - 1), n, ridge) for scatter in (scatter_x, scatter_y))
    whitened = linalg.solve_triangular(Lx, cross / (n - 1), lower=True)
    whitened = linalg.solve_triangular(Ly, whitened.T, lower=True).T
    U, correlations, Vt = linalg.svd(whitened, full_matrices=False)
    x_directions = linalg.solve_triangular(Lx, U[:, :n_components], lower=True, trans="T")
    y_directions = linalg.solve_triangular(Ly, Vt[:n_components].T, lower=True, trans="T")
    return CCAResult(x_directions, y_directions, correlations[:n_components])


def residual_axes(n: int, scatter: Array, directions: Array, n_components: int, *, ridge: float) -> Array:
    """Leading principal axes ``v`` of n centred rows projected off the span of ``directions``.

    From ``X'X`` of the rows. The axes are orthogonal to ``directions`` and to each other, and have the length that
    :func:`ridge_cca` gives its directions, ``v'(Cxx + rx I)v = 1``.

    >>> axes = residual_axes(11, np.diag([90.0, 40.0, 10.0]), np.array([[1.0], [0.0], [0.0]]), 1, ridge=0.0)
    >>> np.abs(axes.round(3)).ravel()
    array([0. , 0.5, 0. ])
    """
    d, k = directions.shape
    # Coordinates of the complement, in which no axis, even one without variance, can fall back into the span.
    complement = linalg.qr(directions)[0][:, k:]
    covariance = scatter / (n - 1)
    within = complement.T @ covariance @ complement
    variances, axes = linalg.eigh(within, subset_by_index=[d - k - n_components, d - k - 1])
    lengths = np.sqrt(np.maximum(variances[::-1], 0) + _absolute_ridge(covariance, n, ridge))
    return np.asarray(complement @ axes[:, ::-1] / lengths)


def _ridge_cholesky(covariance: Array, n: int, ridge: float) -> Array:
    covariance.flat[:: len(covariance) + 1] += _absolute_ridge(covariance, n, ridge)
    return np.asarray(linalg.cholesky(covariance, lower=True))


def _absolute_ridge(covariance: Array, n: int, ridge: float) -> float:
    trace = float(np.trace(covariance))
    if not trace > 0:
        return 1.0  # a view without any variance has no directions; the 1 keeps the factor regular
    variances = linalg.eigvalsh(covariance)
    return max(ridge, 1e-10) * trace / max(1, min(n - 1, int((variances > _NO_VARIANCE * variances[-1]).sum())))
