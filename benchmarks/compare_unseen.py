"""Do codes still work for rows that they were not learned from?

    python -m benchmarks.compare_unseen [--data DIR] [--bytes 8 16]

The sets of ``benchmarks.compare_codes``: half of the database is learned from, the other half is coded and searched.
Recall at ten beside that of codes that are learned from the rows searched. Centroids fit the rows that they are means
of, signs have less to fit: this shows how much of the recall is due to that.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numpy as np

import thpi
from benchmarks._table import markdown
from benchmarks.compare_codes import SETS, Rows, rows_of
from experiments.datasets import data_home_path
from thpi.comparison import Cut, Truth
from thpi.index import HammingIndex

Found = np.ndarray[Any, Any]


def residual(learn: Rows, search: Rows, queries: Rows, size: int) -> Found:
    quantiser = thpi.ResidualQuantiser(size, random_state=0).fit(learn)
    return np.asarray(quantiser.index(quantiser.transform(search)).search(queries, 10)[1])


def product(learn: Rows, search: Rows, queries: Rows, size: int) -> Found:
    # PCA first: as good as a learned rotation on most sets, and much faster to learn.
    m = min(8 * size, learn.shape[1]) // size * size
    index = faiss.IndexPreTransform(faiss.PCAMatrix(learn.shape[1], m, 0, True), faiss.IndexPQ(m, size, 8))
    index.train(learn)
    index.add(search)
    return np.asarray(index.search(queries, 10)[1])


def itq(learn: Rows, search: Rows, queries: Rows, size: int) -> Found:
    hasher = thpi.ITQ(min(8 * size, learn.shape[1]), random_state=0).fit(learn)
    index = HammingIndex(hasher.n_bits)
    index.add(hasher.transform(search))
    return np.asarray(index.search(hasher.decision_function(queries), 10).ids)


METHODS: dict[str, Callable[[Rows, Rows, Rows, int], Found]] = {"residual": residual, "PCA, PQ": product, "ITQ": itq}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--bytes", type=int, nargs="+", default=[8, 16])
    options = parser.parse_args()
    lines = []
    for name in SETS:
        X = rows_of(name, data_home_path(options.data))
        n = min(500, len(X) // 5)
        queries, (seen, unseen) = X[:n], np.array_split(X[n:], 2)
        truth = Truth(queries, unseen, [Cut(10, 10)])
        for size in options.bytes:
            cells = []
            for method in METHODS.values():
                for learn in (unseen, seen):
                    found = method(np.ascontiguousarray(learn), np.ascontiguousarray(unseen), queries, size)
                    cells.append(f"{100 * truth.recalls(found)[Cut(10, 10)].mean():.1f}")
            lines.append([name, str(size), *cells])
            print(*lines[-1], flush=True)
    titles = [f"{name}, {rows}" for name in METHODS for rows in ("same rows", "other rows")]
    print(markdown(["vectors", "bytes", *titles], lines))


if __name__ == "__main__":
    main()
