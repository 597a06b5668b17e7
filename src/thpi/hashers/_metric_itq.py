"""Iterative quantisation in a metric that the source, labels or groups teach."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
from sklearn.utils._param_validation import Interval

from thpi._types import Array
from thpi.base import one_of, parameter, positive, weight
from thpi.hashers._geometry import MAX_REGRESSION_ROWS, SOURCE_FEATURES, Geometry, Learned, Limits, Steps, side_by_side
from thpi.hashers._geometry_hasher import GeometryHasher
from thpi.solvers.blocks import spread
from thpi.solvers.diffusion_map import group_coordinates
from thpi.solvers.loo_ridge import LooRidge, RidgeFit


@dataclass(eq=False, repr=False, kw_only=True)
class TransferITQ(GeometryHasher):
    """Iterative quantisation of real and imputed target rows in a metric between target and source geometry.

    With centred target rows ``X`` and the source rows of pairs and of unpaired items:

    1. Kernel ridge from source to target on the pairs (linear or Gaussian; kernel and penalty by leave-one-out)
       predicts target rows ``X_U`` for the unpaired source rows. ``Z = [X; sqrt(imputed_weight) X_U]``. Target rows
       without a source (``target=`` of ``fit``) join X in Z, but not in the regressions.
    2. Ridge from ``X`` to features of the source gives ``W``, and ``M = I + source_weight k W W'`` with k such that
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
        Weight of the source geometry. 0.1 suits "near in target space"; 8 and more suit "near in source space" or,
        with ``source_features="diffusion"``, "same group".
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
    shrinkage: float = positive(1.0)

    def learn(self, geometry: Geometry, start: int, limits: Limits) -> Learned:
        """See :class:`GeometryLearner`."""
        weights = self.source_features, self.source_weight, self.imputed_weight, self.shrinkage
        found = geometry.once(transferred, weights, start, limits.quantisation)
        taught = geometry.once(taught_by_source, self.source_features, self.shrinkage)
        r2 = {"imputation_r2_": float(geometry.imputation.explained), "source_r2_": float(taught.explained)}
        return found._replace(facts=r2)


def transferred(geometry: Geometry, weights: tuple[str, float, float, float], start: int, steps: Steps) -> Learned:
    """ITQ in the metric of source features: their name and weight, that of imputed rows, and the shrinkage."""
    source_features, source_weight, imputed_weight, shrinkage = weights
    taught = geometry.once(taught_by_source, source_features, shrinkage) if source_weight > 0 else None
    return geometry.quantise(taught, source_weight, imputed_weight, start=start, steps=steps)


def taught_by_source(geometry: Geometry, source_features: str, shrinkage: float) -> RidgeFit:
    """Ridge from the target rows of a geometry to features of their source rows."""
    assert geometry.source is not None
    return geometry.predict(geometry.source.named(source_features, geometry.n_bits)[geometry.rows], shrinkage)


@dataclass(eq=False, repr=False, kw_only=True)
class ClassITQ(GeometryHasher):
    """ITQ in the metric ``M = I + label_weight k W W'``, where ``W`` predicts the labels by ridge regression.

    With the class indicators ``Y`` (one column per class or tag, centred):

    1. ``W`` minimises ``||X W - Y||^2 + penalty ||W||^2``, penalty by leave-one-out: the directions of regularised
       linear discriminant analysis.
    2. ITQ on ``Z M^(1/2)``, started at plain ITQ, as in :class:`TransferITQ`.

    With a source, ``Z`` also has the target rows imputed from unpaired source rows. The source predicts labels for
    these rows, and such pseudo-labels join step 1 with weight ``pseudo_label_weight``; the penalty stays that of the
    pairs. Target rows without a label (``target=`` of ``fit``) join ``Z``. Without labels (``y=None``) and source the
    method is ITQ.

    Parameters
    ----------
    label_weight : float, default=16.0
        Weight of the labels relative to target geometry.
    pseudo_label_weight : float, default=0.1
        Weight of an imputed row with its pseudo-labels in the regression; 0 leaves them out.
    equal_classes : bool, default=True
        Scale the columns of Y to unit length, so that all classes weigh the same. If False, frequent classes and tags
        weigh more: they are relevant to more queries.
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
    shrinkage: float = positive(1.0)

    def learn(self, geometry: Geometry, start: int, limits: Limits) -> Learned:
        """See :class:`GeometryLearner`."""
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


@dataclass(eq=False, repr=False, kw_only=True)
class GroupITQ(GeometryHasher):
    """ITQ in the metric ``M = I + group_weight k W W'``, where ``W`` predicts which rows belong together.

    Rows belong together if many short paths between neighbours connect them. With the diffusion coordinates ``T_X`` of
    the neighbour graph of the target rows (:func:`thpi.solvers.diffusion_map`), each row scaled to length 1:

    1. ``W`` minimises ``||X W - T||^2 + penalty ||W||^2``, penalty by leave-one-out, ``T = T_X``: directions in which
       groups differ get the bits, directions in which the rows of one group differ do not.
    2. ITQ on ``Z M^(1/2)``, started at plain ITQ, as in :class:`TransferITQ`; without a source ``Z = X``.

    With a source, ``T = [sqrt(1 - target_share) T_S, sqrt(target_share) T_X]`` (both of energy 1), where ``T_S`` are
    the diffusion coordinates of the graph over all source rows, paired or not; and ``Z`` also has the target rows
    imputed from unpaired source rows. Target rows without a source (``target=`` of ``fit``) join Z and the graph of
    ``T_X``. The hash function is linear in the target row: it cannot separate groups that no plane separates.

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
        """See :class:`GeometryLearner`."""
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
        X, of_source = X[: len(pairs)], geometry.source.diffusion[geometry.rows[pairs]]
        T = of_source if T is None else side_by_side(of_source, T[: len(pairs)], target_share)
    assert T is not None
    ridge = geometry.ridge if len(X) == n else LooRidge(X - X.mean(axis=0))
    return ridge.fit(T - T.mean(axis=0))
