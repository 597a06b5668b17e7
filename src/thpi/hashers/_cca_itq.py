"""CCA, then iterative quantisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thpi._params import count, weight
from thpi._types import Fitted
from thpi.base import BaseHasher, TooManyBitsError, Views, pair_limit
from thpi.hashers._itq import restart_seeds
from thpi.rows import Rows
from thpi.solvers.cca import CCAResult, ridge_cca, ridge_cca_of_moments
from thpi.solvers.moments import centred_product, column_mean, full_rank_coordinates
from thpi.solvers.quantisation import iterative_quantisation


def canonical_directions(views: Views, n_bits: int, ridge: float) -> tuple[CCAResult, Any]:
    """Ridge CCA of target and paired source in their own features, and the target's canonical variates (n x c)."""
    if isinstance(views.X, Rows):
        result = _streamed_directions(views, n_bits, ridge)
        return result, centred_product(views.X, views.mean, result.x_directions)
    target = full_rank_coordinates(views.X, views.mean)
    source = full_rank_coordinates(views.S, column_mean(views.S))
    spans = target.values.shape[1], source.values.shape[1]
    if n_bits > min(spans):
        raise TooManyBitsError(
            f"n_bits={n_bits} is more than the data can give: the target rows span {spans[0]} dimensions, "
            f"the privileged rows {spans[1]}."
        )
    result = ridge_cca(target.values, source.values, n_bits, ridge=ridge)
    x, y = target.back(result.x_directions), source.back(result.y_directions)
    flip = _signs(x)
    return CCAResult(x * flip, y * flip, result.correlations), target.values @ (result.x_directions * flip)


def _streamed_directions(views: Views, n_bits: int, ridge: float) -> CCAResult:
    """From the moments of both views side by side, which one pass over the rows gives."""
    moments = views.X.beside(views.S).moments()
    d = views.X.n_columns
    parts = moments.scatter[:d, :d], moments.scatter[d:, d:], moments.scatter[:d, d:]
    result = ridge_cca_of_moments(moments.n, *parts, n_bits, ridge=ridge)
    flip = _signs(result.x_directions)
    directions = (result.x_directions * flip, result.y_directions * flip, result.correlations)
    return CCAResult(*(part.astype(views.X.dtype) for part in directions))


def _signs(x: Any) -> Any:
    """Decide the common sign of a pair of directions by the largest entry of x, whatever LAPACK is in use."""
    return np.where(x[np.abs(x).argmax(axis=0), np.arange(x.shape[1])] < 0, -1, 1).astype(x.dtype)


@dataclass(eq=False, repr=False, kw_only=True)
class CCAITQ(BaseHasher):
    """Canonical directions of target and paired source, scaled by correlation, then ITQ (Gong and Lazebnik 2011).

    With the ridge CCA directions ``W`` and correlations ``rho`` of the pairs, minimises
    ``||B - X W diag(rho) R||_F^2`` over codes and rotations. The hash function is ``sgn((x - mean) W diag(rho) R)``.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code; at most ``min(n_features, privileged columns, n_samples - 1)``.
    ridge : float, default=10.0
        Ridge of the CCA, relative to the mean variance of a direction. With few pairs the covariances are
        poorly known, and retrieval gains much by not dividing by them (docs/defaults.md).
    n_init, tol, max_iter, random_state
        As for :class:`ITQ`.

    Attributes
    ----------
    correlations_ : array of shape (n_bits,)
        Regularised canonical correlations.
    source_projection_ : array of shape (n_source_features, n_bits)
        The canonical directions of the source.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((100, 6)); X = S @ rng.standard_normal((6, 8))
    >>> CCAITQ(n_bits=4, random_state=0).fit(X, privileged=S).transform(X).shape
    (100, 1)
    """

    summary = "canonical directions scaled by correlation, then ITQ"
    needs_privileged = True
    streams = True

    ridge: float = weight(10.0)
    n_init: int = count(1)
    tol: float = weight(1e-6)
    max_iter: int = count(150)

    def _max_bits(self, views: Views) -> tuple[int, str]:
        return pair_limit(views)

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        cca, variates = canonical_directions(views, self.n_bits, self.ridge)
        if isinstance(variates, Rows):
            Z: Any = variates.project(np.zeros(self.n_bits, variates.dtype), np.diag(cca.correlations))
        else:
            Z = variates * cca.correlations
        runs = [
            iterative_quantisation(Z, stream, tol=self.tol, max_iter=self.max_iter)
            for stream in restart_seeds(rng, self.n_init)
        ]
        best = min(runs, key=lambda run: run.objective[-1])
        return {
            "projection_": (cca.x_directions * cca.correlations) @ best.R,
            "source_projection_": cca.y_directions,
            "correlations_": cca.correlations,
            "objective_": np.array(best.objective),
            "converged_": best.converged,
        }
