"""Vectors of the items of an index, memory-mapped: only the requested rows are read from disk."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from thpi._files import atomic_open
from thpi._types import Array, PathLike
from thpi.index._ids import IdPositions, IdsLike, check_ids, check_unique


class Vectors:
    """Rows of a ``.npy`` file or an array by id: row i is the vector of ``ids[i]``, by default of i.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "vectors.npy"
    ...     vectors = Vectors.write(path, np.eye(3), ids=["a", "b", "c"])
    ...     vectors.get(["c", "a"])
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """

    def __init__(self, vectors: PathLike | Array, ids: IdsLike | None = None) -> None:
        if isinstance(vectors, np.ndarray):
            rows = vectors
        else:
            try:
                rows = np.load(vectors, mmap_mode="r", allow_pickle=False)
            except ValueError as error:
                raise ValueError(f"vectors={os.fspath(vectors)!r} is not a readable .npy file ({error}).") from None
        if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind not in "fiu":
            shape, dtype = getattr(rows, "shape", None), getattr(rows, "dtype", None)
            raise ValueError(f"vectors must be a 2-D array of numbers, got shape {shape} and dtype {dtype}.")
        self.rows = rows
        self.ids = check_ids(np.arange(len(rows)) if ids is None else ids, length=len(rows))
        check_unique(self.ids)
        self._positions = IdPositions(self.ids)

    @classmethod
    def write(cls, path: PathLike, vectors: npt.ArrayLike, ids: IdsLike | None = None) -> Vectors:
        """Write ``vectors`` to a ``.npy`` file in one step and open it. The file does not store the ids."""
        array = np.ascontiguousarray(vectors)
        cls(array, ids)  # check before writing
        with atomic_open(path) as file:
            np.save(file, array, allow_pickle=False)
        return cls(path, ids)

    def __len__(self) -> int:
        return len(self.rows)

    def get(self, ids: IdsLike) -> Array:
        """Return the vectors of ``ids``; an unknown id is a ``KeyError`` that names it."""
        positions = self._positions.find_all(check_ids(ids), "has no vector")
        # Reading in file order is one pass over the disk.
        order = np.argsort(positions)
        found = np.empty((len(positions), self.rows.shape[1]), dtype=self.rows.dtype)
        found[order] = self.rows[positions[order]]
        return found
