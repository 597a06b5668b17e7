"""The code steps of LapITQ+: relax and round, or exchange a +1 for a -1 while that helps, after Kernighan and Lin."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import sparse

from thpi._types import Array, Bools, Ints, MatrixLike, Signs
from thpi.kernels import pays_off
from thpi.kernels._threads import n_threads, run_in_order
from thpi.solvers.balance import as_signs, balanced_halves
from thpi.solvers.laplacian_qp import BoxQP

__all__ = ["GraphCodes", "SwapDescent"]

# Pairs of words compared in the time that one row of a bit takes without the kernel, and descents in a fit of LapITQ+.
_WORDS_PER_ROW = 500
_DESCENTS = 20
# Relative gap of the relaxed codes and most iterations: a looser gap ends higher. float32 has not the digits for less.
_SOLVED = {"float64": (1e-6, 2000), "float32": (1e-5, 100)}


class GraphCodes:
    """The code steps with the graph term; keeps what depends on the graph alone, and the last relaxed codes."""

    def __init__(self, laplacian: sparse.csr_matrix, lambda2: float, dtype: npt.DTypeLike) -> None:
        self.swaps = SwapDescent(laplacian, lambda2)
        self.programme = BoxQP(laplacian, lambda2, dtype) if laplacian.diagonal().any() else None
        self.relaxed: Array | None = None

    def rounded(self, M: Array, rng: np.random.RandomState) -> tuple[Bools, float]:
        """Solve the box relaxation for the linear term ``M`` (c x n) and round it to the nearest balanced codes.

        Returns where they are +1 (c x n), and their ``lambda2 tr(B'LB)``.
        """
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


class SwapDescent:
    """Lowers the LapITQ+ objective of balanced codes by the best swap, as long as there is one.

    For each bit b the objective is F(b) = -2 <b, k> + lambda2 b'Lb. With g = F'(b), exchanging the signs of i (at +1)
    and j (at -1) changes it by::

        (-2 g_i + 4 lambda2 L_ii) + (2 g_j + 4 lambda2 L_jj) - 8 lambda2 L_ij

    The last term is never negative, so the best i and the best j by their own terms are the best pair unless they are
    adjacent. In any case both are among the first (largest number of neighbours + 1) of their side, because one of
    these is not adjacent to the partner. The compiled kernel makes the same swaps from heaps. For odd n a bit may also
    change its sum between +1 and -1 by a single flip: a swap with an extra vertex without edges or a linear term.

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
        self.widest = int(np.diff(L.indptr).max(initial=0)) + 1

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
        compiled = pays_off(_DESCENTS * _WORDS_PER_ROW * codes.size)
        gradients = self._product(codes, compiled)
        gradients *= 2 * self.lambda2
        gradients -= 2 * K
        limit = n if max_swaps is None else max_swaps
        if compiled:
            self._descend_compiled(codes, K, gradients, limit)
        else:
            for bit in range(len(codes)):
                self._descend(codes[bit], K[bit], gradients[bit], limit)
        # With g = 2 lambda2 L b - 2 k: lambda2 b'Lb = <b, g / 2 + k>.
        gradients *= 0.5
        linear = np.einsum("ij,ij->i", codes, K)
        cuts = np.einsum("ij,ij->i", codes, gradients) + linear
        return codes[:, :n], cuts - 2 * linear, cuts

    def _product(self, codes: Signs, compiled: bool) -> Array:
        """Return ``(L B)'``, all bits at once: several times faster than bit by bit."""
        L, rows = self.L, np.ascontiguousarray(codes.T)
        if not compiled:
            return np.ascontiguousarray((L @ rows.astype(np.float64)).T)
        from thpi.kernels.sparse_product import codes_product

        product = np.empty(codes.shape)
        codes_product(L.indptr, L.indices, L.data, rows, product)
        return product

    def _descend_compiled(self, codes: Signs, K: Array, gradients: Array, max_swaps: int) -> None:
        from thpi.kernels.swap_heap import descend

        L, threads = self.L, n_threads()
        graph = L.indptr, L.indices, L.data, self.own, self.lambda2, max_swaps, self.widest
        parts = (np.array_split(array, 4 * threads) for array in (codes, K, gradients))
        run_in_order([partial(descend, b, k, g, *graph) for b, k, g in zip(*parts, strict=True) if len(b)], threads)

    def _descend(self, b: Signs, k: Array, gradient: Array, max_swaps: int) -> None:
        """Swap in one code, in place, and keep its gradient up to date."""
        L, own, lambda2 = self.L, self.own, self.lambda2
        rounding = 1e-12 * (np.abs(k).max() + own.max())
        # Cost of leaving one side, without the partner; infinite for members of the other side.
        cost = {side: np.where(b == side, own - 2 * side * gradient, np.inf) for side in (1, -1)}
        for _ in range(max_swaps):
            change, i, j = _best_pair(cost[1], cost[-1], L, lambda2, self.widest)
            if not change < -rounding:
                return
            for vertex in (i, j):
                side = b[vertex]
                b[vertex] = -side
                near, weight = _row(L, vertex)
                gradient[near] -= 4 * lambda2 * side * weight
                touched = np.append(near, vertex)
                for s in (1, -1):
                    cost[s][touched] = np.where(b[touched] == s, own[touched] - 2 * s * gradient[touched], np.inf)


def _best_pair(up: Array, down: Array, L: sparse.csr_array, lambda2: float, widest: int) -> tuple[float, int, int]:
    """Return the least change of the objective and the pair (i at +1, j at -1) that attains it."""
    i, j = int(up.argmin()), int(down.argmin())
    near, _ = _row(L, i)
    if j not in near:
        return float(up[i] + down[j]), i, j
    lowest, best = down[j], (np.inf, i, j)
    leaving, entering = _smallest(up, widest), _smallest(down, widest)
    for vertex in leaving:
        if up[vertex] + lowest >= best[0]:
            break
        change = up[vertex] + down[entering]
        near, weight = _row(L, vertex)
        adjacent = np.isin(entering, near)
        change[adjacent] -= 8 * lambda2 * weight[np.searchsorted(near, entering[adjacent])]
        partner = int(change.argmin())
        if change[partner] < best[0]:
            best = (float(change[partner]), int(vertex), int(entering[partner]))
    return best


def _smallest(values: Array, count: int) -> Ints:
    """Return the places of the ``count`` smallest finite values in ascending order, earlier ones first among equals."""
    largest = np.partition(values, count - 1)[count - 1] if count < len(values) else np.inf
    places = np.flatnonzero(np.isfinite(values) & (values <= largest))
    return places[np.argsort(values[places], kind="stable")][:count]


def _row(L: sparse.csr_array, vertex: int) -> tuple[Array, Array]:
    entries = slice(L.indptr[vertex], L.indptr[vertex + 1])
    return L.indices[entries], L.data[entries]
