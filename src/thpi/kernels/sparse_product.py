"""Products of a sparse matrix with rows of c numbers that do not fit into the cache. Compiled.

The entries of a graph or of a text point to rows anywhere in memory, so each of them waits for memory; but the next
rows are known. Prefetching them some entries ahead cuts the time to a third at 320,000 rows of 32 float32.
"""

from __future__ import annotations

import numpy as np

from thpi._types import Array
from thpi.kernels._numba import compiled, prefetch

_AHEAD = 8
_LINE = 64
# Rows of a product that are transposed together: the float64 numbers in a line of memory.
_TURNED = 8


@compiled
def product(indptr: Array, indices: Array, data: Array, rows: Array, out: Array) -> None:
    """Write ``A rows`` for some rows of a CSR matrix A, whose limits are ``indptr``, into ``out``.

    Terms are added in the order of the entries, as scipy does, so that the sums are the same to the bit.
    """
    n_columns, last = rows.shape[1], len(indices) - 1
    width = n_columns * rows.itemsize
    for i in range(len(out)):
        total = out[i]
        total[:] = 0
        for entry in range(indptr[i], indptr[i + 1]):
            for byte in range(0, width, _LINE):
                prefetch(rows, indices[min(entry + _AHEAD, last)], byte)
            weight, near = data[entry], rows[indices[entry]]
            for column in range(n_columns):
                total[column] += weight * near[column]


@compiled
def codes_product(indptr: Array, indices: Array, data: Array, rows: Array, out: Array) -> None:
    """Write ``(A rows)'`` for codes ``rows`` (n x c, int8), which are read as c bytes and not 8 c; sums as in scipy."""
    n, n_bits = rows.shape
    last = len(indices) - 1
    totals = np.empty((_TURNED, n_bits))
    for start in range(0, n, _TURNED):
        together = min(_TURNED, n - start)
        for i in range(together):
            total = totals[i]
            total[:] = 0.0
            for entry in range(indptr[start + i], indptr[start + i + 1]):
                prefetch(rows, indices[min(entry + _AHEAD, last)], 0)
                weight, near = data[entry], rows[indices[entry]]
                for bit in range(n_bits):
                    total[bit] += weight * near[bit]
        for bit in range(n_bits):
            for i in range(together):
                out[bit, start + i] = totals[i, bit]
