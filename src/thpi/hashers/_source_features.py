"""Features of source rows: kernels, principal components, codes, and groups, each computed only once."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import randomized_svd

from thpi._types import Array, InMemory
from thpi.base import Views
from thpi.solvers.blocks import spread
from thpi.solvers.diffusion_map import group_coordinates
from thpi.solvers.kernel_features import kernel_map
from thpi.solvers.moments import (
    EXACT_LIMIT,
    Coordinates,
    centred_product,
    column_mean,
    full_rank_coordinates,
    principal_axes,
)
from thpi.solvers.quantisation import iterative_quantisation

MAX_COORDINATES = 512
SOURCE_FEATURES = ("rbf", "linear", "codes", "diffusion", "mixed")
MAX_REGRESSION_ROWS = 20_000
SOURCE_COMPONENTS = 150
KERNEL_COMPONENTS = 100
KERNEL_LANDMARKS = 500
KERNEL_WIDTH = 1.0
DIFFUSION_SHARE = 0.3
_BLOCK = 8192


def few_coordinates(X: InMemory, mean: Array, n_bits: int = 0) -> Coordinates:
    """Centred rows in at most 512 coordinates (or twice the bits): all of them, or the principal ones."""
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


class SourceFeatures:
    """Source rows, paired first: their principal components, kernel components and group coordinates.

    At most ``max_unpaired`` of the unpaired rows, drawn at random, are kept.
    """

    _whole: tuple[SourceFeatures, Array] | None = None

    def __init__(self, views: Views, rng: np.random.RandomState, max_unpaired: int) -> None:
        self.n = views.S.shape[0]
        unpaired = views.S_U
        if unpaired is not None and unpaired.shape[0] > max_unpaired:
            unpaired = unpaired[np.sort(rng.choice(unpaired.shape[0], max_unpaired, replace=False))]
        self._rows = Views(views.X[:1], views.S, unpaired).all_source
        self.mean = column_mean(self._rows)
        self.linear = _principal_coordinates(self._rows, self.mean)
        self._landmarks = np.sort(rng.permutation(len(self.linear))[:KERNEL_LANDMARKS])
        self._seed = int(rng.randint(np.iinfo(np.int32).max))

    def taken(self, rows: Array) -> SourceFeatures:
        """The same with only some of the pairs; what was learned of the source stays."""
        part = copy(self)
        kept = np.concatenate([rows, np.arange(self.n, len(self.linear))])
        part.n, part.linear, part._whole = len(rows), self.linear[kept], (self, kept)
        for name in ("coordinates", "rbf", "diffusion", "mixed"):
            vars(part).pop(name, None)
        return part

    @cached_property
    def coordinates(self) -> Coordinates:
        """Nearly all coordinates of the rows, with the way back: in these, source rows are coded."""
        if self._whole is None:
            found = few_coordinates(self._rows, self.mean)
            return replace(found, values=found.values.astype(np.float64))
        whole, kept = self._whole
        return replace(whole.coordinates, values=whole.coordinates.values[kept])

    def named(self, name: str, n_bits: int) -> Array:
        """Features of all rows, by one of the names in ``SOURCE_FEATURES``."""
        return np.asarray(self.codes(n_bits) if name == "codes" else getattr(self, name))

    @cached_property
    def rbf(self) -> Array:
        """Principal components of the kernel's features: neighbours in the source agree in them; all rows that are far
        differ, however far they are."""
        if self._whole is not None:
            return self._whole[0].rbf[self._whole[1]]
        features = kernel_map(self.linear[self._landmarks], KERNEL_WIDTH)
        sample = features(self.linear[spread(len(self.linear), MAX_REGRESSION_ROWS // 4)])
        middle = sample.mean(axis=0)
        p = sample.shape[1]
        scatter = (sample - middle).T @ (sample - middle)
        _, V = linalg.eigh(scatter, subset_by_index=[max(0, p - KERNEL_COMPONENTS), p - 1])
        blocks = gen_batches(len(self.linear), _BLOCK)
        return np.vstack([(features(self.linear[rows]) - middle) @ V[:, ::-1] for rows in blocks])

    @cached_property
    def diffusion(self) -> Array:
        """Coordinates in which rows of one group agree; see :func:`group_coordinates`."""
        if self._whole is not None:
            return self._whole[0].diffusion[self._whole[1]]
        return group_coordinates(self.linear, self._seed)

    @cached_property
    def mixed(self) -> Array:
        """Kernel components with 0.7 of the energy, and group coordinates with 0.3."""
        return side_by_side(self.rbf, self.diffusion, DIFFUSION_SHARE)

    def codes(self, n_bits: int) -> Array:
        """ITQ codes of all source rows, as +-1."""
        Z = self.linear[:, :n_bits]
        rotation = iterative_quantisation(Z, np.random.RandomState(self._seed), max_iter=50).R
        return np.where(Z @ rotation >= 0, 1.0, -1.0)


def side_by_side(first: Array, second: Array, share: float) -> Array:
    """Columns of both, the second with this share of the energy, the first with the rest."""
    return np.hstack([np.sqrt((1 - share) / _energy(first)) * first, np.sqrt(share / _energy(second)) * second])


def _energy(T: Array) -> float:
    return max(float(np.vdot(T, T)) / len(T), np.finfo(np.float64).tiny)


def _principal_coordinates(source: Any, mean: Array) -> Array:
    """Leading principal coordinates of the source rows; of wide rows without their axes, which would be dense."""
    n, d = source.shape
    if n < d and n <= EXACT_LIMIT:
        return np.asarray(full_rank_coordinates(source, mean).values[:, :SOURCE_COMPONENTS], dtype=np.float64)
    V, s = principal_axes(source, mean, min(SOURCE_COMPONENTS, d))
    kept = max(1, int((s > 1e-5 * s[0]).sum()))
    return np.asarray(centred_product(source, mean, V[:, :kept]), dtype=np.float64)
