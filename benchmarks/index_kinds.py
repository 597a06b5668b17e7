"""When is an approximate kind of index worth it, and what do finer orders gain?

    python benchmarks/index_kinds.py [--rows 1000000] [--bits 64] [--k 10] [--recall 0.9 0.99] [--kinds ivf hnsw]

Side by side, for codes in clusters (like those of real data) and for uniformly random codes (the hardest there are):
exact search and each approximate kind, tuned for the recall asked for; recall on held-out queries, time a query in a
batch, time to build. Then, on the bundled digits with ITQ codes, the recall of the true Euclidean neighbours in Hamming
order, in asymmetric order, and with the first 100 of it in Euclidean order.
"""

from __future__ import annotations

import argparse
import os

import numpy as np

import thpi
from thpi.codes import pack
from thpi.datasets import load_digits_views
from thpi.index import HammingIndex, Vectors, recall_gained
from thpi.index._tune import KINDS


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--recall", type=float, nargs="+", default=[0.9, 0.99])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"threads: {os.environ.get('OMP_NUM_THREADS', 'all')} of {os.cpu_count()}")
    for name, draw in (("clustered", clustered), ("uniform", uniform)):
        codes = draw(options.rows, options.bits, np.random.RandomState(options.seed))
        for recall in options.recall:
            index = HammingIndex(options.bits, recall, random_state=options.seed)
            index.add(codes)
            print(f"{name} codes of {options.bits} bits: {index.tune(options.k, kinds=options.kinds)}", flush=True)
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
