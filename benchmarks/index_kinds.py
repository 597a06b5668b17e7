"""When is an approximate kind of index worth it, and what do finer orders gain?

    python -m benchmarks.index_kinds [--rows 1000000] [--bits 64] [--k 10] [--recall 0.9 0.99] [--graph]

Side by side, for codes in clusters (like those of real data) and for uniformly random codes (the hardest there are):
exact search, the inverted lists of HammingIndex, tuned for the recall asked for, and two kinds of faiss that it does
not have: tables of parts of the code (multihash) and, with ``--graph``, a graph of neighbours (hnsw), which takes
minutes to build. Of these, the first effort that reaches the recall, or the largest. Then, on the bundled digits with
ITQ codes, the recall of the true Euclidean neighbours in Hamming order, in asymmetric order, and with the first 100 of
it in Euclidean order.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import thpi
from thpi._types import Array, Floats
from thpi.codes import pack
from thpi.datasets import load_digits_views
from thpi.index import HammingIndex, Neighbours, faiss_module

_BLOCK = 2**22


def clustered(n: int, n_bits: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw codes around one centre in 500 codes, each bit changed with probability 0.12."""
    centres = rng.rand(max(1, n // 500), n_bits) < 0.5
    parts = [
        pack(centres[rng.randint(len(centres), size=size)] ^ (rng.random_sample((size, n_bits)) < 0.12))
        for size in np.diff(np.append(np.arange(0, n, 100_000), n))
    ]
    return np.concatenate(parts)


def uniform(n: int, n_bits: int, rng: np.random.RandomState) -> np.ndarray:
    return pack(rng.randint(2, size=(n, n_bits), dtype=np.uint8))


def other_kind(graph: bool, index: HammingIndex, k: int, recall: float) -> str:
    """Build one of the other kinds over the codes of an index, and raise its effort until it reaches the recall."""
    faiss, (n, width) = faiss_module(), index.codes.shape
    queries = np.ascontiguousarray(index.codes[np.random.RandomState(0).permutation(n)[:256]])
    true = index.search(queries, k + 1, order="hamming").distances[:, -1:]
    bits = int(np.clip(round(np.log2(n)) - 4, 1, 30))  # a handful of codes for each key
    kind: Any = (
        faiss.IndexBinaryHNSW(8 * width, 16)
        if graph
        else faiss.IndexBinaryMultiHash(8 * width, max(1, min(8, 8 * width // bits)), bits)
    )
    start = time.perf_counter()
    kind.add(index.codes)
    built = time.perf_counter() - start
    for effort in (16, 32, 64, 128, 256, 512, 1024) if graph else range(4):
        setattr(kind.hnsw if graph else kind, "efSearch" if graph else "nflip", effort)
        start = time.perf_counter()
        distances, found = kind.search(queries, k + 1)
        milliseconds = (time.perf_counter() - start) * 1e3 / len(queries)
        # The query itself is among those found, and counts on both sides.
        reached = (((found >= 0) & (distances <= true)).sum() / len(queries) - 1) / k
        if reached >= recall:
            break
    name = "hnsw" if graph else "multihash"
    return f"  {name}: reached {reached:.4f}, {milliseconds:.3f} ms per query, effort {effort}, built in {built:.1f} s"


class Vectors:
    """Rows by id: row i is the vector of ``ids[i]``, by default of i."""

    def __init__(self, rows: Array, ids: npt.ArrayLike | None = None) -> None:
        self.rows = rows
        self._order = np.argsort(np.arange(len(rows)) if ids is None else ids)
        self._ids = np.sort(np.arange(len(rows)) if ids is None else ids)

    def get(self, ids: Array) -> Array:
        """Return the vectors of ``ids``, which all are there."""
        return np.asarray(self.rows[self._order[np.searchsorted(self._ids, ids)]])


def euclidean_rerank(neighbours: Neighbours, queries: Floats, vectors: Vectors, k: int) -> Neighbours:
    """Order candidates by Euclidean distance of the vectors and keep ``k``; ties stay in the order of the candidates.

    >>> vectors = Vectors(np.array([[0.0], [1.0], [5.0]]))
    >>> euclidean_rerank(Neighbours(np.zeros((1, 3)), np.array([[0, 1, 2]])), np.array([[4.0]]), vectors, 2)
    Neighbours(distances=array([[1., 3.]]), ids=array([[2, 1]]))
    """
    differences = vectors.get(neighbours.ids).astype(np.float64) - np.asarray(queries)[:, None]
    distances = np.linalg.norm(differences, axis=2)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return Neighbours(np.take_along_axis(distances, order, axis=1), np.take_along_axis(neighbours.ids, order, axis=1))


@dataclass(frozen=True)
class RecallReport:
    """Recall at k of the true Euclidean neighbours, in each order; Euclidean is that of the candidates."""

    k: int
    n_candidates: int
    hamming: float
    asymmetric: float
    euclidean: float

    def __str__(self) -> str:
        return (
            f"recall@{self.k}: Hamming {self.hamming:.4f}, asymmetric {self.asymmetric:.4f} "
            f"({self.asymmetric - self.hamming:+.4f}); its first {self.n_candidates} in Euclidean order "
            f"{self.euclidean:.4f} ({self.euclidean - self.hamming:+.4f})"
        )


def recall_gained(
    index: HammingIndex,
    projections: npt.ArrayLike,
    queries: npt.ArrayLike,
    vectors: Vectors,
    *,
    k: int = 10,
    n_candidates: int = 100,
) -> RecallReport:
    """Measure the recall of the true ``k`` nearest vectors in Hamming, asymmetric and Euclidean order.

    An item counts as found if it is as near as the true k-th. ``vectors`` must hold the items of the index.
    """
    p, x = np.asarray(projections, dtype=np.float64), np.asarray(queries, dtype=np.float64)
    radius = _true_radius(x, vectors.rows, k)
    candidates = index.search(p, n_candidates)

    def recall(found: Neighbours) -> float:
        true = euclidean_rerank(Neighbours(found.distances[:, :k], found.ids[:, :k]), x, vectors, k).distances
        # Tolerance, because the two distances are summed in different orders.
        return float((true <= radius[:, None] * (1 + 1e-9)).sum() / (len(x) * k))

    hamming, euclidean = index.search(p, k, order="hamming"), euclidean_rerank(candidates, x, vectors, k)
    return RecallReport(k, n_candidates, recall(hamming), recall(candidates), recall(euclidean))


def _true_radius(queries: Floats, rows: Array, k: int) -> Floats:
    """Distance of each query to its k-th nearest row, block by block."""
    from scipy.spatial.distance import cdist

    nearest = np.full((len(queries), k), np.inf)
    block = max(1, _BLOCK // len(queries))
    for start in range(0, len(rows), block):
        distances = cdist(queries, np.asarray(rows[start : start + block], dtype=np.float64))
        nearest = np.partition(np.hstack([nearest, distances]), k - 1, axis=1)[:, :k]
    return np.asarray(nearest.max(axis=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--recall", type=float, nargs="+", default=[0.9, 0.99])
    parser.add_argument("--graph", action="store_true", help="build a graph of neighbours, too")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"threads: {os.environ.get('OMP_NUM_THREADS', 'all')} of {os.cpu_count()}")
    for name, draw in (("clustered", clustered), ("uniform", uniform)):
        codes = draw(options.rows, options.bits, np.random.RandomState(options.seed))
        for recall in options.recall:
            index = HammingIndex(options.bits, recall, random_state=options.seed)
            index.add(codes)
            print(f"{name} codes of {options.bits} bits: {index.tune(options.k)}", flush=True)
            exact = HammingIndex(options.bits)
            exact.add(codes)
            for graph in (False, True)[: 1 + options.graph]:
                print(other_kind(graph, exact, options.k, recall), flush=True)
    X = np.asarray(load_digits_views().target)
    X = X[np.random.RandomState(options.seed).permutation(len(X))]
    train, queries = X[:-200], X[-200:]
    for n_bits in (16, 32, 64):
        hasher = thpi.ITQ(n_bits=n_bits, random_state=options.seed).fit(train)
        index = HammingIndex(n_bits)
        index.add(hasher.transform(train))
        report = recall_gained(
            index, hasher.decision_function(queries), queries, Vectors(train), k=10, n_candidates=100
        )
        print(f"digits, ITQ, {n_bits} bits, {len(train)} items: {report}")


if __name__ == "__main__":
    main()
