"""Best swaps in one balanced code, with the two sides kept in heaps: a swap costs log n instead of n. Compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thpi._types import Array
from thpi.kernels._numba import compiled, prefetch


class _Laplacian(NamedTuple):
    indptr: Array
    indices: Array
    data: Array


# A heap holds vertices, the least (cost, number) at its root; ``place`` is the position of a vertex in its heap, or -1.


@compiled
def _before(cost: Array, one: int, other: int) -> bool:
    return bool(cost[one] < cost[other] or (cost[one] == cost[other] and one < other))


@compiled
def _move(heap: Array, length: int, place: Array, cost: Array, at: int) -> None:
    """Move a vertex up or down its heap to the place that its cost requires."""
    vertex = heap[at]
    while at > 0:
        parent = (at - 1) // 2
        if not _before(cost, vertex, heap[parent]):
            break
        heap[at] = heap[parent]
        place[heap[at]] = at
        at = parent
    while 2 * at + 1 < length:
        child = 2 * at + 1
        if child + 1 < length and _before(cost, heap[child + 1], heap[child]):
            child += 1
        if not _before(cost, heap[child], vertex):
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = vertex
    place[vertex] = at


@compiled
def _update(heap: Array, length: int, place: Array, cost: Array, limit: float, vertex: int) -> int:
    """Move a vertex to its place in the heap, push it if it costs less than the limit, and return the new length."""
    if place[vertex] >= 0:
        _move(heap, length, place, cost, place[vertex])
    elif cost[vertex] < limit:
        heap[length] = vertex
        length += 1
        _move(heap, length, place, cost, length - 1)
    return length


@compiled
def _remove(heap: Array, length: int, place: Array, cost: Array, vertex: int) -> int:
    length -= 1
    at, last = place[vertex], heap[length]
    place[vertex] = -1
    if last != vertex:
        heap[at] = last
        _move(heap, length, place, cost, at)
    return length


@compiled
def _next(heap: Array, length: int, cost: Array, open_places: Array, n_open: int) -> tuple[int, int]:
    """Return the next vertex of a heap in order of cost, or -1 at the end, and the number of open places.

    The next vertex is always a child of one already returned, so a short list of open places suffices.
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


@compiled
def _entry(L: _Laplacian, i: int, j: int) -> int:
    """Return where L stores its entry (i, j), or -1 if it has none; the indices of a row are sorted."""
    low, high = L.indptr[i], L.indptr[i + 1]
    while low < high:
        middle = (low + high) // 2
        if L.indices[middle] < j:
            low = middle + 1
        else:
            high = middle
    return low if low < L.indptr[i + 1] and L.indices[low] == j else -1


@compiled
def _least_costs(b: Array, k: Array, gradient: Array, own: Array, cost: Array) -> tuple[float, float, float]:
    """Set all costs; return the least of both sides, and the change that is rounding."""
    largest, largest_own = 0.0, own[0]
    least_up, least_down = np.inf, np.inf
    for i in range(len(b)):
        largest, largest_own = max(largest, abs(k[i])), max(largest_own, own[i])
        cost[i] = own[i] - 2 * b[i] * gradient[i]
        if b[i] > 0:
            least_up = min(least_up, cost[i])
        else:
            least_down = min(least_down, cost[i])
    return least_up, least_down, 1e-12 * (largest + largest_own)


@compiled
def _best_pair(
    L: _Laplacian, lambda2: float, cost: Array, up: Array, n_up: int, down: Array, n_down: int, entering: Array,
    open_up: Array, open_down: Array,
) -> tuple[float, int, int]:  # fmt: skip
    """Return the least change and the pair that attains it, if the roots of the heaps are adjacent.

    Both sides are walked in order of cost, no further than the best pair may need.
    """
    i, j, change = up[0], down[0], np.inf
    lowest = cost[j]
    open_up[0], n_open_up = 0, 1
    open_down[0], n_open_down, n_entering = 0, 1, 0
    for _ in range(len(entering)):
        one, n_open_up = _next(up, n_up, cost, open_up, n_open_up)
        if one < 0 or cost[one] + lowest >= change:
            break
        for e in range(len(entering)):
            if e == n_entering:
                entering[e], n_open_down = _next(down, n_down, cost, open_down, n_open_down)
                n_entering += 1
            other = entering[e]
            if other < 0:
                n_entering = e  # the end: asked for again, it is found again
                break
            entry = _entry(L, one, other)
            trial = cost[one] + cost[other]
            if entry >= 0:
                trial -= 8 * lambda2 * L.data[entry]
            if trial < change:
                change, i, j = trial, one, other
            if entry < 0:
                break  # later ones cost no less
    return change, i, j


