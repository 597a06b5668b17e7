from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chi2

from thpi.codes import hamming_distances, pack
from thpi.graph import _Buckets, _draw_numbers, _search, hamming_knn_graph, hamming_neighbors, laplacian


@settings(deadline=None, max_examples=80)
@given(
    n_rows=st.integers(2, 40),
    n_bytes=st.sampled_from([1, 2, 3, 8, 9, 17]),
    n_values=st.sampled_from([1, 2, 3, 8, 256]),
    data=st.data(),
)
def test_lists_are_nearest_rows(n_rows, n_bytes, n_values, data):
    k = data.draw(st.integers(1, n_rows - 1))
    n_queries = data.draw(st.integers(1, n_rows))
    rng = np.random.RandomState(data.draw(st.integers(0, 10**6)))
    codes = rng.randint(0, n_values, (n_rows, n_bytes)).astype(np.uint8)
    neighbors = hamming_neighbors(codes, k, n_queries=n_queries, random_state=rng)
    assert neighbors.shape == (n_queries, k)
    distances = hamming_distances(codes, codes)
    for row, listed in enumerate(neighbors):
        others = np.delete(np.arange(n_rows), row)
        assert len(set(listed)) == k
        assert set(listed) <= set(others)
        last = np.sort(distances[row, others])[k - 1]
        assert set(others[distances[row, others] < last]) <= set(listed)
        assert distances[row, listed].max() == last


def tied_at_zero():
    return np.zeros((12, 1), dtype=np.uint8), 4, 0


def tied_on_a_shell():
    # Query 0 has code 0; one closer row (the same code); then rows at distance 1 of unequal multiplicity.
    return np.array([0, 0, 1, 1, 1, 2, 4, 4, 255], dtype=np.uint8)[:, None], 3, 1


@pytest.mark.slow
@pytest.mark.parametrize("case", [tied_at_zero, tied_on_a_shell])
def test_tied_rows_are_equally_likely(case):
    codes, k, n_closer = case()
    distances = hamming_distances(codes, codes)[0]
    last = np.sort(distances[1:])[k - 1]
    tied = np.flatnonzero(distances == last)
    tied = tied[tied != 0]
    random = np.random.RandomState(0)
    draws = 3000
    counts = np.zeros(len(codes))
    for _ in range(draws):
        counts[hamming_neighbors(codes, k, n_queries=1, random_state=random)[0]] += 1
    m, share = len(tied), (k - n_closer) / len(tied)
    statistic = np.sum((counts[tied] - draws * share) ** 2) / (draws * share * (1 - share)) * (m - 1) / m
    assert statistic < chi2.ppf(0.9999, m - 1)


def test_queries_with_one_code_draw_independently():
    # 400 equal rows with 5 neighbours each: how often each row is listed has mean 5 and no trend.
    neighbors = hamming_neighbors(np.zeros((400, 2), dtype=np.uint8), 5, random_state=1)
    counts = np.bincount(neighbors.ravel(), minlength=400)
    share = 5 / 399
    statistic = np.sum((counts - 5) ** 2) / (399 * share * (1 - share))
    assert chi2.ppf(0.0001, 399) < statistic < chi2.ppf(0.9999, 399)
    assert abs(np.corrcoef(counts, np.arange(400))[0, 1]) < 0.2


@pytest.mark.parametrize("symmetrize", ["union", "mutual", "mean"])
@pytest.mark.parametrize("n_queries", [None, 30])
def test_graph_is_the_symmetrised_submatrix_of_the_lists(symmetrize, n_queries):
    codes = np.random.RandomState(2).randint(0, 256, (90, 1)).astype(np.uint8)
    n = n_queries or len(codes)
    neighbors = hamming_neighbors(codes, 6, n_queries=n_queries, random_state=7)
    A = np.zeros((n, len(codes)))
    np.put_along_axis(A, neighbors, 1, axis=1)
    A = A[:, :n]
    expected = {"union": np.maximum(A, A.T), "mutual": A * A.T, "mean": (A + A.T) / 2}[symmetrize]
    graph = hamming_knn_graph(codes, 6, n_queries=n_queries, symmetrize=symmetrize, random_state=7)
    assert isinstance(graph, sparse.csr_matrix)
    np.testing.assert_array_equal(graph.toarray(), expected)
    assert graph.nnz == np.count_nonzero(expected)
    assert not graph.diagonal().any()


