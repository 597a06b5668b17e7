"""Stochastic neighbour embedding into codes: a linear map whose signs preserve neighbours."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.metrics.pairwise import euclidean_distances

from thpi._types import Array
from thpi.solvers.blocks import spread
from thpi.solvers.procrustes import check_descent

__all__ = ["NeighbourResult", "neighbour_embedding", "neighbour_probabilities"]

_WIDTH_ROWS = 100
# Root mean square of the rows during the optimisation: if it is larger, 30 quasi-Newton steps go farther and gain less.
_SPREAD = 0.3
# Bound of log(t c), below 4 on real data. If many rows are equal t would grow; up to here exp(t h'h) does not overflow.
_MOST_LOG_TC = 6.0
_HALVINGS = 22


class NeighbourResult(NamedTuple):
    """Projection (p x c), offsets (c), the objective at the start and after each iteration, and whether it settled."""

    projection: Array
    offset: Array
    objective: list[float]
    converged: bool


def neighbour_probabilities(rows: Array, share: float) -> Array:
    """Return ``A_ij``, the probability that row i takes j as its neighbour: n x n, zero diagonal, rows that sum to 1.

    ``A_ij`` is proportional to ``exp(-||x_i - x_j||^2 / w)``. All rows share the width w, so that isolated rows have
    few neighbours, as with a radius. The mean perplexity, the effective number of neighbours, is ``share`` of the rows.

    >>> A = neighbour_probabilities(np.array([[0.0], [1.0], [5.0], [6.0]]), 0.3)
    >>> A.argmax(axis=1), A.sum(axis=1).round(6)
    (array([1, 0, 3, 2]), array([1., 1., 1., 1.]))
    """
    n = len(rows)
    squared = euclidean_distances(rows, squared=True)
    np.fill_diagonal(squared, np.inf)
    squared -= squared.min(axis=1, keepdims=True)  # a constant per row, so that the nearest neighbour cannot vanish
    some = squared[spread(n, _WIDTH_ROWS)]
    largest = float(some[np.isfinite(some)].max())
    if largest <= 0:  # all distances are equal: all rows are neighbours
        return np.asarray(np.where(np.isfinite(squared), 1 / (n - 1), 0.0))
    wanted = max(1.0, share * n)
    low, high = np.log(1e-9 * largest), np.log(1e3 * largest)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _perplexity(some, np.exp(middle)) > wanted else (middle, high)
    A = np.exp(squared / -np.exp(low))
    return np.asarray(A / A.sum(axis=1, keepdims=True))


def _perplexity(squared: Array, width: float) -> float:
    weight = np.exp(squared / -width)
    total = weight.sum(axis=1)
    energy = (weight * np.where(weight > 0, squared, 0.0)).sum(axis=1) / width
    return float(np.exp(np.log(total) + energy / total).mean())


def neighbour_embedding(
    X: Array,
    start: Array,
    A: Array,
    *,
    start_penalty: float = 0.3,
    offsets: bool = False,
    tol: float = 1e-5,
    max_iter: int = 30,
) -> NeighbourResult:
    """Minimise ``1/n sum_i KL(A_i || Q_i) + start_penalty/c (tr((P - P_0)' (C + r I) (P - P_0)) + b'b)`` over P, b, t.

    ``h_i = tanh(P'x_i - b)`` is the relaxed code of row i; ``Q_ij``, proportional to ``exp(t h_i'h_j)``, j != i, is the
    probability that i takes j as its neighbour by the codes alone: ``h_i'h_j`` is c less twice the Hamming distance if
    h is +-1. 0 < t <= exp(6) / c. ``P_0`` is ``start``, scaled so that ``|X P_0|`` is 1 on average; ``C = X'X / n`` and
    r is its mean eigenvalue. b is 0 unless ``offsets``: a plane away from the mean tells the core of the rows from the
    outskirts. Minimised by L-BFGS from ``start``: the objective is not convex, and it never rises. The steps, unlike
    the objective, depend on the unit of the rows: these are scaled to a root mean square of 0.3.

    >>> X = np.random.RandomState(0).standard_normal((60, 5))
    >>> found = neighbour_embedding(X, np.eye(5)[:, :3], neighbour_probabilities(X, 0.3), offsets=True)
    >>> found.projection.shape, found.offset.shape, bool(np.all(np.diff(found.objective) <= 0))
    ((5, 3), (3,), True)
    """
    unit = float(np.sqrt(np.mean(np.square(X, dtype=np.float64)))) / _SPREAD or 1.0
    # In double precision: quasi-Newton steps carry single rounding errors so far that other bits come out.
    rows = np.ascontiguousarray(X / unit, dtype=np.float64)
    reach = float(np.abs(rows @ start).mean())
    P0 = start / reach if reach > 0 else start.astype(np.float64)
    p, c = P0.shape
    value = _Objective(rows, A, P0, start_penalty / c, offsets)
    x = np.concatenate([P0.ravel(), np.zeros(c if offsets else 0), [np.log(4 / np.sqrt(c))]])
    objective = [value(x)[0]]
    found = minimize(
        value, x, jac=True, method="L-BFGS-B", callback=lambda _: objective.append(value.latest),
        options={"maxiter": max_iter, "maxcor": 8, "ftol": tol},
    )  # fmt: skip
    for former, later in pairwise(objective):
        check_descent("neighbour embedding", former, later, value.scale, np.float64)
    offset = found.x[p * c : -1] if offsets else np.zeros(c)
    return NeighbourResult(found.x[: p * c].reshape(p, c) / unit, offset, objective, bool(found.success))


class _Objective:
    """The objective of :func:`neighbour_embedding` and its gradient at ``x = (P, b, log t)``."""

    def __init__(self, rows: Array, A: Array, P0: Array, hold: float, offsets: bool) -> None:
        self.rows, self.both, self.P0, self.hold, self.offsets = rows, A + A.T, P0, hold, offsets
        self.C = rows.T @ rows / len(rows)
        self.C[np.diag_indices(len(P0))] += self.C.trace() / len(P0)
        self.entropy = float((A * np.log(np.maximum(A, np.finfo(np.float64).tiny))).sum())
        self.most = _MOST_LOG_TC - np.log(P0.shape[1])
        self.latest, self.scale = np.inf, 0.0

    def __call__(self, x: Array) -> tuple[float, Array]:
        n, (p, c), hold = len(self.rows), self.P0.shape, self.hold
        P, b, t = x[: p * c].reshape(p, c), x[p * c : -1], float(np.exp(min(x[-1], self.most)))
        H = np.tanh(self.rows @ P - b) if self.offsets else np.tanh(self.rows @ P)
        E = (t * H) @ H.T
        np.exp(E, out=E)
        np.fill_diagonal(E, 0.0)  # a row is not its own neighbour
        total = E.sum(axis=1, keepdims=True)
        # sum_ij A_ij h_i'h_j and sum_ij Q_ij h_i'h_j, with the products that the gradient needs as well.
        wanted, seen = self.both @ H, (E @ H) / total
        drawn = float(np.vdot(wanted, H)) / 2
        normalisers = float(np.log(total).sum())
        divergence = self.entropy + normalisers - t * drawn
        pull = t * (seen + E @ (H / total) - wanted) * (1 - H * H) / n
        moved = P - self.P0
        held = self.C @ moved
        slope = self.rows.T @ pull + 2 * hold * held
        by_b = 2 * hold * b - pull.sum(axis=0) if self.offsets else b
        by_t = t * (float(np.vdot(seen, H)) - drawn) / n if x[-1] <= self.most else 0.0
        self.latest = divergence / n + hold * (float(np.vdot(moved, held)) + float(b @ b))
        terms = abs(self.entropy) + abs(normalisers) + t * abs(drawn)
        self.scale = max(self.scale, abs(self.latest) + terms / n)
        return self.latest, np.concatenate([slope.ravel(), by_b, [by_t]])
