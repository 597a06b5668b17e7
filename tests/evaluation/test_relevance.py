from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from thpi.evaluation import (
    _relevance,
    label_relevance,
    multilabel_relevance,
    nearest_relevance,
    neighbour_radius,
    radius_relevance,
)


def _dense(answer):
    return answer.toarray() if sparse.issparse(answer) else answer


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return rng.standard_normal((40, 7)), rng.standard_normal((300, 7))


FORMS = {
    "dense": (np.asarray, np.asarray),
    "sparse": (sparse.csr_matrix, sparse.coo_array),
    "mixed": (np.asarray, sparse.csc_array),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sparse_output", [False, True])
def test_radius_and_nearest_equal_brute_force(points, form, sparse_output):
    a, b = (make(x) for make, x in zip(FORMS[form], points, strict=True))
    distances = cdist(*points)
    near = radius_relevance(a, b, 2.5, sparse_output=sparse_output)
    assert sparse.issparse(near) == sparse_output
    assert near.dtype == np.bool_
    np.testing.assert_array_equal(_dense(near), distances < 2.5)
    got = _dense(nearest_relevance(a, b, 10, sparse_output=sparse_output))
    rows = NearestNeighbors(n_neighbors=10, algorithm="kd_tree").fit(points[1]).kneighbors(points[0])[1]
    expected = np.zeros_like(got)
    np.put_along_axis(expected, rows, True, axis=1)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    "function", [lambda a, b: radius_relevance(a, b, 2.5), lambda a, b: nearest_relevance(a, b, 9)]
)
def test_blocks_do_not_change_the_answer(points, function, monkeypatch):
    expected = function(*points)
    monkeypatch.setattr(_relevance, "_BLOCK_PAIRS", 1000)
    monkeypatch.setattr(_relevance, "_DIRECT_NUMBERS", 20)
    np.testing.assert_array_equal(function(*points), expected)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_radius_is_strict_on_whole_numbers(make):
    grid = np.array([[x, y] for x in range(-6, 7) for y in range(-6, 7)], dtype=float)
    got = radius_relevance(make([[0.0, 0.0]]), make(grid), 5.0)[0]
    np.testing.assert_array_equal(got, (grid**2).sum(axis=1) < 25)
    assert not radius_relevance(make(grid), make(grid), 0.0).any()


def test_radius_is_exact_far_from_the_origin():
    # The fast form alone is off by about 1 here: the squared norms are near 10^16.
    b = 1e8 + np.array([[0.0], [0.25], [0.5], [0.75], [1.0]])
    a = np.array([[1e8]])
    np.testing.assert_array_equal(radius_relevance(a, b, 0.5), [[True, True, False, False, False]])
    np.testing.assert_array_equal(nearest_relevance(a, b, 2), [[True, True, False, False, False]])
    assert neighbour_radius(b, k=1) == 0.25


def test_all_rows_tied_at_the_kth_are_relevant():
    b = np.array([[3.0], [1.0], [-1.0], [1.0], [0.0], [2.0]])
    got = nearest_relevance([[0.0]], b, 2)
    np.testing.assert_array_equal(got, [[False, True, True, True, True, False]])
    assert nearest_relevance([[0.0]], b, 6).all()
    np.testing.assert_array_equal(nearest_relevance([[0.0]], b, 1).sum(), 1)


def _sorted_distances(x):
    return np.sort(cdist(x, x), axis=1)


def test_neighbour_radius_does_not_count_the_row_itself(points):
    x = points[1]
    ranked = _sorted_distances(x)
    plain = neighbour_radius(x)
    assert plain == pytest.approx(ranked[:, 50].mean(), rel=1e-12)
    within = NearestNeighbors(n_neighbors=50).fit(x).kneighbors()[0][:, -1]
    assert plain == pytest.approx(within.mean(), rel=1e-12)
    assert neighbour_radius(sparse.csr_array(x)) == pytest.approx(plain, rel=1e-12)


def test_neighbour_radius_samples_rows_without_replacement(points):
    x = points[1]
    ranked = _sorted_distances(x)[:, 50]
    values = [neighbour_radius(x, n_sample=100, random_state=seed) for seed in (0, 0, 1)]
    assert values[0] == values[1] != values[2]
    drawn = np.random.RandomState(0).choice(300, size=100, replace=False)
    assert values[0] == pytest.approx(ranked[drawn].mean(), rel=1e-12)
    fewer = x[:80]  # below n_sample: every row is used and nothing is random
    assert neighbour_radius(fewer, n_sample=100, random_state=0) == neighbour_radius(fewer)


def test_neighbour_radius_is_the_mean_over_the_drawn_rows(points):
    x = points[1]
    ranked = _sorted_distances(x)[:, 50]
    drawn = np.random.RandomState(4).choice(300, size=20, replace=False)
    sampled = neighbour_radius(x, n_sample=20, random_state=4)
    assert sampled == pytest.approx(ranked[drawn].mean(), rel=1e-12)
    assert sampled != pytest.approx(ranked.mean(), rel=1e-6)
    # Neighbours are sought among all rows, and a sample that is not smaller is no sample.
    assert neighbour_radius(x, n_sample=300, random_state=4) == neighbour_radius(x)


