from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from thpi.solvers import graph_codes
from thpi.solvers.balance import balanced_signs

pytest.importorskip("numba")


def _problem(n, weighted, seed):
    rng = np.random.RandomState(seed)
    W = np.triu(rng.rand(n, n) * (rng.rand(n, n) < min(1, 6 / n)), 1)
    if not weighted:  # equal weights and whole numbers: many equal costs
        W = np.ceil(W)
    W = W + W.T
    K = rng.randn(n, 4) if weighted else rng.randint(-2, 3, (n, 4)).astype(float)
    return sparse.csr_array(np.diag(W.sum(axis=1)) - W), K, balanced_signs(rng.randn(n, 4), rng)


@pytest.mark.parametrize("n", [2, 3, 7, 40, 41, 300])
@pytest.mark.parametrize("lambda2", [0.0, 0.05, 2.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_swaps", [1, 5, None])
def test_kernel_makes_the_swaps_of_its_twin(n, lambda2, weighted, max_swaps, monkeypatch):
    L, K, B = _problem(n, weighted, seed=n)
    descent = graph_codes.SwapDescent(L, lambda2)
    results = []
    for compiled in (True, False):
        monkeypatch.setattr(graph_codes, "pays_off", lambda n_words, compiled=compiled: compiled)
        results.append(descent.descend(np.ascontiguousarray(B.T), K.T, max_swaps=max_swaps))
    for ours, twin in zip(*results, strict=True):
        assert ours.tobytes() == twin.tobytes()
    codes, values, cuts = results[0]
    b = codes.T.astype(float)
    np.testing.assert_allclose(values, np.sum(b * (lambda2 * (L @ b) - 2 * K), axis=0), atol=1e-9)
    np.testing.assert_allclose(cuts, lambda2 * np.sum(b * (L @ b), axis=0), atol=1e-9)