def test_neighbors_are_sought_among_all_rows():
    # The nearest row of row 0 is not a vertex, so no edge remains.
    codes = np.array([[0], [255], [1]], dtype=np.uint8)
    assert hamming_knn_graph(codes, 1, n_queries=2).nnz == 0
    assert hamming_knn_graph(codes[:2], 1).nnz == 2


def test_many_rows_with_few_codes():
    codes = np.random.RandomState(0).randint(0, 256, (20_000, 1)).astype(np.uint8)
    neighbors = hamming_neighbors(codes, 10, random_state=0)
    # 78 rows share each code on average: all ten neighbours lie at distance zero.
    assert np.all(codes[neighbors, 0] == codes)


def test_blocks_do_not_change_what_is_near(monkeypatch):
    codes = np.random.RandomState(4).randint(0, 256, (300, 2)).astype(np.uint8)
    distances = hamming_distances(codes, codes)
    whole = hamming_neighbors(codes, 7, random_state=0)
    monkeypatch.setattr("thpi.graph._PAIRS", 1000)
    monkeypatch.setattr("thpi.graph._QUERIES", 20)
    blocked = hamming_neighbors(codes, 7, random_state=0)
    for lists in (whole, blocked):
        np.testing.assert_array_equal(np.sort(np.take_along_axis(distances, lists, axis=1)), np.sort(distances)[:, 1:8])


def test_same_seed_same_graph():
    codes = np.random.RandomState(0).randint(0, 4, (200, 1)).astype(np.uint8)
    one, two, other = (hamming_knn_graph(codes, 5, random_state=seed) for seed in (1, 1, 2))
    assert (one != two).nnz == 0
    assert (one != other).nnz > 0


