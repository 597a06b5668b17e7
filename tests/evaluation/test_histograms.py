"""Histograms against plain loops, over the shapes that take different paths, and their memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from thpi.codes import _ones_by_shifts, hamming_distances, pack
from thpi.evaluation import distance_histograms
from thpi.evaluation._histograms import block_distances, count_by_distance


def _case(n, m, n_bits, seed=0):
    rng = np.random.default_rng(seed)
    queries, database = (pack(rng.integers(0, 2, (rows, n_bits))) for rows in (n, m))
    return queries, database, rng.random((n, m)) < 0.2


def _slow(queries, database, grades, n_bits):
    distances = hamming_distances(queries, database)
    return np.array([[g[d == r].sum() for r in range(n_bits + 1)] for d, g in zip(distances, grades, strict=True)])


# 127 and 128 bits lie on both sides of keys of one byte; 40,001 rows take the long-row path, of odd length;
# 2,500 queries against 900 rows need two blocks.
@pytest.mark.parametrize(
    ("n", "m", "n_bits"),
    [
        (7, 30, 1),
        (5, 40, 13),
        (4, 50, 64),
        (3, 60, 127),
        (3, 60, 128),
        (2, 50, 300),
        (2, 40_001, 20),
        (2, 40_001, 127),
        (2, 40_000, 128),
        (2500, 900, 16),
    ],
)
def test_histograms_equal_counting_one_by_one(n, m, n_bits):
    queries, database, relevant = _case(n, m, n_bits)
    h = distance_histograms(queries, database, relevant, n_bits)
    np.testing.assert_array_equal(h.hist_all, _slow(queries, database, np.ones_like(relevant), n_bits))
    np.testing.assert_array_equal(h.hist_relevant, _slow(queries, database, relevant, n_bits))
    np.testing.assert_array_equal(h.n_relevant, relevant.sum(axis=1))
    assert h.n_database == m
    assert h.n_bits == n_bits
    assert h.hist_gain is None


def test_all_forms_of_relevance_give_the_same_histograms():
    queries, database, relevant = _case(2500, 900, 16)
    expected = distance_histograms(queries, database, relevant, 16)
    forms = {
        "list": relevant.tolist(),
        "sparse array": sparse.csr_array(relevant),
        "sparse matrix, by columns": sparse.csc_matrix(relevant),
        "callable": lambda start, stop: relevant[start:stop],
        "callable, sparse": lambda start, stop: sparse.coo_array(relevant[start:stop]),
    }
    for name, form in forms.items():
        got = distance_histograms(queries, database, form, 16)
        np.testing.assert_array_equal(got.hist_relevant, expected.hist_relevant, err_msg=name)


@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_graded_histograms_sum_gains(gain):
    queries, database, _ = _case(6, 50, 10)
    grades = np.random.default_rng(1).integers(0, 4, (6, 50))
    gains = grades if gain == "linear" else 2.0**grades - 1
    h = distance_histograms(queries, database, grades, 10, gain=gain)
    np.testing.assert_allclose(h.hist_gain, _slow(queries, database, gains, 10))
    np.testing.assert_array_equal(h.hist_relevant, _slow(queries, database, grades > 0, 10))
    for row, (levels, times) in zip(gains, h.ideal, strict=True):
        np.testing.assert_array_equal(np.repeat(levels, times), np.sort(row[row > 0])[::-1])


def test_shifts_count_ones_as_python_does():
    words = np.random.default_rng(0).integers(0, 2**64, (30, 5), dtype=np.uint64)
    words[0, :2] = 0, 2**64 - 1
    expected = [[int(word).bit_count() for word in row] for row in words]
    np.testing.assert_array_equal(_ones_by_shifts(words), expected)


def test_block_distances_of_several_words():
    words = np.array([[0, 0], [1, 2**63]], dtype=np.uint64)
    np.testing.assert_array_equal(block_distances(words, words.T.copy(), np.uint8), [[0, 2], [2, 0]])


def test_short_and_long_rows_count_alike():
    rng = np.random.default_rng(0)
    distances = rng.integers(0, 21, (2, 50_001)).astype(np.uint8)
    relevant = rng.random(distances.shape) < 0.3
    parts = [count_by_distance(distances[:, s], relevant[:, s], 20) for s in (slice(0, 25_000), slice(25_000, None))]
    np.testing.assert_array_equal(count_by_distance(distances, relevant, 20), sum(parts))


@pytest.mark.parametrize(
    ("relevance", "match"),
    [
        (np.ones((2, 2), bool), r"relevance has shape \(2, 2\).*\(2, 3\)"),
        (lambda start, stop: np.ones((1, 3), bool), r"block of shape \(1, 3\).*\(2, 3\)"),
        (np.full((2, 3), -1), "finite and nonnegative"),
        (np.full((2, 3), np.nan), "finite and nonnegative"),
        (np.full((2, 3), np.inf), "finite and nonnegative"),
        (np.full((2, 3), "x"), "boolean or real"),
    ],
)
def test_bad_relevance_is_named(relevance, match):
    with pytest.raises(ValueError, match=match):
        distance_histograms([[0], [1]], [[0], [1], [2]], relevance, 2)


def test_bad_codes_and_gain_are_named():
    relevance = np.ones((1, 1), bool)
    with pytest.raises(ValueError, match="queries has 1 bytes per row; n_bits=9"):
        distance_histograms([[0]], [[0]], relevance, 9)
    with pytest.raises(ValueError, match="database has bits set beyond"):
        distance_histograms([[0]], [[4]], relevance, 2)
    with pytest.raises(ValueError, match="database has no rows"):
        distance_histograms([[0]], np.empty((0, 1), np.uint8), np.ones((1, 0)), 2)
    with pytest.raises(ValueError, match="gain='cubic'"):
        distance_histograms([[0]], [[0]], relevance, 2, gain="cubic")


def test_blocks_that_turn_from_boolean_to_graded_are_refused():
    queries, database, _ = _case(2500, 900, 8)
    with pytest.raises(ValueError, match="boolean blocks first"):
        distance_histograms(
            queries, database, lambda start, stop: np.ones((stop - start, 900), bool if start == 0 else int), 8
        )


_LARGE = """
import resource, sys
import numpy as np
from thpi.evaluation import evaluate

