"""What the transfer methods know of the data, each part made once and shared by all candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse
from sklearn.utils.extmath import randomized_svd, svd_flip

from thpi.hashers._source_features import MAX_REGRESSION_ROWS, SourceFeatures
from thpi.solvers.blocks import spread
from thpi.solvers.kernel_features import kernel_map
from thpi.solvers.loo_ridge import RidgeFit, loo_ridge
from thpi.solvers.moments import (
    Coordinates,
    centred_product,
    full_rank_coordinates,
    principal_axes,
)
from thpi.solvers.procrustes import random_orthonormal
from thpi.solvers.quantisation import QuantisationResult, frame_quantisation

__all__ = ["Geometry", "Quantised", "bent_axes", "in_coordinates", "target_coordinates"]

Array = npt.NDArray[Any]
Made = TypeVar("Made")

MAX_COORDINATES = 512
IMPUTATION_LANDMARKS = 300
IMPUTATION_WIDTHS = (None, 0.25, 1.0, 4.0)


def target_coordinates(X: Any, mean: Array, n_bits: int) -> Coordinates:
    """Centred target rows in at most 512 coordinates (or twice the bits): all of them, or the principal ones."""
    most = max(MAX_COORDINATES, 2 * n_bits)
    n, d = X.shape
    if (sparse.issparse(X) and min(n, d) > 4 * most) or most < d <= n:
        V, _ = principal_axes(X, mean, most)
        return Coordinates(centred_product(X, mean, V), axes=V)
    if 2 * most < n < d and not sparse.issparse(X):
        # Which of the last directions are among the 512 does not matter: to find them exactly takes many times as long.
        V = randomized_svd(X - mean, most, random_state=0)[2].T
        return Coordinates(centred_product(X, mean, V), axes=V)
    whole = full_rank_coordinates(X, mean)
    if whole.values.shape[1] <= most:
        return whole
    # Fewer rows than columns: the coordinates come largest first, so that the last ones can go.
    assert whole.weights is not None
    return replace(whole, values=whole.values[:, :most], weights=whole.weights[:, :most])


def in_coordinates(X: Array, values: Array) -> Array:
    """Give ``P`` with ``X P = values``, the shortest one, for values that are linear in the coordinates ``X``."""
    eigenvalues, Q = linalg.eigh(X.T @ X)
    kept = eigenvalues > 1e-10 * max(float(eigenvalues[-1]), np.finfo(np.float64).tiny)
    return np.asarray(Q[:, kept] @ ((Q[:, kept].T @ (X.T @ values)) / eigenvalues[kept, None]))


class Imputation(NamedTuple):
    """Features of the source, the width of their kernel (None: linear), and the share of the target they explain."""

    features: Callable[[Array], Array]
    width: float | None
    explained: float


class Quantised(NamedTuple):
    """Projection of the coordinates (p x c), its loss by iteration, and whether it settled."""

    projection: Array
    objective: list[float]
    converged: bool


class Geometry:
    """Centred coordinates of some pairs with what was learned from them: imputed rows, scatter, teachers.

    ``X`` are the target rows of the pairs, ``real`` these and ``more``, target rows without a source: they take part in
    whatever needs no pairs, that is mean, scatter, ITQ, neighbours and groups of the target.
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
    ) -> None:
        real = X if more is None or not len(more) else np.vstack([X, more])
        self.mean = real.mean(axis=0)
        self.real: Array = real - self.mean
        self.X, self.n_bits, self.source, self.seed = self.real[: len(X)], n_bits, source, seed
        self.widths = widths
        self._plain: dict[int, Quantised] = {} if start is None else {0: Quantised(start, [], True)}
        n_source = 0 if source is None else source.n
        self.rows = np.arange(len(X)) if rows is None else rows
        self.unpaired = slice(n_source, None)
        self._kept: dict[str, Any] = {}
        self._axes_kept: dict[tuple[int, float, float], Array] = {}
        self._spectra: dict[float, tuple[Array, Array]] = {}

    def plain(self, start: int = 0) -> Quantised:
        """ITQ on the real target rows, where everything else begins; ``start`` numbers the random starts."""
        if start not in self._plain:
            axes = self._axes_of(None, 0.0, 0.0)
            Y = self.real @ axes
            stream = np.random.RandomState((self.seed + start) % 2**32)
            rotated = Y @ random_orthonormal(Y.shape[1], self.n_bits, stream)
            self._plain[start] = _back(axes, frame_quantisation(Y, rotated, max_iter=50))
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
        assert self.source is not None
        paired = self.source.linear[self.rows]
        rng = np.random.RandomState(self.seed)
        landmarks = paired[np.sort(rng.permutation(len(paired))[:IMPUTATION_LANDMARKS])]
        found = []
        for width in self.widths:
            features: Callable[[Array], Array] = _identity if width is None else kernel_map(landmarks, width).__call__
            found.append(Imputation(features, width, self._regress(features, self.paired)[2]))
        return max(found, key=lambda imputation: imputation.explained)

    def _regress(self, features: Callable[[Array], Array], answers: Array) -> tuple[Array, Array, float]:
        assert self.source is not None
        some = spread(len(self.rows), MAX_REGRESSION_ROWS)
        paired = features(self.source.linear[self.rows[some]])
        middle = paired.mean(axis=0)
        fit = loo_ridge(paired - middle, answers[some])
        return fit.W, middle, fit.explained

    def impute(self, answers: Array) -> Array:
        """Predict what the pairs have and the unpaired source rows lack."""
        features = self.imputation.features
        assert self.source is not None
        unpaired = self.source.linear[self.unpaired]
        if not len(unpaired):
            return np.empty((0, answers.shape[1]))
        W, middle, _ = self._regress(features, answers)
        return (features(unpaired) - middle) @ W

    @cached_property
    def imputed(self) -> Array:
        """Target rows (coordinates) for the unpaired source rows."""
        found = self.imputed_beside_pairs
        return found if self.paired is self.X else found + self.X.mean(axis=0)

    @cached_property
    def imputed_beside_pairs(self) -> Array:
        """The same, centred as ``paired`` is."""
        return self.impute(self.paired)

    @cached_property
    def real_scatter(self) -> Array:
        """X'X, of all real rows."""
        return np.asarray(self.real.T @ self.real)

    @cached_property
    def imputed_scatter(self) -> Array:
        """Scatter of the imputed rows."""
        return np.asarray(self.imputed.T @ self.imputed)

    def kept(self, name: str, make: Callable[[], Made]) -> Made:
        """Make once, and keep by name, what several candidates need."""
        if name not in self._kept:
            self._kept[name] = make()
        made: Made = self._kept[name]
        return made

    def teacher(self, name: str, answers: Callable[[], Array], shrinkage: float = 1.0) -> RidgeFit:
        """Ridge from target rows to what the teacher says of them."""

        def make() -> RidgeFit:
            T = answers()
            return loo_ridge(self.paired, T - T.mean(axis=0), shrinkage=shrinkage)

        return self.kept(f"{name} {shrinkage}", make)

    def quantise(
        self, W: Array | None, dial: float, weight: float, *, start: int = 0, tol: float = 1e-6, max_iter: int = 150
    ) -> Quantised:
        """ITQ of ``Z M^(1/2)`` with ``Z = [real; sqrt(weight) imputed]`` and ``M = I + dial k W W'``, begun at ITQ.

        k makes the energies of ``Z W`` and ``Z`` equal. Begun at the codes of plain ITQ, the search ends near them:
        what then differs is due to the source and not to another random start.
        """
        axes = self._axes_of(W, dial, weight)
        Z = np.vstack([self.real, np.sqrt(weight) * self.imputed]) if self._adds_rows(weight) else self.real
        result = frame_quantisation(Z @ axes, Z @ self.plain(start).projection, tol=tol, max_iter=max_iter)
        return _back(axes, result)

    def _adds_rows(self, weight: float) -> bool:
        return weight > 0 and self.source is not None and len(self.imputed) > 0

    def _axes_of(self, W: Array | None, dial: float, weight: float) -> Array:
        key = (id(W), dial, weight)
        if key not in self._axes_kept:
            self._axes_kept[key] = bent_axes(*self._spectrum(weight), W, dial, self.n_bits)
        return self._axes_kept[key]

    def _spectrum(self, weight: float) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of the scatter of all rows."""
        if weight not in self._spectra:
            scatter = self.real_scatter
            if self._adds_rows(weight):
                scatter = scatter + weight * self.imputed_scatter
            values, Q = linalg.eigh(scatter)
            # Signs by rule: random starts are taken along these axes, and rounding is not to change them.
            self._spectra[weight] = values, svd_flip(None, np.ascontiguousarray(Q.T), u_based_decision=False)[1].T
        return self._spectra[weight]


def bent_axes(values: Array, Q: Array, W: Array | None, dial: float, n_bits: int) -> Array:
    """Give ``A`` (p x r, r <= n_bits) such that ``Z A`` are the leading principal coordinates of ``Z M^(1/2)``.

    ``Z'Z = C = Q diag(values) Q'``. With the eigenvectors U and eigenvalues L of ``C^(1/2) M C^(1/2)`` it is
    ``A = M C^(1/2) U L^(-1/2)``: no root of M is taken, and C is factored once for all dials.
    """
    kept = values > 1e-10 * max(float(values[-1]), np.finfo(np.float64).tiny)
    if not kept.any():  # all rows are equal: any direction will do
        return np.eye(len(Q), min(n_bits, len(Q)))
    root = Q[:, kept] * np.sqrt(values[kept])  # C^(1/2) up to a rotation
    energy = 0.0 if W is None else float(np.vdot(root.T @ W, root.T @ W))
    r = min(n_bits, root.shape[1])
    if W is None or dial == 0 or energy <= 0:
        return np.asarray(Q[:, kept][:, ::-1][:, :r])
    pull = np.sqrt(dial * float(values[kept].sum()) / energy) * W
    bent = root.T @ pull
    inner = np.diag(values[kept]) + bent @ bent.T
    size = len(inner)
    spread, U = linalg.eigh(inner, subset_by_index=[size - r, size - 1])
    spread, U = spread[::-1], U[:, ::-1]
    A = root @ U + pull @ (bent.T @ U)
    return np.asarray(A / np.sqrt(spread))


def _back(axes: Array, result: QuantisationResult) -> Quantised:
    return Quantised(axes @ result.R, result.objective, result.converged)


def _identity(rows: Array) -> Array:
    return rows