def test_laplacian_is_the_quadratic_form_of_differences():
    graph = hamming_knn_graph(
        np.random.RandomState(0).randint(0, 256, (25, 1)).astype(np.uint8), 3, symmetrize="mean", random_state=0
    )
    b = np.random.RandomState(1).randn(25)
    L = laplacian(graph)
    assert isinstance(L, sparse.csr_matrix)
    W = graph.toarray()
    assert b @ (L @ b) == pytest.approx(0.5 * np.sum(W * (b[:, None] - b) ** 2))
    np.testing.assert_allclose(L @ np.ones(25), 0, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 4}, "n_neighbors=4"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"n_neighbors": 1, "n_queries": 5}, "n_queries=5"),
        ({"n_neighbors": 1, "symmetrize": "max"}, "symmetrize='max'"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        hamming_knn_graph(np.zeros((4, 1), dtype=np.uint8), **options)


@pytest.mark.parametrize("W", [np.ones((2, 3)), np.array([[0, 1], [2, 0]]), np.array([[0, -1], [-1, 0]])])
def test_wrong_adjacency_is_named(W):
    with pytest.raises(ValueError, match="adjacency"):
        laplacian(W)


@pytest.mark.parametrize("rings", [None, 0, 1, 2, 5, 40])
@pytest.mark.parametrize("more", [64, 2, 0])
@pytest.mark.parametrize("pairs", [None, 30])
@pytest.mark.parametrize("n_bytes", [1, 2, 5, 8, 9])
def test_the_lists_of_a_code_are_all_codes_within_the_radius_that_holds_enough_rows(
    rings, more, pairs, n_bytes, monkeypatch
):
    monkeypatch.setattr("thpi.graph._MORE", more)
    if pairs:
        monkeypatch.setattr("thpi.graph._PAIRS", pairs)
    if rings is not None:
        monkeypatch.setattr("thpi.graph._WORTH_BUCKETS", 0)
        build = _Buckets.__init__

        def with_rings(self, *arguments):
            build(self, *arguments)
            self.n_rings = min(rings, len(self.pieces) * len(self.masks))

        monkeypatch.setattr(_Buckets, "__init__", with_rings)
    rng = np.random.RandomState(0)
    groups = rng.randint(0, 256, (4, n_bytes)) ^ (rng.random_sample((60, 4, n_bytes)) < 0.5)
    codes = np.unique(groups.reshape(-1, n_bytes)[:200], axis=0).astype(np.uint8)[:90]
    size = rng.randint(1, 4, len(codes))
    wanted = np.sort(rng.choice(len(codes), len(codes) // 2, replace=False))
    distances = hamming_distances(codes, codes)
    for n_rows in (1, 6, size.sum()):
        done = 0
        for radius, slot, found, distance in _search(codes, size, wanted, n_rows):
            assert len(radius) == 1 or not pairs or len(slot) <= pairs  # the memory is bounded
            for number, (query, far) in enumerate(zip(wanted[done : done + len(radius)], radius, strict=True)):
                by_distance = np.argsort(distances[query], kind="stable")
                enough = np.searchsorted(np.cumsum(size[by_distance]), n_rows)
                assert far == distances[query, by_distance[enough]]
                mine = slot == number
                np.testing.assert_array_equal(np.sort(found[mine]), np.flatnonzero(distances[query] <= far))
                np.testing.assert_array_equal(distance[mine], distances[query, found[mine]])
            assert len(slot) == len(found) == len(distance)
            done += len(radius)
        assert done == len(wanted)


@pytest.mark.parametrize(("n_bits", "n_groups"), [(12, 3), (32, 300), (61, 300)])
def test_buckets_find_what_a_scan_finds(n_bits, n_groups, monkeypatch):
    rng = np.random.RandomState(1)
    bits = rng.randint(0, 2, (n_groups, n_bits))[rng.randint(n_groups, size=9000)] ^ (rng.rand(9000, n_bits) < 0.04)
    codes = pack(bits)
    searched = []
    search = _Buckets.search
    monkeypatch.setattr(_Buckets, "search", lambda self, block: searched.append(self.n_rings) or search(self, block))
    monkeypatch.setattr("thpi.graph._WORTH_BUCKETS", 2**12)
    found = hamming_neighbors(codes, 10, random_state=0)
    assert min(searched) > 0
    monkeypatch.setattr("thpi.graph._WORTH_BUCKETS", np.inf)
    np.testing.assert_array_equal(found, hamming_neighbors(codes, 10, random_state=0))


def test_rows_are_numbered_as_often_as_any_other_that_is_as_far():
    n_queries, n_closer, n_tied, n_neighbors = 40_000, 2, 6, 4
    ones = np.ones(n_queries, dtype=int)
    numbers = _draw_numbers(n_closer * ones, n_tied * ones, 0 * ones, n_neighbors, np.random.RandomState(0))
    assert numbers.shape == (n_queries, n_neighbors + 1)
    np.testing.assert_array_equal(numbers[:, :n_closer], np.tile([0, 1], (n_queries, 1)))
    drawn = np.sort(numbers[:, n_closer:] - n_closer, axis=1)
    sets, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(sets) == 20  # all threes out of six
    assert np.sum((counts - n_queries / 20) ** 2) / (n_queries / 20) < chi2.ppf(0.9999, 19)
    # No row is closer: the query is itself one of the tied, and is always taken.
    place = np.arange(n_queries) % n_tied
    numbers = _draw_numbers(0 * ones, n_tied * ones, place, n_neighbors, np.random.RandomState(0))
    np.testing.assert_array_equal(numbers[:, 0], place)
    others = np.sort((numbers[:, 1:] - place[:, None]) % n_tied, axis=1)
    sets, counts = np.unique(others, axis=0, return_counts=True)
    assert len(sets) == 5  # all fours out of the five others
    assert np.sum((counts - n_queries / 5) ** 2) / (n_queries / 5) < chi2.ppf(0.9999, 4)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_an_adjacency_is_symmetric_up_to_rounding_whatever_its_unit(scale):
    W = scale * np.array([[0.0, 1.0, 0.3], [1.0, 0.0, 2.0], [0.3, 2.0, 0.0]])
    rounded, skewed = W.copy(), W.copy()
    rounded[0, 1] *= 1 + 1e-15
    skewed[0, 1] *= 1 + 1e-6
    np.testing.assert_allclose(laplacian(rounded).toarray(), np.diag(W.sum(axis=1)) - W, rtol=1e-12)
    with pytest.raises(ValueError, match="must be symmetric"):
        laplacian(skewed)


def test_one_negative_weight_is_too_many():
    with pytest.raises(ValueError, match="weights >= 0"):
        laplacian([[0.0, 2.0, -1.0], [2.0, 0.0, 1.0], [-1.0, 1.0, 0.0]])
