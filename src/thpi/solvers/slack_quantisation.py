"""The alternation of ITQ+ and LapITQ+ (the paper's Algorithm 1), on arrays."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.random import RandomState
from scipy import sparse

from thpi._types import Array, Bools, Ints, Signs
from thpi.kernels.threads import own_threads
from thpi.solvers.balance import as_signs, balanced_halves
from thpi.solvers.blocks import for_blocks, sum_blocks
from thpi.solvers.graph_codes import GraphCodes
from thpi.solvers.moments import cross_moment
from thpi.solvers.procrustes import check_descent, largest_eigenvalue, polar, random_orthonormal, tall_procrustes

__all__ = ["PairMoments", "SlackResult", "slack_quantisation"]

Iterate: TypeAlias = tuple[Bools, Array, Array]
"""Where the codes are +1 (c x n), R and P."""

_COARSE_SHARE = 0.75
# Relaxing and rounding takes at most this share of the iterations, and ends after this many without progress.
_ROUNDING_SHARE = 0.9
_PATIENCE = 5
# Largest share of changed bits for which adding their rows is cheaper than multiplying all rows again.
_FEW_CHANGES = 0.15
# X'S is computed if it costs no more than this many iterations without it.
_MOMENT_ITERATIONS = 10


class SlackResult(NamedTuple):
    """Codes ``B`` (+-1, int8), ``R``, ``P``, the objective after each iteration, and whether it settled."""

    B: Signs
    R: Array
    P: Array
    objective: list[float]
    converged: bool


def slack_quantisation(
    X: Array,
    S: Array,
    rng: RandomState,
    *,
    n_bits: int,
    lambda1: float,
    lambda2: float = 0.0,
    laplacian: sparse.csr_matrix | None = None,
    coarse: tuple[Ints, sparse.csr_matrix] | None = None,
    true_loss: bool = True,
    tol: float = 1e-6,
    max_iter: int = 150,
) -> SlackResult:
    """Alternate over balanced codes ``B``, hash functions ``R`` and slack function ``P`` from a random start.

    With centred target ``X`` (n x p), centred paired source ``S`` (n x q) and ``E = B - X R``, the loss is

        ``||E||^2 + lambda1 ||E - S P||^2 + lambda2 tr(B'LB)``,   ``R'R = I``, ``P'P = I``

    the paper's eq. (2) with the weight that its updates use (1, not 1/2), plus the graph term of LapITQ+; up to a
    constant, with ``M = (1 + lambda1) X R + lambda1 S P``,

        ``-2 <B, M> + 2 lambda1 <X R, S P> + lambda2 tr(B'LB) + (1 + lambda1) ||X R||^2 + lambda1 ||S P||^2``

    If R (p x c) and P (q x c) are square or wide, the last two terms are constant and the paper's closed forms,
    ``R = polar(X'((1 + lambda1) B - lambda1 S P))`` and ``P = polar(S'(B - X R))``, are exact. If they are tall,
    ``true_loss=False`` leaves these terms out (the trace objective); ``true_loss=True`` keeps them and solves the tall
    Procrustes problems by generalised power iteration. No step raises the objective; one that does is an error.

    With a graph there are two phases. The first is the paper's: relax the codes to the box, solve, round, until it
    settles. It may rise, so its best iterate is kept and the lowest objective so far is recorded. The second goes on
    from there and improves the codes by swaps of two rows, which never raise the objective. Swaps from the first
    iteration on often get stuck early.

    With ``coarse``, three quarters of ``max_iter`` are spent on some rows and the Laplacian of their own graph;
    the iterations on all rows, whose objective is recorded, start at the R and P found there.

    >>> rng = np.random.RandomState(0)
    >>> X, S = rng.standard_normal((40, 6)), rng.standard_normal((40, 5))
    >>> result = slack_quantisation(X - X.mean(0), S - S.mean(0), rng, n_bits=4, lambda1=0.1)
    >>> bool(np.all(np.diff(result.objective) <= 0)), np.abs(result.B.sum(0)).max().item()
    (True, 0)
    """

    def alternate(rows: Ints | slice, L: sparse.csr_matrix | None, R: Array, P: Array, n_iter: int) -> SlackResult:
        moments = PairMoments(X[rows], S[rows], n_bits=n_bits, lambda1=lambda1, true_loss=true_loss)
        graph = GraphCodes(L, lambda2, X.dtype) if lambda2 > 0 and L is not None else None
        return _alternate(moments, graph, R, P, rng, tol, n_iter)

    R = random_orthonormal(X.shape[1], n_bits, rng)
    P = random_orthonormal(S.shape[1], n_bits, rng)
    with own_threads():
        spent = int(_COARSE_SHARE * max_iter)
        if coarse is not None and spent:
            begun = alternate(*coarse, R, P, spent)
            R, P, max_iter = begun.R, begun.P, max_iter - spent
        return alternate(slice(None), laplacian, R, P, max_iter)


class PairMoments:
    """Steps and objective of :func:`slack_quantisation` from second moments.

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
        self.grams = [cross_moment(view, view) for view in (X, S)] if true_loss else None
        # Of tall problems, the others are closed forms.
        self.bounds = [largest_eigenvalue(G) if len(G) > n_bits else None for G in self.grams or ()]
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
        return self._procrustes(0, cross, R)

    def fit_slack(self, R: Array, P: Array) -> Array:
        """Minimise over P, in the same way."""
        return self._procrustes(1, self.SB - self._cross_target(R), P)

    def _procrustes(self, view: int, cross: Array, start: Array) -> Array:
        if self.grams is None or self.bounds[view] is None:
            return polar(cross)
        return tall_procrustes(self.grams[view], cross, start, bound=self.bounds[view])

    def objective(self, R: Array, P: Array) -> float:
        """Return the trace objective or the true loss, without the graph term."""
        l1 = self.lambda1
        value = -2 * (1 + l1) * np.vdot(R, self.XB)
        if l1:
            value += 2 * l1 * (np.vdot(R, self._cross_slack(P)) - np.vdot(P, self.SB))
        if self.grams is not None:
            G, H = self.grams
            value += (1 + l1) * (len(self.X) * self.n_bits + np.vdot(R, G @ R)) + l1 * np.vdot(P, H @ P)
        return float(value)

    def _cross_slack(self, P: Array) -> Array:
        return cross_moment(self.X, self.S @ P.astype(self.S.dtype)) if self.C is None else np.asarray(self.C @ P)

    def _cross_target(self, R: Array) -> Array:
        return cross_moment(self.S, self.X @ R.astype(self.X.dtype)) if self.C is None else np.asarray(self.C.T @ R)


def _alternate(
    moments: PairMoments, graph: GraphCodes | None, R: Array, P: Array, rng: RandomState, tol: float, max_iter: int
) -> SlackResult:
    objective: list[float] = []
    best: Iterate | None = None
    chosen = np.empty((0, 0), dtype=np.bool_)
    if graph:
        best, objective = _relax_and_round(moments, graph, R, P, rng, tol, max(1, int(_ROUNDING_SHARE * max_iter)))
        chosen, R, P = best
        moments.set_codes(chosen)
    converged = False
    for _ in range(max_iter - len(objective)):
        M = moments.pull(R, P)
        chosen, cut = graph.swapped(M, chosen) if graph else (balanced_halves(M, rng), 0.0)
        moments.set_codes(chosen)
        R, P, value = moments.fit(R, P)
        value += cut
        if objective:
            former = objective[-1]
            check_descent("slack quantisation", former, value, moments.scale + abs(former), moments.X.dtype)
            converged = former - value <= tol * abs(former)
        # A rise within rounding, where nothing is left to gain, is not recorded.
        if not objective or value <= objective[-1]:
            objective.append(value)
            best = chosen, R, P
        if converged:
            break
    assert best is not None  # max_iter >= 1
    R, P = (Q.astype(moments.X.dtype) for Q in best[1:])
    return SlackResult(np.ascontiguousarray(as_signs(best[0]).T), R, P, objective, converged)


def _relax_and_round(
    moments: PairMoments, graph: GraphCodes, R: Array, P: Array, rng: RandomState, tol: float, max_iter: int
) -> tuple[Iterate, list[float]]:
    """Run the paper's alternation, which may rise, until it settles; return its best iterate and its lowest so far."""
    lowest: list[float] = []
    value, without_gain = np.inf, 0
    for _ in range(max_iter):
        chosen, cut = graph.rounded(moments.pull(R, P), rng)
        moments.set_codes(chosen)
        former = value
        R, P, value = moments.fit(R, P)
        value += cut
        without_gain = 0 if not lowest or value < lowest[-1] - tol * abs(lowest[-1]) else without_gain + 1
        if not lowest or value < lowest[-1]:
            best = chosen, R, P
        lowest.append(min([value, *lowest[-1:]]))
        if abs(former - value) <= tol * abs(value) or without_gain == _PATIENCE:
            break
    return best, lowest
