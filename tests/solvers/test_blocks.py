from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from thpi.solvers import blocks
from thpi.solvers.moments import centred_product


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_ways_give_the_same_bits(dtype, index, monkeypatch):
    pytest.importorskip("numba")
    X = sparse.random(200, 50, density=0.1, format="csr", dtype=dtype, random_state=0)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    W = np.asfortranarray(np.random.RandomState(0).standard_normal((50, 9)).astype(dtype))
    mean = np.asarray(X.mean(axis=0)).ravel().astype(dtype)
    products = []
    for compiled in (True, False):
        monkeypatch.setattr(blocks, "pays_off", lambda n_words, compiled=compiled: compiled)
        products.append(centred_product(X, mean, W))
    assert products[0].dtype == dtype
    assert products[0].tobytes() == products[1].tobytes()
    np.testing.assert_allclose(products[0], (X.toarray() - mean) @ W, atol=1e-5)
