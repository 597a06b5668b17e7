from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from thpi.solvers import diffusion_map as module
from thpi.solvers.diffusion_map import diffusion_map, group_coordinates, neighbour_graph


def _walk(rows, k):
    """Weights and transition probabilities, by brute force."""
    distances = np.linalg.norm(rows[:, None] - rows, axis=2)
    np.fill_diagonal(distances, np.inf)
    K = np.zeros_like(distances)
    for i, row in enumerate(distances):
        K[i, np.argsort(row)[:k]] = 1
    A = (K + K.T) / 2
    return A, A / A.sum(axis=1, keepdims=True)


@given(st.integers(8, 40), st.integers(2, 5), st.sampled_from([2, 4]), st.integers(0, 50))
def test_distances_are_those_of_walkers_after_so_many_steps(n, k, steps, seed):
    rows = np.random.RandomState(seed).standard_normal((n, 3))
    A, P = _walk(rows, k)
    far = np.linalg.matrix_power(P, steps)
    d = A.sum(axis=1)
    expected = np.sqrt(d.sum() * ((far[:, None] - far) ** 2 / d).sum(axis=2))
    x = diffusion_map(rows, n_neighbors=k, steps=steps, n_components=n).coordinates
    found = np.linalg.norm(x[:, None] - x, axis=2)
    # Negative eigenvalues count as 0; their even powers are what may be missing.
    values = np.linalg.eigvalsh(A / np.sqrt(np.outer(d, d)))
    missing = np.abs(values[values < 0]).max(initial=0) ** steps
    slack = 2 * missing * np.sqrt(d.sum() / d.min())
    assert np.all(found <= expected + 1e-8)
    assert np.all(expected - found <= slack + 1e-8)


def test_lanczos_gives_what_the_whole_decomposition_gives(monkeypatch):
    rows = np.random.RandomState(0).standard_normal((300, 4))
    whole = diffusion_map(rows, n_neighbors=6, n_components=20).coordinates
    monkeypatch.setattr(module, "_DENSE", 10)
    few = diffusion_map(rows, n_neighbors=6, n_components=20).coordinates
    np.testing.assert_allclose(few @ few.T, whole @ whole.T, atol=1e-8)
    again = diffusion_map(rows, n_neighbors=6, n_components=20).coordinates
    assert few.tobytes() == again.tobytes()


def test_groups_that_are_not_connected_are_points():
    rows_of_groups = (15, 20, 25)
    rng = np.random.RandomState(1)
    rows = np.vstack([rng.standard_normal((m, 2)) + 100 * g for g, m in enumerate(rows_of_groups)])
    A, _ = _walk(rows, 8)
    assert connected_components(A)[0] == 3
    x = diffusion_map(rows, n_neighbors=8, steps=60).coordinates
    group = np.repeat(np.arange(3), rows_of_groups)
    within = max(np.linalg.norm(x[group == g] - x[group == g][0], axis=1).max() for g in range(3))
    between = min(np.linalg.norm(x[group == g][0] - x[group == h][0]) for g in range(3) for h in range(g))
    assert within < 0.05 * between


def test_the_constant_is_taken_out():
    rows = np.random.RandomState(2).standard_normal((50, 3))
    A, _ = _walk(rows, 7)
    x = diffusion_map(rows, n_neighbors=7).coordinates
    np.testing.assert_allclose(A.sum(axis=1) @ x, 0, atol=1e-8)


def test_a_further_row_goes_one_step_to_its_neighbours():
    rng = np.random.RandomState(3)
    rows, more = rng.standard_normal((60, 2)), rng.standard_normal((4, 2))
    found = diffusion_map(rows, n_neighbors=5, steps=3)
    before = diffusion_map(rows, n_neighbors=5, steps=2)
    for row, x in zip(more, found(more), strict=True):
        near = np.argsort(np.linalg.norm(rows - row, axis=1))[:5]
        there = before.coordinates[near].mean(axis=0) + before.middle
        np.testing.assert_allclose(x, there - found.middle, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_very_few_rows(n):
    found = diffusion_map(np.arange(float(n))[:, None])
    assert np.all(np.isfinite(found.coordinates))
    assert found.coordinates.shape[0] == n
    assert np.all(np.isfinite(found(np.ones((2, 1)))))


def _graph(rows, k, asked=None):
    return neighbour_graph(NearestNeighbors(n_neighbors=k).fit(rows), asked).toarray()


@pytest.mark.parametrize("copies", [3, 9, 40])
@pytest.mark.parametrize("own", [True, False])
def test_equally_near_rows_are_told_apart_by_their_order_and_not_by_rounding(copies, own):
    """As after a rotation, which changes the last digits: equal distances differ, and 0 becomes one in a million."""
    rng, k = np.random.RandomState(0), 4
    places = rng.randint(-2, 3, size=(6, 20)).astype(float)
    rows = places[rng.permutation(np.repeat(np.arange(6), copies))]
    asked = None if own else places
    exact = _graph(rows, k, asked)
    for i, row in enumerate(rows if own else places):
        distances = np.linalg.norm(rows - row, axis=1)
        if own:
            distances[i] = np.inf
        order = np.argsort(distances.round(6), kind="stable")
        near = [j for j in order if distances[j] <= distances[order[k - 1]] + 1e-6][: 2 * k]
        assert sorted(near) == np.flatnonzero(exact[i]).tolist()
    for seed in range(5):
        rng = np.random.RandomState(seed)
        turn = np.linalg.qr(rng.standard_normal((20, 20)))[0]
        turned = rows @ turn + 1e-10 * rng.standard_normal(rows.shape)
        np.testing.assert_array_equal(_graph(turned, k, None if own else places @ turn), exact)


def test_equal_rows():
    assert np.all(np.isfinite(diffusion_map(np.zeros((30, 2)), n_neighbors=4).coordinates))


def test_rows_are_diffusion_coordinates_of_length_1(groups):
    rows = groups[0]
    raw = diffusion_map(rows, n_neighbors=5, steps=4).coordinates
    expected = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    np.testing.assert_allclose(group_coordinates(rows, seed=0), expected, atol=1e-12)


@pytest.mark.parametrize("limit", [4000, 200])
def test_groups_are_separated_on_the_whole_graph_and_on_that_of_a_sample(groups, monkeypatch, limit):
    monkeypatch.setattr(module, "_GRAPH_ROWS", limit)
    rows, group = groups
    T = group_coordinates(rows, seed=1)
    agreement, same = T @ T.T, group[:, None] == group
    assert agreement[same & ~np.eye(300, dtype=bool)].mean() > agreement[~same].mean() + 0.7
    assert T.tobytes() == group_coordinates(rows, seed=1).tobytes()


def test_equal_rows_have_no_groups_and_no_nan():
    assert np.isfinite(group_coordinates(np.zeros((30, 3)), seed=0)).all()
    assert group_coordinates(np.zeros((1, 3)), seed=0).tolist() == [[0.0]]
