"""The methods that learn in a geometry: ITQ in a metric that is taught, of one view or both; neighbour embedding."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
from sklearn.utils._param_validation import Interval

from thpi._types import Array, Fitted
from thpi.base import Views, count, one_of, parameter, weight
from thpi.hashers._geometry import (
    MAX_REGRESSION_ROWS,
    SOURCE_FEATURES,
    Geometry,
    Learned,
    Limits,
    Steps,
    eigenvectors_signed_by_rule,
    metric_axes,
    side_by_side,
)
from thpi.hashers._itq import GeometryHasher
from thpi.solvers.blocks import spread
from thpi.solvers.diffusion_map import group_coordinates
from thpi.solvers.loo_ridge import LooRidge, RidgeFit, loo_ridge
from thpi.solvers.neighbour_embedding import neighbour_embedding, neighbour_probabilities
from thpi.solvers.procrustes import random_orthonormal
from thpi.solvers.quantisation import frame_quantisation

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


@dataclass(eq=False, repr=False, kw_only=True)
class NeighbourHash(GeometryHasher):
    """Linear hash functions whose codes keep the neighbours of the rows: stochastic neighbour embedding.

    With ``h_i = tanh(P'x_i)`` in place of codes it minimises over P and t

    ``1/n sum_i KL(A_i || Q_i) + start_penalty/c tr((P - P_0)' (C + r I) (P - P_0))``,

    where ``A_ij``, proportional to ``exp(-||z_i - z_j||^2 / w)``, is the probability that j is a neighbour of i, and
    ``Q_ij``, proportional to ``exp(t h_i'h_j)``, is the same by the codes. For ``space="target"`` z are the target rows
    themselves. For ``space="source"`` they are the source rows, of pairs and of unpaired items; target rows of the
    latter are imputed as in :class:`TransferITQ`. The penalty on the distance from ``P_0``, the projection of ITQ or,
    with a source, of :class:`TransferITQ`, keeps a few rows from deciding too much (C and r: see
    :func:`thpi.solvers.neighbour_embedding`). Target rows without a source take part for ``space="target"`` and in P_0.

    Parameters
    ----------
    space : {"target", "source"}, default="target"
        The space whose neighbours are kept; "source" needs ``privileged``.
    start_penalty : float, default=0.3
        Weight of the distance from the start. 0.1 suits a thousand rows; 1 is cautious.
    perplexity : float, default=0.3
        Effective number of neighbours, as a share of the rows.
    source_weight, source_features, imputed_weight, shrinkage
        Of the :class:`TransferITQ` where it starts if there is a source. 0.05 and "linear" suit neighbours in target
        space, 8 and "rbf" neighbours in source space.
    max_rows, max_unpaired : int, default=1000 and 3000
        Uses at most this many rows, and unpaired source rows, drawn at random. Work and memory grow with ``max_rows``
        squared.
    tol, max_iter, random_state
        As for :class:`ITQ`.

    Examples
    --------
    >>> X = np.random.RandomState(0).standard_normal((80, 10)) * np.linspace(1, 3, 10)
    >>> hasher = NeighbourHash(n_bits=8, random_state=0).fit(X)
    >>> hasher.transform(X).shape, bool(np.all(np.diff(hasher.objective_) <= 0))
    ((80, 1), True)
    """

    summary = "stochastic neighbour embedding: codes keep the nearest neighbours of target or source space"

    space: Literal["target", "source"] = one_of("target", "source")
    start_penalty: float = weight(0.3)
    offsets: bool = parameter(False, "boolean")
    perplexity: float = parameter(0.3, Interval(Real, 0, 1, closed="neither"))
    source_weight: float = weight(0.05)
    source_features: Literal["rbf", "linear", "codes", "diffusion", "mixed"] = one_of("linear", *SOURCE_FEATURES)
    imputed_weight: float = weight(0.3)
    shrinkage: float = weight(1.0, closed="neither")
    max_rows: int = count(1000, least=2)
    tol: float = weight(1e-5)
    max_iter: int = count(30)

    @property
    def _limits(self) -> Limits:
        return Limits(embedding=Steps(self.tol, self.max_iter), embedding_rows=self.max_rows)

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        if self.space == "source" and views.S is None:
            raise ValueError("space='source' needs privileged=..., the space whose neighbours are to be kept.")
        return super()._fit(views, rng)

    def learn_start(self, geometry: Geometry, start: int, limits: Limits) -> Learned:
        """ITQ or, with a source, TransferITQ."""
        if geometry.source is None:
            return geometry.plain(start)
        weights = self.source_features, self.source_weight, self.imputed_weight, self.shrinkage
        return geometry.once(transferred, weights, start, limits.quantisation)

    def learn(self, geometry: Geometry, start: int, limits: Limits) -> Learned:
        begin = self.learn_start(geometry, start, limits).projection
        rows, A = geometry.once(_neighbours, self.space, self.perplexity, limits.embedding_rows)
        if len(rows) < 2:
            return Learned(begin, (0.0,))
        tol, max_iter = limits.embedding
        found = neighbour_embedding(
            rows, begin, A, start_penalty=self.start_penalty, offsets=self.offsets, tol=tol, max_iter=max_iter
        )
        offset = found.offset if self.offsets else None
        return Learned(found.projection, tuple(found.objective), found.converged, offset=offset)


def _neighbours(geometry: Geometry, space: str, perplexity: float, max_rows: int) -> tuple[Array, Array]:
    """Target rows, real and for source space imputed, and the probabilities of their neighbours."""
    rng = np.random.RandomState(geometry.seed)
    if space == "target":
        rows = points = geometry.real[_drawn(rng, len(geometry.real), max_rows)]
    else:
        n, linear = len(geometry.X), geometry.known_source.linear
        some = _drawn(rng, n, max_rows)
        others = _drawn(rng, len(geometry.imputed), min(max_rows - len(some), IMPUTED_PER_PAIR * n))
        rows = np.vstack([geometry.X[some], geometry.imputed[others]])
        points = np.vstack([linear[geometry.rows[some]], linear[geometry.unpaired][others]])
    if len(rows) < 2:
        return rows, np.zeros((len(rows), len(rows)))
    return rows, neighbour_probabilities(points, perplexity)


def _drawn(rng: np.random.RandomState, n: int, most: int) -> Array:
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