rng = np.random.default_rng(0)
queries = rng.integers(0, 256, (1_000, 8), dtype=np.uint8)
database = rng.integers(0, 256, (1_000_000, 8), dtype=np.uint8)
query_labels, database_labels = rng.integers(0, 10, 1_000), rng.integers(0, 10, 1_000_000)
unit = 1 if sys.platform == "darwin" else 1024
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
result = evaluate(
    queries, database, lambda start, stop: query_labels[start:stop, None] == database_labels, 64,
    ["average_precision", "precision@100", "recall@100", "ndcg@100"],
)
assert np.isfinite(result["average_precision"]).all()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - before)
"""


@pytest.mark.slow
def test_a_thousand_queries_against_a_million_rows_stay_below_one_gib():
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", _LARGE], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2**30


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("n", [40_000, 40_001])
def test_long_rows_of_any_type_are_counted_one_by_one(dtype, n):
    rng = np.random.default_rng(0)
    distances = rng.integers(0, 101, (2, n)).astype(dtype)
    relevant = rng.random(distances.shape) < 0.3
    expected = [
        [np.bincount(d[r == kind], minlength=101) for kind in (0, 1)] for d, r in zip(distances, relevant, strict=True)
    ]
    np.testing.assert_array_equal(count_by_distance(distances, relevant, 100), expected)


def test_blocks_may_be_graded_first_and_boolean_later_but_not_the_other_way_round(monkeypatch):
    monkeypatch.setattr("thpi.evaluation._histograms._BLOCK_PAIRS", 100)
    queries, database, relevant = _case(6, 50, 10)
    expected = distance_histograms(queries, database, relevant.astype(int), 10)
    found = distance_histograms(queries, database, lambda i, j: relevant[i:j] if i else relevant[i:j].astype(int), 10)
    np.testing.assert_array_equal(found.hist_relevant, expected.hist_relevant)
    np.testing.assert_array_equal(found.hist_gain, expected.hist_gain)
    with pytest.raises(ValueError, match="boolean blocks first and graded blocks later"):
        distance_histograms(queries, database, lambda i, j: relevant[i:j].astype(int) if i else relevant[i:j], 10)


@pytest.mark.parametrize("grade", [-1.0, np.nan, np.inf])
def test_one_impossible_grade_is_enough(grade):
    with pytest.raises(ValueError, match="finite and nonnegative"):
        distance_histograms([[0]], [[0], [1], [2]], [[1.0, grade, 2.0]], 2)
