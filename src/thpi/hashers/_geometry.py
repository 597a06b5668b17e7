"""Coordinates of rows, features of their source rows, and what is computed from both, each part only once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import linalg
from sklearn.utils.extmath import svd_flip

from thpi._types import Array, Fitted
from thpi.hashers._source_features import MAX_REGRESSION_ROWS, SourceFeatures
from thpi.solvers.blocks import spread
from thpi.solvers.kernel_features import kernel_map
from thpi.solvers.loo_ridge import LooRidge, RidgeFit
from thpi.solvers.procrustes import random_frame
from thpi.solvers.quantisation import frame_quantisation

Made = TypeVar("Made")

IMPUTATION_LANDMARKS = 300
IMPUTATION_WIDTHS = (None, 0.25, 1.0, 4.0)


def in_coordinates(X: Array, values: Array) -> Array:
    """Return ``P`` with ``X P = values``, the shortest one, for values that are linear in the coordinates ``X``."""
    eigenvalues, Q = linalg.eigh(X.T @ X)
    kept = eigenvalues > 1e-10 * max(float(eigenvalues[-1]), np.finfo(np.float64).tiny)
    return np.asarray(Q[:, kept] @ ((Q[:, kept].T @ (X.T @ values)) / eigenvalues[kept, None]))


class Steps(NamedTuple):
    """When an alternation stops: relative change of the loss, number of iterations."""

    tol: float = 1e-6
    max_iter: int = 150


class Limits(NamedTuple):
    """Steps of quantisation and of neighbour embedding, and the most rows that the latter uses."""

    quantisation: Steps = Steps()
    embedding: Steps = Steps(1e-5, 30)
    embedding_rows: int = 1000


class Learned(NamedTuple):
    """Projection of the coordinates (p x c), its loss by iteration, and whether it settled.

    A code is ``sgn((x - mean) projection - offset)``, with the mean of the geometry; ``offset`` None is 0.
    ``source_projection`` is one of the source's coordinates, if source rows are coded, too. ``facts`` are further
    fitted attributes of the method.
    """

    projection: Array
    objective: tuple[float, ...] = ()
    converged: bool = True
    offset: Array | None = None
    facts: Fitted | None = None
    source_projection: Array | None = None

    def project(self, X: Array, mean: Array) -> Array:
        """Projections of rows; ``mean`` is that of the geometry."""
        values = (X - mean) @ self.projection
        return values if self.offset is None else values - self.offset


class Imputation(NamedTuple):
    """Regression of the target on features of the source: the width of their kernel (None: linear), their mean, ridge
    regression on them, the pairs that it uses, and its fit of the target rows."""

    features: Callable[[Array], Array]
    width: float | None
    middle: Array
    ridge: LooRidge
    pairs: Array
    of_target: RidgeFit


class Geometry:
    """Centred coordinates of some pairs, and everything that was computed from them, each part once.

    ``X`` are the target rows of the pairs and ``labels`` their labels. ``real`` also has ``more``, target rows without
    a source, which take part in whatever needs no pairs: mean, scatter, ITQ, neighbours and groups of the target.
    ``rows`` are the numbers of the pairs among those of ``source``. ``ridge`` is ridge regression on ``paired``.
    """

    def __init__(
        self,
        X: Array,
        n_bits: int,
        seed: int,
        source: SourceFeatures | None = None,
        *,
        rows: Array | None = None,
        start: Array | None = None,
        widths: tuple[float | None, ...] = IMPUTATION_WIDTHS,
        more: Array | None = None,
        labels: Array | None = None,
    ) -> None:
        real = X if more is None or not len(more) else np.vstack([X, more])
        self.mean = real.mean(axis=0)
        self.real: Array = real - self.mean
        self.X, self.n_bits, self.source, self.seed = self.real[: len(X)], n_bits, source, seed
        self.widths, self.labels = widths, labels
        self.rows = np.arange(len(X)) if rows is None else rows
        self.unpaired = slice(0 if source is None else source.n, None)
        self.ridge = LooRidge(self.paired)
        self._plain: dict[int, Learned] = {} if start is None else {0: Learned(start)}
        self._spectra: dict[float, tuple[Array, Array]] = {}
        self._made: dict[Hashable, Any] = {}

    @cached_property
    def without_source(self) -> Geometry:
        """The same target rows, labels and starts, but no source: what a method learns here owes nothing to it."""
        other = copy(self)
        other.source, other._made = None, {}
        return other

    @property
    def known_source(self) -> SourceFeatures:
        """The source, where there must be one."""
        assert self.source is not None
        return self.source

    def once(self, make: Callable[..., Made], *arguments: Hashable) -> Made:
        """Return ``make(self, *arguments)``, computed the first time it is needed."""
        key = (make, *arguments)
        if key not in self._made:
            self._made[key] = make(self, *arguments)
        return self._made[key]  # type: ignore[no-any-return]

    def plain(self, start: int = 0) -> Learned:
        """ITQ on the real target rows, where every method starts; ``start`` numbers the random starts."""
        if start not in self._plain:
            axes = metric_axes(*self._spectrum(0.0), None, 0.0, self.n_bits)
            Y = self.real @ axes
            stream = np.random.RandomState((self.seed + start) % 2**32)
            rotated = Y @ random_frame(Y, self.n_bits, stream)
            found = frame_quantisation(Y, rotated, max_iter=50)
            self._plain[start] = Learned(axes @ found.R, tuple(found.objective), found.converged)
        return self._plain[start]

    @cached_property
    def pairs_mean(self) -> Array:
        """Mean of the target rows of the pairs, where ``mean`` is that of all real rows."""
        mean: Array = self.mean
        return mean if len(self.real) == len(self.X) else mean + self.X.mean(axis=0)

    @cached_property
    def paired(self) -> Array:
        """Target rows of the pairs, centred by themselves: what is regressed on or by the source."""
        X: Array = self.X
        return X if len(self.real) == len(X) else X - X.mean(axis=0)

    @cached_property
    def imputation(self) -> Imputation:
        """The kernel over source rows from which target rows are predicted best, by leave-one-out."""
        paired = self.known_source.linear[self.rows]
        rng = np.random.RandomState(self.seed)
        landmarks = paired[np.sort(rng.permutation(len(paired))[:IMPUTATION_LANDMARKS])]
        found = []
        for width in self.widths:
            features: Any = np.asarray if width is None else kernel_map(landmarks, width)
            some = spread(len(self.rows), MAX_REGRESSION_ROWS)
            paired = features(self.known_source.linear[self.rows[some]])
            middle = paired.mean(axis=0)
            ridge = LooRidge(paired - middle)
            found.append(Imputation(features, width, middle, ridge, some, ridge.fit(self.paired[some])))
        return max(found, key=lambda imputation: imputation.of_target.explained)

    @cached_property
    def _unpaired_features(self) -> Array:
        """Features of the unpaired source rows, as the imputation has them."""
        return self.imputation.features(self.known_source.linear[self.unpaired]) - self.imputation.middle

    def impute(self, answers: Array) -> Array:
        """Predict what the pairs have and the unpaired source rows lack."""
        if not len(self.known_source.linear[self.unpaired]):
            return np.empty((0, answers.shape[1]))
        _, _, _, ridge, some, of_target = self.imputation
        fit = of_target if answers is self.paired else ridge.fit(answers[some])
        return self._unpaired_features @ fit.W

    @cached_property
    def imputed(self) -> Array:
        """Target rows (coordinates) for the unpaired source rows."""
        found = self.imputed_beside_pairs
        return found if self.paired is self.X else found + self.X.mean(axis=0)

    @cached_property
    def imputed_beside_pairs(self) -> Array:
        """The same, centred as ``paired`` is."""
        return self.impute(self.paired)

    def predict(self, answers: Array, shrinkage: float = 1.0) -> RidgeFit:
        """Ridge from the target rows of the pairs to answers, one row per pair."""
        return self.ridge.fit(answers - answers.mean(axis=0), shrinkage=shrinkage)

    def quantise(
        self, taught: RidgeFit | None, weight: float, imputed_weight: float, *, start: int, steps: Steps
    ) -> Learned:
        """ITQ of ``Z M^(1/2)``, started at plain ITQ.

        ``Z = [real; sqrt(imputed_weight) imputed]`` and ``M = I + weight k W W'``, where ``W`` is what was ``taught``
        and k makes the energies of ``Z W`` and ``Z`` equal. Started at the codes of plain ITQ, the search ends near
        them: the difference is due to W and the imputed rows, not to another random start.
        """
        adds_rows = imputed_weight > 0 and self.source is not None and len(self.imputed) > 0
        if not adds_rows:
            imputed_weight = 0.0
        axes = self.once(_axes, taught, weight, imputed_weight)
        Z = np.vstack([self.real, np.sqrt(imputed_weight) * self.imputed]) if adds_rows else self.real
        found = frame_quantisation(Z @ axes, Z @ self.plain(start).projection, tol=steps.tol, max_iter=steps.max_iter)
        return Learned(axes @ found.R, tuple(found.objective), found.converged)

    def coded_source(self, learned: Learned) -> Fitted:
        """Fitted attributes by which source rows are coded; none if they are not."""
        if learned.source_projection is None:
            return {}
        back = self.known_source.coordinates.back
        return {"item_mean_": self.known_source.mean, "item_projection_": back(learned.source_projection)}

    def _spectrum(self, imputed_weight: float) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of the scatter of real and imputed rows."""
        if imputed_weight not in self._spectra:
            scatter = self.real.T @ self.real
            if imputed_weight > 0:
                scatter = scatter + imputed_weight * (self.imputed.T @ self.imputed)
            self._spectra[imputed_weight] = eigenvectors_signed_by_rule(scatter)
        return self._spectra[imputed_weight]


