"""Exact search over an array of codes, by Hamming distance with faiss's flat kernels, or by asymmetric distance.

Ties in distance are ordered by position, also at the k-th place: faiss's counting kernel ("mc", used by
``IndexBinaryFlat`` with ``use_heap=False``) keeps the first positions of each distance in the order of the rows. If
``thpi.kernels`` has a faster kernel for the width of the codes, it is used; its results are the same.

A search works in blocks of queries. ``check`` is called before each of them, in the calling thread. By raising an
exception it ends a search that nobody waits for any more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from thpi._types import Array, Codes, Distances, Floats, Ints
from thpi.codes import as_words, count_ones, hamming_distances, pack_signs
from thpi.index._queries import byte_tables, first, no_check, summed
from thpi.kernels import available, pays_off
from thpi.kernels.threads import n_threads, run_in_order

_COUNTER_BYTES = 2**28  # for the counting kernel, which keeps k positions for each possible distance and query
_KERNEL_QUERIES = 256  # queries per call of a kernel
_BLOCK_PAIRS = 2**28  # pairs of a query and a row in a block: well below a second
_BLOCK_QUERIES = 16  # a block has at least this many queries, to read the rows once for all of them
_PAIRS_WORTH_FAISS = 2**20  # pairs that numpy compares and sorts in less than the time of importing faiss
_WORDS_A_THREAD = 2**17  # the number of word comparisons that justifies another thread
_CALL_BYTES = 2**28  # for the lists and tables of the queries in one call of the kernel
_FIRST_ROWS, _ROWS = 2**10, 2**16  # of a block in numpy; of the first one all distances are computed
_MOST = 7  # steps of a weight: three bits
_STEPS = np.linspace(0.8, 2.8, 9) / _MOST  # in mean weights, to choose from
_DIFFERING = 0.4  # share of the bits, by weight, in which rows differ that are nearly near


def faiss_module() -> Any:
    """Import faiss on first use; untyped, because its type hints lack some of its functions."""
    return import_module("faiss")


def block_length(n_rows: int) -> int:
    """Return how many queries a block may have, for a search in ``n_rows`` codes."""
    return max(_BLOCK_QUERIES, _BLOCK_PAIRS // n_rows)


def nearest(queries: Codes, codes: Codes, k: int, check: Callable[[], None] = no_check) -> tuple[Distances, Ints]:
    """Distances and positions of the ``k`` nearest codes of each query, ordered by (distance, position).

    >>> nearest(np.array([[0]], np.uint8), np.array([[3], [1], [2]], np.uint8), 2)
    (array([[1, 1]], dtype=int32), array([[1, 2]]))
    """
    k = min(k, len(codes))
    if not k or not len(queries):
        return np.empty((len(queries), k), dtype=np.int32), np.empty((len(queries), k), dtype=np.int64)
    words = _words_for_kernel(queries, codes, k)
    if words is not None and pays_off(len(queries) * words[1].size):
        return _kernel_nearest(*words, k, 8 * codes.shape[1], check)
    per_query = (8 * codes.shape[1] + 1) * k * 8
    few = len(queries) * len(codes) < _PAIRS_WORTH_FAISS and "faiss" not in sys.modules
    if few or per_query > _COUNTER_BYTES:
        return in_blocks(lambda query: _sorted_nearest(query, codes, k), queries, 1, check)
    block, search = min(_COUNTER_BYTES // per_query, block_length(len(codes))), faiss_module().knn_hamming
    return in_blocks(lambda some: search(some, codes, k, variant="mc"), queries, block, check)


def in_blocks(
    search: Callable[[Codes], tuple[Array, Ints]], queries: Codes, block: int, check: Callable[[], None]
) -> tuple[Array, Ints]:
    """Search ``block`` queries at a time, and check before each block."""
    parts = []
    for start in range(0, max(1, len(queries)), block):
        check()
        parts.append(search(queries[start : start + block]))
    return _stack(parts)


def _stack(parts: list[tuple[Array, Ints]]) -> tuple[Array, Ints]:
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def word_size(width: int) -> int:
    """Return the bytes of the longest words that rows of ``width`` bytes can be viewed as."""
    return next(size for size in (8, 4, 2, 1) if width % size == 0)


def _words_for_kernel(queries: Codes, codes: Codes, k: int) -> tuple[Array, Array] | None:
    """View the bytes as words; None if the kernel cannot read them in place or is not faster for such codes."""
    width = codes.shape[1]
    size = word_size(width)
    # For few queries and rows of many words memory bandwidth is the limit, where faiss is as fast.
    fast = width // size <= 16 if len(queries) >= 4 else width // size in (1, 2, 4)
    if not fast or 12 * (2 * k + 256) * _KERNEL_QUERIES > _COUNTER_BYTES or codes.ctypes.data % size:
        return None
    return queries.view(f"u{size}"), codes.view(f"u{size}")


def _kernel_nearest(
    queries: Array, codes: Array, k: int, n_bits: int, check: Callable[[], None]
) -> tuple[Distances, Ints]:
    from thpi.kernels.scans import nearest_rows

    def part(some: slice, rows: slice) -> tuple[Distances, Ints]:
        piece = codes[rows]
        return nearest_rows(queries[some], piece, min(k, len(piece)), n_bits)

    return shared_out(part, (len(queries), *codes.shape), k, _KERNEL_QUERIES, check)


def shared_out(
    part: Callable[[slice, slice], tuple[Array, Ints]],
    shape: tuple[int, int, int],
    k: int,
    most: int,
    check: Callable[[], None],
) -> tuple[Array, Ints]:
    """Divide the queries among threads or, if they are few, the rows of codes.

    ``part(queries, rows)`` returns distances and positions, ordered by both. ``shape`` is the number of queries, of
    codes and of words that are compared for each pair; ``most`` is the largest number of queries of a part.
    """
    n_queries, n_codes, n_words = shape
    threads = n_threads() if n_queries * n_codes * n_words >= 2 * _WORDS_A_THREAD else 1
    if threads == 1 or n_queries >= 4 * threads:
        size = min(most, block_length(n_codes), -(-n_queries // threads))

        def tasks() -> Iterator[Callable[[], tuple[Array, Ints]]]:
            for s in range(0, n_queries, size):
                check()  # in the calling thread, which draws the tasks
                yield partial(part, slice(s, s + size), slice(0, n_codes))

        return _stack(run_in_order(tasks(), threads))
    size = -(-n_codes // threads)
    starts = range(0, n_codes, size)
    parts = run_in_order((partial(part, slice(0, n_queries), slice(s, s + size)) for s in starts), threads)
    distances = np.hstack([part[0] for part in parts])
    positions = np.hstack([part[1] + start for part, start in zip(parts, starts, strict=True)])
    # The parts are in the order of positions, so a stable sort keeps the earlier of two tied rows first.
    distances, order = first(distances, k)
    return distances, np.take_along_axis(positions, order, axis=1)


def _sorted_nearest(query: Codes, codes: Codes, k: int) -> tuple[Distances, Ints]:
    """Sort all distances of one query: if ``k`` is so large that counters take too much memory, or codes are few."""
    distances = hamming_distances(query, codes)
    # Stable sorting of 16-bit numbers is radix sort in numpy.
    nearest_ones, positions = first(distances.astype(np.uint16) if 8 * codes.shape[1] < 2**16 else distances, k)
    return nearest_ones.astype(np.int32), positions


def nearest_asymmetric(
    projections: Floats, codes: Codes, k: int, check: Callable[[], None] = no_check
) -> tuple[Floats, Ints]:
    """Distances and positions of the ``k`` codes nearest to each row of projections, by (distance, position).

    >>> nearest_asymmetric(np.array([[0.5, -2.0]]), np.array([[0b11], [0b00], [0b10]], np.uint8), 2)
    (array([[0.5, 2. ]]), array([[1, 0]]))
    """
    k = min(k, len(codes))
    if not k or not len(projections):
        return np.empty((len(projections), k)), np.empty((len(projections), k), dtype=np.int64)
    n, (m, width) = len(projections), codes.shape
    n_words = 3 * -(-width // 8)
    in_place = 8 * _MOST * width < 2**16 and not codes.ctypes.data % word_size(width)
    search = _kernel_weighted if in_place and pays_off(n * m * n_words) else _numpy_weighted
    most = max(1, _CALL_BYTES // (32 * k + 2**12 * (1 + width)))

    def part(queries: slice, rows: slice) -> tuple[Floats, Ints]:
        return search(_Queries.of(projections[queries]), codes[rows], k)

    return shared_out(part, (n, m, n_words), k, most, check)


def order_asymmetric(
    projections: Floats, codes: Codes, candidates: Ints, k: int, check: Callable[[], None] = no_check
) -> tuple[Floats, Ints]:
    """Order candidates, (n, m) positions of codes, by (asymmetric distance, position), and keep ``k``; -1 is no code.

    >>> order_asymmetric(np.array([[0.5, -2.0]]), np.array([[3], [0], [2]], np.uint8), np.array([[2, 1, -1]]), 2)
    (array([[0.5, 2.5]]), array([[1, 2]]))
    """
    shape = len(candidates), min(k, candidates.shape[1])
    found = np.empty(shape), np.empty(shape, dtype=np.int64)
    own, tables = pack_signs(projections), byte_tables(np.abs(projections))
    for i, rows in enumerate(np.sort(candidates, axis=1)):
        check()
        distances = np.where(rows < 0, np.inf, summed(own[i], tables[i], codes[rows]))
        order = np.argsort(distances, kind="stable")[:k]
        found[0][i], found[1][i] = distances[order], rows[order]
    return found


class _Queries(NamedTuple):
    """What a pass needs to know of queries; see :func:`thpi.kernels.scans.nearest_weighted`."""

    own: Codes
    masks: Codes  # n x 3 x bytes
    steps: Floats
    excess: Floats
    tables: Floats

    @classmethod
    def of(cls, projections: Floats) -> _Queries:
        weights = np.abs(projections)
        counts, steps, excess = _in_steps(weights)
        masks = np.stack([np.packbits(counts & bit, axis=1, bitorder="little") for bit in (1, 2, 4)], axis=1)
        return cls(pack_signs(projections), masks, steps, excess, byte_tables(weights))


def _in_steps(weights: Floats) -> tuple[Codes, Floats, Floats]:
    """Round weights to 0 to 7 steps: these numbers, the step of each query, and the sum of what was rounded up.

    Any step and any rounding give right answers. These rule out most rows: a weight that is rounded up makes room for
    rows that agree in this bit, one that is rounded down for rows that differ.
    """
    mean = weights.mean(axis=1)
    steps = np.where(mean > 0, mean, 1.0)[:, None] * _STEPS
    counts = np.minimum(np.floor(weights[:, None] / steps[..., None] + _DIFFERING), _MOST)
    over = counts * steps[..., None] - weights[:, None]
    excess = np.maximum(over, 0.0).sum(axis=2)
    best = (excess - _DIFFERING * over.sum(axis=2)).argmin(axis=1)
    rows = np.arange(len(weights))
    return counts[rows, best].astype(np.uint8), steps[rows, best], excess[rows, best]


def _kernel_weighted(queries: _Queries, codes: Codes, k: int) -> tuple[Floats, Ints]:
    from thpi.kernels.scans import nearest_weighted

    words = f"u{word_size(codes.shape[1])}"
    queries = queries._replace(masks=queries.masks.view(words))
    return nearest_weighted(*queries, codes, codes.view(words), min(k, len(codes)))


def _numpy_weighted(queries: _Queries, codes: Codes, k: int) -> tuple[Floats, Ints]:
    """Do what the kernel does, in larger blocks."""
    k = min(k, len(codes))
    found = np.empty((len(queries.own), k)), np.empty((len(queries.own), k), dtype=np.int64)
    first = max(_FIRST_ROWS, k)
    for i, (own, masks, step, excess, tables) in enumerate(zip(*queries, strict=True)):
        distances = summed(own, tables, codes[:first])
        positions = np.argsort(distances, kind="stable")[:k]
        distances = distances[positions]
        words, bits = as_words(own[None]), as_words(masks)
        for start in range(first, len(codes), _ROWS):
            differs = as_words(codes[start : start + _ROWS]) ^ words
            counts = sum(count_ones(differs & mask) * np.uint16(1 << j) for j, mask in enumerate(bits))
            limit = (distances[-1] + excess) / step * (1 + 1e-9)
            near = np.flatnonzero(np.sum(counts, axis=1) <= limit) + start
            both = np.concatenate([distances, summed(own, tables, codes[near])])
            order = np.argsort(both, kind="stable")[:k]  # rows of earlier blocks come first
            distances, positions = both[order], np.concatenate([positions, near])[order]
        found[0][i], found[1][i] = distances, positions
    return found


def load_kernels(codes: Codes, n_bits: int) -> None:
    """Load compiled kernels, if there are any, by searching some codes; from now on they are used."""
    if available():
        import_module("thpi.kernels.scans")
        nearest(codes[:1], codes, 1)
        nearest_asymmetric(np.ones((1, n_bits)), codes, 1)
