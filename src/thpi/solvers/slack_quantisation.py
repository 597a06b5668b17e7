"""The alternation of ITQ+ and LapITQ+ (the paper's Algorithm 1), on arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from scipy import sparse

from thpi._types import Array, Bools, Ints, Signs
from thpi.kernels.threads import own_threads
from thpi.solvers.balance import as_signs, balanced_halves
from thpi.solvers.pair_moments import PairMoments
from thpi.solvers.procrustes import check_descent, random_orthonormal
from thpi.solvers.swap_descent import GraphCodes

__all__ = ["SlackResult", "slack_quantisation"]

_COARSE_SHARE = 0.75
# Relaxing and rounding takes at most this share of the iterations, and ends after this many without progress.
_ROUNDING_SHARE = 0.9
_PATIENCE = 5


class SlackResult(NamedTuple):
    """Codes ``B`` (+-1, int8), ``R``, ``P``, the objective after each iteration, and whether it settled."""

    B: Signs
    R: Array
    P: Array
    objective: list[float]
    converged: bool


class _Iterate(NamedTuple):
    positive: Bools  # where the codes are +1, c x n
    R: Array
    P: Array


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


def _alternate(
    moments: PairMoments, graph: GraphCodes | None, R: Array, P: Array, rng: RandomState, tol: float, max_iter: int
) -> SlackResult:
    objective: list[float] = []
    best: _Iterate | None = None
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
            best = _Iterate(chosen, R, P)
        if converged:
            break
    assert best is not None  # max_iter >= 1
    R, P = (Q.astype(moments.X.dtype) for Q in (best.R, best.P))
    return SlackResult(np.ascontiguousarray(as_signs(best.positive).T), R, P, objective, converged)


def _relax_and_round(
    moments: PairMoments, graph: GraphCodes, R: Array, P: Array, rng: RandomState, tol: float, max_iter: int
) -> tuple[_Iterate, list[float]]:
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
            best = _Iterate(chosen, R, P)
        lowest.append(min([value, *lowest[-1:]]))
        if abs(former - value) <= tol * abs(value) or without_gain == _PATIENCE:
            break
    return best, lowest
