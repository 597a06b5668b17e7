"""The alternation of ITQ+ and LapITQ+ (the paper's Algorithm 1), on arrays."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from thpi._types import Array, Bools, Ints, Signs
from thpi.kernels._threads import own_threads
from thpi.solvers.balance import balanced_halves
from thpi.solvers.laplacian_qp import BoxQP
from thpi.solvers.pair_moments import PairMoments
from thpi.solvers.procrustes import random_orthonormal
from thpi.solvers.quantisation import has_converged
from thpi.solvers.swap_descent import SwapDescent

__all__ = ["GraphCodes", "SlackResult", "slack_quantisation"]

_COARSE_SHARE = 0.75


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
    rng: np.random.RandomState,
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

    which is the paper's eq. (2) with the weight that its updates use (1, not 1/2), plus the graph term of LapITQ+.
    Up to a constant it is

        ``-2 <B, M> + 2 lambda1 <X R, S P> + lambda2 tr(B'LB) + (1 + lambda1) ||X R||^2 + lambda1 ||S P||^2``

    with ``M = (1 + lambda1) X R + lambda1 S P``. If R (p x c) and P (q x c) are square or wide, the last two terms are
    constant and the paper's closed forms are exact. If they are tall, there are two ways:

    - ``true_loss=False``: leave these two terms out (the trace objective). The closed forms
      ``R = polar(X'((1 + lambda1) B - lambda1 S P))`` and ``P = polar(S'(B - X R))`` are then exact.
    - ``true_loss=True``: keep them and solve the tall Procrustes problems by generalised power iteration.

    The recorded objective is the one that is minimised. No step raises it: the code step of LapITQ+, which relaxes and
    rounds, keeps the former code of a bit if rounding made it worse.

    ``coarse``, some rows and the Laplacian of their own graph, is for large n: three quarters of ``max_iter`` are spent
    on these rows, and the iterations on all rows, whose objective is recorded, start at the R and P found there.

    >>> rng = np.random.RandomState(0)
    >>> X, S = rng.standard_normal((40, 6)), rng.standard_normal((40, 5))
    >>> result = slack_quantisation(X - X.mean(0), S - S.mean(0), rng, n_bits=4, lambda1=0.1)
    >>> bool(np.all(np.diff(result.objective) <= 0)), np.abs(result.B.sum(0)).max().item()
    (True, 0)
    """
    alternate = partial(_alternate, lambda1=lambda1, lambda2=lambda2, true_loss=true_loss, tol=tol)
    R = random_orthonormal(X.shape[1], n_bits, rng)
    P = random_orthonormal(S.shape[1], n_bits, rng)
    with own_threads():
        spent = int(_COARSE_SHARE * max_iter)
        if coarse is not None and spent:
            rows, of_rows = coarse
            begun = alternate(X[rows], S[rows], R, P, rng, laplacian=of_rows, max_iter=spent)
            R, P, max_iter = begun.R, begun.P, max_iter - spent
        return alternate(X, S, R, P, rng, laplacian=laplacian, max_iter=max_iter)


def _alternate(
    X: Array,
    S: Array,
    R: Array,
    P: Array,
    rng: np.random.RandomState,
    *,
    lambda1: float,
    lambda2: float,
    laplacian: sparse.csr_matrix | None,
    true_loss: bool,
    tol: float,
    max_iter: int,
) -> SlackResult:
    """Alternate from ``R`` and ``P``."""
    moments = PairMoments(X, S, n_bits=R.shape[1], lambda1=lambda1, true_loss=true_loss)
    graph = GraphCodes(laplacian, lambda2, X.dtype) if lambda2 > 0 and laplacian is not None else None
    positive: Bools | None = None
    best: tuple[Bools, Array, Array] | None = None
    objective: list[float] = []
    converged = False
    for _ in range(max_iter):
        M = moments.pull(R, P)
        if graph is None:
            chosen, cut = balanced_halves(M, rng), 0.0
        else:
            chosen, cut = graph.step(M, rng, former=positive)
        moments.set_codes(chosen, former=positive)
        positive = chosen
        R = moments.fit_target(R, P)
        P = moments.fit_slack(R, P)
        value = moments.objective(R, P) + cut
        if objective and value > objective[-1]:
            # Impossible in exact arithmetic: it is rounding, at a point where nothing is left to gain.
            converged = True
            break
        objective.append(value)
        best = positive, R, P
        if has_converged(objective, tol):
            converged = True
            break
    assert best is not None  # max_iter >= 1
    return SlackResult(
        np.ascontiguousarray(_signs(best[0]).T), best[1].astype(X.dtype), best[2].astype(X.dtype), objective, converged
    )


