"""``python -m benchmarks.attack [NAME ...] [--scale 1] [--seed 0]``: all attacks, one table.

A scale of 1 takes about half an hour, 0.1 some minutes. The exit code is 1 if anything happened that must not.
"""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks._table import lined_up
from benchmarks.attack import connections, kill_writers, mutate_files, requests, searches
from benchmarks.attack._outcome import Attack, Outcome

ATTACKS: dict[str, Attack] = {
    "kills": kill_writers.attack,
    "damaged files": mutate_files.attack,
    "hostile files": mutate_files.crafted,
    "requests": requests.attack,
    "searches": searches.attack,
    "connections": connections.attack,
}


def row(outcome: Outcome) -> list[str]:
    counts = ", ".join(f"{name} {count}" for name, count in sorted(outcome.counts.items()))
    return [outcome.attack, str(outcome.tried), str(len(outcome.wrong)), counts]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {', '.join(ATTACKS)}")
    parser.add_argument("--scale", type=float, default=1.0, help="how long to go on")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.names:
        if name not in ATTACKS:
            parser.error(f"{name!r} is not one of {', '.join(ATTACKS)}")
    outcomes: list[Outcome] = []
    for name in options.names or ATTACKS:
        start = time.monotonic()
        for outcome in ATTACKS[name](options.scale, options.seed):
            outcomes.append(outcome)
            print(f"{outcome.attack}: {outcome.tried} tried, {len(outcome.wrong)} wrong", file=sys.stderr)
            for wrong in outcome.wrong[:20]:
                print(f"  {wrong}", file=sys.stderr)
        print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr)
    print(lined_up(["attack", "tried", "wrong", "what came of it"], [row(each) for each in outcomes]))
    n_wrong = sum(len(each.wrong) for each in outcomes)
    print(f"{sum(each.tried for each in outcomes)} tried, {n_wrong} wrong")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
