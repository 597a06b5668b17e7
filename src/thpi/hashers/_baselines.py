"""Methods that learn little from the target and nothing from a source: LSH, spectral hashing, DSH."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import entr

from thpi._types import Fitted
from thpi.base import BaseHasher, TooManyBitsError, Views, count, weight
from thpi.hash_functions import EIGENFUNCTION, HashFunction
from thpi.solvers.blocks import reduce_blocks
from thpi.solvers.moments import centred_product, principal_axes


@dataclass(eq=False, repr=False, kw_only=True)
class LSH(BaseHasher):
    """Gaussian random projections of centred data: ``h_k(x) = sgn(r_k'(x - mean))``, ``r_k ~ N(0, I)``.

    Two rows at angle ``t`` differ in a bit with probability ``t / pi`` (Charikar 2002; Andoni and Indyk 2006). It
    learns nothing but the mean, and draws every bit by itself. More bits than columns estimate the angle better, so
    there is no limit to ``n_bits``. It is the line that every learned method must beat.

    Examples
    --------
    >>> X = np.random.RandomState(0).standard_normal((100, 8))
    >>> LSH(n_bits=12, random_state=0).fit(X).transform(X).shape
    (100, 2)
    """

    summary = "Gaussian random projections of centred data"
    streams = True

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        return {"projection_": rng.standard_normal((views.X.shape[1], self.n_bits))}


@dataclass(eq=False, repr=False, kw_only=True)
class SpectralHashing(BaseHasher):
    """Thresholded eigenfunctions of the Laplacian along principal directions (Weiss, Torralba and Fergus 2008).

    The data are taken to be uniform on a box along their principal axes. On an axis of range ``[a, b]`` the one-
    dimensional Laplacian has the eigenfunctions and, up to a common monotone map, the eigenvalues

        ``phi_m(x) = sin(pi/2 + m pi (x - a) / (b - a))``,   ``(m pi / (b - a))^2``,   ``m = 1, 2, ...``

    The ``n_bits`` smallest over all axes are kept, and bit ``k`` is the sign of its eigenfunction. Being a function
    of ``x``, it codes new rows directly. An axis gives one bit per frequency, so there is no limit to ``n_bits``.

    Attributes
    ----------
    projection_, frequency_, lower_ : arrays of shape (n_features, n_bits), (n_bits,) and (n_bits,)
        The principal axis, ``m pi / (b - a)``, and ``a`` of each bit.

    Examples
    --------
    >>> X = np.random.RandomState(0).uniform(size=(200, 2)) * [10, 1]
    >>> np.abs(SpectralHashing(n_bits=3).fit(X).projection_[0]).round(1)  # all three bits cut the long side
    array([1., 1., 1.])
    """

    summary = "thresholded Laplacian eigenfunctions along principal axes (Weiss et al. 2008)"
    hash_parts = (*BaseHasher.hash_parts, "frequency_", "lower_")
    streams = True

    frequency_: Any = field(init=False)
    lower_: Any = field(init=False)

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        d = views.X.shape[1]
        V, _ = principal_axes(views.X, views.mean, min(self.n_bits, d))
        Z = centred_product(views.X, views.mean, V)
        lower, least = reduce_blocks(_extremes, Z, combine=np.minimum)
        extent = -least - lower
        # An axis without extent has no low frequency; infinity keeps it last.
        with np.errstate(divide="ignore"):
            base = np.where(extent > 1e-9 * max(extent.max(), 1e-300), np.pi / extent, np.inf)
        modes = np.arange(1, self.n_bits + 1)
        frequency = base[:, None] * modes
        order = np.argsort(frequency, axis=None, kind="stable")[: self.n_bits]
        axis = order // self.n_bits
        chosen = frequency.ravel()[order]
        return {
            "projection_": np.ascontiguousarray(V[:, axis]),
            "frequency_": np.where(np.isfinite(chosen), chosen, 0.0),
            "lower_": lower[axis],
        }

    @property
    def _hash_function(self) -> HashFunction:
        return EIGENFUNCTION  # sin(pi/2 + t) = cos(t)


def _extremes(block: Any) -> tuple[Any, Any]:
    return block.min(axis=0), (-block).min(axis=0)


@dataclass(eq=False, repr=False, kw_only=True)
class DSH(BaseHasher):
    """Planes halfway between adjacent groups of the data, the most even ones kept (Jin, Li, Lin and Cai 2014).

    1. k-means with ``expansion * n_bits`` groups and a few iterations.
    2. Two groups are adjacent if one is among the ``n_adjacent`` nearest groups of the other. The candidates are the
       mid-perpendicular planes of adjacent centres, ``(m_i - m_j)'x = (m_i - m_j)'(m_i + m_j)/2``.
    3. The ``n_bits`` planes with the largest entropy ``-p log p - (1-p) log(1-p)`` are kept, where ``p`` is the share
       of training rows on one side.

    Parameters
    ----------
    expansion : float, default=1.5
        Groups per bit; at most as many as there are distinct rows.
    n_adjacent : int, default=3
        Nearest groups that count as adjacent.
    kmeans_iter : int, default=3
        Iterations of k-means; it need not converge.

    Attributes
    ----------
    entropy_ : array of shape (n_bits,)
        Entropy of each kept split, in nats, largest first.

    Examples
    --------
    >>> X = np.random.RandomState(0).standard_normal((100, 8))
    >>> DSH(n_bits=8, random_state=0).fit(X).transform(X).shape
    (100, 1)
    """

    summary = "planes between adjacent groups of the data, the most even ones (Jin et al. 2014)"
    entropy_: Any = field(init=False)

    expansion: float = weight(1.5, closed="neither")
    n_adjacent: int = count(3)
    kmeans_iter: int = count(3)

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        centres = self._group_centres(views, rng) - views.mean
        first, second = _adjacent_pairs(centres, self.n_adjacent)
        if len(first) < self.n_bits:
            raise TooManyBitsError(
                f"n_bits={self.n_bits} is more than DSH can give for these data: {len(centres)} groups have "
                f"{len(first)} adjacent pairs; at most n_bits={len(first)}. Raise expansion or n_adjacent, or add rows."
            )
        # (m_i - m_j)'x from the products with the centres, and the offsets from their norms: the normals of all
        # candidates, d numbers each, are never formed.
        squares = np.einsum("ij,ij->i", centres, centres)
        offsets = (squares[first] - squares[second]) / 2
        along = centred_product(views.X, views.mean, centres.T)
        share = (along[:, first] - along[:, second] >= offsets).mean(axis=0)
        entropy = entr(share) + entr(1 - share)
        kept = np.argsort(-entropy, kind="stable")[: self.n_bits]
        return {
            "projection_": np.ascontiguousarray((centres[first[kept]] - centres[second[kept]]).T),
            "offset_": offsets[kept],
            "entropy_": entropy[kept],
        }

    def _group_centres(self, views: Views, rng: np.random.RandomState) -> Any:
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

        n_groups = min(views.X.shape[0], max(2, round(self.expansion * self.n_bits)))
        kmeans = KMeans(n_groups, n_init=1, max_iter=self.kmeans_iter, random_state=rng)
        # The method asks for three iterations: no warning that they do not converge, or that rows repeat.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            centres = kmeans.fit(views.X).cluster_centers_
        return np.unique(centres, axis=0)


def _adjacent_pairs(centres: Any, n_adjacent: int) -> tuple[Any, Any]:
    """Pairs i < j of groups if one is among the nearest ``n_adjacent`` of the other."""
    from sklearn.neighbors import kneighbors_graph

    if len(centres) < 2:
        return np.empty(0, dtype=int), np.empty(0, dtype=int)
    graph = kneighbors_graph(centres, min(n_adjacent, len(centres) - 1), mode="connectivity")
    first, second = (graph + graph.T).nonzero()
    upper = first < second
    return first[upper], second[upper]
