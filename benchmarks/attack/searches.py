"""Searches that are allowed and much too large: does the server keep its memory, and is it there again afterwards?

Requests of 1,000 vectors for 1,000 neighbours with details, 14 and 56 at a time, to a server with a time limit of two
seconds: one with the default bound on the work of a request, and one without.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.attack._outcome import Outcome
from benchmarks.attack._server import N_FEATURES, Server, at_once, make_shop, serving

MEMORY = 1 << 30
UNBOUNDED = "--max-neighbours", str(10**9)


def pile(server: Server, n: int, rounds: int, expected: set[int], seed: int = 0) -> Outcome:
    """Send ``n`` large searches at a time."""
    X = np.random.RandomState(seed).standard_normal((1000, N_FEATURES))
    body = json.dumps({"vectors": X.tolist(), "k": 1000, "details": True})
    outcome = Outcome(f"{n} large searches at a time", n * rounds)
    for _ in range(rounds):
        answers = at_once([lambda: server.ask("/search", body)[0]] * n)
        outcome.counts += Counter(str(answer) for answer in answers)
        start = time.monotonic()
        while True:  # the slots are free as soon as the blocks that run are done
            try:
                server.seconds_to_answer()
                break
            except AssertionError as error:
                if time.monotonic() > start + 60:
                    outcome.wrong.append(f"not there again: {error}")
                    break
        seconds = time.monotonic() - start
        outcome.counts["ms until it is there again"] = max(
            outcome.counts["ms until it is there again"], round(1000 * seconds)
        )
    server.watch()
    outcome.counts["MB"], outcome.counts["threads"] = server.rss >> 20, server.threads
    unexpected = set(outcome.counts) & {str(status) for status in range(600)} - {str(each) for each in expected}
    outcome.demand(not unexpected, f"answers {sorted(unexpected)}")
    outcome.demand(server.rss < MEMORY, f"{server.rss >> 20} MB of memory")
    outcome.demand(server.threads < 60, f"{server.threads} threads")
    return outcome


def attack(scale: float, seed: int, n_items: int = 200_000) -> Iterator[Outcome]:
    """Send searches in 20 rounds at scale 1."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_shop(folder, n_items)
        for what, options, expected in (
            ("bounded", (), {422, 503}),
            ("not bounded", UNBOUNDED, {200, 503}),
        ):
            for n in (14, 56):
                with serving(folder, "--time-limit", "2", *options) as server:
                    server.ask("/search", {"vectors": [[0.0] * N_FEATURES] * 100, "k": 1000})  # compiles the kernels
                    outcome = pile(server, n, max(1, round(20 * scale)), expected, seed)
                    outcome.attack += f", {what}"
                    yield outcome
