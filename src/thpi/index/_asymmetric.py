"""Asymmetric search in many codes: the nearest to the projections of a query, in one pass over all codes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import numpy as np

from thpi._types import Codes, Floats, Ints
from thpi.codes import as_words, count_ones, pack_signs
from thpi.index._exact import nearest, shared_out, word_size
from thpi.index._queries import byte_tables, no_check, summed
from thpi.kernels import available, pays_off

_CALL_BYTES = 2**28  # for the lists and tables of the queries in one call of the kernel
_FIRST_ROWS, _ROWS = 2**10, 2**16  # of a block in numpy; of the first one all distances are computed
_MOST = 7  # steps of a weight: three bits
_STEPS = np.linspace(0.8, 2.8, 9) / _MOST  # in mean weights, to choose from
_DIFFERING = 0.4  # share of the bits, by weight, in which rows differ that are nearly near


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
    search = _kernel_nearest if in_place and pays_off(n * m * n_words) else _numpy_nearest
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


def load_kernels(codes: Codes, n_bits: int) -> None:
    """Load compiled kernels, if there are any, by searching some codes; from now on they are used."""
    if available():
        import_module("thpi.kernels.scans")
        nearest(codes[:1], codes, 1)
        nearest_asymmetric(np.ones((1, n_bits)), codes, 1)


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


def _kernel_nearest(queries: _Queries, codes: Codes, k: int) -> tuple[Floats, Ints]:
    from thpi.kernels.scans import nearest_weighted

    words = f"u{word_size(codes.shape[1])}"
    queries = queries._replace(masks=queries.masks.view(words))
    return nearest_weighted(*queries, codes, codes.view(words), min(k, len(codes)))


def _numpy_nearest(queries: _Queries, codes: Codes, k: int) -> tuple[Floats, Ints]:
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
