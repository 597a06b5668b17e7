"""Ridge regression with a penalty chosen by leave-one-out, and a test whether rows say anything about answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thpi._types import Array
from thpi.solvers.blocks import spread

__all__ = ["JUDGED_ROWS", "LooRidge", "PENALTIES", "RidgeFit", "dependence_p_value", "least_r2"]
__all__ += ["loo_ridge"]

PENALTIES = tuple(float(value) for value in np.logspace(-4, 3, 15))
"""Penalties that are tried, relative to the mean squared singular value of the rows."""

JUDGED_ROWS = 500
"""Largest number of rows that are left out one by one."""

_JUDGED_COLUMNS = 48


@dataclass(frozen=True, eq=False)  # compared by identity: results that depend on a fit are kept by it
class RidgeFit:
    """Coefficients ``W``, the chosen penalty, and the share of the answers' energy that leave-one-out explains."""

    W: Array
    penalty: float
    explained: float


class LooRidge:
    """Ridge regression on the rows ``X``, which are factored once for all answers; see :func:`loo_ridge`."""

    def __init__(self, X: Array) -> None:
        self._X = X
        self._rows = spread(len(X), JUDGED_ROWS)

    @cached_property
    def _factors(self) -> tuple[Array, Array]:
        """Singular values above rounding and right singular vectors, from the smaller of the two Gram matrices."""
        from scipy import linalg  # not at the top: what codes rows imports JUDGED_ROWS, and has no use for scipy

        X, (n, d) = self._X, self._X.shape
        values, vectors = linalg.eigh(X.T @ X if d <= n else X @ X.T)
        kept = values > 1e-10 * max(float(values[-1]), np.finfo(np.float64).tiny)
        s, vectors = np.sqrt(values[kept]), vectors[:, kept]
        return (s, vectors) if d <= n else (s, (X.T @ vectors) / s)

    @cached_property
    def _hats(self) -> tuple[Array, list[tuple[float, Array, Array]]]:
        """Left factors of the rows that are left out; for each penalty its shrinkage and their ``1 - H_ii``."""
        s, V = self._factors
        U = (self._X[self._rows] @ V) / s
        squares, squared, hats = s**2, U**2, []
        for penalty in PENALTIES:
            shrink = squares / (squares + penalty * squares.mean())
            leverage = np.minimum(squared @ shrink + 1 / len(self._X), 1 - 1e-6)
            hats.append((penalty, shrink, (1 - leverage)[:, None]))
        return U, hats

    def fit(self, T: Array, *, extra: tuple[Array, Array] | None = None, shrinkage: float = 1.0) -> RidgeFit:
        """Fit the centred answers ``T``."""
        X, (s, V) = self._X, self._factors
        if not len(s):
            return RidgeFit(np.zeros((X.shape[1], T.shape[1])), PENALTIES[-1], 0.0)
        cross = (V.T @ (X.T @ T)) / s[:, None]
        columns = np.argsort(-np.einsum("ij,ij->j", T, T), kind="stable")[:_JUDGED_COLUMNS]
        answers, judged = T[np.ix_(self._rows, columns)], cross[:, columns]
        total, best, penalty = float((answers**2).sum()), np.inf, PENALTIES[-1]
        U, hats = self._hats
        for candidate, shrink, rest in hats:
            residual = (answers - U @ (shrink[:, None] * judged)) / rest
            error = float(np.vdot(residual, residual))
            if error < best:
                best, penalty = error, candidate
        explained = 1 - best / total if total > 0 else 0.0
        penalty *= shrinkage
        added = penalty * float((s**2).mean())
        if extra is None:
            W = V @ ((s / (s**2 + added))[:, None] * cross)
        else:
            X_e, T_e = extra
            gram = X.T @ X + X_e.T @ X_e + added * np.eye(X.shape[1])
            from scipy import linalg

            W = linalg.solve(gram, X.T @ T + X_e.T @ T_e, assume_a="pos")
        return RidgeFit(W, penalty, explained)


def loo_ridge(X: Array, T: Array, *, extra: tuple[Array, Array] | None = None, shrinkage: float = 1.0) -> RidgeFit:
    """Minimise ``||X W - T||^2 + penalty * s ||W||^2`` for centred rows, where s is the mean squared singular value.

    With ``X = U diag(s) V'`` the fit at penalty a has the hat matrix ``H = U diag(s^2 / (s^2 + a)) U' + 1/n`` (the
    last term is the mean), and the residual of row i when it is left out is ``r_i / (1 - H_ii)``: one factorisation
    serves all penalties. They are evaluated on at most 500 evenly spaced rows and on the 48 answers of largest energy.
    ``extra = (X_e, T_e)`` are further rows for the last fit only: they are predictions themselves. The chosen penalty
    is multiplied by ``shrinkage``, because for a metric the directions matter more than the size of the error.

    >>> rng = np.random.RandomState(0)
    >>> X = rng.standard_normal((200, 3)); X -= X.mean(axis=0)
    >>> fit = loo_ridge(X, X @ np.array([[1.0], [2.0], [0.0]]))
    >>> fit.W.round(3).ravel() + 0.0, round(fit.explained, 3)
    (array([1., 2., 0.]), 1.0)
    """
    return LooRidge(X).fit(T, extra=extra, shrinkage=shrinkage)


def least_r2(n: int) -> float:
    """Share that n pairs must explain to count as related.

    Predicting a row by the mean of the others explains ``1 - (n / (n - 1))^2``, about -2 / n, and pairs in the wrong
    order explain no more, up to chance. The threshold is as far above 0: at most 3 % of independent views pass it.

    >>> least_r2(100)
    0.02
    """
    return 2 / min(n, JUDGED_ROWS)


def dependence_p_value(X: Array, Y: Array, rng: np.random.RandomState, n_permutations: int = 199) -> float:
    """Return the p-value of the Hilbert-Schmidt independence criterion of rows ``X`` and answers ``Y``.

    The statistic is ``sum_ij K_ij y_i'y_j``, where ``K`` are the inner products of centred rows, with a zero diagonal
    and centred: are answers alike where rows are? (Gretton and others 2008.) Its distribution without dependence is
    that of permuted answers. So the p-value is at most p with probability p for unrelated rows, however they are
    distributed.

    >>> rng = np.random.RandomState(0)
    >>> X = rng.standard_normal((50, 3))
    >>> dependence_p_value(X, X[:, :1], rng), dependence_p_value(X, rng.standard_normal((50, 1)), rng) > 0.05
    (0.005, True)
    """
    rows, answers = (values - values.mean(axis=0) for values in (np.asarray(X, float), np.asarray(Y, float)))
    K = rows @ rows.T
    np.fill_diagonal(K, 0.0)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1, keepdims=True)

    def statistic(values: Array) -> float:
        return float(np.vdot(K @ values, values))

    found = statistic(answers)
    permuted = [statistic(answers[rng.permutation(len(answers))]) for _ in range(n_permutations)]
    return (1 + sum(value >= found for value in permuted)) / (n_permutations + 1)
