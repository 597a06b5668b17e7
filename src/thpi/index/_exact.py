"""Exact Hamming search over an array of codes: faiss's flat kernels, without copying the codes into an index.

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
from typing import Any

import numpy as np

from thpi._types import Array, Codes, Distances, Ints
from thpi.codes import hamming_distances
from thpi.index._queries import first, no_check
from thpi.kernels import pays_off
from thpi.kernels.threads import n_threads, run_in_order

_COUNTER_BYTES = 2**28  # for the counting kernel, which keeps k positions for each possible distance and query
_KERNEL_QUERIES = 256  # queries per call of a kernel
_BLOCK_PAIRS = 2**28  # pairs of a query and a row in a block: well below a second
_BLOCK_QUERIES = 16  # a block has at least this many queries, to read the rows once for all of them
_PAIRS_WORTH_FAISS = 2**20  # pairs that numpy compares and sorts in less than the time of importing faiss
_WORDS_A_THREAD = 2**17  # the number of word comparisons that justifies another thread


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
    queries: Array, codes: Array, k: int, n_bits: int, check: Callable[[], None] = no_check
) -> tuple[Distances, Ints]:
    from thpi.kernels.nearest import nearest_rows

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


def within(queries: Codes, codes: Codes, radius: int) -> list[tuple[Distances, Ints]]:
    """Distances and positions of all codes at distance <= ``radius``, ordered by (distance, position)."""
    answers = []
    for query in queries:
        distances = hamming_distances(query[None], codes)[0]
        near = np.flatnonzero(distances <= radius)
        order = np.argsort(distances[near], kind="stable")
        answers.append((distances[near][order], near[order]))
    return answers
