"""Is the interval of ``gain_`` honest, and does the answer depend on the seed?

    python -m benchmarks.honest_gains [--fits 40] [--bits 16] [--sets ...] [--data-home ../shared/data]

Protocol and sets are those of the transfer benchmark. Three tables:

1. Nothing to gain: the source rows belong to other items ("unrelated source"), or the labels do ("random labels"). In
   which share of fits, each on other pairs, is the interval above 0, and in which are source or labels used?
2. Related source: in which share of fits does the interval cover the gain on fresh queries, of what AutoHasher learned
   over what it learns without the source? Only fits that use the source have such a gain.
3. The standard deviation of MAP over ten seeds, on the same pairs.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import thpi
from benchmarks._table import lined_up
from experiments.harness.bench import Bench, make_bench
from experiments.harness.data import data_identity, load_rows
from experiments.harness.store import ResultStore
from experiments.transfer.settings import SETS
from experiments.transfer.task import PROTOCOL

PAIRS = (60, 200)
SEEDS = 10


class Pairs(NamedTuple):
    """Some pairs of a set, further source rows, labels, and the bench that judges codes."""

    X: Any
    S: Any
    unpaired: Any
    y: Any
    bench: Bench

    def fitted(self, bits: int, relevance: str, seed: int, **params: Any) -> thpi.AutoHasher:
        """AutoHasher on these pairs."""
        hasher = thpi.AutoHasher(bits, relevance=relevance, random_state=seed, **params)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that the pairs are unrelated is what is tried
            labels = self.y if thpi.RELEVANCES[relevance].needs_labels else None
            return hasher.fit(self.X, labels, privileged=self.S, source=self.unpaired)

    def value(self, hasher: thpi.AutoHasher, relevance: str) -> float:
        """MAP on fresh queries, in points."""
        return 100 * float(self.bench.measured(hasher, self.bench.views.target)[relevance]["map"])


def drawn(bench: Bench, n: int, rng: np.random.RandomState) -> Pairs | None:
    """n of the pairs of a split; None if it has fewer."""
    target, rows, S, unpaired = bench.training()
    if len(rows) < n:
        return None
    some = rng.permutation(len(rows))[:n]
    return Pairs(target[rows[some]], S[some], unpaired, bench.known_labels[some], bench)


def unrelated_source(pairs: Pairs, rng: np.random.RandomState) -> Pairs:
    """The source rows of other items."""
    return pairs._replace(S=pairs.S[rng.permutation(len(pairs.S))])


def random_labels(pairs: Pairs, rng: np.random.RandomState) -> Pairs:
    """The labels of other items."""
    return pairs._replace(y=pairs.y[rng.permutation(len(pairs.y))])


CASES: tuple[tuple[str, str, Callable[[Pairs, np.random.RandomState], Pairs]], ...] = (
    ("unrelated source", "target", unrelated_source),
    ("unrelated source", "source", unrelated_source),
    ("unrelated source", "labels", unrelated_source),
    ("random labels", "labels", random_labels),
)


def nothing_to_gain(benches: list[Bench], fits: int, bits: int) -> Iterator[list[str]]:
    """One row per case and number of pairs."""
    for name, relevance, spoil in CASES:
        for n in PAIRS:
            above, used, total = 0, 0, 0
            for fit in range(fits):
                rng = np.random.RandomState(fit)
                pairs = drawn(benches[fit % len(benches)], n, rng)
                if pairs is not None:
                    hasher = spoil(pairs, rng).fitted(bits, relevance, fit)
                    total += 1
                    above += hasher.gain_interval_[0] > 0
                    used += hasher.uses_source_ if spoil is unrelated_source else "Class" in hasher.choice_
            if total:
                shares = (f"{100 * count / total:.1f} %" for count in (above, used))
                yield [name, relevance, str(n), str(total), *shares]


def covered(benches: list[Bench], fits: int, bits: int) -> Iterator[list[str]]:
    """One row per meaning."""
    for relevance in ("target", "source", "labels"):
        inside, total = 0, 0
        for fit in range(fits):
            pairs = drawn(benches[fit % len(benches)], max(PAIRS), np.random.RandomState(fit))
            if pairs is None:
                continue
            hasher = pairs.fitted(bits, relevance, fit)
            if hasher.uses_source_:
                alone = pairs.fitted(bits, relevance, fit, use_source=False)
                gain = pairs.value(hasher, relevance) - pairs.value(alone, relevance)
                total += 1
                inside += hasher.gain_interval_[0] <= gain <= hasher.gain_interval_[1]
        if total:
            yield [relevance, str(total), f"{100 * inside / total:.0f} %"]


def spread(benches: list[Bench], bits: int) -> Iterator[list[str]]:
    """One row per set, one column per meaning."""
    for bench in benches:
        pairs = drawn(bench, len(bench.split.train), np.random.RandomState(0))
        assert pairs is not None
        row = [bench.dataset.name]
        for relevance in ("target", "source", "labels"):
            values = [pairs.value(pairs.fitted(bits, relevance, seed), relevance) for seed in range(SEEDS)]
            row.append(f"{np.std(values, ddof=1):.2f}")
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=40)
    parser.add_argument("--bits", type=int, default=16)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--data-home")
    options = parser.parse_args()
    store, benches = ResultStore("results"), []
    for name in options.sets.split(","):
        data = SETS[name].data
        identity = data_identity(data, options.data_home)
        benches.append(make_bench(load_rows(data, options.data_home), PROTOCOL, 0.1, 0, identity, store))
    head = ["case", "relevance", "pairs", "fits", "interval above 0", "used"]
    print(lined_up(head, list(nothing_to_gain(benches, options.fits, options.bits))), flush=True)
    print(lined_up(["relevance", "fits", "covered"], list(covered(benches, options.fits, options.bits))), flush=True)
    print(lined_up(["set", "sd target", "sd source", "sd labels"], list(spread(benches, options.bits))), flush=True)


if __name__ == "__main__":
    main()
