"""ClassITQ: ITQ in a metric that labels teach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thpi._types import Array
from thpi.base import parameter, weight
from thpi.hashers._geometry import (
    Geometry,
    Learned,
    Limits,
)
from thpi.hashers._itq import GeometryHasher
from thpi.solvers.loo_ridge import RidgeFit


@dataclass(eq=False, repr=False, kw_only=True)
class ClassITQ(GeometryHasher):
    """ITQ in the metric ``M = I + label_weight k W W'``, where ``W`` predicts the labels by ridge regression.

    With the class indicators ``Y`` (one column per class or tag, centred):

    1. ``W`` minimises ``||X W - Y||^2 + penalty ||W||^2``, penalty by leave-one-out: the directions of regularised
       linear discriminant analysis.
    2. ITQ on ``Z M^(1/2)``, started at plain ITQ, as in :class:`TransferITQ`.

    With a source, ``Z`` also has the target rows imputed from unpaired source rows. The source predicts labels for
    these rows, and such pseudo-labels join step 1 with weight ``pseudo_label_weight``. Target rows without a label
    (``target=`` of ``fit``) join ``Z``. Without labels (``y=None``) and source the method is ITQ.

    Parameters
    ----------
    label_weight : float, default=16.0
        Weight of the labels relative to target geometry.
    pseudo_label_weight : float, default=0.1
        Weight of an imputed row with its pseudo-labels in the regression; 0 leaves them out.
    equal_classes : bool, default=True
        Scale the columns of Y to unit length. If False, frequent classes and tags weigh more.
    imputed_weight, shrinkage, max_unpaired, tol, max_iter, random_state
        As for :class:`TransferITQ`.

    Attributes
    ----------
    label_r2_ : float
        Share of the energy of the indicators that the target predicts, by leave-one-out.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> y = np.arange(90) % 3
    >>> X = np.eye(3)[y] @ rng.standard_normal((3, 8)) + rng.standard_normal((90, 8))
    >>> ClassITQ(n_bits=4, random_state=0).fit(X, y).transform(X).shape
    (90, 1)
    """

    summary = "ITQ in a metric learned from the labels, extended by the source"
    uses_labels = True

    label_weight: float = weight(16.0)
    imputed_weight: float = weight(0.3)
    pseudo_label_weight: float = weight(0.1)
    equal_classes: bool = parameter(True, "boolean")
    shrinkage: float = weight(1.0, closed="neither")

    def learn(self, geometry: Geometry, start: int, limits: Limits) -> Learned:
        taught = None
        if geometry.labels is not None:
            taught = geometry.once(taught_by_labels, self.pseudo_label_weight, self.equal_classes, self.shrinkage)
        steps = limits.quantisation
        found = geometry.quantise(taught, self.label_weight, self.imputed_weight, start=start, steps=steps)
        return found._replace(facts={"label_r2_": 0.0 if taught is None else float(taught.explained)})


def taught_by_labels(geometry: Geometry, pseudo_label_weight: float, equal_classes: bool, shrinkage: float) -> RidgeFit:
    """Ridge from the target rows of a geometry to class indicators, and from imputed rows to pseudo-labels."""
    assert geometry.labels is not None
    Y = class_indicators(geometry.labels, equal_classes=equal_classes)
    if pseudo_label_weight == 0 or geometry.source is None or not len(geometry.imputed):
        return geometry.predict(Y, shrinkage)
    root = np.sqrt(pseudo_label_weight)
    extra = root * geometry.imputed_beside_pairs, root * geometry.impute(Y)
    return geometry.ridge.fit(Y, extra=extra, shrinkage=shrinkage)


def class_indicators(labels: Array, *, equal_classes: bool = True) -> Array:
    """One column per class or tag, centred; divided by the root of its size if all classes are to weigh the same."""
    if labels.ndim == 1:
        _, number = np.unique(labels, return_inverse=True)
        indicator = np.eye(int(number.max()) + 1)[number.ravel()]
    else:
        indicator = labels.astype(np.float64)
    if equal_classes:
        indicator = indicator / np.sqrt(np.maximum(indicator.sum(axis=0), 1.0))
    return np.asarray(indicator - indicator.mean(axis=0))
