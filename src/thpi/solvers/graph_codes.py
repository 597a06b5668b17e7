"""The code steps of LapITQ+: relax and round, or exchange a +1 for a -1 while that helps, after Kernighan and Lin."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, partial
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from thpi._types import Array, Bools, MatrixLike, Signs
from thpi.kernels import pays_off
from thpi.kernels.threads import n_threads, run_in_order
from thpi.solvers.balance import as_signs, balanced_halves, project_balanced_box
from thpi.solvers.blocks import CACHED, for_blocks, sum_blocks, take_block

__all__ = ["BoxQP", "GraphCodes", "LaplacianQPResult", "SwapDescent"]

# Pairs of words compared in the time that one row of a bit takes without the kernel, and descents in a fit of LapITQ+.
_WORDS_PER_ROW = 500
_DESCENTS = 20
# Relative gap of the relaxed codes and most iterations: a looser gap ends higher. float32 has not the digits for less.
_SOLVED = {"float64": (1e-6, 2000), "float32": (1e-5, 100)}
# The certificate needs a selection along every column, which costs about one iteration.
_ITERATIONS_PER_CHECK = 8
# Any positive curvature is valid for a vertex without edges; a small one lets it move far in one step.
_ISOLATED_DEGREE = 1e-2


class GraphCodes:
    """The code steps with the graph term; keeps what depends on the graph alone, and the last relaxed codes."""

    def __init__(self, laplacian: sparse.csr_matrix, lambda2: float, dtype: npt.DTypeLike) -> None:
        self.swaps = SwapDescent(laplacian, lambda2)
        self.programme = BoxQP(laplacian, lambda2, dtype) if laplacian.diagonal().any() else None
        self.relaxed: Array | None = None

    def rounded(self, M: Array, rng: np.random.RandomState) -> tuple[Bools, float]:
        """Round the relaxed codes for ``M`` (c x n): where the nearest are +1 (c x n), and ``lambda2 tr(B'LB)``."""
        nearest = M
        if self.programme is not None:
            self.relaxed = self.programme.solve(M.T, self.relaxed, *_SOLVED[M.dtype.name]).B
            nearest = np.ascontiguousarray(self.relaxed.T)
        positive = balanced_halves(nearest, rng)
        return positive, float(self.swaps.descend(as_signs(positive), M, max_swaps=0)[2].sum())

    def swapped(self, M: Array, positive: Bools) -> tuple[Bools, float]:
        """Improve codes by swaps of two rows for the linear term ``M``; returns the same, and never raises it."""
        codes, _, cuts = self.swaps.descend(as_signs(positive), M)
        return codes > 0, float(cuts.sum())


class LaplacianQPResult(NamedTuple):
    """Relaxed codes (n x c, in [-1, 1], columns sum to zero) with a proven upper bound on their error."""

    B: Array
    gap: float  # bound of objective(B) - optimum, summed over the columns
    n_iter: int  # of the column that needed most
    converged: bool  # whether gap <= tol * max(1, |objective(B)|)


class BoxQP:
    """The relaxed LapITQ+ objective in the codes, for one graph and many linear terms.

    ::

        min_B  F(B) = -2 <B, K> + lambda2 tr(B' L B)    with -1 <= B <= 1 and 1'B = 0

    (the paper's update of B with its ||B L|| read as tr(B' L B)), lambda2 > 0, at least one edge. Solved by accelerated
    projected gradient in the metric of the degrees (L <= 2 D) with the momentum of greedy FISTA (Liang, Luo and
    Schoenlieb 2022): factor 1, dropped in a column as soon as it points uphill there. It has no proven rate; the
    certificate bounds the error instead. In float32 the least tolerance within reach grows with lambda2 (for K of unit
    scale 1e-6 at lambda2 = 1 and 2e-5 at lambda2 = 10).

    Certificate. F is convex, so with g = F'(b) every feasible x has F(b) - F(x) <= <g, b> - <g, x>. The
    smallest <g, x> over the feasible set is, by linear duality in the multiplier m of 1'x = 0,
    ``max_m min_{|x|<=1} <g - m, x> = -min_m sum_i |g_i - m| = -sum_i |g_i - median(g)|``. Hence::

        F(b) - F* <= <g, b> + sum_i |g_i - median(g)| = sum_i (|h_i| + h_i b_i),   h = g - median(g)

    where the last form, a sum of non-negative terms, loses no digits; it is computed in float64. Columns that have
    reached their share of the tolerance stop early. For odd n the +-1 codes have column sums of +-1 and lie outside
    these constraints; to bound them too, append a row of zeros to ``K`` and an isolated vertex to the graph.

    >>> solver = BoxQP(np.array([[1.0, -1.0], [-1.0, 1.0]]), 1.0, np.float64)
    >>> solver.solve(np.array([[0.5], [-0.5]])).B.round(6).ravel()
    array([ 0.25, -0.25])
    """

    def __init__(self, laplacian: MatrixLike, lambda2: float, dtype: npt.DTypeLike) -> None:
        self.L = sparse.csr_array(laplacian).astype(np.float64)
        self.lambda2, self.dtype = lambda2, np.dtype(dtype)
        degrees = self.L.diagonal()
        metric = np.where(degrees > 0, degrees, _ISOLATED_DEGREE * degrees[degrees > 0].min())
        self.weight, self.inverse = metric.astype(self.dtype), (1 / metric).astype(self.dtype)
        # One gradient step from Y is averaging @ Y + pull; the step length 1 / (2 bound lambda2 d_i) is folded in.
        self.bound = _curvature_bound(self.L, metric)
        step = sparse.diags_array(1 / (self.bound * metric))
        self.averaging = (sparse.eye_array(len(degrees)) - step @ self.L).tocsr().astype(self.dtype)

    def solve(self, K: Array, start: Array | None = None, tol: float = 1e-6, max_iter: int = 2000) -> LaplacianQPResult:
        """Solve for ``K`` (n x c) from ``start``, for instance the solution for a similar ``K``."""
        K = np.ascontiguousarray(K, dtype=self.dtype)
        pull = K * (self.inverse[:, None] / K.dtype.type(self.bound * self.lambda2))
        c, B = K.shape[1], np.empty_like(K)
        gaps, values, active = np.empty(c), np.empty(c), np.arange(c)
        multiplier = np.zeros(c, dtype=K.dtype)
        X = np.zeros_like(K)
        if start is not None:
            X = project_balanced_box(start.astype(K.dtype, copy=False), self.inverse, multiplier)
        Y = X.copy()
        n_iter = 0
        while True:
            # A check of a start at zero would be of no use.
            if (n_iter % _ITERATIONS_PER_CHECK == 0 and (n_iter or start is not None)) or n_iter == max_iter:
                gaps[active], values[active] = _gap_and_value(X, K[:, active], self.L, self.lambda2)
                B[:, active] = X
                if gaps.sum() <= tol * max(1.0, abs(values.sum())) or n_iter == max_iter:
                    break
                # Half of the tolerance each for the two terms, so that all shares together stay within it.
                going = gaps[active] > 0.5 * tol * np.maximum(1 / c, np.abs(values[active]))
                if not going.all():
                    active, multiplier = active[going], multiplier[going]
                    X, Y, pull = (np.compress(going, part, axis=1) for part in (X, Y, pull))  # row by row in memory
            X, Y = self._iterate(X, Y, pull, multiplier)
            n_iter += 1
        gap = float(gaps.sum())
        return LaplacianQPResult(B, gap, n_iter, gap <= tol * max(1.0, abs(float(values.sum()))))

    def _iterate(self, X: Array, Y: Array, pull: Array, multiplier: Array) -> tuple[Array, Array]:
        """Make a step of greedy FISTA; return the new point and the one to go on from."""
        if pull.nbytes <= CACHED:
            V = self.averaging @ Y
            V += pull
            X_new = project_balanced_box(V, self.inverse, multiplier)
            step = X_new - X
            # Where the last step and the last extrapolation disagree the momentum is dropped.
            step *= self.weight @ ((Y - X_new) * step) <= 0
            return X_new, X_new + step
        V = np.empty_like(pull)

        def gradient_step(rows: slice) -> None:
            np.add(take_block(self.averaging, rows) @ Y, pull[rows], out=V[rows])

        def turn_of(rows: slice) -> tuple[Array]:
            return (self.weight[rows] @ ((Y[rows] - X_new[rows]) * (X_new[rows] - X[rows])),)

        def extrapolate(rows: slice) -> None:
            np.add(X_new[rows], (X_new[rows] - X[rows]) * kept, out=V[rows])

        for_blocks(gradient_step, V)
        X_new = project_balanced_box(V, self.inverse, multiplier)
        kept = sum_blocks(turn_of, V)[0] <= 0
        for_blocks(extrapolate, V)
        return X_new, V


def _curvature_bound(L: sparse.csr_array, metric: Array) -> float:
    """Return t with L <= t D: a Lanczos estimate, from below, with a margin, never more than the proven 2."""
    if len(metric) < 50:
        return 2.0
    scale, v0 = sparse.diags_array(1 / np.sqrt(metric)), np.cos(np.arange(len(metric)))
    try:
        largest = eigsh(scale @ L @ scale, 1, which="LA", tol=1e-2, v0=v0, return_eigenvectors=False)
    except ArpackNoConvergence:
        return 2.0
    return float(min(2.0, 1.03 * largest[0]))


def _gap_and_value(X: Array, K: Array, L: sparse.csr_array, lambda2: float) -> tuple[Array, Array]:
    """Return the certificate and the objective of each column, in float64."""
    X, K = X.astype(np.float64, copy=False), K.astype(np.float64, copy=False)
    gradient = 2 * lambda2 * (L @ X) - 2 * K
    value = np.einsum("ij,ij->j", X, 0.5 * gradient - K)
    middle = len(X) // 2
    gradient -= np.partition(np.ascontiguousarray(gradient.T), middle, axis=1)[:, middle]
    return np.einsum("ij,ij->j", gradient, X) + np.abs(gradient).sum(axis=0), value


class SwapDescent:
    """Lowers the LapITQ+ objective of balanced codes by the best swap, as long as there is one.

    For each bit b the objective is F(b) = -2 <b, k> + lambda2 b'Lb. With g = F'(b), exchanging the signs of i (at +1)
    and j (at -1) changes it by::

        (-2 g_i + 4 lambda2 L_ii) + (2 g_j + 4 lambda2 L_jj) - 8 lambda2 L_ij

    The last term is never negative, so the best i and the best j by their own terms are the best pair unless they are
    adjacent; then both sides are walked in order, no further than that. For odd n a bit may also change its sum
    between +1 and -1 by a single flip: a swap with an extra vertex without edges or a linear term.

    >>> rows, values, cuts = SwapDescent(np.array([[1.0, -1.0], [-1.0, 1.0]]), 0.5).descend(
    ...     np.array([[1, -1]], dtype=np.int8), np.array([[-1.0, 2.0]]))
    >>> rows, values, cuts
    (array([[-1,  1]], dtype=int8), array([-4.]), array([2.]))
    """

    def __init__(self, laplacian: MatrixLike, lambda2: float) -> None:
        L = sparse.csr_array(laplacian).astype(np.float64)
        if L.shape[0] % 2:
            L = sparse.block_diag([L, sparse.csr_array((1, 1))], format="csr")
        L.sum_duplicates()
        self.L, self.lambda2 = L, float(lambda2)
        self.own = 4 * lambda2 * L.diagonal()
        self._graph = self.own, L.indptr, L.indices, L.data

    @cached_property
    def _lists(self) -> tuple[list[float], ...]:
        return tuple(array.tolist() for array in self._graph)

    def descend(self, codes: Signs, K: Array, *, max_swaps: int | None = None) -> tuple[Signs, Array, Array]:
        """Descend from balanced ``codes`` with the linear terms ``K`` (both c x n), by at most n swaps in each code.

        Returns the new codes, the objective F(b) of each, and its graph term lambda2 b'Lb alone.
        """
        n = codes.shape[1]
        codes, K = codes.copy(), K.astype(np.float64)
        if n % 2:
            codes = np.hstack([codes, -codes.sum(axis=1, dtype=np.int64)[:, None].astype(np.int8)])
            K = np.hstack([K, np.zeros((len(K), 1))])
        K = np.ascontiguousarray(K)
        gradients = np.ascontiguousarray((self.L @ codes.T.astype(np.float64)).T)
        gradients *= 2 * self.lambda2
        gradients -= 2 * K
        if max_swaps != 0:
            compiled = _compiled_descend() if pays_off(_DESCENTS * _WORDS_PER_ROW * codes.size) else None
            tasks = (
                partial(self._descend, *row, max_swaps or n, compiled) for row in zip(codes, K, gradients, strict=True)
            )
            run_in_order(tasks, n_threads() if compiled else 1)
        # With g = 2 lambda2 L b - 2 k: lambda2 b'Lb = <b, g / 2 + k>.
        gradients *= 0.5
        linear = np.einsum("ij,ij->i", codes, K)
        cuts = np.einsum("ij,ij->i", codes, gradients) + linear
        return codes[:, :n], cuts - 2 * linear, cuts

    def _descend(self, b: Signs, k: Array, gradient: Array, max_swaps: int, compiled: Any) -> None:
        """Swap in one code, in place, and keep its gradient up to date."""
        rounding = 1e-12 * (np.abs(k).max() + self.own.max())
        margin = 8 * self.lambda2
        while max_swaps:
            cost = self.own - 2 * b * gradient
            is_up = b > 0
            least_up, least_down = (float(cost[side].min(initial=np.inf)) for side in (is_up, ~is_up))
            if not least_up + least_down < -rounding:
                return  # no pair can do better than its two members on their own
            least = least_up - margin, least_down - margin
            low_up, low_down = cost < -least[1], cost < -least[0]
            sides = np.flatnonzero(is_up & low_up), np.flatnonzero(~is_up & low_down)
            limits = self.lambda2, rounding, *least
            if compiled is not None:
                max_swaps = compiled(b, gradient, cost, *sides, self._graph, limits, max_swaps)
            else:
                signs, slopes, costs, up, down = (array.tolist() for array in (b, gradient, cost, *sides))
                max_swaps = _descend(signs, slopes, costs, up, down, self._lists, limits, max_swaps)
                b[:], gradient[:] = signs, slopes


# The two sides are kept in heaps, so a swap costs log n instead of n. Plain Python runs this loop on lists, numba
# compiles it for arrays: same swaps, same rounding.
def _descend(
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
def _compiled_descend() -> Callable[..., int]:
    from thpi.kernels.scans import compiled

    return compiled(_descend)
