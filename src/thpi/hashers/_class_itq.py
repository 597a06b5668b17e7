"""ClassITQ: iterative quantisation in a metric that classes teach."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from thpi.base import BaseHasher, Views
from thpi.hashers._geometry import Array, Geometry
from thpi.hashers._optional_source import OptionalSource, class_indicators, labels_of
from thpi.hashers._transfer_itq import make_geometry
from thpi.solvers.loo_ridge import RidgeFit, loo_ridge

__all__ = ["ClassITQ", "taught_by_classes"]


class ClassITQ(OptionalSource):
    """ITQ in the metric ``M = I + dial k W W'``, where ``W`` predicts the classes of the rows by ridge regression.

    With the class indicators ``Y`` (one column a class or tag, each of unit length, centred):

    1. ``W`` minimises ``||X W - Y||^2 + penalty ||W||^2``, penalty by leave-one-out: the directions of regularised
       linear discriminant analysis.
    2. ITQ on ``Z M^(1/2)``, begun at plain ITQ, as :class:`TransferITQ`.

    With a source, ``Z`` also has the target rows imputed from unpaired source rows; and the classes that the source
    predicts for these rows take part in 1 with weight ``soft_weight``, the penalty being the one of the pairs. Target
    rows without a class (``target=`` of ``fit``) join ``Z``. Without labels (``y=None``) and source it is ITQ.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code; no limit.
    dial : float, default=16.0
        Weight of the classes against target geometry.
    imputed_weight : float, default=0.3
        Weight of an imputed row against a real one; 0 leaves them out.
    soft_weight : float, default=0.1
        Weight of an imputed row with its predicted classes in the regression; 0 leaves them out.
    shrinkage, max_unpaired, tol, max_iter, random_state
        As for :class:`TransferITQ`.

    Attributes
    ----------
    teacher_r2_ : float
        Share of the indicators' energy that the target predicts, by leave-one-out.
    projection_, codes_, objective_, n_iter_, converged_
        As for :class:`ITQ`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> y = np.arange(90) % 3
    >>> X = np.eye(3)[y] @ rng.standard_normal((3, 8)) + rng.standard_normal((90, 8))
    >>> ClassITQ(n_bits=4, random_state=0).fit(X, y).transform(X).shape
    (90, 1)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseHasher._parameter_constraints,
        "dial": [Interval(Real, 0, None, closed="left")],
        "imputed_weight": [Interval(Real, 0, None, closed="left")],
        "soft_weight": [Interval(Real, 0, None, closed="left")],
        "shrinkage": [Interval(Real, 0, None, closed="neither")],
        "max_unpaired": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_bits: int = 32,
        *,
        dial: float = 16.0,
        imputed_weight: float = 0.3,
        soft_weight: float = 0.1,
        shrinkage: float = 1.0,
        max_unpaired: int = 3000,
        tol: float = 1e-6,
        max_iter: int = 150,
        random_state: Any = None,
    ) -> None:
        self.n_bits = n_bits
        self.dial = dial
        self.imputed_weight = imputed_weight
        self.soft_weight = soft_weight
        self.shrinkage = shrinkage
        self.max_unpaired = max_unpaired
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, views: Views, rng: np.random.RandomState) -> dict[str, Any]:
        labels = None if self._labels is None else labels_of(self._labels, views.X.shape[0])
        geometry, back = make_geometry(views, self.n_bits, rng, self.max_unpaired)
        taught = None if labels is None else taught_by_classes(geometry, labels, self.soft_weight, self.shrinkage)
        W = None if taught is None else taught.W
        found = geometry.quantise(W, self.dial, self.imputed_weight, tol=self.tol, max_iter=self.max_iter)
        return {
            "projection_": back(found.projection),
            "teacher_r2_": 0.0 if taught is None else float(taught.explained),
            "objective_": np.array(found.objective),
            "converged_": found.converged,
        }


def taught_by_classes(geometry: Geometry, labels: Array, soft_weight: float = 0.1, shrinkage: float = 1.0) -> RidgeFit:
    """Ridge from the target rows of a geometry to class indicators, softly continued to imputed rows."""
    Y = class_indicators(labels)
    if soft_weight == 0 or geometry.source is None or not len(geometry.imputed):
        return geometry.teacher("classes", lambda: Y, shrinkage)
    root = np.sqrt(soft_weight)

    def make() -> RidgeFit:
        soft = (root * geometry.imputed_beside_pairs, root * geometry.impute(Y))
        return loo_ridge(geometry.paired, Y, extra=soft, shrinkage=shrinkage)

    return geometry.kept(f"classes {soft_weight} {shrinkage}", make)
