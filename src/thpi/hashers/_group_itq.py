"""GroupITQ: iterative quantisation in a metric that groups teach, those of the target and those of the source."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from thpi.base import BaseHasher, Views
from thpi.hashers._geometry import Geometry
from thpi.hashers._groups import group_coordinates
from thpi.hashers._optional_source import OptionalSource
from thpi.hashers._source_features import MAX_REGRESSION_ROWS, side_by_side
from thpi.hashers._transfer_itq import make_geometry
from thpi.solvers.blocks import spread
from thpi.solvers.loo_ridge import RidgeFit, loo_ridge

__all__ = ["GroupITQ", "taught_by_groups"]


class GroupITQ(OptionalSource):
    """ITQ in the metric ``M = I + dial k W W'``, where ``W`` predicts which rows belong together.

    Rows belong together that many short paths between neighbours connect. With the diffusion coordinates ``T_X`` of
    the target rows' graph of neighbours (:func:`thpi.solvers.diffusion_map`), each row scaled to length 1:

    1. ``W`` minimises ``||X W - T||^2 + penalty ||W||^2``, penalty by leave-one-out, ``T = T_X``: directions in which
       groups differ get the bits, directions in which the rows of one group differ do not.
    2. ITQ on ``Z M^(1/2)``, begun at plain ITQ, as :class:`TransferITQ`; without a source ``Z = X``.

    With a source, ``T = [sqrt(1 - own_share) T_S, sqrt(own_share) T_X]`` (both of energy 1), where ``T_S`` are the
    diffusion coordinates of the graph over all source rows, paired or not; and ``Z`` also has the target rows imputed
    from unpaired source rows. Target rows without a source (``target=`` of ``fit``) join Z and the graph of ``T_X``.
    The hash function is linear in the target row: groups that cannot be told apart by
    planes are not told apart.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code; no limit.
    dial : float, default=8.0
        Weight of the groups against target geometry.
    own_share : float, default=0.1
        Weight of the groups of the target rows against those of the source; 1 where there is no source.
    imputed_weight : float, default=0.3
        Weight of an imputed row against a real one; 0 leaves them out.
    max_unpaired, tol, max_iter, random_state
        As for :class:`TransferITQ`.

    Attributes
    ----------
    teacher_r2_ : float
        Share of the energy of T that the target predicts, by leave-one-out.
    projection_, codes_, objective_, n_iter_, converged_
        As for :class:`ITQ`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> group = np.arange(120) % 4
    >>> X = np.hstack([3 * np.eye(4)[group], rng.standard_normal((120, 6))])  # most of the variance is within groups
    >>> together = group[:, None] == group
    >>> def alike(hasher):  # bits that two rows share, of one group less of two
    ...     shared = hasher.fit(X).signs(X) @ hasher.signs(X).T.astype(float)
    ...     return shared[together].mean() - shared[~together].mean()
    >>> bool(alike(GroupITQ(n_bits=8, random_state=0)) > alike(GroupITQ(n_bits=8, dial=0, random_state=0)))
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseHasher._parameter_constraints,
        "dial": [Interval(Real, 0, None, closed="left")],
        "own_share": [Interval(Real, 0, 1, closed="both")],
        "imputed_weight": [Interval(Real, 0, None, closed="left")],
        "max_unpaired": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_bits: int = 32,
        *,
        dial: float = 8.0,
        own_share: float = 0.1,
        imputed_weight: float = 0.3,
        max_unpaired: int = 3000,
        tol: float = 1e-6,
        max_iter: int = 150,
        random_state: Any = None,
    ) -> None:
        self.n_bits = n_bits
        self.dial = dial
        self.own_share = own_share
        self.imputed_weight = imputed_weight
        self.max_unpaired = max_unpaired
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, views: Views, rng: np.random.RandomState) -> dict[str, Any]:
        geometry, back = make_geometry(views, self.n_bits, rng, self.max_unpaired)
        taught = taught_by_groups(geometry, self.own_share)
        found = geometry.quantise(taught.W, self.dial, self.imputed_weight, tol=self.tol, max_iter=self.max_iter)
        return {
            "projection_": back(found.projection),
            "teacher_r2_": float(taught.explained),
            "objective_": np.array(found.objective),
            "converged_": found.converged,
        }


def taught_by_groups(geometry: Geometry, own_share: float) -> RidgeFit:
    """Ridge from the target rows of a geometry to the groups of these rows and of the source."""
    source = geometry.source
    share = 1.0 if source is None else own_share

    def make() -> RidgeFit:
        n = len(geometry.X)
        pairs, others = (spread(m, MAX_REGRESSION_ROWS) for m in (n, len(geometry.real) - n))
        X = geometry.real[np.concatenate([pairs, n + others])]
        own = group_coordinates(X, geometry.seed) if share > 0 else None
        if source is None or share == 1:
            T = own
        else:  # the source's groups are known for the pairs alone
            X, T = X[: len(pairs)], source.diffusion[geometry.rows[pairs]]
            T = T if own is None else side_by_side(T, own[: len(pairs)], share)
        assert T is not None
        return loo_ridge(X - X.mean(axis=0), T - T.mean(axis=0))

    return geometry.kept(f"groups {share}", make)