class GeometryLearner:
    """A method that learns in a geometry, starting at the ITQ codes of the target rows.

    Two methods that share a geometry share everything that it has already computed, and their starts.
    """

    def learn(self, geometry: Geometry, start: int, limits: Limits) -> Learned:
        """Learn the projection of the coordinates from one of the numbered random starts."""
        raise NotImplementedError  # pragma: no cover

    def learn_start(self, geometry: Geometry, start: int, limits: Limits) -> Learned:
        """Learn as far as the random start matters; by default all of it."""
        return self.learn(geometry, start, limits)


def _axes(geometry: Geometry, taught: RidgeFit | None, weight: float, imputed_weight: float) -> Array:
    W = None if taught is None else taught.W
    return metric_axes(*geometry._spectrum(imputed_weight), W, weight, geometry.n_bits)


def eigenvectors_signed_by_rule(scatter: Array) -> tuple[Array, Array]:
    """Eigenvalues, rising, and eigenvectors: random starts are taken along these, so rounding must not turn them."""
    values, Q = linalg.eigh(scatter)
    return values, svd_flip(None, np.ascontiguousarray(Q.T), u_based_decision=False)[1].T


def metric_axes(values: Array, Q: Array, W: Array | None, weight: float, n_bits: int) -> Array:
    """Return ``A`` (p x r, r <= n_bits) such that ``Z A`` are the leading principal coordinates of ``Z M^(1/2)``.

    ``Z'Z = C = Q diag(values) Q'``. With the eigenvectors U and eigenvalues L of ``C^(1/2) M C^(1/2)`` it is
    ``A = M C^(1/2) U L^(-1/2)``: no root of M is taken, and C is factored once for all weights.
    """
    kept = values > 1e-10 * max(float(values[-1]), np.finfo(np.float64).tiny)
    if not kept.any():  # all rows are equal: any direction will do
        return np.eye(len(Q), min(n_bits, len(Q)))
    root = Q[:, kept] * np.sqrt(values[kept])  # C^(1/2) up to a rotation
    energy = 0.0 if W is None else float(np.vdot(root.T @ W, root.T @ W))
    r = min(n_bits, root.shape[1])
    if W is None or weight == 0 or energy <= 0:
        return np.asarray(Q[:, kept][:, ::-1][:, :r])
    pull = np.sqrt(weight * float(values[kept].sum()) / energy) * W
    pulled = root.T @ pull
    inner = np.diag(values[kept]) + pulled @ pulled.T
    size = len(inner)
    spread, U = linalg.eigh(inner, subset_by_index=[size - r, size - 1])
    spread, U = spread[::-1], U[:, ::-1]
    A = root @ U + pull @ (pulled.T @ U)
    return np.asarray(A / np.sqrt(spread))
