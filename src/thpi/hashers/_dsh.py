"""Density sensitive hashing."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import entr

from thpi._types import Fitted
from thpi.base import BaseHasher, TooManyBitsError, Views, count, positive
from thpi.solvers.moments import centred_product


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

    expansion: float = positive(1.5)
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
