"""What people use instead of learned codes, on the bundled shop: who finds drawings of the same category?

    python -m benchmarks.instead

The queries are 200 new drawings, searched among 800. AutoHasher learns from 200 drawings with tags and 600 rows of tags
alone. All others learn, if they learn anything, from the 800 drawings that are searched, which is an advantage. The
float ridge learns from the same 200 drawings with tags, and keeps a number for each of 100 components of the tags. MAP
in percent by category; each method in its own order of distances, codes of thpi in the asymmetric one. AutoHasher and
ITQ have the mean over five seeds, and the lowest and the highest.
"""

from __future__ import annotations

import faiss
import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.metrics.pairwise import cosine_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import thpi
from benchmarks._table import lined_up
from thpi._types import Array
from thpi.datasets import shop_task
from thpi.evaluation import label_relevance, ranked_average_precision
from thpi.index import asymmetric_distances

SEEDS = range(5)
FACTORIES = {
    "product quantisation (faiss PQ4)": ("PQ4x8", 4),
    "product quantisation (faiss PQ32)": ("PQ32x8", 32),
    "signs of the centred features": ("signs", 160),
    "RaBitQ (faiss), 1 bit a feature": ("RaBitQ", 168),
    "8 bits a feature (faiss SQ8)": ("SQ8", 1280),
    "float features (faiss Flat)": ("Flat", 5120),
}


def main() -> None:
    _, X, S, labels, pairs, texts, queries, database = shop_task()
    relevant = label_relevance(labels[queries], labels[database])
    rows = []

    def add(name: str, n_bytes: int, several: list[np.ndarray]) -> None:
        found = [100 * float(np.nanmean(ranked_average_precision(distances, relevant))) for distances in several]
        spread = f"{min(found):.1f} to {max(found):.1f}" if len(found) > 1 else ""
        rows.append([name, f"{n_bytes:,}", f"{np.mean(found):.1f}", spread])

    def searched(hasher: thpi.BaseHasher) -> np.ndarray:
        return asymmetric_distances(hasher.decision_function(X[queries]), hasher.transform(X[database]))

    taught = {"privileged": S[pairs], "source": S[texts]}
    for relevance in ("source", "groups"):
        fits = (thpi.AutoHasher(32, relevance=relevance, random_state=seed) for seed in SEEDS)
        add(f"AutoHasher, relevance {relevance}", 4, [searched(hasher.fit(X[pairs], **taught)) for hasher in fits])
    for bits in (32, 256):
        itqs = (thpi.ITQ(bits, random_state=seed) for seed in SEEDS)
        add(f"ITQ, {bits} bits", bits // 8, [searched(itq.fit(X[database])) for itq in itqs])
    add("float ridge to the tags, cosine", 4 * S.shape[1], [cosine_distances(*adapted(X, S, pairs, queries, database))])
    for name, (factory, n_bytes) in FACTORIES.items():
        add(name, n_bytes, [distances_of(factory, X[database].astype(np.float32), X[queries].astype(np.float32))])
    print(lined_up(["code", "bytes", "MAP", "over seeds"], rows))


def adapted(X: np.ndarray, S: np.ndarray, pairs: Array, *parts: Array) -> list[np.ndarray]:
    """Return predicted tags of some rows: ridge from standardised pictures, its penalty by leave-one-out."""
    model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(0, 6, 25))).fit(X[pairs], S[pairs])
    return [model.predict(X[part]) for part in parts]


def distances_of(factory: str, database: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Return distances from all queries to all rows, by an index of faiss over centred rows."""
    mean = database.mean(axis=0)
    if factory == "signs":
        signs = [np.where(part > mean, 1.0, -1.0) for part in (queries, database)]
        return np.asarray((database.shape[1] - signs[0] @ signs[1].T) / 2)
    index = faiss.index_factory(database.shape[1], factory)
    index.train(database - mean)
    index.add(database - mean)
    distances, found = index.search(queries - mean, len(database))
    ordered: np.ndarray = np.empty_like(distances)
    np.put_along_axis(ordered, found, distances, axis=1)
    return ordered


if __name__ == "__main__":
    main()
