"""Iterative quantisation, and what starts at it: from rows to a geometry, of themselves or of a kernel, and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from thpi._types import Array, Fitted
from thpi.base import BaseHasher, Views, count, dimension_limit, parameter, weight
from thpi.codes import pack_signs
from thpi.hash_functions import kernel_values, squared_distances
from thpi.hashers._geometry import Geometry, GeometryLearner, Learned, Limits, Steps, in_coordinates
from thpi.hashers._source_features import SourceFeatures, few_coordinates
from thpi.solvers.kernel_features import inverse_root, median_exponent
from thpi.solvers.moments import Coordinates, centred_product, principal_axes
from thpi.solvers.quantisation import QuantisationResult, iterative_quantisation
from thpi.solvers.slack_quantisation import SlackResult

WIDEST = 1 / 3
"""Exponent of the widest of the three kernels, in units of one over the median squared distance of landmarks."""
Run = TypeVar("Run", QuantisationResult, SlackResult)


def restart_seeds(rng: np.random.RandomState, n_init: int) -> list[np.random.RandomState]:
    """One random stream per restart, drawn before anything else, so that ITQ, ITQ+ and LapITQ+ start alike."""
    return [np.random.RandomState(seed) for seed in rng.randint(np.iinfo(np.int32).max, size=n_init)]


def best_run(runs: Iterable[Run]) -> Run:
    """The run of the lowest loss."""
    return min(runs, key=lambda run: run.objective[-1])


def evidence(run: QuantisationResult | SlackResult) -> Fitted:
    """What a fitted hasher keeps of the run that was taken."""
    return {"objective_": np.array(run.objective), "converged_": run.converged}


@dataclass(eq=False, repr=False, kw_only=True)
class ITQ(GeometryLearner, BaseHasher):
    """PCA to ``n_bits`` directions, then the rotation whose signs lose least (Gong and Lazebnik 2011).

    Minimises ``||B - X V R||_F^2`` (the paper's eq. 1) over codes ``B`` and rotations ``R``, where ``V`` holds the
    leading principal axes. The hash function is ``sgn((x - mean) V R)``. This is what a small target domain gets
    without a source: the reference for every method here.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code; at most ``min(n_features, n_samples - 1)``.
    balanced : bool, default=False
        Keep every bit +1 on half of the training rows, as ITQ+ does.
    n_init : int, default=1
        Random restarts; the lowest loss wins.
    tol : float, default=1e-6
        Stop when an iteration lowers the loss by no more than this part of it.
    max_iter : int, default=150
        Cap on iterations.

    Examples
    --------
    >>> X = np.random.RandomState(0).standard_normal((100, 8))
    >>> itq = ITQ(n_bits=4, random_state=0).fit(X)
    >>> bool(np.all(np.diff(itq.objective_) <= 0))
    True
    """

    summary = "PCA, then the rotation whose signs lose least (Gong and Lazebnik 2011)"
    streams = True

    balanced: bool = parameter(False, "boolean")
    n_init: int = count(1)
    tol: float = weight(1e-6)
    max_iter: int = count(150)

    def _max_bits(self, views: Views) -> tuple[int, str]:
        return dimension_limit(views)

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        V, _ = principal_axes(views.X, views.mean, self.n_bits)
        Z = centred_product(views.X, views.mean, V)
        if self.balanced and not isinstance(Z, np.ndarray):
            Z = Z.gather()  # half of all rows cannot be found block by block
        best = best_run(
            iterative_quantisation(Z, stream, balanced=self.balanced, tol=self.tol, max_iter=self.max_iter)
            for stream in restart_seeds(rng, self.n_init)
        )
        codes = {} if best.B is None else {"codes_": pack_signs(best.B)}  # else they are what transform gives
        return evidence(best) | codes | {"projection_": V @ best.R}

    def learn(self, geometry: Geometry, start: int, limits: Limits) -> Learned:
        return geometry.plain(start)


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
        itq, all_rows = ITQ(n_bits), Views(rows)
        self.itq = itq._fit(all_rows, rng) if n_bits <= dimension_limit(all_rows)[0] else None
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
    views, mean = Views(geometry.X, y=geometry.labels), geometry.pairs_mean
    if geometry.source is not None:  # in its principal components
        linear = geometry.source.linear
        views = Views(geometry.X, linear[geometry.rows], linear[geometry.unpaired], y=geometry.labels)
    elif not hasher.uses_labels or geometry.labels is None:
        views, mean = Views(geometry.real, geometry.real if hasher.needs_privileged else None), geometry.mean
    hasher.set_params(**{k: v for k, v in limits.quantisation._asdict().items() if k in hasher.get_params()})
    hasher.check_bits(views)
    found = hasher._fit(views, np.random.RandomState((geometry.seed + start) % 2**32))
    projection = np.asarray(found["projection_"])
    loss, converged = tuple(found.get("objective_", ())), found.get("converged_", True)
    return Learned(projection, loss, converged, None if mean is geometry.mean else (mean - geometry.mean) @ projection)