class GraphCodes:
    """The code step with the graph term; keeps what depends on the graph alone, and the last relaxed codes.

    The box relaxation is rounded to the nearest balanced code, which is improved by swaps of two rows while that helps.
    The bits are independent: a bit whose former code is no worse is improved from that code by swaps instead, so the
    step never raises the objective. The relaxation is solved once; later steps only improve its solution by a few
    iterations. If it lost against the former code l times in a row, the bit skips it in the next 2^l - 1 steps.
    """

    def __init__(self, laplacian: sparse.csr_matrix, lambda2: float, dtype: npt.DTypeLike) -> None:
        self.swaps = SwapDescent(laplacian, lambda2)
        self.edges = bool(laplacian.diagonal().any())
        self.programme = BoxQP(laplacian, lambda2, dtype) if self.edges else None
        self.relaxed: Array | None = None
        self.cuts: Array | None = None
        self.losses: Array = np.empty(0, dtype=np.int64)
        self.waiting: Array = np.empty(0, dtype=np.int64)

    def step(self, M: Array, rng: np.random.RandomState, *, former: Bools | None) -> tuple[Bools, float]:
        """Return where the codes are +1 (c x n) for the linear term ``M`` (c x n), and their ``lambda2 tr(B'LB)``."""
        if former is None or self.cuts is None:
            codes, _, cuts = self.swaps.descend(_signs(balanced_halves(self._relaxation(M), rng)), M)
        else:
            if not len(self.losses):
                self.losses, self.waiting = np.zeros((2, len(M)), dtype=np.int64)
            codes = _signs(former)
            # The graph term of the former codes is known: their value for this M takes no product with L.
            present = self.cuts - 2 * np.einsum("ij,ij->i", codes, M, dtype=np.float64)
            cuts = self.cuts.copy()
            worse = np.ones(len(M), dtype=np.bool_)
            tried = np.flatnonzero(self.waiting == 0)
            self.waiting -= self.waiting > 0
            if len(tried):
                start = _signs(balanced_halves(self._relaxation(M, tried), rng))
                fresh, values, fresh_cuts = self.swaps.descend(start, M[tried])
                won = values < present[tried]
                codes[tried[won]], cuts[tried[won]], worse[tried[won]] = fresh[won], fresh_cuts[won], False
                self.losses[tried] = np.where(won, 0, self.losses[tried] + 1)
                self.waiting[tried] = 2 ** np.minimum(self.losses[tried], 20) - 1
            codes[worse], _, cuts[worse] = self.swaps.descend(codes[worse], M[worse])
        self.cuts = cuts
        return codes > 0, float(cuts.sum())

    def _relaxation(self, M: Array, bits: Ints | slice = slice(None)) -> Array:
        """Return the relaxed codes of some bits."""
        if self.programme is None:
            return np.asarray(M[bits])
        if self.relaxed is None:
            # Rounding hides small differences: a smaller gap than 1e-3 of the objective is not worth the time.
            self.relaxed = self.programme.solve(M.T, None, 1e-3, 2000).B
        else:
            # M changes little from one iteration to the next: the relaxed codes follow it.
            improved = self.programme.improve(M[bits].T, self.relaxed[:, bits])
            self.relaxed[:, bits] = improved
            return np.ascontiguousarray(improved.T)
        return np.ascontiguousarray(self.relaxed.T)


def _signs(positive: Bools) -> Signs:
    return np.asarray(2 * positive.view(np.int8) - np.int8(1), dtype=np.int8)
