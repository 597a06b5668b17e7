"""What do the texts of a shop add to search by picture? Pictures described by a network, few of them with texts.

    python -m benchmarks.shop [--sets stamps] [--splits 5] [--bits 32] [--data-home ../shared/data]

MAP in percent by class, which no method is told, over pictures that none has seen; the database is all others. Beside
the codes: the float features themselves, by Euclidean distance; AutoHasher without the source, because part of a gain
is due to the learner; and AutoHasher with shuffled pairs, whose texts belong to other pictures.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

import thpi
from experiments import datasets
from experiments.datasets.preprocessing import fit_transform_views
from thpi.auto import UnrelatedPairsWarning
from thpi.evaluation import label_relevance, mean_average_precision, ranked_average_precision


class Shop(NamedTuple):
    """A data set, options of its loader, and how many rows are pairs, have texts alone, and are queries."""

    name: str
    options: dict[str, str]
    pairs: int
    texts: int
    queries: int


SHOPS = {
    "stamps": Shop("stamps", {}, 250, 385, 150),
    "stamps-en": Shop("stamps", {"source": "en"}, 250, 385, 150),
    "stamps-de": Shop("stamps", {"source": "de"}, 250, 385, 150),
    "stamps-ja": Shop("stamps", {"source": "ja"}, 250, 385, 150),
    "openclipart-mobilenet": Shop("openclipart-mobilenet", {}, 500, 3_000, 500),
    "openclipart": Shop("openclipart", {}, 500, 3_000, 500),
}
LINES = (
    "float features", "ITQ", "LapITQ+", "AutoHasher, no source, groups", "AutoHasher, groups", "AutoHasher, source",
    "AutoHasher, groups, shuffled",
)  # fmt: skip


def measure(shop: Shop, seed: int, bits: int, data_home: str) -> dict[str, float]:
    """Return the MAP of each line on one split."""
    data = datasets.load(shop.name, data_home, **shop.options)
    rows = np.random.RandomState(seed).permutation(data.n)[: shop.pairs + shop.texts + shop.queries]
    train, further, query = np.split(rows, [shop.pairs, shop.pairs + shop.texts])
    database = np.concatenate([train, further])
    pipelines = datasets.info(shop.name).pipelines()
    # Rows that are in none of the three roles are unknown: their texts must not shape the features of the source.
    unseen = np.setdiff1d(np.arange(data.n), database)
    views = fit_transform_views(data, *pipelines, train, query_rows=unseen)
    X, S, labels = views.target, views.source, data.labels
    assert labels is not None
    relevant = label_relevance(labels[query], labels[database])
    shuffled = np.random.RandomState(seed).permutation(shop.pairs)

    def auto(relevance: str, use_source: bool = True) -> Any:
        return thpi.AutoHasher(bits, relevance=relevance, use_source=use_source, random_state=seed)

    hashers = dict(
        zip(LINES[1:], (
            thpi.ITQ(bits, random_state=seed), thpi.LapITQPlus(bits, random_state=seed), auto("groups", False),
            auto("groups"), auto("source"), auto("groups"),
        ), strict=True)
    )  # fmt: skip
    found = {LINES[0]: float(np.nanmean(ranked_average_precision(cdist(X[query], X[database]), relevant)))}
    warnings.simplefilter("ignore", UnrelatedPairsWarning)  # said of shuffled pairs, as it should be
    for line, hasher in hashers.items():
        privileged = S[train][shuffled] if line.endswith("shuffled") else S[train]
        hasher.fit(X[train], privileged=privileged, source=S[further])
        codes = hasher.transform(X)
        found[line] = float(mean_average_precision(codes[query], codes[database], relevant, bits))
    return {line: 100 * value for line, value in found.items()}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SHOPS, default=list(SHOPS))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--bits", type=int, default=32)
    parser.add_argument("--data-home", default="../shared/data")
    args = parser.parse_args()
    print("| set | " + " | ".join(LINES) + " |\n|---|" + "--:|" * len(LINES), flush=True)
    for name in args.sets:
        start = time.perf_counter()
        runs = [measure(SHOPS[name], seed, args.bits, args.data_home) for seed in range(args.splits)]
        cells = [np.array([run[line] for run in runs]) for line in LINES]
        row = " | ".join(f"{values.mean():.1f} ± {values.std():.1f}" for values in cells)
        print(f"| {name} | {row} |  <!-- {time.perf_counter() - start:.0f} s -->", flush=True)


if __name__ == "__main__":
    main()
