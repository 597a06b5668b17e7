"""The relaxed B-step of LapITQ+: a convex quadratic programme over balanced boxes, all bits at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from thpi._types import Array, MatrixLike
from thpi.solvers.balance import project_balanced_box
from thpi.solvers.blocks import for_blocks, sum_blocks, take_block

__all__ = ["BoxQP", "LaplacianQPResult"]

# The certificate needs a selection along every column, which costs about one iteration.
_ITERATIONS_PER_CHECK = 8
# Any positive curvature is valid for a vertex without edges; a small one lets it move far in one step.
_ISOLATED_DEGREE = 1e-2


class LaplacianQPResult(NamedTuple):
    """Relaxed codes (n x c, in [-1, 1], columns sum to zero) with a proven upper bound on their error."""

    B: Array
    gap: float  # bound of objective(B) - optimum, summed over the columns
    n_iter: int  # of the column that needed most
    converged: bool  # whether gap <= tol * max(1, |objective(B)|)


class BoxQP:
    """The relaxed LapITQ+ objective in the codes, for one graph and many linear terms.

    ::

        min_B  F(B) = -2 <B, K> + lambda2 tr(B' L B)    with -1 <= B <= 1 and 1'B = 0

    (the paper's update of B with its ||B L|| read as tr(B' L B)), lambda2 > 0, at least one edge. Solved by accelerated
    projected gradient in the metric of the degrees (L <= 2 D) with the momentum of greedy FISTA (Liang, Luo and
    Schoenlieb 2022): factor 1, dropped in a column as soon as it points uphill there. It has no proven rate; the
    certificate bounds the error instead. In float32 the least tolerance within reach grows with lambda2 (for K of unit
    scale 1e-6 at lambda2 = 1 and 2e-5 at lambda2 = 10).

    Certificate. F is convex, so with g = F'(b) every feasible x has F(b) - F(x) <= <g, b> - <g, x>. The
    smallest <g, x> over the feasible set is, by linear duality in the multiplier m of 1'x = 0,
    ``max_m min_{|x|<=1} <g - m, x> = -min_m sum_i |g_i - m| = -sum_i |g_i - median(g)|``. Hence::

        F(b) - F* <= <g, b> + sum_i |g_i - median(g)| = sum_i (|h_i| + h_i b_i),   h = g - median(g)

    where the last form, a sum of non-negative terms, loses no digits; it is computed in float64. Columns that have
    reached their share of the tolerance stop early. For odd n the +-1 codes have column sums of +-1 and lie outside
    these constraints; to bound them too, append a row of zeros to ``K`` and an isolated vertex to the graph.

    >>> solver = BoxQP(np.array([[1.0, -1.0], [-1.0, 1.0]]), 1.0, np.float64)
    >>> solver.solve(np.array([[0.5], [-0.5]])).B.round(6).ravel()
    array([ 0.25, -0.25])
    """

    def __init__(self, laplacian: MatrixLike, lambda2: float, dtype: npt.DTypeLike) -> None:
        self.L = sparse.csr_array(laplacian).astype(np.float64)
        self.lambda2, self.dtype = lambda2, np.dtype(dtype)
        degrees = self.L.diagonal()
        metric = np.where(degrees > 0, degrees, _ISOLATED_DEGREE * degrees[degrees > 0].min())
        self.weight, self.inverse = metric.astype(self.dtype), (1 / metric).astype(self.dtype)
        # One gradient step from Y is averaging @ Y + pull; the step length 1 / (2 bound lambda2 d_i) is folded in.
        self.bound = _curvature_bound(self.L, metric)
        step = sparse.diags_array(1 / (self.bound * metric))
        self.averaging = (sparse.eye_array(len(degrees)) - step @ self.L).tocsr().astype(self.dtype)

    def solve(self, K: Array, start: Array | None = None, tol: float = 1e-6, max_iter: int = 2000) -> LaplacianQPResult:
        """Solve for ``K`` (n x c) from ``start``, for instance the solution for a similar ``K``."""
        K = np.ascontiguousarray(K, dtype=self.dtype)
        pull = K * (self.inverse[:, None] / K.dtype.type(self.bound * self.lambda2))
        c, B = K.shape[1], np.empty_like(K)
        gaps, values, active = np.empty(c), np.empty(c), np.arange(c)
        multiplier = np.zeros(c, dtype=K.dtype)
        X = np.zeros_like(K)
        if start is not None:
            X = project_balanced_box(start.astype(K.dtype, copy=False), self.inverse, multiplier)
        Y = X.copy()
        n_iter = 0
        while True:
            # A check of a start at zero would be of no use.
            if (n_iter % _ITERATIONS_PER_CHECK == 0 and (n_iter or start is not None)) or n_iter == max_iter:
                gaps[active], values[active] = _gap_and_value(X, K[:, active], self.L, self.lambda2)
                B[:, active] = X
                if gaps.sum() <= tol * max(1.0, abs(values.sum())) or n_iter == max_iter:
                    break
                # Half of the tolerance each for the two terms, so that all shares together stay within it.
                going = gaps[active] > 0.5 * tol * np.maximum(1 / c, np.abs(values[active]))
                if not going.all():
                    active, multiplier = active[going], multiplier[going]
                    X, Y, pull = (np.compress(going, part, axis=1) for part in (X, Y, pull))  # row by row in memory
            X, Y = self._iterate(X, Y, pull, multiplier)
            n_iter += 1
        gap = float(gaps.sum())
        return LaplacianQPResult(B, gap, n_iter, gap <= tol * max(1.0, abs(float(values.sum()))))

    def _iterate(self, X: Array, Y: Array, pull: Array, multiplier: Array) -> tuple[Array, Array]:
        """Make a step of greedy FISTA; return the new point and the one to go on from."""
        V = np.empty_like(pull)

        def gradient_step(rows: slice) -> None:
            np.add(take_block(self.averaging, rows) @ Y, pull[rows], out=V[rows])

        def turn_of(rows: slice) -> tuple[Array]:
            return (self.weight[rows] @ ((Y[rows] - X_new[rows]) * (X_new[rows] - X[rows])),)

        def extrapolate(rows: slice) -> None:
            np.add(X_new[rows], (X_new[rows] - X[rows]) * kept, out=V[rows])

        for_blocks(gradient_step, V)
        X_new = project_balanced_box(V, self.inverse, multiplier)
        kept = sum_blocks(turn_of, V)[0] <= 0
        for_blocks(extrapolate, V)
        return X_new, V


def _curvature_bound(L: sparse.csr_array, metric: Array) -> float:
    """Return t with L <= t D: a Lanczos estimate, from below, with a margin, never more than the proven 2."""
    if len(metric) < 50:
        return 2.0
    scale, v0 = sparse.diags_array(1 / np.sqrt(metric)), np.cos(np.arange(len(metric)))
    try:
        largest = eigsh(scale @ L @ scale, 1, which="LA", tol=1e-2, v0=v0, return_eigenvectors=False)
    except ArpackNoConvergence:
        return 2.0
    return float(min(2.0, 1.03 * largest[0]))


def _gap_and_value(X: Array, K: Array, L: sparse.csr_array, lambda2: float) -> tuple[Array, Array]:
    """Return the certificate and the objective of each column, in float64."""
    X, K = X.astype(np.float64, copy=False), K.astype(np.float64, copy=False)
    gradient = 2 * lambda2 * (L @ X) - 2 * K
    value = np.einsum("ij,ij->j", X, 0.5 * gradient - K)
    middle = len(X) // 2
    gradient -= np.partition(np.ascontiguousarray(gradient.T), middle, axis=1)[:, middle]
    return np.einsum("ij,ij->j", gradient, X) + np.abs(gradient).sum(axis=0), value
