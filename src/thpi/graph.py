"""Neighbourhood graphs in Hamming space and their Laplacians."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.utils import check_random_state

from thpi._types import Array, Codes, Ints, MatrixLike, Seed
from thpi.codes import as_words, check_codes

__all__ = ["hamming_knn_graph", "hamming_neighbors", "laplacian"]

# For each of the codes searched for, all codes within the least radius that holds enough rows: the number of codes
# searched for, their radii, the limits of their lists, and the lists, codes and distances.
Lists: TypeAlias = tuple[int, Ints, Ints, Ints, Ints]

# Largest number of codes searched for at a time, and of entries in their lists (unless it is a single code): bounds the
# memory used for ties. Random numbers are drawn portion by portion.
_QUERIES = 1024
_PAIRS = 2**22
# Codes beyond the nearest that are asked for at once: with this many on the radius a second search is rarely needed.
_MORE = 64


def hamming_knn_graph(
    codes: npt.ArrayLike,
    n_neighbors: int,
    *,
    n_queries: int | None = None,
    symmetrize: Literal["union", "mutual", "mean"] = "union",
    random_state: Seed = None,
) -> sparse.csr_matrix:
    """Return the symmetric k-nearest-neighbour graph of packed codes under the Hamming distance, with float64 weights.

    The first ``n_queries`` rows (the paired rows in the paper) are the vertices. Their neighbours are searched for
    among all rows; edges to other rows are left out.

    Parameters
    ----------
    codes : array of shape (n_rows, n_bytes), uint8
        Packed codes, see :mod:`thpi.codes`.
    n_neighbors : int
        Neighbours of each row, from 1 to n_rows - 1. A row is never its own neighbour; other rows with the same code
        are neighbours at distance 0.
    n_queries : int, optional
        All rows if not given.
    symmetrize : {"union", "mutual", "mean"}
        Weight of an edge: 1 if either row lists the other, 1 if both do, or half the number of lists.
    random_state : int, RandomState or None
        Draws among the rows that are tied at the distance of the last neighbour.

    Examples
    --------
    >>> hamming_knn_graph([[0b0000], [0b0001], [0b0111]], 1, symmetrize="mean").toarray()
    array([[0. , 1. , 0. ],
           [1. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    if symmetrize not in ("union", "mutual", "mean"):
        raise ValueError(f"symmetrize={symmetrize!r} must be 'union', 'mutual' or 'mean'.")
    neighbors = hamming_neighbors(codes, n_neighbors, n_queries=n_queries, random_state=random_state)
    n = len(neighbors)
    heads, places = np.nonzero(neighbors < n)
    directed = sparse.csr_matrix((np.ones(len(heads)), (heads, neighbors[heads, places])), shape=(n, n))
    if symmetrize == "mean":
        return sparse.csr_matrix((directed + directed.T) / 2)
    combine = directed.maximum if symmetrize == "union" else directed.minimum
    graph = sparse.csr_matrix(combine(directed.T.tocsr()))
    graph.eliminate_zeros()
    return graph


def hamming_neighbors(
    codes: npt.ArrayLike, n_neighbors: int, *, n_queries: int | None = None, random_state: Seed = None
) -> Ints:
    """Return the exact nearest rows of each of the first ``n_queries`` rows, with ties broken at random.

    Rows closer than the last neighbour are always listed; the others are drawn without replacement from the rows at
    the same distance as the last one. The order within a list is arbitrary.

    >>> hamming_neighbors([[0b000], [0b001], [0b011], [0b111]], 1, n_queries=1)
    array([[1]])
    """
    n_rows = len(packed := check_codes(codes))
    n_queries = n_rows if n_queries is None else n_queries
    if not 1 <= n_queries <= n_rows:
        raise ValueError(f"n_queries={n_queries!r} must lie between 1 and the number of rows, {n_rows}.")
    if not 1 <= n_neighbors <= n_rows - 1:
        raise ValueError(f"n_neighbors={n_neighbors!r} must lie between 1 and {n_rows - 1}, the number of other rows.")
    random = check_random_state(random_state)

    first, group, size = _distinct(packed)
    members = np.argsort(group, kind="stable")
    begin = np.cumsum(size) - size
    place = np.empty(n_rows, dtype=np.int64)
    place[members] = np.arange(n_rows)
    place -= begin[group]

    wanted = np.unique(group[:n_queries])
    neighbors = np.empty((n_queries, n_neighbors), dtype=np.int64)
    queries_by_group = members[members < n_queries]
    group_by_query = group[queries_by_group]
    position = 0
    for n_done, radius, limits, found, distance in _search(packed[first], size, wanted, n_neighbors + 1):
        groups = wanted[position : position + n_done]
        position += n_done
        slot = np.repeat(np.arange(len(groups)), np.diff(limits))
        # Number the rows found for one code: first the closer ones, then those on the radius, each by their code.
        key = np.sort((2 * slot + (distance == radius[slot])) * len(size) + found)
        slot, found = np.divmod(key, len(size))
        slot, at_radius = slot >> 1, (slot & 1).astype(np.bool_)
        n_closer = np.bincount(slot, size[found] * ~at_radius, len(groups)).astype(np.int64)
        n_tied = np.bincount(slot, size[found] * at_radius, len(groups)).astype(np.int64)
        end = np.cumsum(size[found])
        offset = np.cumsum(n_closer + n_tied) - (n_closer + n_tied)

        mine = slice(*np.searchsorted(group_by_query, [groups[0], groups[-1] + 1]))
        queries, slots = queries_by_group[mine], np.searchsorted(groups, group_by_query[mine])
        number = _draw_numbers(n_closer[slots], n_tied[slots], place[queries], n_neighbors, random)
        number += offset[slots, None]
        entry = np.searchsorted(end, number, side="right")
        rows = members[begin[found[entry]] + number - (end - size[found])[entry]]
        # Each list holds its own row exactly once; the others are the neighbours.
        neighbors[queries] = rows[rows != queries[:, None]].reshape(len(queries), n_neighbors)
    return neighbors


def _distinct(packed: Codes) -> tuple[Ints, Ints, Ints]:
    """Return the first row of each distinct code, the number of each row's code, and how many rows have each code."""
    width = packed.shape[1]
    # Numbers are sorted several times faster than bytes.
    values: Array = as_words(packed) if width <= 8 else packed.view(np.dtype((np.void, width)))
    _, first, group, size = np.unique(values.ravel(), return_index=True, return_inverse=True, return_counts=True)
    return first, group.ravel(), size


def _search(codes: Codes, size: Ints, wanted: Ints, n_rows: int) -> Iterator[Lists]:
    faiss: Any = import_module("faiss")  # takes longer to import than codes to pack; its type hints lack some names
    index = faiss.IndexBinaryFlat(8 * codes.shape[1])
    index.use_heap = False
    index.add(np.ascontiguousarray(codes))
    # Every code has at least one row, so n_rows codes always hold enough; the others are for those on the radius.
    k = min(n_rows + _MORE, len(codes))
    for start in range(0, len(wanted), _QUERIES):
        block = np.ascontiguousarray(codes[wanted[start : start + _QUERIES]])
        distances, nearest = index.search(block, k)
        distances = distances.astype(np.int64)
        reached = np.cumsum(size[nearest], axis=1) >= n_rows
        radius = distances[np.arange(len(block)), reached.argmax(axis=1)]
        within = distances <= radius[:, None]
        n_near = within.sum(axis=1)
        if n_near.max() < k and n_near.sum() <= _PAIRS:
            yield len(block), radius, np.append(0, np.cumsum(n_near)), nearest[within], distances[within]
            continue
        lists: list[tuple[Ints, Ints]] = []
        length = done = 0
        for query in range(len(block)):
            # In faiss the radius is exclusive and common to all queries of a call.
            _, far, found = index.range_search(block[query : query + 1], int(radius[query]) + 1)
            if lists and length + len(found) > _PAIRS:
                yield _run(radius[done:query], lists)
                lists, length, done = [], 0, query
            lists.append((found, far.astype(np.int64)))
            length += len(found)
        yield _run(radius[done:], lists)


def _run(radius: Ints, lists: list[tuple[Ints, Ints]]) -> Lists:
    limits = np.concatenate([[0], np.cumsum([len(found) for found, _ in lists])])
    found, distances = (np.concatenate(part) for part in zip(*lists, strict=True))
    return len(lists), radius, limits, found, distances


def laplacian(adjacency: MatrixLike) -> sparse.csr_matrix:
    """Return the combinatorial graph Laplacian D - W of a symmetric adjacency matrix W.

    >>> laplacian([[0, 2, 0], [2, 0, 1], [0, 1, 0]]).toarray()
    array([[ 2., -2.,  0.],
           [-2.,  3., -1.],
           [ 0., -1.,  1.]])
    """
    W = sparse.csr_matrix(adjacency, dtype=np.float64)
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"adjacency must be square, got shape {W.shape}.")
    if W.nnz and W.data.min() < 0:
        raise ValueError(f"adjacency must have weights >= 0, got {W.data.min()!r}.")
    if abs(W - W.T).sum() > 1e-12 * W.sum():
        raise ValueError("adjacency must be symmetric.")
    L = sparse.csr_matrix(csgraph.laplacian(W))
    L.eliminate_zeros()  # the degrees of isolated vertices
    return L


def _draw_numbers(n_closer: Ints, n_tied: Ints, place: Ints, n_neighbors: int, random: np.random.RandomState) -> Ints:
    """Draw, for each query, the numbers of ``n_neighbors`` rows and of the query itself.

    Numbers below ``n_closer`` are the closer rows, including the query, and all are taken. If no row is closer, the
    query is number ``place`` of the tied rows: it is taken. Floyd's algorithm draws the others from the rest.
    """
    n_columns = n_neighbors + 1
    own_is_tied = n_closer == 0
    n_fixed = np.maximum(n_closer, 1)
    population = n_tied - own_is_tied
    drawn = np.full((len(place), n_columns), -1, dtype=np.int64)
    for j in range(n_columns):
        drawing = np.flatnonzero(n_fixed <= j)
        newest = population[drawing] - n_columns + j
        pick = random.randint(0, newest + 1)
        taken = (drawn[drawing, :j] == pick[:, None]).any(axis=1)
        drawn[drawing, j] = np.where(taken, newest, pick)
    fixed = np.arange(n_columns) < n_fixed[:, None]
    # Step over the query itself where it is one of the tied rows.
    drawn += own_is_tied[:, None] & (drawn >= place[:, None])
    numbers = np.where(fixed, np.arange(n_columns), n_closer[:, None] + drawn)
    numbers[own_is_tied, 0] = place[own_is_tied]
    return numbers
