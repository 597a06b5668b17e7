"""Does AutoHasher answer alike on other processors?

    python -m benchmarks.machines [--sets ...] [--bits 32] [--machines Haswell,...] [--data-home ../shared/data]

Each of :data:`tools.machines.MACHINES` is a process of its own, which fits every set (a tenth of its rows are pairs)
under every meaning of relevant and codes fresh queries.

The table has a row per set and meaning: what was chosen on the first machine, whether others chose the same, and the
range over machines of ``gain_`` and of MAP on fresh queries, both in points.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks._table import lined_up
from tools.machines import MACHINES, play, playable

Found = dict[str, dict[str, Any]]
"""By set and meaning: ``choice``, ``gain``, ``map`` and ``seconds``."""


def fit_all(sets: list[str], bits: int, data_home: str | None) -> Found:
    """Fit every set under every meaning in this process."""
    from benchmarks.honest_gains import drawn
    from experiments.harness.bench import make_bench
    from experiments.harness.data import data_identity, load_rows
    from experiments.harness.store import ResultStore
    from experiments.transfer.settings import SETS
    from experiments.transfer.task import PROTOCOL

    found: Found = {}
    for name in sets:
        data = SETS[name].data
        rows, identity = load_rows(data, data_home), data_identity(data, data_home)
        bench = make_bench(rows, PROTOCOL, 0.1, 0, identity, ResultStore("results"))
        pairs = drawn(bench, len(bench.split.train), np.random.RandomState(0))
        assert pairs is not None
        for relevance in ("target", "source", "labels", "groups"):
            start = time.process_time()
            hasher = pairs.fitted(bits, relevance, 0)
            seconds = time.process_time() - start
            judged = relevance if relevance in bench.kinds else "labels"
            value = pairs.value(hasher, judged)
            found[f"{name} {relevance}"] = {
                "choice": hasher.choice_, "gain": hasher.gain_, "map": value, "seconds": seconds
            }  # fmt: skip
    return found


def table(by_machine: dict[str, Found]) -> tuple[list[list[str]], list[str]]:
    """Rows of the table, and its sums in words."""
    rows, alike, moved = [], 0, []
    cases = list(next(iter(by_machine.values())))
    for case in cases:
        entries = [found[case] for found in by_machine.values()]
        choices = {entry["choice"] for entry in entries}
        alike += len(choices) == 1
        ranges = [float(np.ptp([entry[name] for entry in entries])) for name in ("gain", "map")]
        moved.append(ranges)
        seconds = np.median([entry["seconds"] for entry in entries])
        shown = [f"{value:.2f}" for value in (entries[0]["gain"], ranges[0], entries[0]["map"], ranges[1])]
        rows.append([case, " / ".join(sorted(choices)), *shown, f"{seconds:.1f}"])
    largest = np.max(moved, axis=0)
    return rows, [
        f"the same choice in {alike} of {len(cases)} cases",
        f"gain_ moves by at most {largest[0]:.2f}, MAP by at most {largest[1]:.2f} points",
    ]


def main() -> None:
    """Play every machine and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets")
    parser.add_argument("--bits", type=int, default=32)
    parser.add_argument("--data-home")
    parser.add_argument("--machines", default=",".join(MACHINES))
    parser.add_argument("--here", action="store_true", help="fit in this process and print JSON")
    options = parser.parse_args()
    from experiments.transfer.settings import SETS

    sets = options.sets.split(",") if options.sets else list(SETS)
    if options.here:
        print(json.dumps(fit_all(sets, options.bits, options.data_home)))
        return
    arguments = ["-m", "benchmarks.machines", "--here", "--sets", ",".join(sets), "--bits", str(options.bits)]
    if options.data_home:
        arguments += ["--data-home", options.data_home]
    played = {machine: json.loads(play(machine, arguments)) for machine in playable(options.machines.split(","))}
    rows, words = table(played)
    print(f"{len(played)} machines: {', '.join(played)}")
    print(lined_up(["case", "chosen", "gain", "range", "MAP", "range", "CPU s"], rows))
    print("\n".join(words))


if __name__ == "__main__":
    main()
