"""Rows of a matrix that are not in memory: on disk, made by a function, or on a Dask cluster.

``fit`` and ``transform`` take them where they take an array::

    ITQ(64).fit(thpi.rows.Parquet("vectors.parquet"))
    ITQ(64).fit(np.load("vectors.npy", mmap_mode="r"))         # larger than 64 MiB: read block by block
    ITQ(64).fit(thpi.rows.Blocks(lambda: my_blocks()))
    ITQ(64).fit(dask_array)

Each kind says how its blocks are read; :class:`Rows` does the rest. What a solver gets back is small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thpi.rows._beside import Beside
from thpi.rows._blocks import Blocks
from thpi.rows._dask import ClusterLostError, DaskRows, dask_parquet
from thpi.rows._mapped import MAPPED_FROM, Mapped
from thpi.rows._parquet import Parquet
from thpi.rows._rows import Rows
from thpi.rows._stacked import Stacked

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
    "dask_parquet",
]


def as_rows(X: Any) -> Rows | None:
    """Give ``X`` as :class:`Rows` where it is not a matrix in memory, else None.

    >>> as_rows(np.zeros((2, 2))) is None
    True
    >>> as_rows(Blocks([np.zeros((2, 3))])).shape
    (2, 3)
    """
    if isinstance(X, Rows):
        return X
    if isinstance(X, np.memmap) and X.ndim == 2 and X.nbytes >= MAPPED_FROM:
        return Mapped(X)
    if type(X).__module__.partition(".")[0] == "dask":
        return DaskRows(X)
    return None
