"""Best swaps in one balanced code, with the two sides kept in heaps: log n a swap instead of n. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from thpi.kernels._prefetch import prefetch

__all__ = ["descend"]

Array = npt.NDArray[Any]

# A heap holds vertices, least (cost, number) at its root; ``place`` says where in its heap a vertex stands.


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _before(cost: Array, one: int, other: int) -> bool:
    return cost[one] < cost[other] or (cost[one] == cost[other] and one < other)  # type: ignore[no-any-return, unused-ignore]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _rise(heap: Array, place: Array, cost: Array, at: int) -> int:
    vertex = heap[at]
    while at > 0:
        parent = (at - 1) // 2
        if not _before(cost, vertex, heap[parent]):
            break
        heap[at] = heap[parent]
        place[heap[at]] = at
        at = parent
    heap[at] = vertex
    place[vertex] = at
    return at


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _sink(heap: Array, length: int, place: Array, cost: Array, at: int) -> None:
    vertex = heap[at]
    while True:
        child = 2 * at + 1
        if child >= length:
            break
        if child + 1 < length and _before(cost, heap[child + 1], heap[child]):
            child += 1
        if not _before(cost, heap[child], vertex):
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = vertex
    place[vertex] = at


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _next(heap: Array, length: int, cost: Array, open_places: Array, n_open: int) -> tuple[int, int]:
    """Give the next vertex of a heap in order of cost, -1 where there is none, and the number of open places.

    The next one is always a child of one that was given, so a short list of open places suffices.
    """
    if n_open == 0:
        return -1, 0
    best = 0
    for i in range(1, n_open):
        if _before(cost, heap[open_places[i]], heap[open_places[best]]):
            best = i
    at = open_places[best]
    n_open -= 1
    open_places[best] = open_places[n_open]
    for child in (2 * at + 1, 2 * at + 2):
        if child < length:
            open_places[n_open] = child
            n_open += 1
    return heap[at], n_open


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _weight(indptr: Array, indices: Array, data: Array, i: int, j: int) -> tuple[bool, float]:
    """Tell whether L has an entry (i, j), and which; the indices of a row are in order."""
    low, high = indptr[i], indptr[i + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < j:
            low = middle + 1
        else:
            high = middle
    if low < indptr[i + 1] and indices[low] == j:
        return True, data[low]
    return False, 0.0


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _push(heap: Array, length: int, place: Array, cost: Array, vertex: int) -> int:
    heap[length] = vertex
    _rise(heap, place, cost, length)
    return length + 1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _remove(heap: Array, length: int, place: Array, cost: Array, vertex: int) -> int:
    at, last = place[vertex], heap[length - 1]
    place[vertex] = -1
    if last != vertex:
        heap[at] = last
        place[last] = at
        _sink(heap, length - 1, place, cost, _rise(heap, place, cost, at))
    return length - 1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _gather(
    b: Array, cost: Array, below_up: float, below_down: float, up: Array, n_up: int, down: Array, n_down: int,
    place: Array,
) -> tuple[int, int]:  # fmt: skip
    """Take every vertex into the heap of its side that costs less than the side's limit and is not there yet."""
    for i in range(len(b)):
        if b[i] > 0:
            if cost[i] < below_up and place[i] < 0:
                n_up = _push(up, n_up, place, cost, i)
        elif cost[i] < below_down and place[i] < 0:
            n_down = _push(down, n_down, place, cost, i)
    return n_up, n_down


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _settle(
    vertex: int, b: Array, own: Array, gradient: Array, cost: Array, below_up: float, below_down: float,
    up: Array, n_up: int, down: Array, n_down: int, place: Array,
) -> tuple[int, int]:  # fmt: skip
    """Give a vertex its new cost and, in its heap, the place that goes with it."""
    cost[vertex] = own[vertex] - 2 * b[vertex] * gradient[vertex]
    if b[vertex] > 0:
        if place[vertex] >= 0:
            _sink(up, n_up, place, cost, _rise(up, place, cost, place[vertex]))
        elif cost[vertex] < below_up:
            n_up = _push(up, n_up, place, cost, vertex)
    elif place[vertex] >= 0:
        _sink(down, n_down, place, cost, _rise(down, place, cost, place[vertex]))
    elif cost[vertex] < below_down:
        n_down = _push(down, n_down, place, cost, vertex)
    return n_up, n_down


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def descend(
    codes: Array, K: Array, gradients: Array, indptr: Array, indices: Array, data: Array, own: Array,
    lambda2: float, max_swaps: int, widest: int,
) -> None:  # fmt: skip
    """Swap in every row of ``codes`` (c x n, in place) while it helps, and keep its row of ``gradients`` up to date.

    The twin of ``thpi.solvers.swap_descent._descend``: the same swaps in the same order, the same rounding.

    A vertex can be in a swap that helps only if its cost and the least cost of the other side are below 0 together.
    Few are, so that the heaps hold these alone, and a bit costs one pass over its rows. Should the least cost of a
    side fall below what the limits were made for, they are made anew, with a margin.
    """
    n_bits, n = codes.shape
    cost, place = np.empty(n), np.empty(n, dtype=np.int64)
    up, down = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    entering = np.empty(widest, dtype=np.int64)
    open_up, open_down = np.empty(2 * widest + 2, dtype=np.int64), np.empty(2 * widest + 2, dtype=np.int64)
    margin = 8 * lambda2
    for bit in range(n_bits):
        b, k, gradient = codes[bit], K[bit], gradients[bit]
        largest, largest_own = 0.0, own[0]
        n_up, n_down = 0, 0
        least_up, least_down = np.inf, np.inf
        for i in range(n):
            largest, largest_own = max(largest, abs(k[i])), max(largest_own, own[i])
            cost[i] = own[i] - 2 * b[i] * gradient[i]
            if b[i] > 0:
                least_up = min(least_up, cost[i])
            else:
                least_down = min(least_down, cost[i])
        rounding = 1e-12 * (largest + largest_own)
        if not least_up + least_down < -rounding:
            continue  # no pair can do better than its two members on their own
        place[:] = -1
        least_up, least_down = least_up - margin, least_down - margin
        n_up, n_down = _gather(b, cost, -least_down, -least_up, up, n_up, down, n_down, place)
        for _ in range(max_swaps):
            if n_up == 0 or n_down == 0:
                break
            i, j = up[0], down[0]
            lowest = cost[j]
            change = cost[i] + lowest
            if not change < -rounding:
                break  # the term of an edge only adds to this
            adjacent, _w = _weight(indptr, indices, data, i, j)
            if adjacent:
                change = np.inf
                # Both sides in order of cost, no further than the best pair may need.
                open_up[0], n_open_up = 0, 1
                open_down[0], n_open_down, n_entering = 0, 1, 0
                for _a in range(widest):
                    one, n_open_up = _next(up, n_up, cost, open_up, n_open_up)
                    if one < 0 or cost[one] + lowest >= change:
                        break
                    for e in range(widest):
                        if e == n_entering:
                            entering[e], n_open_down = _next(down, n_down, cost, open_down, n_open_down)
                            n_entering += 1
                        other = entering[e]
                        if other < 0:
                            n_entering = e  # the end: asked for again, it is found again
                            break
                        near, weight = _weight(indptr, indices, data, one, other)
                        trial = cost[one] + cost[other]
                        if near:
                            trial -= 8 * lambda2 * weight
                        if trial < change:
                            change, i, j = trial, one, other
                        if not near:
                            break  # later ones cost no less
                if not change < -rounding:
                    break
            for vertex in (i, j):  # their neighbours lie anywhere in memory
                for entry in range(indptr[vertex], indptr[vertex + 1]):
                    near_one = indices[entry]
                    prefetch(gradient, near_one, 0)
                    prefetch(cost, near_one, 0)
                    prefetch(place, near_one, 0)
                    prefetch(own, near_one, 0)
            n_up, n_down = _remove(up, n_up, place, cost, i), _remove(down, n_down, place, cost, j)
            for vertex in (i, j):
                side = b[vertex]
                b[vertex] = -side
                for entry in range(indptr[vertex], indptr[vertex + 1]):
                    near_one = indices[entry]
                    gradient[near_one] -= 4 * lambda2 * side * data[entry]
            for vertex in (i, j):
                n_up, n_down = _settle(
                    vertex, b, own, gradient, cost, -least_down, -least_up, up, n_up, down, n_down, place
                )
                for entry in range(indptr[vertex], indptr[vertex + 1]):
                    n_up, n_down = _settle(
                        indices[entry], b, own, gradient, cost, -least_down, -least_up, up, n_up, down, n_down, place
                    )
            lower_up, lower_down = n_up > 0 and cost[up[0]] < least_up, n_down > 0 and cost[down[0]] < least_down
            if lower_up or lower_down:
                least_up = cost[up[0]] - margin if lower_up else least_up
                least_down = cost[down[0]] - margin if lower_down else least_down
                n_up, n_down = _gather(b, cost, -least_down, -least_up, up, n_up, down, n_down, place)
