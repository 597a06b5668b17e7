"""Target rows without a source beside few pairs: what are they worth, with the source and without?

    python -m benchmarks.unpaired_target [--splits 5] [--bits 32] [--sets ...] [--data-home ../shared/data]

Protocol, sets and splits are those of the transfer benchmark, with 5 and 10 % of the rows as pairs. A further 30 % of
the rows lend their target (``target=``), and not their source. Figures are points of MAP over ITQ on the pairs, means
over the two shares of pairs (if ITQ on the pairs can give this many bits). "shuffled" permutes the pairs' source rows.
Results are kept as they come: a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np

import thpi
from experiments.harness.bench import Bench, make_bench
from experiments.harness.data import DataSpec, data_identity, load_rows
from experiments.harness.pool import run_all
from experiments.harness.store import ResultStore
from experiments.transfer.settings import SETS
from experiments.transfer.task import PROTOCOL
from thpi.base import TooManyBitsError
from thpi.evaluation import paired_difference

ALPHAS = (0.05, 0.1)
MORE = 0.3
KIND = "unpaired_target"
TOLD = {"target": "target", "source": "source", "labels": "labels", "groups": "labels"}
"""What AutoHasher is told, and what it is judged by."""

LINES = (
    "ITQ",
    "ITQ, more rows",
    "AutoHasher, no source, more rows",
    "AutoHasher",
    "AutoHasher, more rows",
    "AutoHasher, more rows, shuffled",
)


class Task(NamedTuple):
    """What one process does at a time."""

    set_name: str
    alpha: float
    seed: int
    bits: int
    data: DataSpec
    identity: dict[str, Any]

    def config(self, line: str, told: str) -> dict[str, Any]:
        """What a result hangs on."""
        about = {"thpi": thpi.__version__, "data": self.identity, "alpha": self.alpha, "seed": self.seed}
        return {**about, "bits": self.bits, "line": line, "told": told, "more": MORE}


def fitted(bench: Bench, line: str, told: str, bits: int) -> Any:
    """Give the hasher of a line."""
    rng = np.random.RandomState(bench.seed)
    drawn = rng.permutation(bench.split.rest)[: round(MORE * bench.dataset.n)]
    X, S = bench.views.target[bench.split.train], bench.views.source[bench.split.train]
    more = bench.views.target[drawn] if "more rows" in line else None
    if line.startswith("ITQ"):
        return thpi.ITQ(bits, random_state=bench.seed).fit(X if more is None else np.vstack([X, more]))
    if "shuffled" in line:
        S = S[rng.permutation(len(S))]
    y = bench.known_labels if told == "labels" else None
    unpaired = bench.views.source[np.setdiff1d(bench.split.rest, drawn)]
    hasher = thpi.AutoHasher(bits, relevance=told, use_source="no source" not in line, random_state=bench.seed)
    return hasher.fit(X, y, privileged=S, source=unpaired, target=more)


def run_split(task: Task, store: ResultStore, data_home: str | None) -> None:
    """All fits of a split that have no result yet."""
    left = [(line, told) for told in TOLD for line in LINES if store.read_values(KIND, task.config(line, told)) is None]
    if not left:
        return
    bench = make_bench(load_rows(task.data, data_home), PROTOCOL, task.alpha, task.seed, task.identity, store)
    for line, told in left:
        try:
            hasher = fitted(bench, line, told, task.bits)
            found = 100 * bench.measured(hasher, bench.views.target)[TOLD[told]]["map"]
        except TooManyBitsError:
            found = None
        choice = None if found is None else getattr(hasher, "choice_", None)
        store.write_values(KIND, task.config(line, told), {"map": found, "choice": choice})


def table(tasks: list[Task], store: ResultStore, told: str) -> str:
    """A line a set: gains over ITQ on the pairs, with intervals over splits."""
    lines = ["| set | " + " | ".join(LINES[1:]) + " |", "|---|" + "--:|" * (len(LINES) - 1)]
    means = []
    found: dict[str, dict[tuple[float, int], list[float]]] = {}
    for task in tasks:
        maps = [(store.read_values(KIND, task.config(line, told)) or {"map": None})["map"] for line in LINES]
        if None not in maps:
            found.setdefault(task.set_name, {})[task.alpha, task.seed] = maps
    for name, runs in found.items():
        seeds = sorted({seed for _, seed in runs})
        by_split = np.array([np.mean([m for (_, s), m in runs.items() if s == seed], axis=0) for seed in seeds])
        gains = [paired_difference(column, by_split[:, 0]) for column in by_split[:, 1:].T]
        means.append([gain.mean for gain in gains])
        cells = (f"{g.mean:+.1f} ({g.low:+.1f} to {g.high:+.1f})" for g in gains)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines.append("| mean | " + " | ".join(f"{value:+.1f}" for value in np.mean(means, axis=0)) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--bits", type=int, default=32)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--data-home", default="../shared/data")
    parser.add_argument("--results", default="results/unpaired_target")
    args = parser.parse_args()
    store, tasks = ResultStore(args.results), []
    for name in args.sets.split(","):
        identity = data_identity(SETS[name].data, args.data_home)
        tasks += [
            Task(name, alpha, seed, args.bits, SETS[name].data, identity)
            for alpha in ALPHAS
            for seed in range(args.splits)
        ]
    run_all(run_split, tasks, store, data_home=args.data_home, on_done=lambda task: print(task[:3], flush=True))
    for told, judged in TOLD.items():
        print(f"\nTold {told}, judged by {judged}\n\n{table(tasks, store, told)}")


if __name__ == "__main__":
    main()
