"""The recall that each order reaches, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from benchmarks.index_kinds import Vectors, recall_gained
from thpi.codes import pack_signs
from thpi.index import HammingIndex


def test_recall_gained_counts_what_brute_force_counts() -> None:
    rng = np.random.RandomState(0)
    X, Q = rng.standard_normal((400, 16)), rng.standard_normal((30, 16))
    index = HammingIndex(16)
    index.add(pack_signs(X))
    report = recall_gained(index, Q, Q, Vectors(X), k=10, n_candidates=60)
    true = [set(row) for row in np.argsort(cdist(Q, X), axis=1)[:, :10]]
    hamming, asymmetric = index.search(pack_signs(Q), 10).ids, index.search(Q, 60).ids
    assert report.hamming == pytest.approx(np.mean([len(true[i] & set(hamming[i])) / 10 for i in range(30)]))
    best = np.mean([len(true[i] & set(asymmetric[i])) / 10 for i in range(30)])
    assert report.euclidean == pytest.approx(best), "reordering by the true distance finds all that is there"
    assert report.asymmetric == pytest.approx(np.mean([len(true[i] & set(asymmetric[i, :10])) / 10 for i in range(30)]))
    assert report.hamming < report.asymmetric < report.euclidean


def test_recall_of_all_candidates_is_one_even_with_ties() -> None:
    X = np.repeat(np.random.RandomState(0).standard_normal((20, 6)), 5, axis=0)
    index = HammingIndex(6)
    index.add(pack_signs(X))
    assert recall_gained(index, X[:9], X[:9], Vectors(X), k=7, n_candidates=100).euclidean == 1.0
