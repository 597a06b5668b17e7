"""Iterative quantisation of data that already has as many columns as there are bits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thpi.solvers.balance import balanced_signs
from thpi.solvers.procrustes import polar, random_orthonormal

__all__ = ["QuantisationResult", "best_of", "has_converged", "iterative_quantisation", "signs"]

Array = npt.NDArray[Any]


class QuantisationResult(NamedTuple):
    """Codes ``B`` (+-1, int8), rotation ``R``, the loss after each iteration, and whether it settled."""

    B: npt.NDArray[np.int8]
    R: Array
    objective: list[float]
    converged: bool


def signs(values: Array) -> npt.NDArray[np.int8]:
    """Give +1 where a value is >= 0 and -1 elsewhere, as int8.

    >>> signs(np.array([-2.0, 0.0, 3.0]))
    array([-1,  1,  1], dtype=int8)
    """
    return np.where(values >= 0, np.int8(1), np.int8(-1))


def has_converged(objective: list[float], tol: float) -> bool:
    """Tell whether the last iteration lowered the objective by no more than ``tol`` of its size.

    >>> has_converged([10.0, 5.0], 1e-3), has_converged([10.0, 5.0, 5.0], 1e-3)
    (False, True)
    """
    return len(objective) > 1 and objective[-2] - objective[-1] <= tol * abs(objective[-2])


def iterative_quantisation(
    Z: Array,
    rng: np.random.RandomState,
    *,
    balanced: bool = False,
    tol: float = 1e-6,
    max_iter: int = 150,
) -> QuantisationResult:
    """Rotate centred data ``Z`` (n x c) so that its signs lose least: ``min ||B - Z R||_F^2`` over B and R.

    Alternates ``B = sgn(Z R)`` (the balanced signs, where asked for) and ``R = polar(Z'B)``, from a random
    rotation (Gong and Lazebnik 2011). Both steps are exact, so the loss never rises.

    >>> Z = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> round(iterative_quantisation(Z, np.random.RandomState(0)).objective[-1], 9)
    0.0
    """
    n, c = Z.shape
    R = random_orthonormal(c, c, rng).astype(Z.dtype)
    constant = float(np.einsum("ij,ij->", Z, Z, dtype=np.float64)) + n * c
    best: QuantisationResult | None = None
    for _ in range(max_iter):
        rotated = Z @ R
        B = balanced_signs(rotated, rng) if balanced else signs(rotated)
        correlation = Z.T @ B.astype(Z.dtype)
        R = polar(correlation)
        value = constant - 2 * float(np.vdot(R.astype(np.float64), correlation.astype(np.float64)))
        if best is not None and value > best.objective[-1]:
            # In exact arithmetic no step can do this: it is rounding, at a point where nothing is left to gain.
            return best._replace(converged=True)
        objective = [*(best.objective if best else []), value]
        converged = has_converged(objective, tol)
        best = QuantisationResult(B, R, objective, converged)
        if converged:
            break
    assert best is not None  # max_iter >= 1
    return best


def best_of(results: list[Any]) -> Any:
    """Give the result with the lowest final objective; the first one, where several are equal.

    >>> best_of([QuantisationResult(None, None, [3.0], True), QuantisationResult(None, None, [2.0], True)]).objective
    [2.0]
    """
    return min(results, key=lambda result: result.objective[-1])
