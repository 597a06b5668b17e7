"""The alternation of ITQ+ and LapITQ+ (the paper's Algorithm 1), on arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg

from thpi.solvers.balance import balanced_signs
from thpi.solvers.laplacian_qp import laplacian_box_qp
from thpi.solvers.procrustes import polar, random_orthonormal, tall_procrustes
from thpi.solvers.quantisation import has_converged
from thpi.solvers.swap_descent import balanced_descent

__all__ = ["SlackResult", "code_step", "slack_quantisation"]

Array = npt.NDArray[Any]


class SlackResult(NamedTuple):
    """Codes ``B`` (+-1, int8), ``R``, ``P``, the objective after each iteration, and whether it settled."""

    B: npt.NDArray[np.int8]
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
    laplacian: Any = None,
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

    with ``M = (1 + lambda1) X R + lambda1 S P``. Where R (p x c) and P (q x c) are square or wide the last two terms
    are constant, and the paper's closed forms are exact. Where they are tall, they are not, and there are two ways:

    - ``true_loss=False``: leave these two terms out (the trace objective). The closed forms
      ``R = polar(X'((1 + lambda1) B - lambda1 S P))`` and ``P = polar(S'(B - X R))`` are then exact.
    - ``true_loss=True``: keep them and solve the tall Procrustes problems by generalised power iteration.

    The objective that is minimised is the one that is recorded. Each step lowers it or leaves it: the code step of
    LapITQ+, which relaxes and rounds, keeps the former code of a bit where rounding made it worse.

    >>> rng = np.random.RandomState(0)
    >>> X, S = rng.standard_normal((40, 6)), rng.standard_normal((40, 5))
    >>> result = slack_quantisation(X - X.mean(0), S - S.mean(0), rng, n_bits=4, lambda1=0.1)
    >>> bool(np.all(np.diff(result.objective) <= 0)), np.abs(result.B.sum(0)).max().item()
    (True, 0)
    """
    R = random_orthonormal(X.shape[1], n_bits, rng).astype(X.dtype)
    P = random_orthonormal(S.shape[1], n_bits, rng).astype(X.dtype)
    target = _Rotation(X, n_bits, true_loss)
    slack = _Rotation(S, n_bits, true_loss)
    XR, SP = X @ R, S @ P
    B: npt.NDArray[np.int8] | None = None
    relaxed: Array | None = None
    best: SlackResult | None = None
    for _ in range(max_iter):
        M = (1 + lambda1) * XR + lambda1 * SP
        B, relaxed = code_step(M, rng, laplacian, lambda2, former=B, relaxed=relaxed)
        codes = B.astype(X.dtype)
        R = target.fit(codes - lambda1 / (1 + lambda1) * SP, R)
        XR = X @ R
        P = slack.fit(codes - XR, P)
        SP = S @ P
        value = _objective(codes, XR, SP, lambda1, lambda2, laplacian, true_loss)
        if best is not None and value > best.objective[-1]:
            # In exact arithmetic no step can do this: it is rounding, at a point where nothing is left to gain.
            return best._replace(converged=True)
        objective = [*(best.objective if best else []), value]
        converged = has_converged(objective, tol)
        best = SlackResult(B, R, P, objective, converged)
        if converged:
            break
    assert best is not None  # max_iter >= 1
    return best


def code_step(
    M: Array,
    rng: np.random.RandomState,
    laplacian: Any,
    lambda2: float,
    *,
    former: npt.NDArray[np.int8] | None = None,
    relaxed: Array | None = None,
) -> tuple[npt.NDArray[np.int8], Array | None]:
    """Minimise ``-2 <B, M> + lambda2 tr(B'LB)`` over balanced codes, the paper's eqs. (3) and (11).

    Without a graph term the balanced signs of ``M`` are the exact answer. With it, the box relaxation is solved
    (``relaxed`` is its warm start), rounded to the nearest balanced code, improved by swaps of two rows while that
    helps, and taken for those bits where it is better than ``former``: the bits share no term, so each decides for
    itself.

    >>> code_step(np.array([[2.0], [1.0], [-1.0], [0.0]]), np.random.RandomState(0), None, 0.0)[0].ravel()
    array([ 1,  1, -1, -1], dtype=int8)
    """
    if lambda2 == 0 or laplacian is None:
        return balanced_signs(M, rng), None
    # Rounding forgets small differences: a gap of 1e-4 of the objective changes no code worth the time.
    relaxed = laplacian_box_qp(M, laplacian, lambda2, start=relaxed, tol=1e-4).B
    B = balanced_descent(balanced_signs(relaxed, rng), M, laplacian, lambda2)
    if former is not None:
        worse = _bit_values(B, M, laplacian, lambda2) > _bit_values(former, M, laplacian, lambda2)
        B[:, worse] = former[:, worse]
    return B, relaxed


def _bit_values(B: npt.NDArray[np.int8], M: Array, laplacian: Any, lambda2: float) -> Array:
    codes = B.astype(np.float64)
    return np.asarray(-2 * np.einsum("ij,ij->j", codes, M) + lambda2 * np.einsum("ij,ij->j", codes, laplacian @ codes))


def _objective(
    B: Array, XR: Array, SP: Array, lambda1: float, lambda2: float, laplacian: Any, true_loss: bool
) -> float:
    B, XR, SP = (array.astype(np.float64, copy=False) for array in (B, XR, SP))
    if true_loss:
        E = B - XR
        value = float(np.vdot(E, E)) + lambda1 * float(np.vdot(E - SP, E - SP))
    else:
        value = -2 * float(np.vdot(B, (1 + lambda1) * XR + lambda1 * SP)) + 2 * lambda1 * float(np.vdot(XR, SP))
    if lambda2 and laplacian is not None:
        value += lambda2 * float(np.vdot(B, laplacian @ B))
    return value


class _Rotation:
    """The step ``argmin ||X Q - T||`` over semi-orthogonal Q, or its trace form, with the moments it needs kept."""

    def __init__(self, X: Array, n_bits: int, true_loss: bool) -> None:
        self.X = X
        self.gram: Array | None = None
        if true_loss and X.shape[1] > n_bits:
            self.gram = X.T @ X
            top = len(self.gram) - 1
            self.bound = float(linalg.eigvalsh(self.gram, subset_by_index=[top, top])[0])

    def fit(self, T: Array, start: Array) -> Array:
        cross = self.X.T @ T
        if self.gram is None:
            return polar(cross)
        return tall_procrustes(self.gram, cross, start, bound=self.bound)
