"""Canonical directions of the pairs: cross-view hashing, and CCA, then iterative quantisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thpi._types import Array, Fitted
from thpi.base import BaseHasher, TooManyBitsError, Views, count, dimension_limit, one_of, pair_limit, weight
from thpi.hashers._itq import best_run, evidence, restart_seeds
from thpi.rows import Rows
from thpi.solvers.cca import CCAResult, residual_axes, ridge_cca, ridge_cca_of_moments
from thpi.solvers.moments import centred_product, column_mean, full_rank_coordinates
from thpi.solvers.quantisation import iterative_quantisation

_NO_CORRELATION = 1e-6  # relative to the largest correlation: below it, a pair is rounding


@dataclass(eq=False, repr=False, kw_only=True)
class CVH(BaseHasher):
    """Cross-view hashing on the pairs (Kumar and Udupa 2011).

    For two views with one-to-one pairs it is the CCA eigenproblem ``Cxy Cyy^-1 Cyx w = rho^2 Cxx w``. Bit ``k`` is the
    sign of the ``k``-th canonical variate, ``sgn((x - mean) w_k)``. The published method has a small ridge.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code; at most ``min(n_features, privileged columns, n_samples - 1)``, unless ``fill="pca"``.
    ridge : float, default=10.0
        Ridge added to both covariances, relative to the mean variance of a direction. 0.1 is CCA. A large one is in
        effect partial least squares, the leading singular vectors of ``(X - mean)' S``: with few pairs the covariances
        are poorly known, and retrieval gains much by not dividing by them (experiments/notes/defaults.md).
    fill : {"error", "pca"}, default="error"
        What to do if ``n_bits`` is more than the number k of canonical pairs that correlate. With "pca" the bits beyond
        k are the signs along the leading principal axes of the residual, the target rows projected off the k canonical
        directions, up to ``min(n_features, n_samples - 1)`` bits.

    Attributes
    ----------
    correlations_ : array of shape (n_pairs,)
        Regularised canonical correlations, one per bit; ``n_pairs`` is ``n_bits``, or k if bits were filled.
    source_projection_ : array of shape (n_source_features, n_pairs)
        Hash functions of the source view: the first ``n_pairs`` bits of both views are comparable.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((100, 6)); X = S @ rng.standard_normal((6, 8))
    >>> CVH(n_bits=4, ridge=0.1).fit(X, privileged=S).correlations_.round(1)
    array([0.9, 0.9, 0.9, 0.9])
    """

    summary = "signs of the canonical variates of the pairs (Kumar and Udupa 2011)"
    needs_privileged = True
    streams = True

    ridge: float = weight(10.0)
    fill: str = one_of("error", "pca")

    def _max_bits(self, views: Views) -> tuple[int, str]:
        return dimension_limit(views) if self.fill == "pca" else pair_limit(views)

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        cca, _ = canonical_directions(views, self.n_bits, self.ridge, self.fill)
        return {
            "projection_": cca.x_directions,
            "source_projection_": cca.y_directions,
            "correlations_": cca.correlations,
        }


def canonical_directions(views: Views, n_bits: int, ridge: float, fill: str = "error") -> tuple[CCAResult, Any]:
    """Ridge CCA of target and paired source in their own features, and the target's variates (n x c).

    If there are fewer than ``n_bits`` pairs of directions and ``fill`` is "pca", principal axes of the residual follow
    the target's directions; source directions and correlations are then those of the pairs alone.
    """
    if isinstance(views.X, Rows):
        result = _streamed_directions(views, n_bits, ridge)
        return result, centred_product(views.X, views.mean, result.x_directions)
    target = full_rank_coordinates(views.X, views.mean)
    source = full_rank_coordinates(views.S, column_mean(views.S))
    spans = target.values.shape[1], source.values.shape[1]
    if n_bits > (spans[0] if fill == "pca" else min(spans)):
        raise TooManyBitsError(
            f"n_bits={n_bits} is more than the data can give: the target rows span {spans[0]} dimensions, "
            f"the privileged rows {spans[1]}."
        )
    n_pairs = min(n_bits, *spans, pair_limit(views)[0])
    result = ridge_cca(target.values, source.values, n_pairs, ridge=ridge)
    if n_pairs < n_bits:
        values = target.values.astype(np.float64, copy=False)
        result = _filled(result, len(values), values.T @ values, n_bits, ridge)
    x, y = target.back(result.x_directions), source.back(result.y_directions)
    flip = _signs(x)
    directions = CCAResult(x * flip, y * flip[: y.shape[1]], result.correlations)
    return directions, target.values @ (result.x_directions * flip)


def _streamed_directions(views: Views, n_bits: int, ridge: float) -> CCAResult:
    """From the moments of both views side by side, which one pass over the rows gives."""
    moments = views.X.beside(views.S).moments()
    d = views.X.n_columns
    parts = moments.scatter[:d, :d], moments.scatter[d:, d:], moments.scatter[:d, d:]
    n_pairs = min(n_bits, pair_limit(views)[0])
    result = ridge_cca_of_moments(moments.n, *parts, n_pairs, ridge=ridge)
    if n_pairs < n_bits:
        result = _filled(result, moments.n, parts[0], n_bits, ridge)
    flip = _signs(result.x_directions)
    y_directions = result.y_directions * flip[: result.y_directions.shape[1]]
    directions = (result.x_directions * flip, y_directions, result.correlations)
    return CCAResult(*(part.astype(views.X.dtype) for part in directions))


def _filled(pairs: CCAResult, n: int, scatter: Array, n_bits: int, ridge: float) -> CCAResult:
    """Append axes of the residual. Pairs that do not correlate, as in a source of lower rank, make room for axes."""
    kept = int((pairs.correlations > _NO_CORRELATION * pairs.correlations[0]).sum())
    x = pairs.x_directions[:, :kept]
    axes = residual_axes(n, scatter, x.astype(np.float64), n_bits - kept, ridge=ridge).astype(x.dtype)
    return CCAResult(np.hstack([x, axes]), pairs.y_directions[:, :kept], pairs.correlations[:kept])


def _signs(x: Any) -> Any:
    """Decide the common sign of a pair of directions by the largest entry of x, whatever LAPACK is in use."""
    return np.where(x[np.abs(x).argmax(axis=0), np.arange(x.shape[1])] < 0, -1, 1).astype(x.dtype)


@dataclass(eq=False, repr=False, kw_only=True)
class CCAITQ(CVH):
    """Canonical directions of target and paired source, scaled by correlation, then ITQ (Gong and Lazebnik 2011).

    With the ridge CCA directions ``W`` and correlations ``rho`` of the pairs, minimises
    ``||B - X W diag(rho) R||_F^2`` over codes and rotations. The hash function is ``sgn((x - mean) W diag(rho) R)``.
    The published method has a small ridge; with the default one it is in effect PLS-ITQ.

    Parameters
    ----------
    n_bits, ridge : int, float
        As for :class:`CVH`.
    fill : {"error", "pca"}, default="error"
        As for :class:`CVH`. With "pca" the directions that are appended to ``W`` have the length of the canonical ones,
        ``v'(Cxx + rx I)v = 1``, and the weight of the last of them, ``rho_k``: the source says nothing about them.
    n_init, tol, max_iter, random_state
        As for :class:`ITQ`.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((100, 6)); X = S @ rng.standard_normal((6, 8))
    >>> CCAITQ(n_bits=4, random_state=0).fit(X, privileged=S).transform(X).shape
    (100, 1)
    """

    summary = "canonical directions scaled by correlation, then ITQ"

    n_init: int = count(1)
    tol: float = weight(1e-6)
    max_iter: int = count(150)

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        cca, variates = canonical_directions(views, self.n_bits, self.ridge, self.fill)
        rho = cca.correlations
        weights = np.pad(rho, (0, self.n_bits - len(rho)), constant_values=rho.min(initial=1))
        if isinstance(variates, Rows):
            Z: Any = variates.project(np.zeros(self.n_bits, variates.dtype), np.diag(weights))
        else:
            Z = variates * weights
        run = best_run(
            iterative_quantisation(Z, stream, tol=self.tol, max_iter=self.max_iter)
            for stream in restart_seeds(rng, self.n_init)
        )
        return {
            **evidence(run),
            "projection_": (cca.x_directions * weights) @ run.R,
            "source_projection_": cca.y_directions,
            "correlations_": cca.correlations,
        }
