"""Products and moments of the paired views for the alternation of ITQ+."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse

from thpi._types import Array, Bools
from thpi.solvers.blocks import for_blocks, sum_blocks
from thpi.solvers.procrustes import polar, tall_procrustes

__all__ = ["PairMoments", "cross_moment"]

# Largest share of changed bits for which adding their rows is cheaper than multiplying all rows again.
_FEW_CHANGES = 0.15
# X'S is computed if it costs no more than this many iterations without it.
_MOMENT_ITERATIONS = 10


def cross_moment(A: Array, B: Array) -> Array:
    """``A'B`` over the rows: products in the dtype of the arrays, block by block, summed in float64.

    >>> cross_moment(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]))
    array([[11.]])
    """
    return sum_blocks(lambda rows: (A[rows].T @ B[rows],), A)[0]


class PairMoments:
    """Steps and objective of :func:`thpi.solvers.slack_quantisation.slack_quantisation` from second moments.

    The rows enter only through ``M = (1 + l1) X R + l1 S P`` and through ``X'B`` and ``S'B``. The rest follows from
    these and from ``C = X'S`` at a cost independent of n::

        R = polar((1 + l1) X'B - l1 C P)        P = polar(S'B - C'R)
        -2 (1 + l1) <R, X'B> - 2 l1 <P, S'B> + 2 l1 <R, C P>       the trace objective

    and with ``G = X'X``, ``H = S'S`` the power iterations of the true loss, which adds to the trace objective
    ``(1 + l1) (n c + <R, G R>) + l1 <P, H P>``. Codes have one bit per row (c x n). Few bits
    change from one iteration to the next, so ``X'B`` is updated from the rows that changed.
    """

    def __init__(self, X: Array, S: Array, *, n_bits: int, lambda1: float, true_loss: bool) -> None:
        self.X, self.S = X, S
        self.n_bits, self.lambda1, self.true_loss = n_bits, lambda1, true_loss
        p, q = X.shape[1], S.shape[1]
        self.C = cross_moment(X, S) if p * q <= _MOMENT_ITERATIONS * n_bits * (p + q) else None
        self.totals = tuple(view.sum(axis=0, dtype=np.float64)[:, None] for view in (X, S))
        self.grams = tuple(_Gram(view, n_bits) if true_loss else None for view in (X, S))
        self.XB, self.SB = np.zeros((p, n_bits)), np.zeros((q, n_bits))

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

    def set_codes(self, positive: Bools, former: Bools | None) -> None:
        """Update ``X'B`` and ``S'B`` from the codes that are +1 where ``former`` to those where ``positive``."""
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

    def fit_target(self, R: Array, P: Array) -> Array:
        """Minimise over R from the current one: exactly, or by power iteration for the true loss."""
        weight = self.lambda1 / (1 + self.lambda1)
        return _rotation(self.XB - weight * self._cross_slack(P) if weight else self.XB, R, self.grams[0])

    def fit_slack(self, R: Array, P: Array) -> Array:
        """Minimise over P, in the same way."""
        return _rotation(self.SB - self._cross_target(R), P, self.grams[1])

    def objective(self, R: Array, P: Array) -> float:
        """Return the trace objective or the true loss, without the graph term."""
        l1 = self.lambda1
        value = -2 * (1 + l1) * np.vdot(R, self.XB)
        if l1:
            value += 2 * l1 * (np.vdot(R, self._cross_slack(P)) - np.vdot(P, self.SB))
        if self.true_loss:
            G, H = self.grams
            assert G is not None
            assert H is not None
            value += (1 + l1) * (len(self.X) * self.n_bits + G.energy(R)) + l1 * H.energy(P)
        return float(value)

    def _cross_slack(self, P: Array) -> Array:
        if self.C is not None:
            return np.asarray(self.C @ P)
        return cross_moment(self.X, self.S @ P.astype(self.S.dtype))

    def _cross_target(self, R: Array) -> Array:
        if self.C is not None:
            return np.asarray(self.C.T @ R)
        return cross_moment(self.S, self.X @ R.astype(self.X.dtype))


class _Gram:
    """``X'X`` and, if R is tall, a bound on its eigenvalues."""

    def __init__(self, X: Array, n_bits: int) -> None:
        self.matrix = cross_moment(X, X)
        self.tall = X.shape[1] > n_bits
        if self.tall:
            top = len(self.matrix) - 1
            self.bound = float(linalg.eigvalsh(self.matrix, subset_by_index=[top, top])[0])

    def energy(self, Q: Array) -> float:
        return float(np.vdot(Q, self.matrix @ Q))


def _rotation(cross: Array, start: Array, gram: _Gram | None) -> Array:
    if gram is None or not gram.tall:
        return polar(cross)
    return tall_procrustes(gram.matrix, cross, start, bound=gram.bound)
