"""Orthogonal Procrustes problems, square and tall, and the promise of exact steps: they never raise an objective."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import linalg

from thpi._types import Array

__all__ = ["AscentError", "check_descent", "polar", "random_frame", "random_orthonormal", "tall_procrustes"]

# Rounding errors, in units of the last digit of the terms summed: the largest seen was 0.4, wrong steps rise by 10^6.
_ROUNDINGS = 256
# Least ratio of the sides at which the eigenvectors of the small Gram matrix are cheaper than the SVD.
_TALL = 2
# Least ratio of the eigenvalues of the Gram matrix: a condition of 1e4.
_LEAST_GRAM = 1e-8


def polar(A: Array) -> Array:
    """Return the orthonormal polar factor of ``A`` (d x c): the ``Q`` that maximises ``tr(Q'A)``.

    With the thin SVD ``A = U S V'`` it is ``Q = U V'``: ``Q'Q = I`` if d >= c, ``QQ' = I`` if d <= c. For d <= c,
    ``polar(X'T)`` also minimises ``||X Q - T||_F`` (the orthogonal Procrustes problem), because ``||X Q||`` is
    constant; for d > c see :func:`tall_procrustes`. The paper's eqs. (7) and (9) write the factors in the wrong order.

    >>> polar(np.array([[0.0, 2.0], [3.0, 0.0]]))
    array([[0., 1.],
           [1., 0.]])
    """
    rows, columns = A.shape
    if rows >= _TALL * columns and (Q := _polar_by_gram(A)) is not None:
        return Q
    if columns >= _TALL * rows and (Q := _polar_by_gram(A.T)) is not None:
        return np.ascontiguousarray(Q.T)
    U, _, Vt = linalg.svd(A, full_matrices=False, check_finite=False)
    return np.asarray(U @ Vt)


def _polar_by_gram(A: Array) -> Array | None:
    """Return ``A (A'A)^(-1/2)``, or None if ``A'A`` is too ill-conditioned for it."""
    tall = A.astype(np.float64, copy=False)
    try:
        values, V = linalg.eigh(tall.T @ tall, check_finite=False)
    except linalg.LinAlgError:  # LAPACK gives up on some that are nearly of rank 1, with one row far from all others
        return None
    if not values[0] > _LEAST_GRAM * values[-1]:
        return None
    Q = tall @ ((V / np.sqrt(values)) @ V.T)
    # With condition k the columns are orthonormal up to k^2 eps; a Newton-Schulz step squares that error, down to eps.
    Q = 1.5 * Q - Q @ (0.5 * (Q.T @ Q))
    return np.asarray(Q, dtype=A.dtype)


def random_orthonormal(rows: int, columns: int, rng: np.random.RandomState) -> Array:
    """Return a Haar-random matrix with orthonormal columns, or orthonormal rows if it is wider than high.

    >>> Q = random_orthonormal(5, 3, np.random.RandomState(0))
    >>> np.allclose(Q.T @ Q, np.eye(3))
    True
    """
    tall = rng.standard_normal((max(rows, columns), min(rows, columns)))
    Q, R = linalg.qr(tall, mode="economic")
    Q = Q * np.where(np.diag(R) < 0, -1.0, 1.0)  # without this the distribution is not uniform (Mezzadri 2007)
    return np.ascontiguousarray(Q if rows >= columns else Q.T)


def random_frame(Y: Array, columns: int, rng: np.random.RandomState) -> Array:
    """Return a random matrix as :func:`random_orthonormal` does, drawn along the rows of ``Y`` and not along its axes.

    It is ``polar(W'G)`` with Gaussian ``G`` (n x columns) and ``W`` the rows in units of their spread, ``W'W = I``.
    ``Y R`` is then the same whatever orthonormal axes the rows are written in: eigenvectors have no sign of their own,
    and those of near-equal eigenvalues no direction either, so a start along them would depend on rounding.

    >>> Y, Q = np.random.RandomState(0).standard_normal((9, 3)), np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    >>> rotated, plain = (rows @ random_frame(rows, 3, np.random.RandomState(0)) for rows in (Y @ Q, Y))
    >>> np.allclose(rotated, plain)
    True
    """
    values, Q = linalg.eigh(Y.T @ Y)
    spread = np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
    drawn = Q @ ((Q.T @ (Y.T @ rng.standard_normal((len(Y), columns)))) / spread[:, None])
    return polar(drawn)


def largest_eigenvalue(gram: Array) -> float:
    return float(linalg.eigvalsh(gram, subset_by_index=[len(gram) - 1] * 2)[0])


def tall_procrustes(
    gram: Array, cross: Array, start: Array, *, bound: float | None = None, tol: float = 1e-7, max_iter: int = 200
) -> Array:
    """Minimise ``||X R - T||_F^2`` over ``R`` (d x c) with orthonormal columns, d > c, down to a stationary point.

    From ``G = X'X`` (``gram``) and ``C = X'T`` (``cross``), by generalised power iteration (Nie, Zhang and Li 2017):

        ``R <- polar(a R - G R + C)``  with  ``a >= lambda_max(G)``

    Each step maximises a minorant of ``tr(R'(aI - G)R) + 2 tr(R'C)``, convex in ``R``, so the loss never rises.
    ``bound`` is ``a`` if the caller knows it.

    >>> X, T = np.diag([3.0, 2.0, 1.0]), np.array([[0.0], [0.0], [1.0]])
    >>> tall_procrustes(X.T @ X, X.T @ T, np.array([[1.0], [0.0], [0.0]]) / 1.0 + 0.01).ravel().round(3) + 0.0
    array([0., 0., 1.])
    """
    a = largest_eigenvalue(gram) if bound is None else bound
    R, GR = start, gram @ start
    loss = float(np.vdot(R, GR) - 2 * np.vdot(R, cross))
    scale = max(abs(loss), float(np.abs(cross).sum()), np.finfo(np.float64).tiny)
    for _ in range(max_iter):
        candidate = polar(a * R - GR + cross)
        G_candidate = gram @ candidate
        lower = float(np.vdot(candidate, G_candidate) - 2 * np.vdot(candidate, cross))
        if lower > loss:  # at a stationary point, by rounding
            check_descent("tall Procrustes", loss, lower, a * R.shape[1] + scale, gram.dtype)
            break
        done = loss - lower <= tol * scale
        R, GR, loss = candidate, G_candidate, lower
        if done:
            break
    return R


class AscentError(ArithmeticError):
    """A step that cannot raise the objective has raised it, by more than rounding explains."""


def check_descent(method: str, former: float, value: float, scale: float, dtype: npt.DTypeLike) -> None:
    """Raise :class:`AscentError` if ``value`` is above ``former`` by more than rounding, or not a number.

    A sum whose terms have sizes that add up to ``scale`` is known up to a few of its last digits in the precision of
    ``dtype``: ``value <= former + 256 eps scale``.

    >>> check_descent("ITQ", 5.0, 5.0 + 1e-15, 10.0, np.float64)
    >>> check_descent("ITQ", 5.0, 5.1, 10.0, np.float64)
    Traceback (most recent call last):
        ...
    thpi.solvers.procrustes.AscentError: ITQ: a step raised the objective from 5 to 5.1; rounding explains 5.7e-13...
    """
    most = _ROUNDINGS * float(np.finfo(dtype).eps) * scale
    if not value <= former + most:
        raise AscentError(
            f"{method}: a step raised the objective from {former:.12g} to {value:.12g}; rounding explains {most:.2g}. "
            "The steps are exact, so thpi or the linear algebra library (BLAS) is at fault: please report it."
        )
