"""Diffusion maps: rows that many short paths between neighbours connect get nearby coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import eigsh
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches

from thpi._types import Array

__all__ = ["DiffusionMap", "diffusion_map", "group_coordinates"]

_DENSE = 400  # largest number of rows for which all eigenvectors at once are faster
_GRAPH_ROWS = 4000
# A neighbour for every 60 rows, 5 at least: with 30 neighbours among 200 rows every group runs into the next.
_GRAPH_NEIGHBOURS = 30
_LEAST_NEIGHBOURS = 5
_ROWS_PER_NEIGHBOUR = 60
_DIFFUSION_STEPS = 4
_BLOCK = 8192
# Distances that differ by a smaller share are equal but for rounding.
_TIE = 1e-6
_CUT_BLOCK = 256


class DiffusionMap(NamedTuple):
    """Coordinates of the rows of the map (n x m), and what new rows need."""

    coordinates: Array
    neighbours: NearestNeighbors | None
    one_step_less: Array
    middle: Array

    def __call__(self, rows: Array) -> Array:
        """Return the coordinates of new rows: one step to their neighbours, then the other steps from there."""
        if self.neighbours is None:
            return np.zeros((len(rows), self.coordinates.shape[1]))
        near = neighbour_graph(self.neighbours, rows)
        return np.asarray(near @ self.one_step_less / near.sum(axis=1)[:, None] - self.middle)


def neighbour_graph(neighbours: NearestNeighbors, rows: Array | None = None) -> sparse.csr_array:
    """Return K with ``K_ij = 1`` where j is one of the k nearest to row i, or as near as the k-th of them.

    Where distances are equal, as they often are between rows of small integers or of the same tags, rounding would
    choose among them. At most 2 k rows are neighbours, of equally near ones the first. ``rows`` None are the rows of
    the map, none of which is its own neighbour.

    >>> found = neighbour_graph(NearestNeighbors(n_neighbors=1).fit([[0.0], [1.0], [3.0]]), np.array([[2.0]]))
    >>> found.toarray()
    array([[0., 1., 1.]])
    """
    known, k = neighbours._fit_X, neighbours.n_neighbors
    n, asked = len(known), known if rows is None else rows
    others = n - 1 if rows is None else n
    distances, near = neighbours.kneighbors(rows, n_neighbors=min(2 * k, others))
    # Not only relative: equal rows are at a distance of 0 or of 1e-8 of their lengths.
    slack = _TIE * (distances[:, k - 1 : k] + np.linalg.norm(asked, axis=1, keepdims=True))
    kept = distances <= distances[:, k - 1 : k] + slack
    cut = np.flatnonzero(kept[:, -1]) if near.shape[1] < others else np.empty(0, np.intp)
    for start in range(0, len(cut), _CUT_BLOCK):
        some = cut[start : start + _CUT_BLOCK]
        to_all = euclidean_distances(asked[some], known)
        if rows is None:
            to_all[np.arange(len(some)), some] = np.inf
        near[some], kept[some] = _first_of_equals(to_all, k, slack[some], near.shape[1])
    ends = np.concatenate([[0], kept.sum(axis=1).cumsum()])
    return sparse.csr_array((np.ones(int(ends[-1])), near[kept], ends), shape=(len(near), n))


def _first_of_equals(distances: Array, k: int, slack: Array, most: int) -> tuple[Array, Array]:
    """Return the numbers of the ``most`` nearest columns, and which are as near as the k-th; equal ones in order."""
    kth = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    nearer, as_near = distances < kth - slack, distances <= kth + slack
    first = np.argsort(np.where(nearer, 0, np.where(as_near, 1, 2)), axis=1, kind="stable")[:, :most]
    return first, np.take_along_axis(as_near, first, axis=1)


def diffusion_map(rows: Array, *, n_neighbors: int = 30, steps: int = 4, n_components: int = 100) -> DiffusionMap:
    """Diffusion map (Coifman and Lafon 2006) of the graph of nearest neighbours, each edge of weight 1.

    ``A = (K + K') / 2`` with ``K_ij = 1`` where j is one of the ``n_neighbors`` nearest rows of i (equally near rows
    included, see :func:`neighbour_graph`); a walker at i goes
    to j with the probability ``P_ij = A_ij / d_i``. With the eigenvectors ``P psi = lambda psi``, ``psi' D psi =
    tr(D)``, row i has the coordinates ``lambda^steps psi_i`` of the ``n_components`` largest eigenvalues. With all
    eigenvectors the distance of two rows is that of the distributions of walkers from them after ``steps`` steps:

    ``||x_i - x_j||^2 = tr(D) sum_k ((P^steps)_ik - (P^steps)_jk)^2 / d_k``,

    small within a connected group of any shape, and large between groups. Centring (rows weighted by d) removes the
    constant eigenvector. Negative eigenvalues, of walks that alternate between two sides, count as 0.

    >>> rows = np.vstack([np.zeros((20, 1)), np.ones((20, 1))]) + np.linspace(0, 0.1, 40)[:, None]
    >>> first = diffusion_map(rows, n_neighbors=4).coordinates[:, 0]
    >>> bool(np.ptp(np.sign(first[:20])) == 0 and first[0] * first[-1] < 0)  # two groups
    True
    """
    n, k = len(rows), min(n_neighbors, len(rows) - 1)
    if k < 1:
        return DiffusionMap(np.zeros((n, 1)), None, np.zeros((n, 1)), np.zeros(1))
    neighbours = NearestNeighbors(n_neighbors=k).fit(rows)
    K = neighbour_graph(neighbours)
    A = (K + K.T) / 2
    d = np.asarray(A.sum(axis=1)).ravel()
    root = 1 / np.sqrt(d)
    symmetric = sparse.csr_matrix(A.multiply(root[:, None]).multiply(root))
    m = min(n_components, n)
    if n <= max(_DENSE, 2 * m):
        values, vectors = linalg.eigh(symmetric.toarray(), subset_by_index=[n - m, n - 1])
    else:
        # Any start but the constant eigenvector, with which Lanczos makes no progress.
        values, vectors = eigsh(symmetric, k=m, which="LA", v0=np.cos(np.arange(n)))
    values, vectors = np.clip(values[::-1], 0.0, 1.0), vectors[:, ::-1]
    psi = vectors * (root * np.sqrt(d.sum()))[:, None]
    far = psi * values**steps
    middle = d @ far / d.sum()
    return DiffusionMap(far - middle, neighbours, psi * values ** (steps - 1), middle)


def group_coordinates(rows: Array, seed: int) -> Array:
    """Return diffusion coordinates of the neighbour graph, scaled to length 1: the rows of a group agree in them.

    The graph has at most 4,000 rows, drawn at random; the others take the mean of their neighbours among these.

    >>> rows = np.random.RandomState(0).standard_normal((40, 2)) + 6 * np.repeat([[0, 0], [1, 1]], 20, axis=0)
    >>> T = group_coordinates(rows, seed=0)
    >>> bool((T[:20] @ T[:20].T).mean() > 0.5), bool((T[:20] @ T[20:].T).mean() < -0.5)
    (True, True)
    """
    n = len(rows)
    k = min(_GRAPH_NEIGHBOURS, max(_LEAST_NEIGHBOURS, n // _ROWS_PER_NEIGHBOUR))
    if n <= _GRAPH_ROWS:
        found = diffusion_map(rows, n_neighbors=k, steps=_DIFFUSION_STEPS).coordinates
    else:
        drawn = np.random.RandomState(seed).permutation(n)[:_GRAPH_ROWS]
        graph = diffusion_map(rows[drawn], n_neighbors=k, steps=_DIFFUSION_STEPS)
        found = np.vstack([graph(rows[block]) for block in gen_batches(n, _BLOCK)])
        found[drawn] = graph.coordinates
    length = np.sqrt(np.einsum("ij,ij->i", found, found))
    return np.asarray(found / np.maximum(length, np.finfo(np.float64).tiny)[:, None])
