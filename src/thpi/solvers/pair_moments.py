"""Second moments of paired views and codes: the steps of ITQ+ and LapITQ+ in R and P, and their objective."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from thpi._types import Array, Bools
from thpi.solvers.blocks import for_blocks, sum_blocks
from thpi.solvers.moments import cross_moment
from thpi.solvers.procrustes import largest_eigenvalue, polar, tall_procrustes

__all__ = ["PairMoments"]

# Largest share of changed bits for which adding their rows is cheaper than multiplying all rows again.
_FEW_CHANGES = 0.15
# X'S is computed if it costs no more than this many iterations without it.
_MOMENT_ITERATIONS = 10


class PairMoments:
    """Steps and objective of :func:`thpi.solvers.slack_quantisation.slack_quantisation` from second moments.

    The rows enter only through M, ``X'B`` and ``S'B``; with ``C = X'S`` the rest has a cost independent of n::

        R = polar((1 + l1) X'B - l1 C P)        P = polar(S'B - C'R)
        -2 (1 + l1) <R, X'B> - 2 l1 <P, S'B> + 2 l1 <R, C P>       the trace objective

    and with ``G = X'X``, ``H = S'S`` the power iterations of the true loss, which adds ``(1 + l1) (n c + <R, G R>) +
    l1 <P, H P>``. Codes have one bit per row (c x n). Few bits change in an iteration: ``X'B`` is updated from these.
    """

    def __init__(self, X: Array, S: Array, *, n_bits: int, lambda1: float, true_loss: bool) -> None:
        self.X, self.S, self.n_bits, self.lambda1 = X, S, n_bits, lambda1
        p, q = X.shape[1], S.shape[1]
        self.C = cross_moment(X, S) if p * q <= _MOMENT_ITERATIONS * n_bits * (p + q) else None
        self.totals = tuple(view.sum(axis=0, dtype=np.float64)[:, None] for view in (X, S))
        self.grams = [_Gram(view, n_bits) for view in (X, S)] if true_loss else None
        self.positive: Bools | None = None
        self.XB, self.SB = np.zeros((p, n_bits)), np.zeros((q, n_bits))
        # The loss if none of its terms cancelled: rounding errors are relative to it.
        b, x, s = np.sqrt(len(X) * n_bits), np.linalg.norm(X), np.linalg.norm(S)
        self.scale = float((b + x) ** 2 + lambda1 * (b + x + s) ** 2)

    def pull(self, R: Array, P: Array) -> Array:
        """``M'``, c x n, in the dtype of X."""
        left = ((1 + self.lambda1) * R).T.astype(self.X.dtype)
        right = (self.lambda1 * P).T.astype(self.X.dtype)
        M = np.empty((self.n_bits, len(self.X)), dtype=self.X.dtype)

        def fill(rows: slice) -> None:
            block = left @ self.X[rows].T
            if self.lambda1:
                block += right @ self.S[rows].T
            M[:, rows] = block

        for_blocks(fill, self.X)
        return M

    def set_codes(self, positive: Bools) -> None:
        """Update ``X'B`` and ``S'B`` to the codes that are +1 where ``positive``."""
        former, self.positive = self.positive, positive
        if former is not None:
            changed = np.flatnonzero(positive != former)
            if len(changed) <= _FEW_CHANGES * positive.size:
                bit, row = np.divmod(changed, positive.shape[1])
                ends = np.concatenate([[0], np.cumsum(np.bincount(bit, minlength=self.n_bits))])
                # By rows: each row of X is read once for all of its bits.
                step = np.where(positive.ravel()[changed], self.X.dtype.type(2), self.X.dtype.type(-2))
                delta = sparse.csr_array((step, row, ends), shape=positive.shape).tocsc()
                self.XB += (delta @ self.X).T
                self.SB += (delta @ self.S).T
                return

        def add_up(rows: slice) -> tuple[Array, Array]:
            ones = positive[:, rows].astype(self.X.dtype)
            return (ones @ self.X[rows]).T, (ones @ self.S[rows]).T

        XB, SB = sum_blocks(add_up, self.X)
        self.XB, self.SB = 2 * XB - self.totals[0], 2 * SB - self.totals[1]

    def fit(self, R: Array, P: Array) -> tuple[Array, Array, float]:
        """Minimise over R, then over P, for the present codes; return both and the objective."""
        R = self.fit_target(R, P)
        P = self.fit_slack(R, P)
        return R, P, self.objective(R, P)

    def fit_target(self, R: Array, P: Array) -> Array:
        """Minimise over R from the current one: exactly, or by power iteration for the true loss."""
        weight = self.lambda1 / (1 + self.lambda1)
        cross = self.XB - weight * self._cross_slack(P) if weight else self.XB
        return polar(cross) if self.grams is None else self.grams[0].procrustes(cross, R)

    def fit_slack(self, R: Array, P: Array) -> Array:
        """Minimise over P, in the same way."""
        cross = self.SB - self._cross_target(R)
        return polar(cross) if self.grams is None else self.grams[1].procrustes(cross, P)

    def objective(self, R: Array, P: Array) -> float:
        """Return the trace objective or the true loss, without the graph term."""
        l1 = self.lambda1
        value = -2 * (1 + l1) * np.vdot(R, self.XB)
        if l1:
            value += 2 * l1 * (np.vdot(R, self._cross_slack(P)) - np.vdot(P, self.SB))
        if self.grams is not None:
            G, H = self.grams
            value += (1 + l1) * (len(self.X) * self.n_bits + G.energy(R)) + l1 * H.energy(P)
        return float(value)

    def _cross_slack(self, P: Array) -> Array:
        return cross_moment(self.X, self.S @ P.astype(self.S.dtype)) if self.C is None else np.asarray(self.C @ P)

    def _cross_target(self, R: Array) -> Array:
        return cross_moment(self.S, self.X @ R.astype(self.X.dtype)) if self.C is None else np.asarray(self.C.T @ R)


class _Gram:
    """``X'X`` and, if R is tall, a bound on its eigenvalues."""

    def __init__(self, X: Array, n_bits: int) -> None:
        self.matrix, self.tall = cross_moment(X, X), X.shape[1] > n_bits
        self.bound = largest_eigenvalue(self.matrix) if self.tall else None

    def energy(self, Q: Array) -> float:
        return float(np.vdot(Q, self.matrix @ Q))

    def procrustes(self, cross: Array, start: Array) -> Array:
        return tall_procrustes(self.matrix, cross, start, bound=self.bound) if self.tall else polar(cross)
