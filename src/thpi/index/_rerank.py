"""Reordering the items that a search found by a finer distance: asymmetric for stores, Euclidean with the vectors."""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes, Floats, PathLike
from thpi.index._ids import IdPositions, IdsLike, Neighbours, check_ids
from thpi.index._queries import asymmetric_distances, check_integer, check_projections


class Vectors:
    """Rows of a ``.npy`` file or an array by id: row i is the vector of ``ids[i]``, by default of i.

    >>> Vectors(np.eye(3), ids=["a", "b", "c"]).get(["c", "a"])
    array([[0., 0., 1.], [1., 0., 0.]])
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
        self.ids = check_ids(np.arange(len(rows)) if ids is None else ids, length=len(rows), unique=True)
        self._positions = IdPositions(self.ids)

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


class CodeSource(Protocol):
    """Where codes are found by id, as in the stores."""

    def get_codes(self, ids: Array) -> Codes: ...


def asymmetric_rerank(store: CodeSource, neighbours: Neighbours, projections: npt.ArrayLike, k: int) -> Neighbours:
    """Order what a store found by asymmetric distance and keep ``k``; ties stay in the order of the candidates.

    For databases, which know only the Hamming distance; :meth:`HammingIndex.search` orders all items by itself.
    ``projections`` has one row per query: ``hasher.decision_function(X)``.
    """
    ids, p = neighbours.ids, check_projections(projections)
    _check_same("projections", len(p), ids)
    if ids.size == 0:
        return Neighbours(np.empty(ids.shape), ids)
    codes = store.get_codes(ids.ravel()).reshape(*ids.shape, -1)
    return _ordered(asymmetric_distances(p, codes), ids, check_integer("k", k, 1))


def euclidean_rerank(neighbours: Neighbours, queries: npt.ArrayLike, vectors: Vectors, k: int) -> Neighbours:
    """Order candidates by Euclidean distance of the vectors and keep ``k``; ties stay in the order of the candidates.

    >>> vectors = Vectors(np.array([[0.0], [1.0], [5.0]]))
    >>> euclidean_rerank(Neighbours(np.zeros((1, 3)), np.array([[0, 1, 2]])), [[4.0]], vectors, k=2)
    Neighbours(distances=array([[1., 3.]]), ids=array([[2, 1]]))
    """
    ids, x = neighbours.ids, np.asarray(queries, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != vectors.rows.shape[1]:
        raise ValueError(f"queries has shape {x.shape}; the vectors have {vectors.rows.shape[1]} columns.")
    _check_same("queries", len(x), ids)
    distances = np.empty(ids.shape)
    for row, near, query in zip(distances, ids, x, strict=True):
        row[:] = np.linalg.norm(vectors.get(near).astype(np.float64) - query, axis=1)
    return _ordered(distances, ids, check_integer("k", k, 1))


def _ordered(distances: Floats, ids: Array, k: int) -> Neighbours:
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return Neighbours(np.take_along_axis(distances, order, axis=1), np.take_along_axis(ids, order, axis=1))


def _check_same(name: str, n: int, ids: Array) -> None:
    if ids.ndim != 2 or len(ids) != n:
        raise ValueError(f"{name} has {n} rows; the neighbours have ids of shape {ids.shape}, one row per query.")
