"""Rows that are not in memory: on disk, made by a function, or on a Dask cluster. ``fit`` and ``transform`` take them.

It may import ``solvers/`` and what lies below; methods and encoders import it.
"""

from __future__ import annotations

import numpy as np

from thpi.rows._dask import ClusterLostError, DaskRows, cluster_errors, dask_parquet
from thpi.rows._rows import MAPPED_FROM, Blocks, Mapped, Parquet, Rows, record_values

__all__ = ["Blocks", "ClusterLostError", "DaskRows", "Mapped", "Parquet", "Rows", "as_rows", "cluster_errors"]
__all__ += ["dask_parquet", "record_values"]


def as_rows(X: object) -> Rows | None:
    """Return ``X`` as :class:`Rows`, or None if it is a matrix in memory."""
    if isinstance(X, Rows):
        return X
    if isinstance(X, np.memmap) and X.ndim == 2 and X.nbytes >= MAPPED_FROM:
        return Mapped(X)
    return DaskRows(X) if type(X).__module__.partition(".")[0] == "dask" else None
