"""Best swaps in one balanced code, with the two sides kept in heaps: a swap costs log n instead of n.

One loop for both: plain Python runs it on lists, numba compiles it for arrays; same swaps, same rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from heapq import heappop, heappush
from typing import Any

__all__ = ["compiled_descend", "descend"]


def descend(
    b: Any, gradient: Any, cost: Any, up: Any, down: Any, graph: Any, limits: tuple[float, ...], max_swaps: int
) -> int:
    """Swap in one code, in place, and return how many swaps are left: 0 if no swap helps.

    ``cost`` is what it costs each row to leave its side, without the partner; ``up`` and ``down`` are the rows that
    cost less than ``-least_down`` and ``-least_up``, since the two of a swap that helps cost less than 0 together. It
    ends early where a row of a side costs less than the least foreseen. An entry of a heap counts as long as its row
    is on this side at this cost; ties go to the first row.
    """
    own, indptr, indices, data = graph
    lambda2, rounding, least_up, least_down = limits
    leaving, entering = sorted([(cost[i], int(i)) for i in up]), sorted([(cost[i], int(i)) for i in down])
    for left in range(max_swaps, 0, -1):
        # The least of each side are the best pair unless they are adjacent: then both sides are walked in order.
        ups, downs = leaving[:0], entering[:0]
        best, i, j, at, partner = float("inf"), 0, 0, 0, 0
        while True:
            for heap, walked, needed, side in ((leaving, ups, at, 1), (entering, downs, partner, -1)):
                while len(walked) <= needed and len(heap) > 0:
                    entry = heappop(heap)
                    if b[entry[1]] == side and cost[entry[1]] == entry[0]:
                        walked.append(entry)
            if partner == 0 and (len(ups) <= at or not downs or ups[at][0] + downs[0][0] >= best):
                break
            adjacent = False
            if partner < len(downs):
                one, other = ups[at][1], downs[partner][1]
                change = ups[at][0] + downs[partner][0]
                for e in range(indptr[one], indptr[one + 1]):
                    if indices[e] == other:
                        adjacent = True
                        change -= 8 * lambda2 * data[e]
                if change < best:
                    best, i, j = change, one, other
            at, partner = (at, partner + 1) if adjacent else (at + 1, 0)  # later partners cost no less
        if not best < -rounding:
            return 0
        for heap, walked in ((leaving, ups), (entering, downs)):
            for entry in walked:
                heappush(heap, entry)
        for vertex in (i, j):
            side = b[vertex]
            b[vertex] = -side
            for e in range(indptr[vertex], indptr[vertex + 1]):
                gradient[indices[e]] -= 4 * lambda2 * side * data[e]
        foreseen = True
        for vertex in (i, j):
            for e in range(indptr[vertex] - 1, indptr[vertex + 1]):
                near = int(indices[e]) if e >= indptr[vertex] else vertex
                cost[near] = own[near] - 2 * b[near] * gradient[near]
                if b[near] > 0 and cost[near] < -least_down:
                    heappush(leaving, (cost[near], near))
                    foreseen = foreseen and cost[near] >= least_up
                elif b[near] < 0 and cost[near] < -least_up:
                    heappush(entering, (cost[near], near))
                    foreseen = foreseen and cost[near] >= least_down
        if not foreseen:
            return left - 1
    return 0


@cache
def compiled_descend() -> Callable[..., int]:
    """Return the same function, compiled by numba."""
    from thpi.kernels._numba import compiled

    return compiled(descend)
