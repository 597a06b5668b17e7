"""Rows of a Dask array: sums and codes are computed where the rows are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from thpi._optional import require
from thpi._types import Array, Ints, PathLike
from thpi.rows._rows import Parquet, Rows, as_floats, record_values
from thpi.solvers.blocks import Parts, combined

DaskArray: TypeAlias = Any  # a dask.array.Array; Dask is optional and has no types

_PARTS_PER_SUM = 8

# Compared by name, because distributed need not be installed where Dask runs on threads.
_LOST = {"CancelledError", "CommClosedError", "FutureCancelledError"}
_LOST |= {"KilledWorker", "NoValidWorkerError", "NoWorkerError", "ShutdownError"}
_ADDRESS = re.compile(r"'?\w+://[^\s']+'?")


class ClusterLostError(ConnectionError):
    """The Dask scheduler, or all of its workers, went away during a computation."""


@contextmanager
def cluster_errors() -> Iterator[None]:
    """Turn the errors of Dask that mean a lost cluster into ``ClusterLostError``."""
    try:
        yield
    except Exception as error:
        # Dask looks up a worker that has just died by its address, and the KeyError holds nothing else.
        if _LOST.isdisjoint(kind.__name__ for kind in type(error).__mro__) and not _ADDRESS.fullmatch(str(error)):
            raise
        text = f"the Dask cluster went away during the computation ({type(error).__name__}: {error})"
        raise ClusterLostError(f"{text}; start again when it is back.") from error


@cluster_errors()
def _computed(collection: Any) -> Any:
    return collection.compute()


class DaskRows(Rows):
    """Rows of a Dask array (or Dask DataFrame) of known length, chunked along the rows only.

    Every pass is one task per chunk and a tree of sums, on the current Dask client or, without one, on local threads.
    Only the sums come to this process; the rows and their projections stay with the workers.
    """

    remote = True

    def __init__(self, array: DaskArray) -> None:
        if hasattr(array, "to_dask_array"):  # a DataFrame
            array = array.to_dask_array(lengths=True)
        if getattr(array, "ndim", 0) != 2:
            raise ValueError(f"X must be a 2-D dask array, got {type(array).__name__} of shape {array.shape}.")
        if np.isnan(array.shape[0]):
            raise ValueError("X is a dask array of unknown length; call its compute_chunk_sizes() first.")
        if len(array.chunks[1]) > 1:
            array = array.rechunk({1: -1})
        if array.dtype.kind not in "fiub":
            raise ValueError(f"X is a dask array of {array.dtype}; it must hold numbers.")
        self.array = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
        self.shape = int(array.shape[0]), int(array.shape[1])
        self.n_columns, self.dtype = self.shape[1], self.array.dtype

    @property
    def _first(self) -> Array:
        return as_floats(_computed(self.array[:1000]))  # enough for the shift of the moments

    def blocks(self) -> Iterator[Array]:
        yield from map(_computed, self.array.partitions)

    def reduce(
        self, function: Callable[..., Parts], *arguments: object, combine: Callable[..., object] = np.add
    ) -> Parts:
        """Combine ``function(chunk, *arguments)``: one task per chunk, then sums of eight at a time."""
        delayed = require("dask", "dask").delayed
        apply, together = delayed(function, pure=False), delayed(combined, pure=False)
        shared = [delayed(argument) for argument in arguments]
        level = [together([apply(chunk, *shared)], combine) for chunk in self.array.to_delayed().ravel()]
        while len(level) > 1:
            level = [together(level[i : i + _PARTS_PER_SUM], combine) for i in range(0, len(level), _PARTS_PER_SUM)]
        parts: Parts = _computed(level[0])
        return parts

    def take(self, rows: Ints) -> Array:
        return np.asarray(_computed(self.array[rows]))

    def project(self, mean: Array, W: Array) -> DaskRows:
        projected = self.map(lambda block: (block - mean) @ W, W.shape[1], self.dtype)
        with cluster_errors():
            return DaskRows(projected.persist())

    def map(self, function: Callable[[Array], Array], n_columns: int, dtype: npt.DTypeLike) -> DaskArray:
        """Return ``function(chunk)`` of all chunks as a lazy Dask array."""
        chunks = (self.array.chunks[0], (n_columns,))
        return self.array.map_blocks(function, chunks=chunks, dtype=dtype, meta=np.empty((0, 0), dtype=dtype))

    def below(self, array: Array) -> DaskRows:
        da = require("dask.array", "dask")
        return DaskRows(da.concatenate([da.from_array(array, chunks=(-1, -1)), self.array.astype(array.dtype)]))

    def beside(self, right: Array | Rows) -> DaskRows:
        da = require("dask.array", "dask")
        here = right.gather() if isinstance(right, Rows) and not right.remote else right
        other = here.array if isinstance(here, DaskRows) else da.from_array(here)
        if (m := other.shape[0]) != (n := self.shape[0]):
            raise ValueError(f"privileged has {m} rows and X has {n}; row i of both must be one item.")
        other = other.rechunk((self.array.chunks[0], -1)).astype(self.dtype)
        return DaskRows(da.concatenate([self.array, other], axis=1))

    def gather(self) -> Array:
        return np.asarray(_computed(self.array))


def dask_parquet(path: PathLike, columns: Sequence[str] | None = None) -> DaskArray:
    """Return the rows of :class:`thpi.rows.Parquet` as a Dask array with one chunk per row group.

    Only sizes are read here. The workers read the rows, so they must see the files under the same path.
    """
    da, read = require("dask.array", "dask"), require("dask", "dask").delayed(_read_group, pure=True)
    parquet, chunks = Parquet(path, columns), []
    for file in parquet.files:
        metadata = parquet.open(file).metadata
        for group in range(metadata.num_row_groups):
            part = read(str(file.resolve()), group, parquet.columns, parquet.dtype)
            shape = metadata.row_group(group).num_rows, parquet.n_columns
            chunks.append(da.from_delayed(part, shape=shape, dtype=parquet.dtype))
    return da.concatenate(chunks)


def _read_group(path: str, group: int, columns: list[str] | None, dtype: npt.DTypeLike) -> Array:
    batch = Parquet(path, columns).open(Path(path)).read_row_group(group, columns=columns).combine_chunks()
    parts = [record_values(part, columns, path) for part in batch.to_batches()]
    return np.concatenate(parts).astype(dtype, copy=False)
