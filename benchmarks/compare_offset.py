"""What does the offset of ``ResidualQuantiser`` gain over the usual estimate of a distance?

    python -m benchmarks.compare_offset [--data DIR] [--bytes 8]

The sets of ``benchmarks.compare_codes`` and one code each, searched by three estimates: the distance to the decoded
row, with ``|x^|^2`` in place of the offset; with ``|x|^2`` in its place; and with the offset. None of them is rounded.
Recall at ten.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import thpi
from benchmarks._table import markdown
from benchmarks.compare_codes import SETS, rows_of
from experiments.datasets import data_home_path
from thpi.comparison import Cut, Truth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--bytes", type=int, default=8)
    options = parser.parse_args()
    lines = []
    for name in SETS:
        X = rows_of(name, data_home_path(options.data))
        n = min(500, len(X) // 5)
        queries, database = X[:n], X[n:]
        truth = Truth(queries, database, [Cut(10, 10)])
        quantiser = thpi.ResidualQuantiser(options.bytes, random_state=0).fit(database)
        parts = quantiser.transform(database)[:, : len(quantiser.centroids_)]
        Z = quantiser._coordinates(database)
        decoded = quantiser._decoded(parts)
        estimates = {
            "decoded row": (decoded**2).sum(axis=1),
            "length": ((database - quantiser.mean_) ** 2).sum(axis=1),
            "offset": quantiser._offsets(database, Z, parts),
        }
        products = 2 * quantiser._coordinates(queries) @ decoded.T
        found = {key: np.argsort(value - products, axis=1)[:, :10] for key, value in estimates.items()}
        recalls = [truth.recalls(each)[Cut(10, 10)].mean() for each in found.values()]
        lines.append([name, *(f"{100 * recall:.1f}" for recall in recalls)])
        print(*lines[-1], flush=True)
    print(markdown(["vectors", *estimates], lines))


if __name__ == "__main__":
    main()
