"""GroupITQ: ITQ in a metric that groups of the source teach."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval

from thpi.base import parameter, weight
from thpi.hashers._geometry import (
    Geometry,
    Learned,
    Limits,
)
from thpi.hashers._itq import GeometryHasher
from thpi.hashers._source_features import MAX_REGRESSION_ROWS, side_by_side
from thpi.solvers.blocks import spread
from thpi.solvers.diffusion_map import group_coordinates
from thpi.solvers.loo_ridge import LooRidge, RidgeFit


@dataclass(eq=False, repr=False, kw_only=True)
class GroupITQ(GeometryHasher):
    """ITQ in the metric ``M = I + group_weight k W W'``, where ``W`` predicts which rows belong together.

    Rows belong together if many short paths between neighbours connect them. With the diffusion coordinates ``T_X`` of
    the neighbour graph of the target rows (:func:`thpi.solvers.diffusion_map`), each row scaled to length 1:

    1. ``W`` minimises ``||X W - T||^2 + penalty ||W||^2``, penalty by leave-one-out, ``T = T_X``.
    2. ITQ on ``Z M^(1/2)``, started at plain ITQ, as in :class:`TransferITQ`; without a source ``Z = X``.

    With a source, ``T = [sqrt(1 - target_share) T_S, sqrt(target_share) T_X]`` (both of energy 1), where ``T_S`` are
    the diffusion coordinates of the graph over all source rows, paired or not; and ``Z`` also has the target rows
    imputed from unpaired source rows. Target rows without a source (``target=`` of ``fit``) join Z and that graph.

    Parameters
    ----------
    group_weight : float, default=8.0
        Weight of the groups relative to target geometry.
    target_share : float, default=0.1
        Share of the target's groups in T, the rest being the source's; 1 if there is no source.
    imputed_weight, max_unpaired, tol, max_iter, random_state
        As for :class:`TransferITQ`.

    Attributes
    ----------
    group_r2_ : float
        Share of the energy of T that the target predicts, by leave-one-out.

    Examples
    --------
    >>> X = np.hstack([3 * np.eye(4)[np.arange(120) % 4], np.random.RandomState(0).standard_normal((120, 6))])
    >>> GroupITQ(n_bits=8, random_state=0).fit(X).transform(X).shape
    (120, 1)
    """

    summary = "ITQ in a metric learned from groups: rows that short paths between neighbours connect"

    group_weight: float = weight(8.0)
    target_share: float = parameter(0.1, Interval(Real, 0, 1, closed="both"))
    imputed_weight: float = weight(0.3)

    def learn(self, geometry: Geometry, start: int, limits: Limits) -> Learned:
        share = 1.0 if geometry.source is None else self.target_share
        taught = geometry.once(taught_by_groups, share)
        steps = limits.quantisation
        found = geometry.quantise(taught, self.group_weight, self.imputed_weight, start=start, steps=steps)
        return found._replace(facts={"group_r2_": float(taught.explained)})


def taught_by_groups(geometry: Geometry, target_share: float) -> RidgeFit:
    """Ridge from the target rows of a geometry to the groups of these rows and of the source."""
    n = len(geometry.X)
    pairs, others = (spread(m, MAX_REGRESSION_ROWS) for m in (n, len(geometry.real) - n))
    X = geometry.real[np.concatenate([pairs, n + others])]
    T = group_coordinates(X, geometry.seed) if target_share > 0 else None
    if geometry.source is not None and target_share < 1:  # the groups of the source are known for the pairs only
        X, of_source = X[: len(pairs)], geometry.known_source.diffusion[geometry.rows[pairs]]
        T = of_source if T is None else side_by_side(of_source, T[: len(pairs)], target_share)
    assert T is not None
    ridge = geometry.ridge if len(X) == n else LooRidge(X - X.mean(axis=0))
    return ridge.fit(T - T.mean(axis=0))
