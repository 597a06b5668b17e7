from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thpi.export import settle_ties
from thpi.export._workarounds import after_largest


@pytest.mark.parametrize("largest", [-(2**63), -1, 0, 1, 2, 3, 4, 1000, 2**62 - 1, 2**62, 2**63 - 2, 2**63 - 1])
def test_one_more_than_the_largest(largest: int) -> None:
    asked = []

    def reached(value: int) -> bool:
        asked.append(value)
        return largest >= value

    assert after_largest(reached) == max(0, largest + 1)
    assert all(0 <= value < 2**63 for value in asked), "an engine takes no larger numbers"
    assert len(asked) <= 2 * 64


@pytest.mark.parametrize("n", [1, 60, 70, 500])
def test_ties_are_settled_whatever_the_engine_returns(n: int) -> None:
    rng = np.random.RandomState(n)
    distances = rng.randint(4, size=(3, n)).astype(float)
    position = rng.permutation(n)

    def near(queries: np.ndarray, limit: int | None, radius: int | None) -> list[list[Any]]:
        answers = []
        for (query,) in queries.tolist():
            row = distances[query]
            order = np.lexsort((-position, row))  # of equal distances, the newest first
            hits = [(row[i], int(position[i]), f"item {i}") for i in order if radius is None or row[i] <= radius]
            answers.append(hits[:limit])
        return answers

    for k in (1, 7, 200):
        found = settle_ties(near, np.arange(3, dtype=np.uint8)[:, None], k)
        for row, hits in zip(distances, found, strict=True):
            assert hits == [(row[i], position[i], f"item {i}") for i in np.lexsort((position, row))[:k]]
