"""Cases of packed codes: mean average precision and search; and of ridge CCA and the start of the command."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import faiss
import numpy as np
from sklearn.cross_decomposition import CCA
from sklearn.metrics import average_precision_score

from benchmarks._cases import Case
from thpi._types import Array
from thpi.codes import hamming_distances, pack_signs
from thpi.evaluation import average_precision
from thpi.index import HammingIndex
from thpi.solvers.cca import ridge_cca

__all__ = ["cases"]


def cases(full: bool) -> Iterator[Case]:
    """Yield the cases one by one; sizes are those of the targets, but for repetitions and scikit-learn's side."""
    yield precision_against_search(full)
    yield precision_against_scikit_learn(full)
    for n_bits in (64, 256):
        for n_queries in (1, 100):
            yield exact_search(n_bits, n_queries, full)
            yield asymmetric_search(n_bits, n_queries, full)
    yield canonical_correlations(full)
    yield cold_start(full)


def codes(n: int, n_bits: int, seed: int) -> Array:
    """Uniformly random codes, the same for the same seed."""
    return np.random.default_rng(seed).integers(0, 256, (n, n_bits // 8), dtype=np.uint8)


def labelled(n_queries: int, n: int) -> tuple[Array, Array, Array, Array]:
    """Queries, database and the labels of both, ten labels in all."""
    rng = np.random.default_rng(2)
    return codes(n_queries, 64, 0), codes(n, 64, 1), rng.integers(0, 10, n_queries), rng.integers(0, 10, n)


def flat(database: Array) -> Any:
    index = faiss.IndexBinaryFlat(8 * database.shape[1])
    index.add(database)
    return index


def precision_against_search(full: bool) -> Case:
    """Every measure reads all pairs; finding 100 neighbours of each query does too."""
    n_queries, n = 1000, 1_000_000
    queries, database, query_labels, labels = labelled(n_queries, n)
    index = flat(database)

    def relevance(start: int, stop: int) -> Array:
        return np.equal(query_labels[start:stop, None], labels)

    return Case(
        what=f"tie-aware MAP, {n_queries:,} queries x {n:,} rows, 64 bits, relevance by labels",
        against="faiss IndexBinaryFlat search, k 100",
        target=1.5,
        ours=lambda: average_precision(queries, database, relevance, 64),
        other=lambda: index.search(queries, 100),
        check=lambda ours, _: f"MAP {np.mean(ours):.4f}; the comparison of labels is part of the time",
        repeats=5 if full else 3,
    )


def precision_against_scikit_learn(full: bool) -> Case:
    n_queries, n_other, n = 1000, 20 if full else 2, 1_000_000
    queries, database, query_labels, labels = labelled(n_queries, n)

    scores = -hamming_distances(queries[:n_other], database)  # not part of its time

    def with_scikit_learn() -> Array:
        pairs = zip(query_labels, scores, strict=False)
        return np.array([average_precision_score(labels == label, score) for label, score in pairs])

    def check(ours: Array, other: Array) -> str:
        # scikit-learn takes tied rows as one step, another reading of ties; here both are nearly the same.
        difference = np.abs(ours[:n_other] - other).max()
        if difference > 1e-3:
            raise AssertionError(f"average precisions differ by {difference}")
        times = n_queries // n_other
        return f"scikit-learn on {n_other} queries, its time times {times}; values agree to {difference:.0e}"

    return Case(
        what=f"tie-aware MAP, {n_queries:,} queries x {n:,} rows, 64 bits, relevance by labels",
        against="scikit-learn average_precision_score per query",
        target=1 / 50,
        ours=lambda: average_precision(queries, database, lambda a, b: query_labels[a:b, None] == labels, 64),
        other=with_scikit_learn,
        check=check,
        repeats=3 if full else 2,
        work=n_queries / n_other,
    )


def exact_search(n_bits: int, n_queries: int, full: bool) -> Case:
    n, k = 1_000_000, 10
    database, queries = codes(n, n_bits, 0), codes(n_queries, n_bits, 1)
    index, other = HammingIndex(n_bits), flat(database)
    index.add(database)
    # A process that has searched little leaves the kernel aside, whose import takes longer than its work.
    index.search(codes(300, n_bits, 2), k)

    def check(ours: Any, theirs: Any) -> str:
        if not np.array_equal(ours.distances, theirs[0]):
            raise AssertionError("the distances differ")
        return "same distances; ours in the order of (distance, insertion)"

    return Case(
        what=f"exact search, {n:,} x {n_bits} bits, {n_queries} quer{'y' if n_queries == 1 else 'ies'}, k {k}",
        against="faiss IndexBinaryFlat",
        target=1.05,
        ours=lambda: index.search(queries, k),
        other=lambda: other.search(queries, k),
        check=check,
        repeats=(101 if full else 51) if n_queries == 1 else (15 if full else 9),
        bytes_read=database.nbytes,
    )


def asymmetric_search(n_bits: int, n_queries: int, full: bool) -> Case:
    """Codes of projections with few dimensions, as those of real data are; uniform ones are harder."""
    n, k, rng = 1_000_000, 10, np.random.default_rng(0)
    plane = rng.standard_normal((16, n_bits)) * np.linspace(2, 0.3, 16)[:, None]
    projections = rng.standard_normal((n_queries, 16)) @ plane
    index = HammingIndex(n_bits)
    for _ in range(10):
        index.add(pack_signs(rng.standard_normal((n // 10, 16)) @ plane))
    index.search(codes(300, n_bits, 2), k)

    def check(ours: Any, theirs: Any) -> str:
        moved = np.mean([len(set(a) - set(b)) / k for a, b in zip(ours.ids, theirs.ids, strict=True)])
        return f"{moved:.0%} of the items found are others"

    return Case(
        what=f"asymmetric search, {n:,} x {n_bits} bits, {n_queries} quer{'y' if n_queries == 1 else 'ies'}, k {k}",
        against="exact search by Hamming distance",
        target=3,
        ours=lambda: index.search(projections, k),
        other=lambda: index.search(projections, k, order="hamming"),
        check=check,
        repeats=(101 if full else 51) if n_queries == 1 else (15 if full else 9),
        bytes_read=index.codes.nbytes,
    )


def round_(values: Array) -> list[float]:
    return [round(float(value), 4) for value in values]


def canonical_correlations(full: bool) -> Case:
    n, d = (10_000, 500) if full else (2_000, 100)
    n_directions, n_other = 32, 1 if full else 2
    rng = np.random.RandomState(0)
    latent = rng.standard_normal((n, 64)) * np.linspace(2, 0.3, 64)
    X, Y = (latent @ rng.standard_normal((64, d)) / 8 + rng.standard_normal((n, d)) for _ in range(2))
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)

    def with_scikit_learn() -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it may reach its largest number of iterations
            model = CCA(n_other).fit(X, Y)
        A, B = model.transform(X, Y)
        return np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(A.T, B.T, strict=True)])

    def check(ours: Any, other: Array) -> str:
        found = ours.correlations[:n_other]
        if (found < other - 1e-3).any():
            raise AssertionError(f"correlations {found} against {other}")
        times = f"{n_other} of the directions, its time times {n_directions // n_other}"
        return f"scikit-learn finds {times}; leading correlations {round_(found)} / {round_(other)}"

    return Case(
        what=f"ridge CCA, {n:,} x ({d} + {d}), {n_directions} directions",
        against="scikit-learn CCA",
        target=1 / 30,
        ours=partial(ridge_cca, X, Y, n_directions),
        other=with_scikit_learn,
        check=check,
        repeats=1 if full else 2,
        work=n_directions / n_other,
    )


def cold_start(full: bool) -> Case:
    def run(*arguments: str) -> str:
        return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout

    def check(ours: str, _: str) -> str:
        if "Usage" not in ours:
            raise AssertionError(f"no help came: {ours!r}")
        return "processes from start to end"

    return Case(
        what="cold start of thpi --help",
        against='python -c "import numpy"',
        target=3,
        ours=lambda: run("-c", "from thpi.cli import main; main()", "--help"),
        other=lambda: run("-c", "import numpy"),
        check=check,
        repeats=15 if full else 7,
    )
