"""What some engines cannot do: order equal distances, and find the largest value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thpi._types import Codes
from thpi.export._engine import Hit

_SPARE = 64  # items beyond the k-th that are asked for at once, so that most answers have all ties of the k-th


def settle_ties(
    near: Callable[[Codes, int | None, int | None], Sequence[list[Hit]]], queries: Codes, k: int
) -> list[list[Hit]]:
    """Return the ``k`` nearest by (distance, position) from an engine that chooses among equal distances as it likes.

    ``near(queries, limit, radius)`` returns the nearest of each query: so many, or all (None), at any distance (None)
    or within the radius. If an answer may lack ties of its k-th, all items within that distance are asked for.

    >>> import numpy as np
    >>> near = lambda queries, limit, radius: [[(1, 2, "c"), (0, 3, "d"), (1, 1, "b")] for _ in queries]
    >>> settle_ties(near, np.zeros((1, 1), dtype=np.uint8), 2)
    [[(0, 3, 'd'), (1, 1, 'b')]]
    """
    found = [sorted(hits) for hits in near(queries, k + _SPARE, None)]
    unsettled: dict[int, list[int]] = {}
    for row, hits in enumerate(found):
        if len(hits) >= k + _SPARE and hits[-1][0] == hits[k - 1][0]:
            unsettled.setdefault(round(hits[k - 1][0]), []).append(row)
    for radius, rows in unsettled.items():
        for row, hits in zip(rows, near(queries[rows], None, radius), strict=True):
            found[row] = sorted(hits)
    return [hits[:k] for hits in found]


def after_largest(reached: Callable[[int], bool]) -> int:
    """Return one more than the largest value, at least 0 and at most 2^63, by bisection.

    ``reached(value)`` tells whether the largest is at least ``value``, which is below 2^63.

    >>> after_largest(lambda value: 41 >= value), after_largest(lambda value: -5 >= value)
    (42, 0)
    """
    low, high = -1, 1  # low is reached, or -1; high is not
    while high < 2**63 and reached(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reached(middle) else (low, middle)
    return high
