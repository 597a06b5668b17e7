"""The kernel against its numpy twin, which other tests hold against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from thpi.codes import as_words, pack
from thpi.evaluation import distance_histograms
from thpi.evaluation._histograms import block_distances, count_by_distance, counting_tasks

pytest.importorskip("numba")


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 300), st.integers(1, 9), st.integers(1, 60), st.floats(0, 1), st.integers(0, 2**32 - 1))
@example(64, 3, 4096 * 2 + 5, 0.1, 0)  # several blocks of rows, the last one short
@example(300, 2, 4096, 1.0, 0)
@example(127, 1, 4095, 0.0, 0)
def test_kernel_counts_as_numpy_does(n_bits, n, m, density, seed):
    from thpi.kernels.scans import count_words

    rng = np.random.default_rng(seed)
    queries, database = (as_words(pack(rng.integers(0, 2, (rows, n_bits)))) for rows in (n, m))
    relevant = rng.random((n, m)) < density
    database = np.ascontiguousarray(database.T)
    got = count_words(queries, database, relevant, n_bits)
    distances = block_distances(queries, database, np.min_scalar_type(2 * n_bits + 1))
    expected = count_by_distance(distances, relevant, n_bits)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def _both(queries, database, relevance, n_bits):
    """Counts, by kernel and by numpy."""
    words = as_words(queries), np.ascontiguousarray(as_words(database).T)
    parts = {
        use: [task() for task in counting_tasks(*words, relevance, n_bits, "linear", use)] for use in (True, False)
    }
    return [np.concatenate([counts for counts, _, _ in parts[use]]) for use in (True, False)]


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_retrieval_of_several_blocks_is_the_same_either_way(order):
    rng = np.random.default_rng(0)
    queries, database = (pack(rng.integers(0, 2, (rows, 20))) for rows in (2500, 900))
    relevant = np.asarray(rng.random((2500, 900)) < 0.3, order=order)
    kernel, plain = _both(queries, database, relevant, 20)
    np.testing.assert_array_equal(kernel, plain)
    h = distance_histograms(queries, database, relevant, 20)
    np.testing.assert_array_equal(h.hist_relevant, plain[:, 1])
    np.testing.assert_array_equal(h.hist_all, plain.sum(axis=1))


def test_graded_relevance_takes_the_numpy_path():
    rng = np.random.default_rng(0)
    queries, database = (pack(rng.integers(0, 2, (rows, 12))) for rows in (5, 80))
    words = as_words(queries), np.ascontiguousarray(as_words(database).T)
    tasks = list(counting_tasks(*words, rng.integers(0, 3, (5, 80)), 12, "linear", use_kernel=True))
    assert [task.func.__name__ for task in tasks] == ["_count_block"]
    _, gains, ideal = tasks[0]()
    assert len(gains) == len(ideal) == 5
