"""Average precision of rankings by any distance, not only that of codes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Floats
from thpi.metrics._average_precision import _expected
from thpi.metrics._relevance import Relevance, relevance_blocks
from thpi.metrics._sums import RankSums, harmonic


def ranked_average_precision(distances: npt.ArrayLike, relevance: Relevance) -> Floats:
    """Average precision of each query, given its distance to every database row; NaN if no row is relevant to it.

    As :func:`average_precision`, expected over the orders of rows at exactly the same distance, but for any
    distances: see :func:`thpi.index.asymmetric_distances`.

    Parameters
    ----------
    distances : array-like of shape (n_queries, n_database)
        Finite numbers; smaller is nearer.
    relevance : array, sparse matrix or callable
        As for :func:`average_precision`.

    >>> ranked_average_precision([[0.5, 0.2, 0.2]], [[False, True, False]])
    array([0.75])
    """
    d = np.asarray(distances)
    if d.ndim != 2 or d.dtype.kind not in "fiu" or not np.isfinite(d).all():
        raise ValueError(f"distances must be a 2-D array of finite numbers, got shape {d.shape} and dtype {d.dtype}.")
    block = relevance_blocks(relevance, *d.shape)
    sums = harmonic(d.shape[1])
    return np.array([_row(d[i], block(i, i + 1)[0] > 0, sums) for i in range(len(d))])


def _row(distances: Array, relevant: Array, sums: RankSums) -> float:
    n_relevant = int(relevant.sum())
    if n_relevant == 0:
        return float("nan")
    order = np.argsort(distances)
    starts = np.flatnonzero(np.concatenate([[True], np.diff(distances[order]) > 0]))
    t = np.diff(np.append(starts, len(order)))
    r = np.add.reduceat(relevant[order].astype(np.int64), starts)
    return float(_expected(t, r, starts, r.cumsum() - r, sums).sum() / n_relevant)
