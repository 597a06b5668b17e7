"""Two-sided codes: items coded by a large encoder, queries by a small one or by words.

    python -m benchmarks.two_sided [--pairs 300,1000,8500] [--bits 64,256] [--data-home ../shared/data]

9,000 package descriptions of DDTP. Items are embedded by MiniLM (384 dimensions); queries have WordLlama (256), or the
words of the English or of the French text (500 components of tf-idf). 500 descriptions are queries, the others are
items. A method learns from some pairs, and from the MiniLM rows of the other items. The measure is the share of the ten
items nearest by MiniLM that are among the first 100, in percent, by asymmetric distance:

    ITQ          one side: ITQ of the queries' rows
    one side     AutoHasher(relevance="source")
    ridge + ITQ  two sides: ITQ of MiniLM, and queries mapped to MiniLM by ridge regression
    two sides    TwoSidedITQ
    auto         AutoHasher(relevance="source", sides="auto"); what it took
    float        no codes: queries mapped by ridge regression, exact search of MiniLM rows (1,536 bytes)
"""

from __future__ import annotations

import argparse
import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

import thpi
from benchmarks._table import lined_up
from thpi.codes import unpack_signs
from thpi.solvers.loo_ridge import loo_ridge

ROWS, QUERIES, NEAR, LISTED = 9000, 500, 10, 100


class Task:
    """Views of the items, the split into queries and items, and the measure."""

    def __init__(self, home: Path) -> None:
        embedded = np.load(home / "ddtp" / "embeddings.npz")
        with gzip.open(home / "ddtp" / "ddtp_en_fr.tsv.gz", "rt", encoding="utf-8") as file:
            lines = [line.rstrip("\n").split("\t") for line in file]
        texts = [line for line in lines if line[0] != "package"][:ROWS]
        self.source = normalize(embedded["minilm_en"].astype(np.float64))
        self.views = {"WordLlama": normalize(embedded["wordllama_en"][:ROWS].astype(np.float64))}
        for name, column in (("English words", 2), ("French words", 3)):
            words = TfidfVectorizer(sublinear_tf=True, min_df=3, max_df=0.3).fit_transform(t[column] for t in texts)
            self.views[name] = TruncatedSVD(500, random_state=0).fit_transform(words)
        order = np.random.RandomState(0).permutation(ROWS)
        self.queries, self.items = order[:QUERIES], order[QUERIES:]
        products = self.source[self.queries] @ self.source[self.items].T
        self.near = np.argsort(-products, axis=1)[:, :NEAR]

    def recall(self, scores: Any) -> str:
        """Percent of the nearest items among the first."""
        first = np.argsort(-scores, axis=1, kind="stable")[:, :LISTED]
        return f"{100 * np.mean([np.isin(a, b).mean() for a, b in zip(self.near, first, strict=True)]):.1f}"

    def searched(self, hasher: Any, X: Any) -> str:
        """Recall of a fitted hasher, of items coded by whatever it codes them by."""
        items = (
            hasher.transform_source(self.source[self.items]) if hasher.is_two_sided else hasher.transform(X[self.items])
        )
        return self.recall(hasher.decision_function(X[self.queries]) @ unpack_signs(items, hasher.n_bits).T)


def rows(task: Task, pairs: list[int], bits: list[int]) -> Iterator[list[str]]:
    """One row per view of the queries, number of pairs and of bits."""
    for name, X in task.views.items():
        for n in pairs:
            some, others = task.items[:n], task.items[n:]
            S = task.source
            means = X[some].mean(axis=0), S[task.items].mean(axis=0)
            W = loo_ridge(X[some] - means[0], S[some] - S[some].mean(axis=0)).W
            mapped = (X[task.queries] - means[0]) @ W + S[some].mean(axis=0) - means[1]
            for c in bits:
                fit = {"X": X[some], "privileged": S[some], "source": S[others] if len(others) else None}
                itq = thpi.ITQ(c, random_state=0).fit(X[some]) if c < min(n, X.shape[1] + 1) else None
                plain = thpi.ITQ(c, random_state=0).fit(S[task.items])
                codes = unpack_signs(plain.transform(S[task.items]), c)
                one, auto = (
                    thpi.AutoHasher(c, relevance="source", sides=sides, random_state=0).fit(**fit)
                    for sides in ("one", "auto")
                )
                yield [
                    name,
                    str(n),
                    str(c),
                    "-" if itq is None else task.searched(itq, X),
                    task.searched(one, X),
                    task.recall(mapped @ plain.projection_ @ codes.T),
                    task.searched(thpi.TwoSidedITQ(c, random_state=0).fit(**fit), X),
                    f"{task.searched(auto, X)} ({auto.sides_})",
                    task.recall(mapped @ (S[task.items] - means[1]).T),
                ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", default="300,1000,8500")
    parser.add_argument("--bits", default="64,256")
    parser.add_argument("--data-home", default=os.environ.get("THPI_DATA", "../shared/data"))
    options = parser.parse_args()
    pairs, bits = ([int(value) for value in each.split(",")] for each in (options.pairs, options.bits))
    head = ["queries", "pairs", "bits", "ITQ", "one side", "ridge + ITQ", "two sides", "auto", "float"]
    found = []
    for row in rows(Task(Path(options.data_home)), pairs, bits):
        found.append(row)
        print(*row, sep="\t", flush=True)
    print(lined_up(head, found))


if __name__ == "__main__":
    main()
