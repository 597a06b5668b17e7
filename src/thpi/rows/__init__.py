"""Rows of a matrix that is not in memory: on disk, computed by a function, or on a Dask cluster.

``fit`` and ``transform`` accept them in place of an array::

    ITQ(64).fit(thpi.rows.Parquet("vectors.parquet"))
    ITQ(64).fit(np.load("vectors.npy", mmap_mode="r"))         # larger than 64 MiB: read block by block
    ITQ(64).fit(thpi.rows.Blocks(lambda: my_blocks()))
    ITQ(64).fit(dask_array)

Each kind defines how its blocks are read; :class:`Rows` does the rest. Solvers only receive small sums.
"""

from __future__ import annotations

import numpy as np

from thpi.rows._cluster import ClusterLostError, cluster_errors, cluster_results
from thpi.rows._dask import DaskRows, dask_parquet
from thpi.rows._parquet import Parquet, record_values
from thpi.rows._rows import MAPPED_FROM, Beside, Blocks, Mapped, Rows, Stacked

__all__ = [
    "Beside",
    "Blocks",
    "ClusterLostError",
    "DaskRows",
    "Mapped",
    "Parquet",
    "Rows",
    "Stacked",
    "as_rows",
    "cluster_errors",
    "cluster_results",
    "dask_parquet",
    "record_values",
]


def as_rows(X: object) -> Rows | None:
    """Return ``X`` as :class:`Rows`, or None if it is a matrix in memory."""
    if isinstance(X, Rows):
        return X
    if isinstance(X, np.memmap) and X.ndim == 2 and X.nbytes >= MAPPED_FROM:
        return Mapped(X)
    if type(X).__module__.partition(".")[0] == "dask":
        return DaskRows(X)
    return None
