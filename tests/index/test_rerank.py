from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from thpi.codes import pack, pack_signs
from thpi.index import HammingIndex, Neighbours, Vectors, asymmetric_rerank, euclidean_rerank


def test_asymmetric_rerank_of_what_a_store_found_is_the_order_of_the_index() -> None:
    rng = np.random.RandomState(0)
    p = rng.standard_normal((5, 20))
    index = HammingIndex(20)
    index.add(pack(rng.rand(50, 20) < 0.5), [f"{i}" for i in range(50)])
    found = asymmetric_rerank(index, index.search(pack_signs(p), 50), p, 30)
    expected = index.search(p, 30)
    np.testing.assert_array_equal(found.distances, expected.distances)
    np.testing.assert_array_equal(found.ids, expected.ids)


def test_euclidean_rerank_of_all_is_brute_force(tmp_path: Path) -> None:
    rng = np.random.RandomState(0)
    X, Q = rng.standard_normal((60, 5)).astype(np.float32), rng.standard_normal((7, 5))
    ids = rng.permutation(60) * 11
    np.save(tmp_path / "vectors.npy", X)
    vectors = Vectors(tmp_path / "vectors.npy", ids)
    assert isinstance(vectors.rows, np.memmap)
    index = HammingIndex(5)
    index.add(pack_signs(X), ids)
    found = euclidean_rerank(index.search(pack_signs(Q), 60), Q, vectors, 10)
    distances = cdist(Q, X.astype(np.float64))
    rows = np.argsort(distances, axis=1)[:, :10]
    np.testing.assert_array_equal(found.ids, ids[rows])
    np.testing.assert_allclose(found.distances, np.take_along_axis(distances, rows, axis=1))


def test_wrong_arguments_are_named(tmp_path: Path) -> None:
    vectors = Vectors(np.eye(3))
    found = Neighbours(np.zeros((1, 2)), np.array([[0, 7]]))
    with pytest.raises(KeyError, match="7"):
        euclidean_rerank(found, np.eye(3)[:1], vectors, 2)
    with pytest.raises(ValueError, match="queries"):
        euclidean_rerank(found, np.eye(3), vectors, 2)
    with pytest.raises(ValueError, match="queries"):
        euclidean_rerank(found, np.eye(2), vectors, 2)
    with pytest.raises(ValueError, match="projections"):
        asymmetric_rerank(HammingIndex(3), found, [[np.nan, 1.0, 2.0]], 2)
    with pytest.raises(ValueError, match="vectors"):
        Vectors(np.zeros(3))
    with pytest.raises(ValueError, match="more than once"):
        Vectors(np.eye(3), [1, 2, 1])
    (tmp_path / "wrong.npy").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"wrong\.npy"):
        Vectors(tmp_path / "wrong.npy")
