"""The approximate structures of faiss behind one interface, with one number that sets the effort of a search."""

from __future__ import annotations

from typing import Any

import numpy as np

from thpi._types import Bools, Codes, Ints
from thpi.index._exact import faiss_module

_EFFORT = {"ivf": "nprobe", "hnsw": "efSearch", "multihash": "nflip"}

KINDS = tuple(_EFFORT)
"""``ivf``: inverted lists around learned centres. ``hnsw``: a graph of neighbours. ``multihash``: tables of parts of
the code."""


class Approximate:
    """A faiss structure over rows 0 to n - 1 of a snapshot. Searching does not change it.

    After a removal, ``positions`` maps each row of the structure to its row in the current snapshot, or to -1 if it was
    removed. Rows keep their order, so those that remain are the first ``n_covered`` rows of the snapshot.
    """

    def __init__(self, kind: str, index: Any, parameters: dict[str, int]) -> None:
        self.kind, self.index, self.parameters = kind, index, parameters
        self.n_built = self.n_covered = int(index.ntotal)
        self.positions: Ints | None = None
        self.set_effort(parameters[_EFFORT[kind]])

    def set_effort(self, effort: int) -> None:
        """Set nprobe, efSearch or nflip; only before the structure is shared with other threads."""
        self.parameters = self.parameters | {_EFFORT[self.kind]: effort}
        setattr(self.index.hnsw if self.kind == "hnsw" else self.index, _EFFORT[self.kind], effort)

    def without(self, kept: Bools) -> Approximate:
        """Return the same structure for a snapshot that keeps only the marked rows of the current one."""
        moved = np.where(kept, np.cumsum(kept) - 1, -1)
        before = np.arange(self.n_built) if self.positions is None else self.positions
        twin = Approximate(self.kind, self.index, self.parameters)
        twin.positions = np.where(before >= 0, moved[np.maximum(before, 0)], -1)
        twin.n_covered = int((twin.positions >= 0).sum())
        return twin

    def nearest(self, queries: Codes, k: int) -> tuple[Ints, Ints]:
        """Distances and positions of ``k`` near rows by (distance, position); position -1 if fewer were found."""
        n_gone = self.n_built - self.n_covered
        asked = min(self.n_built, k + min(n_gone, k + 32))
        distances, found = self.index.search(queries, asked)
        if self.positions is not None:
            found = np.where(found >= 0, self.positions[np.maximum(found, 0)], -1)
        return smallest(distances.astype(np.int64), found, k)


def smallest(distances: Ints, positions: Ints, k: int) -> tuple[Ints, Ints]:
    """Order each row by (distance, position) and keep ``k``; entries with position -1 come last.

    >>> smallest(np.array([[2, 1, 1]]), np.array([[0, 5, 3]]), 2)
    (array([[1, 1]]), array([[3, 5]]))
    """
    # Both in one sortable number: distances are below 2^23, positions below 2^40.
    keys = np.where(positions >= 0, distances << 40 | positions, np.iinfo(np.int64).max)
    keys = np.sort(keys, axis=1)[:, :k]
    missing = keys == np.iinfo(np.int64).max
    return np.where(missing, -1, keys >> 40), np.where(missing, -1, keys & (2**40 - 1))


def build(kind: str, codes: Codes, seed: int, parameters: dict[str, int] | None = None) -> Approximate:
    """Build one kind over ``codes``; the same seed gives the same structure. By default the size sets parameters."""
    if kind not in KINDS:
        raise ValueError(f"kinds={kind!r} must be among {', '.join(KINDS)}.")
    faiss = faiss_module()
    n, d = len(codes), 8 * codes.shape[1]
    chosen = parameters or _default_parameters(kind, n, d)
    if kind == "ivf":
        quantizer = faiss.IndexBinaryFlat(d)
        index = faiss.IndexBinaryIVF(quantizer, d, chosen["nlist"])
        index.own_fields = True
        quantizer.this.disown()
        index.cp.seed = seed
        sample = np.random.RandomState(seed).permutation(n)[: 64 * chosen["nlist"]]
        # Without this, faiss prints a warning about few rows.
        index.cp.min_points_per_centroid = 1
        index.train(codes[np.sort(sample)])
    elif kind == "hnsw":
        index = faiss.IndexBinaryHNSW(d, chosen["M"])
        index.hnsw.efConstruction = chosen["efConstruction"]
    else:
        index = faiss.IndexBinaryMultiHash(d, chosen["nhash"], chosen["b"])
    n_threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # with several threads, the graph depends on their timing
    try:
        index.add(codes)
    finally:
        faiss.omp_set_num_threads(n_threads)
    return Approximate(kind, index, chosen)


def _default_parameters(kind: str, n: int, d: int) -> dict[str, int]:
    if kind == "ivf":
        return {"nlist": 2 ** round(np.log2(max(2.0, np.sqrt(n)))), "nprobe": 1}
    if kind == "hnsw":
        return {"M": 16, "efConstruction": 40, "efSearch": 16}
    # Keys of about log2(n) - 4 bits put a handful of codes into each bucket.
    bits = int(np.clip(round(np.log2(max(2, n))) - 4, 1, min(d, 30)))
    return {"nhash": max(1, min(8, d // bits)), "b": bits, "nflip": 0}
