"""Source rows as the teachers of the transfer methods see them, each view made once and only where it is asked for."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg
from sklearn.utils import gen_batches

from thpi.base import Views
from thpi.solvers.diffusion_map import diffusion_map
from thpi.solvers.kernel_features import kernel_map
from thpi.solvers.moments import EXACT_LIMIT, centred_product, column_mean, full_rank_coordinates, principal_axes
from thpi.solvers.quantisation import iterative_quantisation, signs

__all__ = ["MAX_REGRESSION_ROWS", "SourceFeatures", "TEACHERS", "spread"]

Array = npt.NDArray[Any]

TEACHERS = ("rbf", "linear", "codes", "diffusion", "mixed")
MAX_REGRESSION_ROWS = 20_000
SOURCE_COMPONENTS = 150
KERNEL_COMPONENTS = 100
KERNEL_LANDMARKS = 500
TEACHER_WIDTH = 1.0
GRAPH_ROWS = 4000
# A neighbour for every 60 rows, 5 at least: with 30 neighbours among 200 rows every group runs into the next.
GRAPH_NEIGHBOURS = 30
LEAST_NEIGHBOURS = 5
ROWS_A_NEIGHBOUR = 60
DIFFUSION_STEPS = 4
DIFFUSION_SHARE = 0.3
_BLOCK = 8192


class SourceFeatures:
    """Source rows, paired first, seen through their principal components, a Gaussian kernel and their graph; at most
    ``max_unpaired`` of the unpaired rows, drawn at random, are kept."""

    _whole: tuple[SourceFeatures, Array] | None = None

    def __init__(self, views: Views, rng: np.random.RandomState, max_unpaired: int) -> None:
        self.n = views.S.shape[0]
        unpaired = views.S_U
        if unpaired is not None and unpaired.shape[0] > max_unpaired:
            unpaired = unpaired[np.sort(rng.choice(unpaired.shape[0], max_unpaired, replace=False))]
        source = Views(views.X[:1], views.S, unpaired).all_source
        self.linear = _principal_coordinates(source)
        self._landmarks = np.sort(rng.permutation(len(self.linear))[:KERNEL_LANDMARKS])
        self._seed = int(rng.randint(np.iinfo(np.int32).max))

    def taken(self, rows: Array) -> SourceFeatures:
        """The same with only some of the pairs; what was learned of the source stays."""
        part = copy(self)
        kept = np.concatenate([rows, np.arange(self.n, len(self.linear))])
        part.n, part.linear, part._whole = len(rows), self.linear[kept], (self, kept)
        for name in ("rbf", "diffusion", "mixed"):
            vars(part).pop(name, None)
        return part

    def seen_by(self, teacher: str, n_bits: int) -> Array:
        """Features of all rows, by the name of a teacher."""
        found: Array = self.codes(n_bits) if teacher == "codes" else getattr(self, teacher)
        return found

    @cached_property
    def rbf(self) -> Array:
        """Principal components of the kernel's features: what is near in the source agrees in them, what is far
        does not, however far it is."""
        if self._whole is not None:
            return self._whole[0].rbf[self._whole[1]]
        features = kernel_map(self.linear[self._landmarks], TEACHER_WIDTH)
        sample = features(self.linear[spread(len(self.linear), MAX_REGRESSION_ROWS // 4)])
        middle = sample.mean(axis=0)
        p = sample.shape[1]
        scatter = (sample - middle).T @ (sample - middle)
        _, V = linalg.eigh(scatter, subset_by_index=[max(0, p - KERNEL_COMPONENTS), p - 1])
        blocks = gen_batches(len(self.linear), _BLOCK)
        return np.vstack([(features(self.linear[rows]) - middle) @ V[:, ::-1] for rows in blocks])

    @cached_property
    def diffusion(self) -> Array:
        """Diffusion coordinates of the graph of neighbours, scaled to length 1: rows of one group, however it is bent,
        agree in them, whether they lie in its middle or at its rim."""
        if self._whole is not None:
            return self._whole[0].diffusion[self._whole[1]]
        n = len(self.linear)
        k = min(GRAPH_NEIGHBOURS, max(LEAST_NEIGHBOURS, n // ROWS_A_NEIGHBOUR))
        if n <= GRAPH_ROWS:
            found = diffusion_map(self.linear, n_neighbors=k, steps=DIFFUSION_STEPS).coordinates
        else:
            drawn = np.random.RandomState(self._seed).permutation(n)[:GRAPH_ROWS]
            graph = diffusion_map(self.linear[drawn], n_neighbors=k, steps=DIFFUSION_STEPS)
            found = np.vstack([graph(self.linear[rows]) for rows in gen_batches(n, _BLOCK)])
            found[drawn] = graph.coordinates
        length = np.sqrt(np.einsum("ij,ij->i", found, found))
        return np.asarray(found / np.maximum(length, np.finfo(np.float64).tiny)[:, None])

    @cached_property
    def mixed(self) -> Array:
        """Both: who is near, with 0.7 of the energy, and who is of one group, with 0.3."""
        near, group = self.rbf, self.diffusion
        shares = np.sqrt((1 - DIFFUSION_SHARE) / _energy(near)), np.sqrt(DIFFUSION_SHARE / _energy(group))
        return np.hstack([shares[0] * near, shares[1] * group])

    def codes(self, n_bits: int) -> Array:
        """ITQ codes of all source rows, as +-1."""
        Z = self.linear[:, :n_bits]
        return signs(Z @ iterative_quantisation(Z, np.random.RandomState(self._seed), max_iter=50).R).astype(np.float64)


def _energy(T: Array) -> float:
    return max(float(np.vdot(T, T)) / len(T), np.finfo(np.float64).tiny)


def _principal_coordinates(source: Any) -> Array:
    """Leading principal coordinates of the source rows; of wide rows without their axes, which would be dense."""
    mean = column_mean(source)
    n, d = source.shape
    if n < d and n <= EXACT_LIMIT:
        return np.asarray(full_rank_coordinates(source, mean).values[:, :SOURCE_COMPONENTS], dtype=np.float64)
    V, s = principal_axes(source, mean, min(SOURCE_COMPONENTS, d))
    kept = max(1, int((s > 1e-5 * s[0]).sum()))
    return np.asarray(centred_product(source, mean, V[:, :kept]), dtype=np.float64)


def spread(n: int, most: int) -> Array:
    """Numbers of at most ``most`` of n rows, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