@compiled
def _flip(
    i: int, j: int, b: Array, gradient: Array, L: _Laplacian, lambda2: float, cost: Array, place: Array, own: Array
) -> None:
    """Exchange the signs of i and j, update the gradient, and load the rest of what the caller updates."""
    for vertex in (i, j):  # their neighbours lie anywhere in memory
        for entry in range(L.indptr[vertex], L.indptr[vertex + 1]):
            near = L.indices[entry]
            prefetch(gradient, near, 0)
            prefetch(cost, near, 0)
            prefetch(place, near, 0)
            prefetch(own, near, 0)
    for vertex in (i, j):
        sign = b[vertex]
        b[vertex] = -sign
        for entry in range(L.indptr[vertex], L.indptr[vertex + 1]):
            gradient[L.indices[entry]] -= 4 * lambda2 * sign * L.data[entry]


@compiled
def descend(
    codes: Array, K: Array, gradients: Array, indptr: Array, indices: Array, data: Array, own: Array,
    lambda2: float, max_swaps: int, widest: int,
) -> None:  # fmt: skip
    """Swap in every row of ``codes`` (c x n, in place) while it helps, and keep its row of ``gradients`` up to date.

    The twin of ``thpi.solvers.swap_descent.SwapDescent._descend``: the same swaps in the same order, the same rounding.

    A vertex can be in a swap that helps only if its cost and the least cost of the other side sum to less than 0. Few
    are, so the heaps hold only these, and a bit costs one pass over its rows. If the least cost of a side falls below
    the value behind its limits, the limits are set anew, with a margin.
    """
    n = codes.shape[1]
    L = _Laplacian(indptr, indices, data)
    cost, place = np.empty(n), np.empty(n, dtype=np.int64)
    up, down = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    entering = np.empty(widest, dtype=np.int64)
    open_up, open_down = np.empty(2 * widest + 2, dtype=np.int64), np.empty(2 * widest + 2, dtype=np.int64)
    margin = 8 * lambda2
    for bit in range(len(codes)):
        b, gradient = codes[bit], gradients[bit]
        least_up, least_down, rounding = _least_costs(b, K[bit], gradient, own, cost)
        if not least_up + least_down < -rounding:
            continue  # no pair can do better than its two members on their own
        place[:] = -1
        n_up, n_down, incomplete = 0, 0, True
        least_up, least_down = least_up - margin, least_down - margin
        for _ in range(max_swaps):
            if incomplete:
                for i in range(n):
                    if b[i] > 0:
                        n_up = _update(up, n_up, place, cost, -least_down, i)
                    else:
                        n_down = _update(down, n_down, place, cost, -least_up, i)
            if n_up == 0 or n_down == 0:
                break
            i, j = up[0], down[0]
            if not cost[i] + cost[j] < -rounding:
                break  # the term of an edge only adds to this
            if _entry(L, i, j) >= 0:
                change, i, j = _best_pair(L, lambda2, cost, up, n_up, down, n_down, entering, open_up, open_down)
                if not change < -rounding:
                    break
            n_up, n_down = _remove(up, n_up, place, cost, i), _remove(down, n_down, place, cost, j)
            _flip(i, j, b, gradient, L, lambda2, cost, place, own)
            for vertex in (i, j):
                for entry in range(indptr[vertex] - 1, indptr[vertex + 1]):
                    near = indices[entry] if entry >= indptr[vertex] else vertex
                    cost[near] = own[near] - 2 * b[near] * gradient[near]
                    if b[near] > 0:
                        n_up = _update(up, n_up, place, cost, -least_down, near)
                    else:
                        n_down = _update(down, n_down, place, cost, -least_up, near)
            lower_up, lower_down = n_up > 0 and cost[up[0]] < least_up, n_down > 0 and cost[down[0]] < least_down
            least_up = cost[up[0]] - margin if lower_up else least_up
            least_down = cost[down[0]] - margin if lower_down else least_down
            incomplete = lower_up or lower_down
