"""The search kernel, alone and shared out among threads, against sorting all distances."""

from __future__ import annotations

import faiss
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from thpi.codes import hamming_distances
from thpi.index import _exact
from thpi.index._exact import _kernel_nearest, _words_for_kernel

pytest.importorskip("numba")


def _sorted(queries, codes, k):
    distances = hamming_distances(queries, codes)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, order, axis=1), order


def _codes(n, width, levels, seed):
    return np.random.default_rng(seed).integers(0, levels, (n, width), dtype=np.uint8)


# Few levels: nearly all rows are tied, so the order of insertion decides.
@settings(max_examples=80, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 6),
    st.integers(1, 700),
    st.integers(1, 800),
    st.sampled_from([2, 256]),
    st.integers(0, 99),
)
@example(8, 1, 5000, 3, 2, 0)
@example(32, 1, 5000, 3, 256, 0)
@example(32, 5, 5000, 700, 2, 0)
def test_kernel_orders_by_distance_then_position(width, n, m, k, levels, seed):
    from thpi.kernels.scans import nearest_rows

    queries, codes = _codes(n, width, levels, seed), _codes(m, width, levels, seed + 100)
    size = next(size for size in (8, 4, 2, 1) if width % size == 0)
    k = min(k, m)
    distances, positions = nearest_rows(queries.view(f"u{size}"), codes.view(f"u{size}"), k, 8 * width)
    expected_distances, expected_positions = _sorted(queries, codes, k)
    np.testing.assert_array_equal(distances, expected_distances)
    np.testing.assert_array_equal(positions, expected_positions)


@pytest.mark.parametrize("n_queries", [1, 3, 40])
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 10, 999, 1000])
def test_sharing_out_changes_nothing(monkeypatch, n_queries, threads, k):
    monkeypatch.setattr(_exact, "n_threads", lambda: threads)
    monkeypatch.setattr(_exact, "_WORDS_A_THREAD", 1)
    queries, codes = _codes(n_queries, 8, 3, 0), _codes(1000, 8, 3, 1)
    words = _words_for_kernel(queries, codes, k)
    assert words is not None
    distances, positions = _kernel_nearest(*words, k, 64, lambda: None)
    by_faiss = faiss.knn_hamming(queries, codes, k, variant="mc")
    np.testing.assert_array_equal(distances, by_faiss[0])
    np.testing.assert_array_equal(positions, by_faiss[1])


def test_codes_that_do_not_lie_on_word_bounds_are_left_to_faiss():
    room = np.zeros(8 * 10 + 1, dtype=np.uint8)
    start = 1 if room.ctypes.data % 8 == 0 else 0
    codes = room[start : start + 80].reshape(10, 8)
    assert codes.ctypes.data % 8
    assert _words_for_kernel(codes[:1], codes, 1) is None
