"""From rows to a geometry, of themselves or of kernel features, and back; the methods that learn there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thpi._types import Array, Fitted
from thpi.base import BaseHasher, Views, count, dimension_limit, weight
from thpi.hash_functions import kernel_values, squared_distances
from thpi.hashers._geometry import (
    Geometry,
    GeometryLearner,
    Learned,
    Limits,
    SourceFeatures,
    Steps,
    few_coordinates,
    in_coordinates,
)
from thpi.hashers._itq import ITQ
from thpi.solvers.kernel_features import inverse_root, median_exponent
from thpi.solvers.moments import Coordinates, centred_product

WIDEST = 1 / 3
"""Exponent of the widest of the three kernels, in units of one over the median squared distance of landmarks."""


@dataclass(eq=False, repr=False, kw_only=True)
class GeometryHasher(GeometryLearner, BaseHasher):
    """A method whose ``fit`` makes the geometry of all rows, learns in it, and goes back to the features."""

    uses_source = True
    uses_target = True

    max_unpaired: int = count(3000, least=0)
    tol: float = weight(1e-6)
    max_iter: int = count(150)

    def _max_bits(self, views: Views) -> tuple[int, str] | None:
        return dimension_limit(views)

    @property
    def _limits(self) -> Limits:
        """The limits that the parameters set."""
        return Limits(quantisation=Steps(self.tol, self.max_iter))

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        whole = ViewGeometry(views, self.n_bits, rng, self.max_unpaired)
        return whole.fitted(self.learn(whole.geometry, 0, self._limits))


class ViewGeometry:
    """The geometry of all pairs and further target rows, and the way back to the features.

    It starts at ITQ of the target rows: ``itq`` holds what ``ITQ(n_bits, random_state=...)`` learns with this random
    stream, or None if the rows have too few dimensions for that. With ``seed`` all else is the same for every stream.
    """

    def __init__(
        self, views: Views, n_bits: int, rng: np.random.RandomState, max_unpaired: int, seed: int | None = None
    ) -> None:
        rows, n = views.all_target, views.X.shape[0]
        self.itq = _plain_itq(views, n_bits, rng)
        if seed is None:
            seed = int(rng.randint(np.iinfo(np.int32).max))
        else:
            rng = np.random.RandomState(seed)
        self._coordinates: Coordinates = few_coordinates(rows, views.mean, n_bits)
        X = self._coordinates.values.astype(np.float64)
        start = None
        if self.itq is not None:
            start = in_coordinates(X, centred_product(rows, views.mean, self.itq["projection_"]).astype(np.float64))
        source = None if views.S is None else SourceFeatures(views, rng, max_unpaired)
        self.geometry = Geometry(X[:n], n_bits, seed, source, start=start, more=X[n:], labels=views.y)

    def fitted(self, learned: Learned) -> Fitted:
        """Fitted attributes of a hasher."""
        offset = {} if learned.offset is None else {"offset_": learned.offset}
        return {
            "projection_": self._coordinates.back(learned.projection),
            **offset,
            "objective_": np.array(learned.objective),
            "converged_": learned.converged,
            **(learned.facts or {}),
            **self.geometry.coded_source(learned),
        }


def _plain_itq(views: Views, n_bits: int, rng: np.random.RandomState) -> Fitted | None:
    hasher, views = ITQ(n_bits), Views(views.all_target)
    limit = hasher._max_bits(views)
    return None if n_bits > limit[0] else hasher._fit(views, rng)


class KernelKind(NamedTuple):
    """Number of landmarks, and whether the kernel looks at the rows as they are, at their directions, or at both."""

    n_landmarks: int
    rows: bool
    directions: bool


class KernelGeometry:
    """The geometry of kernel features ``k(x) K^(-1/2)`` of the same rows, K the kernel of landmarks, and the way back.

    Their inner products are the kernel. The landmarks are target rows, drawn at random if there are more than wanted.
    """

    def __init__(self, views: Views, linear: Geometry, kind: KernelKind, rng: np.random.RandomState) -> None:
        X, n = views.all_target, views.X.shape[0]
        drawn = np.arange(X.shape[0])
        if len(drawn) > kind.n_landmarks:
            drawn = np.sort(rng.choice(len(drawn), kind.n_landmarks, replace=False))
        # In double precision, whatever the rows have: the root of the kernel magnifies rounding errors.
        rows, middle = X.astype(np.float64), views.mean.astype(np.float64)
        squared, used = squared_distances(rows[drawn], rows[drawn], middle), (kind.rows, kind.directions)
        gammas = [median_exponent(each, WIDEST) if use else 0.0 for each, use in zip(squared, used, strict=True)]
        root = inverse_root(kernel_values(rows[drawn], rows[drawn], middle, *gammas))
        if not root.size:  # all rows are equal
            root = np.zeros((len(drawn), 1))
        kernel = kernel_values(rows, rows[drawn], middle, *gammas)
        mean = kernel.mean(axis=0)
        self._root, self._coordinates = root, few_coordinates(kernel @ root, mean @ root, linear.n_bits)
        self._kernel = {"mean_": mean, "landmarks_": X[drawn], "centre_": views.mean}
        self._kernel |= {"gamma_": gammas[0], "unit_gamma_": gammas[1]}
        self.values: Array = self._coordinates.values
        self.geometry = Geometry(
            self.values[:n], linear.n_bits, linear.seed, linear.source, widths=linear.widths, more=self.values[n:],
            labels=linear.labels,
        )  # fmt: skip

    def fitted(self, learned: Learned) -> Fitted:
        """Fitted attributes of a hasher; see :data:`thpi.hash_functions.KERNEL`."""
        return {
            "projection_": self._root @ self._coordinates.back(learned.projection),
            "offset_": np.zeros(self.geometry.n_bits) if learned.offset is None else learned.offset,
            **self._kernel,
            **self.geometry.coded_source(learned),
        }


def learn(hasher: BaseHasher, geometry: Geometry, start: int, limits: Limits) -> Learned:
    """Learn in a geometry: with the method's own ``learn``, or by fitting it on the rows of the geometry.

    A method that needs pairs and is not given a source is fitted on pairs of a row with itself. That is only of use
    for ITQ+ with ``lambda1=0``, where the source has no weight.
    """
    if isinstance(hasher, GeometryLearner):
        learned: Learned = hasher.learn(geometry, start, limits)
        return learned
    views, mean = geometry.views, geometry.pairs_mean
    if geometry.source is None and not (hasher.uses_labels and geometry.labels is not None):
        views, mean = Views(geometry.real, geometry.real if hasher.needs_privileged else None), geometry.mean
    hasher.set_params(**{k: v for k, v in limits.quantisation._asdict().items() if k in hasher.get_params()})
    hasher.check_bits(views)
    found = hasher._fit(views, np.random.RandomState((geometry.seed + start) % 2**32))
    projection = np.asarray(found["projection_"])
    loss, converged = tuple(found.get("objective_", ())), found.get("converged_", True)
    return Learned(projection, loss, converged, None if mean is geometry.mean else (mean - geometry.mean) @ projection)