def test_neighbour_radius_tells_when_rows_are_too_few(points):
    x = points[1]
    assert neighbour_radius(x[:51]) > 0
    with pytest.raises(
        ValueError, match=r"k=50 must be at least 1 and less than the number of rows; train has 50 rows"
    ):
        neighbour_radius(x[:50])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: neighbour_radius([[0.0], [1.0]], k=0), "k=0 must be"),
        (lambda: neighbour_radius([[0.0], [1.0]], k=1, n_sample=0), "n_sample=0"),
        (lambda: radius_relevance([[0.0]], [[1.0]], -1.0), "threshold=-1.0"),
        (lambda: radius_relevance([[0.0]], [[1.0]], float("nan")), "threshold=nan"),
        (lambda: radius_relevance([[0.0]], [[1.0, 2.0]], 1.0), "queries has 1 columns and database 2"),
        (lambda: radius_relevance([[np.nan]], [[1.0]], 1.0), "queries must hold finite"),
        (lambda: radius_relevance([0.0], [[1.0]], 1.0), "queries must be 2-D"),
        (lambda: nearest_relevance([[0.0]], [[1.0]], 2), "k=2 must be between 1 and .* 1"),
        (lambda: label_relevance([[0]], [1]), "query_labels must be 1-D"),
        (lambda: multilabel_relevance([[0]], [[1, 0]]), "same columns"),
    ],
)
def test_bad_arguments_are_named(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_labels():
    rng = np.random.default_rng(0)
    for labels in (rng.integers(0, 4, 30), rng.choice(["sport", "trade", "arts"], 30)):
        left, right = labels[:10], labels[10:]
        got = label_relevance(left, right)
        np.testing.assert_array_equal(got, [[x == y for y in right] for x in left])


@pytest.mark.parametrize("form", FORMS)
def test_tags(form):
    rng = np.random.default_rng(0)
    a, b = ((rng.random((n, 6)) < 0.3) * rng.integers(1, 3, (n, 6)) for n in (9, 25))
    counts = [[sum(bool(x) and bool(y) for x, y in zip(p, q, strict=True)) for q in b] for p in a]
    left, right = (make(x) for make, x in zip(FORMS[form], (a, b), strict=True))
    graded = multilabel_relevance(left, right, graded=True)
    plain = multilabel_relevance(left, right)
    assert sparse.issparse(plain) == sparse.issparse(graded) == (form != "dense")
    assert plain.dtype == np.bool_
    np.testing.assert_array_equal(_dense(graded), counts)
    np.testing.assert_array_equal(_dense(plain), np.array(counts) > 0)


def test_nearest_is_exact_far_from_the_origin():
    # Multiples of 1/64 keep the differences exact; the fast form alone puts rows in the wrong order here.
    rng = np.random.default_rng(0)
    a, b = (1e7 + np.round(64 * rng.standard_normal((n, 3))) / 64 for n in (20, 200))
    squared = ((a[:, None] - b) ** 2).sum(axis=2)
    kth = np.sort(squared, axis=1)[:, 4:5]
    np.testing.assert_array_equal(nearest_relevance(a, b, 5), squared <= kth)
    fast = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    assert ((fast <= np.sort(fast, axis=1)[:, 4:5]) != (squared <= kth)).any()
    both = ((b[:, None] - b) ** 2).sum(axis=2)
    expected = np.sqrt(np.sort(both, axis=1)[:, 5]).mean()
    assert neighbour_radius(b, k=5) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("query_tags", "database_tags"), [([1, 0], [[1, 0]]), ([[1, 0]], [1, 0]), ([[1, 0]], [[1, 0, 1]])]
)
def test_tags_that_are_no_two_tables_of_the_same_columns_are_named(query_tags, database_tags):
    with pytest.raises(ValueError, match="both must be 2-D with the same columns"):
        multilabel_relevance(query_tags, database_tags)


def test_one_row_is_sample_enough_and_all_rows_are_nothing_random(points):
    rows = points[0]
    nearest = np.sort(cdist(rows, rows), axis=1)[:, 1]
    rng = np.random.RandomState(0)
    one = neighbour_radius(rows, k=1, n_sample=1, random_state=rng)
    assert np.abs(nearest - one).min() < 1e-12
    before = rng.get_state()[1].copy(), rng.get_state()[2]
    assert neighbour_radius(rows, k=1, random_state=rng) == pytest.approx(nearest.mean())
    np.testing.assert_array_equal(rng.get_state()[1], before[0])
    assert rng.get_state()[2] == before[1]
    with pytest.raises(ValueError, match="n_sample=0 must be a positive integer"):
        neighbour_radius(rows, n_sample=0)


@pytest.mark.parametrize("m", [1, 7, 1000, 3000])
def test_blocks_bound_the_pairs_at_a_time_and_cover_all_rows(m, monkeypatch):
    monkeypatch.setattr(_relevance, "_BLOCK_PAIRS", 1000)
    blocks = list(_relevance._row_blocks(50, m))
    assert [row for block in blocks for row in range(50)[block]] == list(range(50))
    assert max(block.stop - block.start for block in blocks) == min(50, max(1, 1000 // m))


@pytest.mark.parametrize("threshold", [-1.0, np.inf, np.nan])
def test_a_radius_is_finite_and_not_negative(points, threshold):
    with pytest.raises(ValueError, match="must be finite and >= 0"):
        radius_relevance(*points, threshold)
