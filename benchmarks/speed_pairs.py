"""Cases of the methods that learn from pairs: ITQ+, the Laplacian programme, LapITQ+ and the Hamming graph."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._cases import Case
from thpi._types import Array
from thpi.codes import pack_signs, paired_hamming_distances
from thpi.graph import hamming_knn_graph, hamming_neighbors, laplacian
from thpi.hashers import ITQPlus, LapITQPlus
from thpi.solvers.balance import project_balanced_box
from thpi.solvers.graph_codes import BoxQP

__all__ = ["cases"]

ITERATIONS = 50


def cases(full: bool) -> Iterator[Case]:
    """Yield the cases one by one; ``full`` takes the sizes of the targets, else smaller ones of the same kind."""
    yield itq_plus_case(full)
    for lambda2, factor in ((0.01, 5), (0.1, 5), (1.0, 3)):
        yield laplacian_case(full, lambda2, factor)
    for dimensions in ((512, 256), (64, 48)):
        yield lap_itq_plus_case(*dimensions)
    yield from growth_cases(full)
    for name, bits, target in (("clustered", 64, 1.0), ("uniform", 64, 1.0), ("clustered", 16, 1 / 20)):
        yield graph_case(full, name, bits, target)


def pairs(n: int, d_target: int, d_source: int, *, shared: int = 64) -> tuple[Array, Array]:
    """Paired views with common latent variables of falling variance, float32."""
    rng = np.random.RandomState(0)
    latent = (rng.standard_normal((n, shared)) * np.linspace(2, 0.5, shared)).astype(np.float32)
    views = []
    for d in (d_target, d_source):
        view = latent @ rng.standard_normal((shared, d)).astype(np.float32) / 8
        view += 0.5 * rng.standard_normal((n, d)).astype(np.float32)
        views.append(view)
    return views[0], views[1]


def itq_plus_case(full: bool) -> Case:
    """The whole fit beside Algorithm 1 as the paper writes it."""
    n, d_target, d_source, bits = 100_000 if full else 20_000, 512, 256, 64
    X, S = pairs(n, d_target, d_source)

    def same_objective(ours: ITQPlus, other: float) -> str:
        mine = float(ours.objective_[-1])
        if ours.n_iter_ != ITERATIONS or mine > other + 1e-3 * abs(other):
            raise AssertionError(f"{mine} after {ours.n_iter_} iterations against {other}")
        return f"objective {mine:.5e} against {other:.5e} after {ITERATIONS} iterations each"

    return Case(
        what=f"ITQ+ fit, {n:,} pairs, d {d_target} and {d_source}, {bits} bits, {ITERATIONS} iterations, float32",
        against="Algorithm 1 in plain numpy, float64",
        target=1 / 5,
        ours=lambda: ITQPlus(bits, max_iter=ITERATIONS, tol=0, random_state=0).fit(X, privileged=S),
        other=lambda: algorithm_1(X, S, bits, lambda1=0.01, n_iter=ITERATIONS),
        check=same_objective,
        repeats=1 if full else 3,
        # Halves of X'X and S'S, X'S; then the products with R and P once an iteration (codes change little).
        operations=n * (d_target**2 + d_source**2 + 2.0 * d_target * d_source)
        + ITERATIONS * 2.0 * n * (d_target + d_source) * bits,
        bytes_read=ITERATIONS * (X.nbytes + S.nbytes),
    )


def algorithm_1(X: Array, S: Array, bits: int, *, lambda1: float, n_iter: int) -> float:
    """Algorithm 1 for ITQ+, line by line, on centred views scaled as the library scales them; gives the objective."""
    X, S = (_centred_and_scaled(view.astype(np.float64), bits) for view in (X, S))
    rng = np.random.RandomState(np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=1)[0])
    R, P = (_random_frame(view.shape[1], bits, rng) for view in (X, S))
    XR, SP, value = X @ R, S @ P, np.inf
    for _ in range(n_iter):
        M = (1 + lambda1) * XR + lambda1 * SP
        B = np.ones_like(M)
        np.put_along_axis(B, np.argsort(M, axis=0)[: len(M) // 2], -1, axis=0)
        R = _closed_form(X.T @ ((1 + lambda1) * B - lambda1 * SP))
        XR = X @ R
        P = _closed_form(S.T @ (B - XR))
        SP = S @ P
        value = -2 * np.sum(B * ((1 + lambda1) * XR + lambda1 * SP)) + 2 * lambda1 * np.sum(XR * SP)
    return float(value)


def _centred_and_scaled(view: Array, bits: int) -> Array:
    view = view - view.mean(axis=0)
    energy = np.linalg.eigvalsh(view.T @ view)[-bits:].sum()
    scaled: Array = view * np.sqrt(len(view) * bits / energy)
    return scaled


def _random_frame(d: int, bits: int, rng: np.random.RandomState) -> Array:
    Q, T = np.linalg.qr(rng.standard_normal((d, bits)))
    return Q * np.sign(np.diag(T))


def _closed_form(A: Array) -> Array:
    U, _, Vt = np.linalg.svd(A, full_matrices=False)
    product: Array = U @ Vt
    return product


def laplacian_case(full: bool, lambda2: float, factor: float) -> Case:
    """The relaxed code step beside OSQP, factorised once for all bits."""
    n, bits = 10_000 if full else 2_000, 32
    rng = np.random.RandomState(0)
    latent = rng.standard_normal((n, 8))
    L = laplacian(hamming_knn_graph(pack_signs(latent @ rng.standard_normal((8, 32))), 10, random_state=rng))
    K = latent @ rng.standard_normal((8, bits)) / 3

    def with_osqp() -> Array:
        import osqp  # type: ignore[import-untyped]

        solver = osqp.OSQP()
        constraints = sparse.vstack([sparse.eye(n), np.ones((1, n))], format="csc")
        edge = np.r_[np.ones(n), 0]
        hessian = 2 * lambda2 * sparse.csc_matrix(sparse.triu(L))
        tolerance = {"eps_abs": 1e-4, "eps_rel": 1e-4, "max_iter": 20_000}  # loose enough for 1e-6
        solver.setup(hessian, -2 * K[:, 0], constraints, -edge, edge, verbose=False, **tolerance)
        solution = np.empty_like(K)
        for j in range(bits):
            solver.update(q=-2 * K[:, j])
            solution[:, j] = solver.solve().x
        return solution

    def values(ours: Any, other: Array) -> str:
        # OSQP's point lies a little outside: its value counts where it is put back inside.
        inside = project_balanced_box(other, np.ones(n), np.zeros(other.shape[1]))
        mine, theirs = (float(np.sum(B * (lambda2 * (L @ B) - 2 * K))) for B in (ours.B, inside))
        if not ours.converged:
            raise AssertionError(f"gap {ours.gap} after {ours.n_iter} iterations")
        above = (theirs - (mine - ours.gap)) / abs(mine)
        return f"at most {ours.gap / abs(mine):.0e} above the optimum; OSQP at eps 1e-4 at most {above:.0e}"

    return Case(
        what=f"Laplacian QP, n {n:,}, {bits} bits, lambda2 {lambda2}, gap 1e-6",
        against="OSQP, factorised once",
        target=1 / factor,
        ours=lambda: BoxQP(L, lambda2, K.dtype).solve(K),
        other=with_osqp,
        check=values,
        repeats=1 if full else 3,
    )


def lap_itq_plus_case(d_target: int, d_source: int) -> Case:
    """LapITQ+ beside ITQ+, whole fits of as many iterations; the same in both settings."""
    X, S = pairs(10_000, d_target, d_source, shared=16 if d_target < 100 else 64)
    common: dict[str, Any] = {"max_iter": ITERATIONS, "tol": 0, "random_state": 0}
    return Case(
        what=f"LapITQ+ fit, 10,000 pairs, d {d_target} and {d_source}, 32 bits, {ITERATIONS} iterations",
        against="ITQ+ fit, as many iterations",
        target=5.0,
        ours=lambda: LapITQPlus(32, **common).fit(X, privileged=S),
        other=lambda: ITQPlus(32, **common).fit(X, privileged=S),
        check=lambda ours, other: f"{ours.n_iter_} and {other.n_iter_} iterations",
        repeats=3,
    )


def growth_cases(full: bool) -> Iterator[Case]:
    """LapITQ+ at four times the pairs beside the time before: the target is 4^1.15."""
    sizes = (5_000, 20_000, 80_000, 320_000) if full else (5_000, 20_000)
    for few, many in pairwise(sizes):
        yield Case(
            what=f"LapITQ+ fit, {many:,} pairs, d 64 and 48, 32 bits, 20 iterations",
            against=f"the same, {few:,} pairs",
            target=4**1.15,
            ours=partial(fit_in_own_memory, many),
            other=partial(fit_in_own_memory, few),
            check=partial(memory_a_pair, many, few),
            repeats=1,
        )


def fit_in_own_memory(n: int) -> int:
    """Fit, and give the peak of the memory that numpy took for it, in bytes."""
    X, S = pairs(n, 64, 48, shared=16)
    tracemalloc.start()
    LapITQPlus(32, max_iter=20, tol=0, random_state=0).fit(X, privileged=S)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def memory_a_pair(many: int, few: int, ours: int, other: int) -> str:
    """The remark on two results of :func:`fit_in_own_memory`, of ``many`` and of ``few`` pairs."""
    return f"peak of numpy's memory a pair: {ours / many:.0f} against {other / few:.0f} bytes"


def graph_case(full: bool, name: str, bits: int, target: float) -> Case:
    """The lists of ten neighbours beside a flat search for eleven, the row itself being one."""
    n = 200_000 if full else 50_000
    codes = clustered_codes(n, bits) if name == "clustered" else np.random.RandomState(0).bytes(n * bits // 8)
    codes = np.frombuffer(codes, dtype=np.uint8).reshape(n, bits // 8)

    def flat() -> Array:
        import faiss

        index = faiss.IndexBinaryFlat(bits)
        index.add(codes)
        distances: Array = index.search(codes, 11)[0]
        return distances

    def same_distances(ours: Array, other: Array) -> str:
        rows = np.arange(0, n, 97)
        mine = paired_hamming_distances(np.repeat(codes[rows], 10, axis=0), codes[ours[rows].ravel()]).reshape(-1, 10)
        np.testing.assert_array_equal(np.sort(mine, axis=1), other[rows, 1:])
        return f"same distances; tenth neighbour at {np.median(other[:, 10]):.0f} bits (median)"

    return Case(
        what=f"Hamming graph, k 10, {n:,} {name} codes of {bits} bits",
        against="faiss IndexBinaryFlat, k 11",
        target=target,
        ours=lambda: hamming_neighbors(codes, 10, random_state=0),
        other=flat,
        check=same_distances,
        repeats=1 if full else 3,
    )


def clustered_codes(n: int, bits: int) -> Array:
    """Signs of random projections of 500 groups in 32 dimensions: neighbours as near as real data have them."""
    rng = np.random.RandomState(0)
    latent = rng.standard_normal((500, 32))[rng.randint(500, size=n)] + 0.5 * rng.standard_normal((n, 32))
    return pack_signs(latent @ rng.standard_normal((32, bits)))
