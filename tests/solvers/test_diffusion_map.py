from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from thpi.solvers import diffusion_map as module
from thpi.solvers.diffusion_map import diffusion_map, group_coordinates


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


@pytest.mark.parametrize("steps", [1, 3])
def test_coordinates_are_those_of_the_leading_eigenvectors(steps):
    rows = np.random.RandomState(4).standard_normal((40, 3))
    A, P = _walk(rows, 6)
    d = A.sum(axis=1)
    values, psi = np.linalg.eig(P)
    order = np.argsort(-values.real)[:4]
    values, psi = values.real[order], psi.real[:, order]
    psi = psi * np.sqrt(d.sum() / np.einsum("ij,i,ij->j", psi, d, psi))
    found = diffusion_map(rows, n_neighbors=6, steps=steps, n_components=4).coordinates
    # The first eigenvector is constant, and taken out.
    np.testing.assert_allclose(found[:, 0], 0, atol=1e-9)
    np.testing.assert_allclose(np.abs(found[:, 1:]), np.abs(psi * values**steps)[:, 1:], atol=1e-8)


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


def _tied_walk(rows, k):
    """Weights of the graph in which rows as near as the k-th are neighbours too, by brute force."""
    distances = np.linalg.norm(rows[:, None] - rows, axis=2)
    np.fill_diagonal(distances, np.inf)
    K = (distances <= np.sort(distances, axis=1)[:, k - 1 : k] + 1e-6).astype(float)
    return (K + K.T) / 2


@given(st.integers(10, 40), st.integers(1, 6), st.integers(0, 200))
def test_rows_on_a_grid_are_those_of_the_whole_graph_with_all_ties(n, k, seed):
    """Few distinct rows and many equal distances, against the eigenvectors of the n x n graph."""
    rows = np.random.RandomState(seed).randint(3, size=(n, 2)).astype(float)
    if len(np.unique(rows, axis=0)) == 1:
        return
    A = _tied_walk(rows, k)
    d = A.sum(axis=1)
    values, vectors = np.linalg.eigh(A / np.sqrt(np.outer(d, d)))
    psi = vectors / np.sqrt(d)[:, None] * np.sqrt(d.sum())
    far = psi * np.clip(values, 0, 1) ** 4
    far -= d @ far / d.sum()
    x = diffusion_map(rows, n_neighbors=k, n_components=n).coordinates
    np.testing.assert_allclose(x @ x.T, far @ far.T, atol=1e-7 * max(1, np.abs(far @ far.T).max()))


def test_nothing_depends_on_the_axes_in_which_the_rows_are_written():
    """As eigenvectors of near-equal eigenvalues differ between machines; ties and parts that are not connected."""
    rng = np.random.RandomState(0)
    rows = np.vstack([rng.randint(2, size=(300, 4)) + 50.0 * g for g in range(4)])[:, [0, 1, 2, 3]]
    rows = np.hstack([rows, rng.randint(2, size=(1200, 3))])
    turned = rows @ np.linalg.qr(rng.standard_normal((7, 7)))[0]
    x, y = (
        diffusion_map(each - each.mean(axis=0), n_neighbors=6, n_components=30).coordinates for each in (rows, turned)
    )
    np.testing.assert_allclose(x @ x.T, y @ y.T, atol=1e-8 * np.abs(x @ x.T).max())


def test_of_equal_eigenvalues_all_are_taken_or_none():
    """A cube: its neighbour graph has the eigenvalues 1, 1/3 (three times), -1/3 (three times) and -1."""
    cube = np.array(np.meshgrid([0.0, 1], [0, 1], [0, 1])).reshape(3, -1).T
    found = [diffusion_map(cube, n_neighbors=3, n_components=m).coordinates for m in (1, 2, 3, 4)]
    assert [int(np.linalg.matrix_rank(x, tol=1e-6)) for x in found] == [0, 0, 0, 3]


def test_a_further_row_goes_to_all_rows_that_are_as_near():
    rows = np.array([[0.0], [0.0], [0.0], [2.0], [5.0], [6.0]])
    found, before = (diffusion_map(rows, n_neighbors=2, steps=steps) for steps in (3, 2))
    there = (before.coordinates + before.middle)[:4].mean(axis=0)  # three at 0 and one at 2 are as near as the second
    np.testing.assert_allclose(found(np.array([[1.0]])), (there - found.middle)[None], atol=1e-12)
