from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("numba")

from thpi.kernels.sparse_product import codes_product, product


def _graph(n, seed):
    return sparse.random_array((n, n), density=min(1.0, 6 / n), format="csr", rng=np.random.default_rng(seed))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "c"), [(1, 1), (7, 3), (64, 32), (301, 17)])
def test_a_block_of_rows_is_that_of_scipy_to_the_bit(n, c, dtype):
    A = _graph(n, seed=n).astype(dtype)
    rows = np.random.RandomState(0).standard_normal((n, c)).astype(dtype)
    start = n // 3
    out = np.full((n - start, c), np.nan, dtype=dtype)
    product(A.indptr[start:], A.indices, A.data, rows, out)
    assert out.tobytes() == (A @ rows)[start:].tobytes()


@pytest.mark.parametrize(("n", "c"), [(1, 1), (8, 4), (61, 33)])
def test_codes_are_multiplied_as_float64(n, c):
    A = _graph(n, seed=n)
    codes = np.random.RandomState(1).choice([-1, 1], size=(n, c)).astype(np.int8)
    out = np.full((c, n), np.nan)
    codes_product(A.indptr, A.indices, A.data, codes, out)
    assert out.tobytes() == np.ascontiguousarray((A @ codes.astype(np.float64)).T).tobytes()


def test_a_graph_without_edges_gives_zeros():
    A = sparse.csr_array((5, 5))
    out = np.full((5, 2), np.nan)
    product(A.indptr, A.indices, A.data, np.ones((5, 2)), out)
    assert not out.any()
