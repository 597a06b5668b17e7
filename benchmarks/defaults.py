"""Which defaults should ITQ+ and LapITQ+ have? Retrieval on real data, one choice varied at a time.

    python benchmarks/defaults.py [--splits 2] [--data ../shared/data] > table

Protocol: alpha = 0.1 and 0.4 of the rows are paired, 10 % of the others are queries, the database is every
target row that is not a query. Measure: mean average precision, expected under ties, in percent; relevant is (T) a
database row within the mean distance to the 50th neighbour in target space, or (C) one of the same class. Every figure
is a mean over sets, alphas, code lengths and splits; the differences are to the first row of the block, with the
standard error over (set, alpha, bits, split). experiments/notes/defaults.md has the outcome.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import thpi
from experiments.datasets import load_bbc, load_openclipart, load_wikipedia
from thpi.datasets import load_digits_views
from thpi.evaluation import label_relevance, mean_average_precision, neighbour_radius, radius_relevance

SETS = ("bbc", "digits", "openclipart", "wikipedia")
ALPHAS = (0.1, 0.4)
BITS = (16, 48)
PLUS = {"lambda1": 0.1}

BLOCKS: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
    "reading (ITQ+)": [
        ("ITQ, no source", "ITQ", {}),
        ("ITQ, balanced", "ITQ", {"balanced": True}),
        *[
            (f"reduce, pca, scale={s}", "ITQPlus", {**PLUS, "reading": "reduce", "scale": s})
            for s in ("unit", "radius", None)
        ],
        ("reduce, cca, scale=unit", "ITQPlus", {**PLUS, "reading": "reduce", "reduction": "cca", "ridge": 0.1}),
        *[(f"trace, scale={s}", "ITQPlus", {**PLUS, "reading": "trace", "scale": s}) for s in ("unit", "radius", None)],
        *[(f"loss, scale={s}", "ITQPlus", {**PLUS, "reading": "loss", "scale": s}) for s in ("unit", "radius")],
    ],
    **{
        f"lambda1 (ITQ+, {reading})": [
            (f"lambda1={v}", "ITQPlus", {"lambda1": v, "reading": reading}) for v in (0, 0.01, 0.1, 0.3, 1, 2)
        ]
        for reading in ("reduce", "trace")
    },
    **{
        f"lambda2 (LapITQ+, {reading})": [
            (f"lambda2={v}", "LapITQPlus", {**PLUS, "lambda2": v, "reading": reading})
            for v in (0, 0.01, 0.03, 0.1, 0.3, 1)
        ]
        for reading in ("reduce", "trace")
    },
    "lambda2 (LapITQ+, loss)": [
        (f"lambda2={v}, scale={scale}", "LapITQPlus", {**PLUS, "lambda2": v, "reading": "loss", "scale": scale})
        for scale in ("radius", "unit")
        for v in (0, 0.1, 1)
    ],
    "graph (LapITQ+, reduce, lambda2=.1)": [
        (
            f"k={k}, {scope}, {sym}",
            "LapITQPlus",
            {
                **PLUS,
                "lambda2": 0.1,
                "reading": "reduce",
                "n_neighbors": k,
                "graph_scope": scope,
                "graph_symmetrize": sym,
            },
        )
        for k, scope, sym in [
            (10, "paired", "union"),
            (5, "paired", "union"),
            (20, "paired", "union"),
            (10, "paired", "mutual"),
            (10, "paired", "mean"),
            (10, "all", "union"),
            (50, "all", "union"),
            (100, "all", "union"),
        ]
    ],
    "the defaults together": [(name, name, {}) for name in ("ITQ", "ITQPlus", "LapITQPlus", "CCAITQ", "CVH")],
    "restarts (ITQ+, reduce)": [(f"n_init={n}", "ITQPlus", {**PLUS, "reading": "reduce", "n_init": n}) for n in (1, 5)],
    "ridge (CCA-ITQ)": [(f"ridge={r}", "CCAITQ", {"ridge": r}) for r in (0.1, 0.001, 0.01, 1, 10, 100)],
    "ridge (CVH)": [(f"ridge={r}", "CVH", {"ridge": r}) for r in (0.1, 0.001, 0.01, 1, 10, 100)],
}


@cache
def _views(name: str, data: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if name == "digits":
        set_ = load_digits_views(target="pix", source="fou")
        assert set_.labels is not None
        return np.asarray(set_.target), StandardScaler().fit_transform(set_.source), set_.labels
    load = {"bbc": load_bbc, "openclipart": load_openclipart, "wikipedia": load_wikipedia}[name]
    set_ = load(data_home=data)
    assert set_.labels is not None
    rows = np.random.RandomState(0).permutation(len(set_.labels))[:2000]
    target, source, labels = set_.target[rows], set_.source[rows], set_.labels[rows]
    if name == "bbc":
        target, source = (
            PCA(0.6).fit_transform(TfidfTransformer().fit_transform(v).toarray()) for v in (target, source)
        )
    elif name == "openclipart":
        target = StandardScaler().fit_transform(target)
        source = PCA(100, random_state=0).fit_transform(TfidfTransformer().fit_transform(source).toarray())
    else:
        target, source = (StandardScaler().fit_transform(np.asarray(v)) for v in (target, source))
    return target, source, labels


def _run(job: tuple[list[str], str, float, int, int, str]) -> dict[tuple[str, str], tuple[float, float]]:
    blocks, name, alpha, bits, split, data = job
    warnings.simplefilter("ignore")
    X, S, labels = _views(name, data)
    rows = np.random.RandomState(split).permutation(len(X))
    n = round(alpha * len(X))
    train, query, rest = rows[:n], rows[n : n + (len(X) - n) // 10], rows[n + (len(X) - n) // 10 :]
    database = np.r_[train, rest]
    near = radius_relevance(X[query], X[database], neighbour_radius(X[database], k=50))
    same = label_relevance(labels[query], labels[database])
    scores: dict[tuple[str, str], tuple[float, float]] = {}
    with threadpool_limits(1):
        for block in blocks:
            for label, method, params in BLOCKS[block]:
                hasher = thpi.HASHERS[method](n_bits=bits, random_state=split, **params)
                try:
                    hasher.fit(X[train], privileged=S[train], source=S[rest])
                except thpi.base.TooManyBitsError:
                    continue
                codes = hasher.transform(X[query]), hasher.transform(X[database])
                of_near, of_same = (
                    100 * float(mean_average_precision(*codes, relevant, bits)) for relevant in (near, same)
                )
                scores[block, label] = of_near, of_same
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--data", default=str(Path(__file__).resolve().parents[2] / "shared" / "data"))
    parser.add_argument("--blocks", nargs="*", default=list(BLOCKS))
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    jobs = [(args.blocks, *job, args.data) for job in itertools.product(args.sets, ALPHAS, BITS, range(args.splits))]
    with ProcessPoolExecutor(args.workers) as pool:
        results = list(pool.map(_run, jobs))
    for block in args.blocks:
        base = BLOCKS[block][0][0]
        print(f"\n{block}\n{'':34}{'T':>7}{'diff':>8}{'+-':>6}{'C':>9}{'diff':>8}{'+-':>6}   C: {' '.join(args.sets)}")
        for label, *_ in BLOCKS[block]:
            cells = [
                (job[1], r[block, label], r[block, base])
                for job, r in zip(jobs, results, strict=True)
                if (block, label) in r and (block, base) in r
            ]
            line = f"{label:34}"
            for kind in (0, 1):
                own = np.array([c[1][kind] for c in cells])
                difference = own - np.array([c[2][kind] for c in cells])
                error = difference.std(ddof=1) / np.sqrt(len(difference))
                line += f"{own.mean():7.2f}{difference.mean():8.2f}{error:6.2f}  "
            line += "  " + " ".join(f"{np.mean([c[1][1] for c in cells if c[0] == s]):6.2f}" for s in args.sets)
            print(line + f"   ({len(cells)} runs)")


if __name__ == "__main__":
    main()
