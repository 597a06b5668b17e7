"""Cases that the tests of several measures share."""

from __future__ import annotations

import numpy as np
import pytest

from thpi.codes import hamming_distances, pack


def _make(n_queries, n_database, n_bits, seed):
    rng = np.random.default_rng(seed)
    queries, database = (pack(rng.integers(0, 2, (rows, n_bits))) for rows in (n_queries, n_database))
    grades = rng.integers(0, 4, (n_queries, n_database)) * (rng.random((n_queries, n_database)) < 0.5)
    return queries, database, grades, hamming_distances(queries, database)


@pytest.fixture(params=range(4))
def tied_case(request):
    """Queries, database, grades, distances: 6 rows of 3 bits, so nearly all are tied; n_bits is 3."""
    queries, database, grades, distances = _make(8, 6, 3, request.param)
    grades[0] = 0  # a query without relevant rows
    grades[1] = 1  # and one to which every row is relevant
    return queries, database, grades, distances


@pytest.fixture
def untied_case():
    """One query whose 40 rows lie at 40 different distances; n_bits is 40."""
    rng = np.random.default_rng(5)
    distances = rng.permutation(40)
    database = pack(np.arange(40)[None, :] < distances[:, None])
    grades = rng.integers(0, 4, (1, 40))
    return pack(np.zeros((1, 40), bool)), database, grades, distances[None, :]


@pytest.fixture
def middle_case():
    """30 queries against 200 rows of 12 bits: too many orders to walk through."""
    return _make(30, 200, 12, 11)
