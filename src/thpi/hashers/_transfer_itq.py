"""TransferITQ: ITQ in a metric that the source teaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from thpi.base import one_of, weight
from thpi.hashers._geometry import (
    Geometry,
    Learned,
    Limits,
    Steps,
)
from thpi.hashers._itq import GeometryHasher
from thpi.hashers._source_features import SOURCE_FEATURES
from thpi.solvers.loo_ridge import RidgeFit

IMPUTED_PER_PAIR = 3
FLOOR = 0.1  # weight of directions of the source that the target does not predict


@dataclass(eq=False, repr=False, kw_only=True)
class TransferITQ(GeometryHasher):
    """Iterative quantisation of real and imputed target rows in a metric between target and source geometry.

    1. Kernel ridge from source to target on the pairs (linear or Gaussian; kernel and penalty by leave-one-out)
       predicts target rows ``X_U`` for the unpaired source rows. ``Z = [X; sqrt(imputed_weight) X_U]``. Target rows
       without a source (``target=`` of ``fit``) join X in Z, but not in the regressions.
    2. Ridge from X to features of the source gives ``W``, and ``M = I + source_weight k W W'`` with k such that
       ``Z W`` and ``Z`` have equal energy. A weight of 0 is target geometry; a large one is source geometry, as far as
       the target can predict it.
    3. ITQ: ``min ||B - Z A R||_F^2`` over codes B and rotations R, where ``Z A`` are the ``n_bits`` leading principal
       coordinates of ``Z M^(1/2)``. The search starts at the codes of ITQ on X, so that any difference from ITQ is
       due to the source. Both steps are exact and the loss never rises.

    The hash function is ``sgn((x - mean) A R)``. With ``source_weight=0`` and ``imputed_weight=0`` it is ITQ.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code; at most ``min(n_features, n_rows - 1)`` of all target rows, as every bit is a direction of
        theirs that is orthogonal to the others.
    source_weight : float, default=0.1
        Weight of the source geometry. 0.1 suits "near in target space", 8 and more "near in source space".
    source_features : {"rbf", "linear", "codes", "diffusion", "mixed"}, default="rbf"
        The features of the source that the metric follows: components of a Gaussian kernel (neighbours), principal
        components, the ITQ codes of all source rows, diffusion coordinates of their neighbour graph (groups; see
        :func:`thpi.solvers.diffusion_map`), or kernel and diffusion together.
    imputed_weight : float, default=0.3
        Weight of an imputed row relative to a real one; 0 leaves them out.
    shrinkage : float, default=1.0
        Factor on the ridge penalty that leave-one-out chooses for W.
    max_unpaired : int, default=3000
        Uses at most this many unpaired source rows, drawn at random.
    tol, max_iter, random_state
        As for :class:`ITQ`.

    Attributes
    ----------
    imputation_r2_, source_r2_ : float
        Shares of the energy of the target, and of the source features, that the other domain predicts (leave-one-out).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((300, 6)); X = S[:60] @ rng.standard_normal((6, 8))
    >>> hasher = TransferITQ(n_bits=4, random_state=0).fit(X, privileged=S[:60], source=S[60:])
    >>> hasher.transform(X).shape, hasher.imputation_r2_ > 0.99, bool(np.all(np.diff(hasher.objective_) <= 0))
    ((60, 1), True, True)
    """

    summary = "ITQ on real and imputed target rows, in a metric between target and source geometry"
    needs_privileged = True

    source_weight: float = weight(0.1)
    source_features: Literal["rbf", "linear", "codes", "diffusion", "mixed"] = one_of("rbf", *SOURCE_FEATURES)
    imputed_weight: float = weight(0.3)
    shrinkage: float = weight(1.0, closed="neither")

    def learn(self, geometry: Geometry, start: int, limits: Limits) -> Learned:
        weights = self.source_features, self.source_weight, self.imputed_weight, self.shrinkage
        found = geometry.once(transferred, weights, start, limits.quantisation)
        taught = geometry.once(taught_by_source, self.source_features, self.shrinkage)
        r2 = {"imputation_r2_": float(geometry.imputation.of_target.explained), "source_r2_": float(taught.explained)}
        return found._replace(facts=r2)


def transferred(geometry: Geometry, weights: tuple[str, float, float, float], start: int, steps: Steps) -> Learned:
    """ITQ in the metric of source features: their name and weight, that of imputed rows, and the shrinkage."""
    source_features, source_weight, imputed_weight, shrinkage = weights
    taught = geometry.once(taught_by_source, source_features, shrinkage) if source_weight > 0 else None
    return geometry.quantise(taught, source_weight, imputed_weight, start=start, steps=steps)


def taught_by_source(geometry: Geometry, source_features: str, shrinkage: float) -> RidgeFit:
    """Ridge from the target rows of a geometry to features of their source rows."""
    return geometry.predict(geometry.known_source.named(source_features, geometry.n_bits)[geometry.rows], shrinkage)
