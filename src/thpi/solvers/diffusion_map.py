"""Diffusion maps: rows that many short paths between neighbours connect get nearby coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import gen_batches

from thpi._types import Array, Ints

__all__ = ["DiffusionMap", "Points", "diffusion_map", "group_coordinates"]

_DENSE = 400  # largest number of rows for which all eigenvectors at once are faster
_GRAPH_ROWS = 4000
# A neighbour for every 60 rows, 5 at least: with 30 neighbours among 200 rows every group runs into the next.
_GRAPH_NEIGHBOURS = 30
_LEAST_NEIGHBOURS = 5
_ROWS_PER_NEIGHBOUR = 60
_DIFFUSION_STEPS = 4
_BLOCK = 8192
_PAIRS = 2**21  # distances held at a time
# What differs by less is equal but for rounding: squared distances in units of the mean squared row, and eigenvalues.
_TIE = 1e-9


class Points(NamedTuple):
    """The distinct rows among some, how many rows each of them stands for, and below what difference rows are equal.

    >>> points, place = Points.of(np.array([[0.0], [2.0], [0.0]]))
    >>> points.counts.tolist(), place.tolist()
    ([2, 1], [0, 1, 0])
    """

    rows: Array
    counts: Array
    tie: float

    @classmethod
    def of(cls, rows: Array) -> tuple[Points, Ints]:
        """Return the distinct rows, in the order of the first of each, and which of them each row is."""
        tie = _TIE * float(np.einsum("ij,ij->", rows, rows)) / len(rows)
        # Equal rows that are rounded apart are points of their own, at distance 0: nothing depends on it.
        grid = np.round(rows / max(np.sqrt(tie), np.finfo(np.float64).tiny)) + 0.0
        _, first, place, counts = np.unique(grid, axis=0, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first)
        return cls(rows[first[order]], counts[order], tie), np.argsort(order)[place.ravel()]

    def near(self, rows: Array, k: int, *, own: bool = False) -> sparse.csr_array:
        """Return K with ``K_ij = 1`` where point j is one of the k nearest to row i, or as near as the k-th of them.

        Where distances are equal, as they often are between rows of small integers, rounding would choose among them.
        A point counts as often as it stands for a row. With ``own`` the rows are those of the points, and none is its
        own neighbour.

        >>> points, _ = Points.of(np.array([[0.0], [1.0], [3.0]]))
        >>> points.near(np.array([[2.0]]), 1).toarray()
        array([[0., 1., 1.]])
        """
        n, parts = len(self.rows), []
        for block in gen_batches(len(rows), max(1, _PAIRS // n)):
            squared = euclidean_distances(rows[block], self.rows, squared=True)
            counts = np.broadcast_to(self.counts, squared.shape)
            if own:
                at = np.arange(block.start, block.stop)
                squared[at - block.start, at] = 0.0
                counts = counts.copy()
                counts[at - block.start, at] -= 1
            few = np.argpartition(squared, min(k, n - 1), axis=1)[:, : k + 1]
            few = np.take_along_axis(few, np.take_along_axis(squared, few, axis=1).argsort(axis=1), axis=1)
            last = (np.take_along_axis(counts, few, axis=1).cumsum(axis=1) >= k).argmax(axis=1)
            reach = np.take_along_axis(squared, np.take_along_axis(few, last[:, None], axis=1), axis=1)
            parts.append(sparse.csr_array((squared <= reach + self.tie).astype(np.float64)))
        return sparse.csr_array(sparse.vstack(parts))


class DiffusionMap(NamedTuple):
    """Coordinates of the rows of the map (n x m), and what new rows need."""

    coordinates: Array
    points: Points
    n_neighbors: int
    one_step_less: Array
    middle: Array

    def __call__(self, rows: Array) -> Array:
        """Return the coordinates of new rows: one step to their neighbours, then the other steps from there."""
        near = self.points.near(rows, self.n_neighbors) * self.points.counts
        return np.asarray(near @ self.one_step_less / near.sum(axis=1)[:, None] - self.middle)


def diffusion_map(rows: Array, *, n_neighbors: int = 30, steps: int = 4, n_components: int = 100) -> DiffusionMap:
    """Diffusion map (Coifman and Lafon 2006) of the graph of nearest neighbours, each edge of weight 1.

    ``A = (K + K') / 2`` with ``K_ij = 1`` where j is one of the ``n_neighbors`` nearest rows of i, or as near as the
    last of them; a walker at i goes to j with the probability ``P_ij = A_ij / d_i``. With the eigenvectors ``P psi =
    lambda psi``, ``psi' D psi = tr(D)``, row i has the coordinates ``lambda^steps psi_i`` of the ``n_components``
    largest eigenvalues; of several that are equal all are taken or none. With all eigenvectors the distance of two rows
    is that of the distributions of walkers from them after ``steps`` steps:

    ``||x_i - x_j||^2 = tr(D) sum_k ((P^steps)_ik - (P^steps)_jk)^2 / d_k``,

    small within a connected group of any shape, and large between groups. Centring (rows weighted by d) removes the
    constant eigenvector. Negative eigenvalues, of walks that alternate between two sides, count as 0.

    Equal rows have equal neighbours, so walks between the distinct rows tell all: ``W = M A M``, where M counts the
    rows of each, and ``W_ii = m_i (m_i - 1)``, because no row is its own neighbour.

    >>> rows = np.vstack([np.zeros((20, 1)), np.ones((20, 1))]) + np.linspace(0, 0.1, 40)[:, None]
    >>> first = diffusion_map(rows, n_neighbors=4).coordinates[:, 0]
    >>> bool(np.ptp(np.sign(first[:20])) == 0 and first[0] * first[-1] < 0)  # two groups
    True
    """
    points, place = Points.of(rows)
    counts, k = points.counts, min(n_neighbors, len(rows) - 1)
    if len(counts) == 1:  # all rows are equal
        return DiffusionMap(np.zeros((len(rows), 1)), points, k, np.zeros((1, 1)), np.zeros(1))
    K = points.near(points.rows, k, own=True)
    W = sparse.csr_array((K + K.T) / 2 * counts * counts[:, None])
    W = W + sparse.diags_array(counts * (counts - 1.0) - W.diagonal(), format="csr")
    d = np.asarray(W.sum(axis=1)).ravel()
    root = 1 / np.sqrt(d)
    values, vectors = _leading_by_component(sparse.csr_array(W * root * root[:, None]), n_components)
    psi = vectors * (root * np.sqrt(d.sum()))[:, None]
    far = psi * values**steps
    middle = d @ far / d.sum()
    return DiffusionMap((far - middle)[place], points, k, psi * values ** (steps - 1), middle)


def _leading_by_component(symmetric: sparse.csr_array, n_components: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues (in [0, 1]) and their eigenvectors, of equal ones all or none.

    Each connected part of the graph has the eigenvalue 1. Lanczos iterations find equal eigenvalues through rounding
    errors only, so the parts are solved one by one; within a part 1 is simple.
    """
    n_parts, part_of = connected_components(symmetric, directed=False)
    found_values, found_vectors = [], []
    for part in range(n_parts):
        members = np.flatnonzero(part_of == part)
        values, vectors = _leading(symmetric[members][:, members], n_components + 1)
        whole = np.zeros((symmetric.shape[0], len(values)))
        whole[members] = vectors
        found_values.append(values)
        found_vectors.append(whole)
    values = np.clip(np.concatenate(found_values), 0.0, 1.0)
    order = np.argsort(-values, kind="stable")
    values = values[order]
    if len(values) > n_components:
        above = int((values > values[n_components] + _TIE).sum())
        order = order[: above or int((values > values[0] - _TIE).sum())]
    return values[: len(order)], np.hstack(found_vectors)[:, order]


def _leading(symmetric: sparse.csr_array, m: int) -> tuple[Array, Array]:
    n = symmetric.shape[0]
    m = min(m, n)
    if n <= max(_DENSE, 2 * m):
        found: tuple[Array, Array] = linalg.eigh(symmetric.toarray(), subset_by_index=[n - m, n - 1])
        return found
    # Any start but the constant eigenvector, with which Lanczos makes no progress.
    found = eigsh(symmetric, k=m, which="LA", v0=np.cos(np.arange(n)))
    return found


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
