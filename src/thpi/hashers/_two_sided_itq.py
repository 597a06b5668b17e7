"""TwoSidedITQ: codes of target rows and of source rows that agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from thpi._types import Array
from thpi.base import Views, one_of, weight
from thpi.hashers._class_itq import class_indicators
from thpi.hashers._geometry import (
    Geometry,
    Learned,
    Limits,
    eigenvectors_signed_by_rule,
    metric_axes,
)
from thpi.hashers._itq import GeometryHasher
from thpi.hashers._transfer_itq import FLOOR
from thpi.solvers.loo_ridge import RidgeFit, loo_ridge
from thpi.solvers.procrustes import random_orthonormal
from thpi.solvers.quantisation import frame_quantisation


@dataclass(eq=False, repr=False, kw_only=True)
class TwoSidedITQ(GeometryHasher):
    """Two hash functions into one space of codes: of source rows, for items, and of target rows, for queries.

    With centred target rows ``X`` and source rows ``S`` of the pairs, and all source rows ``S_A``, paired or not:

    1. Ridge from X to S (penalty by leave-one-out) predicts ``P = X W``. The directions ``A`` of the source are the
       ``n_bits`` leading ones of ``P'P / n + 0.1 S_A'S_A / N``: those that queries can tell, where there are such.
       With ``taught``, they are leading in a metric ``M = I + taught_weight k V V'``, where V is the ridge from S to
       class indicators ("labels") or to diffusion coordinates of the source ("groups").
    2. ITQ: ``min ||B - S_A A R||_F^2`` over codes B and rotations R. The code of an item is ``sgn((s - mean) A R)``.
    3. Ridge from X to ``S A R`` gives the projections of queries: the expected projections of an item of which the
       target row is known. Their signs are codes, too, so that items without a source row can be in the same index.

    With more bits than there are directions, R has orthonormal rows: a frame of further hyperplanes, which cut the
    same space more finely. So there is no limit to ``n_bits``.

    Queries are best compared by their projections (the asymmetric distance): what a query does not tell is near zero.

    Parameters
    ----------
    taught : {"source", "labels", "groups"}, default="source"
        What items near in code should have in common: neighbours in the source, the class ``y``, or the group of the
        source.
    taught_weight : float, default=64.0
        Weight of labels or groups in the metric; "source" does not use it.
    max_unpaired, tol, max_iter, random_state
        As for :class:`TransferITQ`.

    Attributes
    ----------
    source_r2_ : float
        Share of the energy of the source that the target predicts (leave-one-out).
    item_mean_, item_projection_
        The hash function of source rows, ``sgn((s - item_mean_) item_projection_)``; see ``transform_source``.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((300, 6)); X = S @ rng.standard_normal((6, 8))
    >>> hasher = TwoSidedITQ(n_bits=8, random_state=0).fit(X[:60], privileged=S[:60], source=S[60:])
    >>> items, queries = hasher.transform_source(S), hasher.transform(X)
    >>> items.shape, bool((items == queries).mean() > 0.9)
    ((300, 1), True)
    """

    summary = "codes of source rows for items, and of target rows that predict them for queries"
    needs_privileged = True
    uses_labels = True
    uses_target = False

    taught: Literal["source", "labels", "groups"] = one_of("source", "labels", "groups")
    taught_weight: float = weight(64.0)

    def _max_bits(self, views: Views) -> None:
        return None  # a frame

    def learn(self, geometry: Geometry, start: int, limits: Limits) -> Learned:
        if self.taught == "labels" and geometry.labels is None:
            raise ValueError("taught='labels' needs y, the classes or tags of the rows of X; got y=None.")
        S, axes = geometry.known_source.coordinates.values, geometry.once(_axes, self.taught, self.taught_weight)
        known = S[np.concatenate([geometry.rows, np.arange(len(S))[geometry.unpaired]])] @ axes
        stream = np.random.RandomState((geometry.seed + start) % 2**32)
        rotated = known @ random_orthonormal(known.shape[1], self.n_bits, stream)
        steps = limits.quantisation
        found = frame_quantisation(known, rotated, tol=steps.tol, max_iter=steps.max_iter)
        coding = axes @ found.R
        answers = S[geometry.rows] @ coding
        W = geometry.predict(answers).W
        return Learned(
            W,
            tuple(found.objective),
            found.converged,
            offset=(geometry.pairs_mean - geometry.mean) @ W - answers.mean(axis=0),
            facts={"source_r2_": float(geometry.once(predicted_source).explained)},
            source_projection=coding,
        )


def predicted_source(geometry: Geometry) -> RidgeFit:
    """Ridge from the target rows to the coordinates of their source rows."""
    return geometry.predict(geometry.known_source.coordinates.values[geometry.rows])


def _axes(geometry: Geometry, taught: str, taught_weight: float) -> Array:
    """Directions of the source that are coded, at most one per bit."""
    S, predicted = geometry.known_source.coordinates.values, geometry.paired @ geometry.once(predicted_source).W
    scatter = predicted.T @ predicted / len(predicted) + FLOOR * (S.T @ S) / len(S)
    values, Q = eigenvectors_signed_by_rule(scatter)
    return metric_axes(values, Q, _teacher(geometry, taught), taught_weight, geometry.n_bits)


def _teacher(geometry: Geometry, taught: str) -> Array | None:
    """Ridge from the source rows of the pairs to what is taught; None if that is the source itself."""
    if taught == "source":
        return None
    S = geometry.known_source.coordinates.values[geometry.rows]
    if taught == "labels":
        assert geometry.labels is not None
        return loo_ridge(S - S.mean(axis=0), class_indicators(geometry.labels)).W
    # Groups are known of all source rows, not of the pairs alone.
    S, groups = geometry.known_source.coordinates.values, geometry.known_source.diffusion
    return loo_ridge(S - S.mean(axis=0), groups - groups.mean(axis=0)).W
