from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from thpi.solvers import blocks
from thpi.solvers.moments import centred_product


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sparse_product_has_the_dtype_of_the_rows(dtype, index):
    X = sparse.random(200, 50, density=0.1, format="csr", dtype=dtype, random_state=0)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    W = np.asfortranarray(np.random.RandomState(0).standard_normal((50, 9)).astype(dtype))
    mean = np.asarray(X.mean(axis=0)).ravel().astype(dtype)
    found = centred_product(X, mean, W)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, (X.toarray() - mean) @ W, atol=1e-5)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_one_block_and_many_have_the_same_sums(n, monkeypatch):
    """Integers, so that the order of adding does not matter; the limit is 64 rows."""
    monkeypatch.setattr(blocks, "CACHED", 64 * 8 * 3)
    X = np.random.RandomState(0).randint(9, size=(n, 3)).astype(float)
    seen: list[slice] = []

    def totals(rows):
        seen.append(rows)
        return X[rows].sum(axis=0), np.float32(len(X[rows]))

    sums, count = blocks.sum_blocks(totals, X)
    np.testing.assert_array_equal(sums, X.sum(axis=0))
    assert (count, count.dtype) == (n, np.float64)
    assert len(seen) == -(-n // 64)
    out = np.zeros(n)
    blocks.for_blocks(lambda rows: np.add(out[rows], X[rows].sum(axis=1), out=out[rows]), X)
    np.testing.assert_array_equal(out, X.sum(axis=1))


def test_no_rows_have_no_sums():
    assert blocks.sum_blocks(lambda rows: (np.ones(2),), np.empty((0, 3))) == ()
    blocks.for_blocks(lambda rows: pytest.fail("called"), np.empty((0, 3)))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_a_block_is_the_rows_from_its_start_to_its_stop(container):
    X = np.random.RandomState(0).standard_normal((7, 3)) * (np.arange(21).reshape(7, 3) % 4 > 0)
    for start in range(7):
        for stop in range(start + 1, 8):
            block = blocks.take_block(container(X), slice(start, stop))
            assert type(block) is type(container(X))
            np.testing.assert_array_equal(block.toarray() if sparse.issparse(block) else block, X[start:stop])
