"""How fast are the solvers beside what others would use? Ratios in one run, one thread, best of five.

- Laplacian box QP against OSQP (factorised once, all bits), at a gap of 1e-6 and OSQP's eps of 1e-5.
- ITQ (rotation only) against faiss's ITQMatrix, same data, same iterations.
- Balanced signs by selection against a full sort.
- Packed Hamming distances against scipy's cdist on unpacked bits.
"""

from __future__ import annotations

import faiss
import numpy as np
import osqp
from scipy import sparse
from scipy.spatial.distance import cdist

from benchmarks._table import best_times, milliseconds
from thpi.codes import hamming_distances, pack_signs, unpack
from thpi.graph import hamming_knn_graph, laplacian
from thpi.solvers.balance import balanced_signs
from thpi.solvers.laplacian_qp import laplacian_box_qp
from thpi.solvers.quantisation import iterative_quantisation


def _qp(n: int, c: int, lambda2: float) -> dict[str, float]:
    rng = np.random.RandomState(0)
    latent = rng.standard_normal((n, 8))
    codes = pack_signs(latent @ rng.standard_normal((8, 32)))
    L = laplacian(hamming_knn_graph(codes, 10, random_state=rng)).astype(np.float64)
    K = latent @ rng.standard_normal((8, c)) / 3

    def with_osqp() -> None:
        solver = osqp.OSQP()
        constraints = sparse.vstack([sparse.eye(n), np.ones((1, n))], format="csc")
        low, high = np.r_[-np.ones(n), 0], np.r_[np.ones(n), 0]
        solver.setup(
            2 * lambda2 * sparse.csc_matrix(sparse.triu(L)), -2 * K[:, 0], constraints, low, high,
            verbose=False, eps_abs=1e-5, eps_rel=1e-5, max_iter=20_000,
        )  # fmt: skip
        for j in range(c):
            solver.update(q=-2 * K[:, j])
            solver.solve()

    return best_times({"thpi": lambda: laplacian_box_qp(K, L, lambda2), "osqp": with_osqp}, repeats=3)


def _itq(n: int, c: int) -> dict[str, float]:
    Z = np.random.RandomState(0).standard_normal((n, c)).astype(np.float32) * np.linspace(3, 1, c, dtype=np.float32)

    def with_faiss() -> None:
        itq = faiss.ITQMatrix(c)
        itq.max_iter = 50
        itq.train(Z)

    return best_times(
        {
            "thpi": lambda: iterative_quantisation(Z, np.random.RandomState(0), tol=-1, max_iter=50),
            "faiss": with_faiss,
        },
        repeats=3,
    )


def _balance(n: int, c: int) -> dict[str, float]:
    M = np.random.RandomState(0).standard_normal((n, c))

    def by_sorting() -> None:
        order = np.argsort(M, axis=0)
        B = np.ones(M.shape, dtype=np.int8)
        np.put_along_axis(B, order[: n // 2], -1, axis=0)

    return best_times({"thpi": lambda: balanced_signs(M, 0), "full sort": by_sorting})


def _hamming(n: int, bits: int) -> dict[str, float]:
    codes = pack_signs(np.random.RandomState(0).standard_normal((n, bits)))
    unpacked = unpack(codes, bits)
    return best_times(
        {"thpi": lambda: hamming_distances(codes, codes), "scipy": lambda: cdist(unpacked, unpacked, "hamming")},
        repeats=3,
    )


def main() -> None:
    print("Solvers side by side (ratio > 1: thpi is faster)")
    for title, times in (
        *[(f"Laplacian QP, n=2000, c=8, lambda2={v}", _qp(2000, 8, v)) for v in (0.01, 0.1, 1)],
        *[(f"ITQ rotation, 50 iterations, n={n}, c=32", _itq(n, 32)) for n in (500, 20_000)],
        ("balanced signs, n=20000, c=64", _balance(20_000, 64)),
        ("Hamming distances, 3000 x 3000, 64 bits", _hamming(3000, 64)),
    ):
        ours, other = times["thpi"], next(name for name in times if name != "thpi")
        print(
            f"  {title:44}thpi{milliseconds(ours)}   {other:9}{milliseconds(times[other])} {times[other] / ours:6.1f} x"
        )


if __name__ == "__main__":
    main()
