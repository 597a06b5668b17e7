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
from thpi.codes import as_words, check_codes, count_ones

__all__ = ["hamming_knn_graph", "hamming_neighbors", "laplacian"]

# For each of the next codes searched for, all codes within the least radius that holds enough rows: their radii, and as
# three columns the number of the code searched for, of the one found, and their distance.
Lists: TypeAlias = tuple[Ints, Ints, Ints, Ints]

# Largest number of codes searched for at a time, and of entries in their lists (unless it is a single code): bounds the
# memory used for ties. Random numbers are drawn portion by portion.
_QUERIES, _PAIRS = 1024, 2**22
# Codes beyond the nearest that are asked for at once: with this many on the radius a second search is rarely needed.
_MORE = 64
# Comparisons that take longer than the first look-up in buckets, codes scanned in the time of one found there, and the
# number of codes whose radii say how far to look.
_WORTH_BUCKETS, _SCANNED, _SAMPLE = 2**26, 8.0, 64


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
    for radius, slot, found, distance in _search(packed[first], size, wanted, n_neighbors + 1):
        groups, wanted = wanted[: len(radius)], wanted[len(radius) :]
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

    def scan(queries: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        distances, nearest = index.search(np.ascontiguousarray(codes[queries]), k)
        distances = distances.astype(np.int64)
        reached = np.cumsum(size[nearest], axis=1) >= n_rows
        radius = distances[np.arange(len(queries)), reached.argmax(axis=1)]
        slot, place = np.nonzero(distances <= radius[:, None])
        return radius, slot, nearest[slot, place], distances[slot, place]

    buckets = None
    if codes.shape[1] <= 8 and len(codes) * len(wanted) >= _WORTH_BUCKETS:
        buckets = _Buckets(codes, size, n_rows, scan(wanted[:: -(-len(wanted) // _SAMPLE)])[0])
    for start in range(0, len(wanted), _QUERIES):
        block = wanted[start : start + _QUERIES]
        radius, lists = buckets.search(block) if buckets else (np.full(len(block), -1), [])
        left = np.flatnonzero(radius < 0)
        if len(left):
            radius[left], slot, found, distance = scan(block[left])
            lists.append((left[slot], found, distance))
        slot, found, distance = _joined(lists)
        n_near = np.bincount(slot)
        if n_near[left].max(initial=0) < k and len(slot) <= _PAIRS:
            yield radius, slot, found, distance
        else:
            yield from _by_ranges(index, codes[block], radius)


def _by_ranges(index: Any, block: Codes, radius: Ints) -> Iterator[Lists]:
    lists: list[tuple[Ints, Ints, Ints]] = []
    begin = length = 0
    for query in range(len(block)):
        # In faiss the radius is exclusive and common to all queries of a call.
        _, distance, found = index.range_search(block[query : query + 1], int(radius[query]) + 1)
        if lists and length + len(found) > _PAIRS:
            yield radius[begin:query], *_joined(lists)
            lists, length, begin = [], 0, query
        lists.append((np.full(len(found), query - begin), found, distance.astype(np.int64)))
        length += len(found)
    yield radius[begin:], *_joined(lists)


def _joined(lists: list[tuple[Ints, Ints, Ints]]) -> tuple[Ints, Ints, Ints]:
    slot, found, distance = (np.concatenate(part) for part in zip(*lists, strict=True))
    return slot, found, distance


class _Buckets:
    """Multi-index hashing (Norouzi, Punjani and Fleet 2014): codes of up to 64 bits by the values of m pieces of them.

    A code at distance m s + t or less differs in at most s bits in one of the first t + 1 pieces, or in at most s - 1
    in one of the others. So looking up all values of piece t that differ in s bits, in the order of (s, t), extends the
    distance searched by one. There are as many of these rings as pay off for queries with radii like ``radius``.
    """

    def __init__(self, codes: Codes, size: Ints, n_rows: int, radius: Ints) -> None:
        bits = np.unpackbits(codes, axis=1, bitorder="little").T
        bits = bits[bits.any(axis=1)]
        m = -(-len(bits) // 16)
        longest = -(-len(bits) // m)
        self.words, self.size, self.n_rows, self.n_distances = as_words(codes).ravel(), size, n_rows, len(bits) + 1
        self.pieces = np.zeros((m, len(codes)), dtype=np.uint16)
        for bit, values in enumerate(bits):
            self.pieces[bit % m] |= values.astype(np.uint16) << np.uint16(bit // m)
        # For each piece, the codes in the order of its values, as numbers and as words, and where each value begins.
        self.members = [np.argsort(piece, kind="stable").astype(np.int32) for piece in self.pieces]
        self.sorted = [self.words[members] for members in self.members]
        self.counts = [np.bincount(piece, minlength=2**16).astype(np.int32) for piece in self.pieces]
        self.starts = [np.cumsum(counts, dtype=np.int32) - counts for counts in self.counts]
        ones = count_ones(np.arange(2**longest, dtype=np.uint64))
        self.masks = [np.flatnonzero(ones == s).astype(np.uint16) for s in range(longest + 1)]
        rings = np.arange(m * (longest + 1))
        share = np.append((radius >= rings[:, None]).mean(axis=1), 0)
        found = np.array([len(self.masks[ring // m]) for ring in rings]) * (1 + len(codes) / 2.0**longest)
        cost = np.append(0, np.cumsum(_SCANNED * found * share[:-1])) + len(codes) * share
        self.n_rings = int(cost.argmin())

    def search(self, block: Ints) -> tuple[Ints, list[tuple[Ints, Ints, Ints]]]:
        """Return the radius of each code, or -1 beyond the rings, and the lists of the others in parts."""
        m, far = len(self.pieces), self.n_distances - 1
        bound, active = np.full(len(block), far, dtype=np.uint8), np.arange(len(block))
        n_near, parts = np.zeros((len(block), far + 1)), []
        for s, t in (divmod(ring, m) for ring in range(self.n_rings)):
            keys = self.pieces[t, block[active], None] ^ self.masks[s]
            length = self.counts[t][keys]
            each, length = length.sum(axis=1), length.ravel()
            end = np.cumsum(length)
            if end[-1] > _PAIRS:
                break
            begin = self.starts[t][keys.ravel()] - (end - length).astype(np.int32)
            place = np.repeat(begin, length) + np.arange(end[-1], dtype=np.int32)
            ones = count_ones(np.repeat(self.words[block[active]], each) ^ self.sorted[t][place])
            kept = np.flatnonzero(ones <= np.repeat(bound[active], each))
            slot, found = np.repeat(active, each)[kept], self.members[t][place[kept]].astype(np.int64)
            # A code counts in the ring that finds it first.
            new = np.ones(len(kept), dtype=np.bool_)
            for other in range(m):
                if other != t and s >= (other > t):
                    apart = count_ones(self.pieces[other, block[slot]] ^ self.pieces[other, found])
                    new &= apart > s - (other > t)
            slot, found, distance = slot[new], found[new], ones[kept[new]].astype(np.int64)
            parts.append((slot, found, distance))
            n_near += np.bincount((far + 1) * slot + distance, self.size[found], n_near.size).reshape(n_near.shape)
            enough = n_near.cumsum(axis=1) >= self.n_rows
            bound = np.where(enough[:, -1], enough.argmax(axis=1), far).astype(np.uint8)
            active = np.flatnonzero(bound > m * s + t)
            if not len(active):
                break
        radius = bound.astype(np.int64)
        radius[active] = -1
        slot, found, distance = _joined(parts) if parts else (active[:0],) * 3
        near = distance <= radius[slot]
        return radius, [(slot[near], found[near], distance[near])]


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
