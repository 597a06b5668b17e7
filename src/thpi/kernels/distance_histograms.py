"""Count database rows by Hamming distance and relevance in one pass, without storing the distances."""

from __future__ import annotations

import numpy as np

from thpi._types import Array, Bools, Ints, Words
from thpi.kernels.jit import compiled, frozen, popcount

# Rows counted at a time: their keys, 2 bytes each, and their words stay in the cache next to the core.
_ROWS = 4096


def count_words(queries: Words, database: Words, relevant: Bools, n_bits: int) -> Ints:
    """Count rows by distance, shape ``(n_queries, 2, n_bits + 1)``: not relevant, then relevant; ``n_bits`` < 2^15.

    ``queries`` is n x words and ``database`` words x m. Its twin in ``thpi.evaluation`` is ``count_by_distance``.

    >>> words = np.array([[0, 1, 2]], dtype=np.uint64)
    >>> count_words(words[:, :1], words, np.array([[True, False, True]]), n_bits=2)
    array([[[0, 1, 0],
            [1, 1, 0]]])
    """
    counts = np.zeros((len(queries), 2 * (n_bits + 1)), dtype=np.int64)
    _count(frozen(queries), frozen(database), frozen(relevant), counts)
    return counts.reshape(len(queries), 2, n_bits + 1)


@compiled
def _count(queries: Array, database: Array, relevant: Array, counts: Array) -> None:
    (n, n_words), m, n_keys = queries.shape, database.shape[1], counts.shape[1]
    keys_room = np.empty(_ROWS, np.uint16)
    # Each query has eight histograms, used in turn: neighbouring rows often have the same distance, and an increment
    # would wait for the previous one to reach memory.
    histograms = np.zeros((n, 8, n_keys), np.uint32)
    one, shift = np.uint32(1), np.uint16(n_keys // 2)
    for start in range(0, m, _ROWS):
        length = min(_ROWS, m - start)
        keys = keys_room[:length]
        for q in range(n):
            row = relevant[q, start : start + length]
            for j in range(length):
                keys[j] = shift * row[j]
            for i in range(n_words):
                words = database[i, start : start + length]
                word = queries[q, i]
                for j in range(length):
                    keys[j] += popcount(word ^ words[j])
            for j in range(length):
                histograms[q, j % 8, keys[j]] += one
    for q in range(n):
        for i in range(8):
            counts[q] += histograms[q, i]
