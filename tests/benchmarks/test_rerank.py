"""Reordering by the true distance, against brute force."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from benchmarks.index_kinds import Vectors, euclidean_rerank, other_kind
from thpi.codes import pack, pack_signs
from thpi.index import HammingIndex


def test_euclidean_rerank_of_all_is_brute_force() -> None:
    rng = np.random.RandomState(0)
    X, Q = rng.standard_normal((60, 5)).astype(np.float32), rng.standard_normal((7, 5))
    ids = rng.permutation(60) * 11
    index = HammingIndex(5)
    index.add(pack_signs(X), ids)
    found = euclidean_rerank(index.search(pack_signs(Q), 60), Q, Vectors(X, ids), 10)
    distances = cdist(Q, X.astype(np.float64))
    rows = np.argsort(distances, axis=1)[:, :10]
    np.testing.assert_array_equal(found.ids, ids[rows])
    np.testing.assert_allclose(found.distances, np.take_along_axis(distances, rows, axis=1))


def test_kinds_that_the_index_does_not_have_are_measured() -> None:
    index = HammingIndex(32)
    index.add(pack(np.random.RandomState(0).rand(2000, 32) < 0.5))
    for graph in (False, True):
        text = other_kind(graph, index, 5, 0.5)
        assert float(text.split("reached ")[1].split(",")[0]) >= 0.5, text
