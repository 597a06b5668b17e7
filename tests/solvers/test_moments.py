from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from thpi.solvers import blocks, moments
from thpi.solvers.moments import centred_product, column_mean, full_rank_coordinates, principal_axes


@pytest.mark.parametrize("shape", [(60, 9), (9, 60), (20, 20)])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_principal_axes_are_those_of_scikit_learn(shape, container, dtype):
    X = (np.random.RandomState(0).standard_normal(shape) * np.linspace(3, 1, shape[1]) + 5).astype(dtype)
    pca = PCA(n_components=5, svd_solver="full").fit(X.astype(np.float64))
    V, s = principal_axes(container(X), column_mean(container(X)), 5)
    assert V.dtype == dtype
    tolerance = 1e-8 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(np.abs(np.sum(V * pca.components_.T, axis=0)), 1, atol=tolerance)
    np.testing.assert_allclose(s, pca.singular_values_, rtol=max(tolerance, 1e-6))


def test_lanczos_agrees_with_the_exact_solution(monkeypatch):
    X = sparse.random(120, 150, density=0.2, random_state=0, format="csr")
    mean = column_mean(X)
    exact_V, exact_s = principal_axes(X, mean, 6)
    monkeypatch.setattr(moments, "EXACT_LIMIT", 50)
    V, s = principal_axes(X, mean, 6)
    np.testing.assert_allclose(s, exact_s, rtol=1e-8)
    np.testing.assert_allclose(np.abs(np.sum(V * exact_V, axis=0)), 1, atol=1e-6)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("shape", [(30, 6), (6, 30)])
def test_axes_without_variance_are_still_orthonormal(container, shape):
    X = np.zeros(shape)
    X[:, 0] = np.arange(shape[0])
    V, s = principal_axes(container(X), column_mean(container(X)), 5)
    np.testing.assert_allclose(V.T @ V, np.eye(5), atol=1e-8)
    np.testing.assert_allclose(np.abs(V[0, 0]), 1)
    np.testing.assert_allclose(s[1:], 0, atol=1e-6)
    np.testing.assert_allclose(principal_axes(np.zeros(shape), np.zeros(shape[1]), 3)[1], 0)


def test_signs_of_axes_are_fixed():
    X = np.random.RandomState(1).standard_normal((50, 8))
    V, _ = principal_axes(X, X.mean(axis=0), 8)
    assert (V[np.abs(V).argmax(axis=0), np.arange(8)] > 0).all()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_centred_product_and_mean_run_over_blocks(container, monkeypatch):
    for limit in ("CACHED", "_LARGEST"):
        monkeypatch.setattr(blocks, limit, 8 * 7 * 4)
    monkeypatch.setattr(blocks, "_SPARSE_ROWS", 4)
    rng = np.random.RandomState(0)
    X, W = rng.standard_normal((53, 7)) + 3, rng.standard_normal((7, 2))
    np.testing.assert_allclose(column_mean(container(X)), X.mean(axis=0))
    np.testing.assert_allclose(centred_product(container(X), X.mean(axis=0), W), (X - X.mean(axis=0)) @ W)


def test_a_large_mean_costs_no_digits_in_float32():
    spread = np.random.RandomState(0).standard_normal((200, 4)).astype(np.float32)
    X = spread + np.float32(4096)
    exact = (X.astype(np.float64) - X.astype(np.float64).mean(axis=0)) @ np.ones((4, 1))
    np.testing.assert_allclose(centred_product(X, column_mean(X), np.ones((4, 1))), exact, atol=2e-3)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_full_rank_coordinates_keep_all_distances(container):
    X = np.random.RandomState(0).standard_normal((12, 40))
    coordinates = full_rank_coordinates(container(X), X.mean(axis=0))
    Z = coordinates.values
    assert Z.shape == (12, 11)  # centring takes one dimension
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(Z @ Z.T, centred @ centred.T, atol=1e-9)
    axes = coordinates.back(np.eye(11))
    np.testing.assert_allclose(axes.T @ axes, np.eye(11), atol=1e-9)
    np.testing.assert_allclose(centred @ axes, Z, atol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_coordinates_of_tall_data_lead_back_to_their_features(container):
    X = np.random.RandomState(0).standard_normal((40, 6))
    X[:, 5] = X[:, 4]
    coordinates = full_rank_coordinates(container(X), X.mean(axis=0))
    projection = np.random.RandomState(1).standard_normal((coordinates.values.shape[1], 3))
    expected = coordinates.values @ projection
    np.testing.assert_allclose((X - X.mean(axis=0)) @ coordinates.back(projection), expected, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rank", [6, 4])
def test_tall_coordinates_span_the_rows_and_do_not_depend_on_the_container(dtype, rank):
    rng = np.random.RandomState(0)
    X = (rng.standard_normal((50, rank)) @ rng.standard_normal((rank, 6)) + 3).astype(dtype)
    dense, thin = (full_rank_coordinates(container(X), column_mean(X)) for container in (np.asarray, sparse.csr_matrix))
    assert dense.values.shape == (50, rank)
    assert dense.values.dtype == dtype
    np.testing.assert_allclose(dense.values, thin.values, atol=100 * np.finfo(dtype).eps)
    centred = X.astype(float) - X.mean(axis=0, dtype=float)
    np.testing.assert_allclose(
        dense.values @ dense.values.T, centred @ centred.T, atol=1e-9 if rank == 6 and dtype == np.float64 else 1e-3
    )
    rows = np.linalg.svd(centred)[2][:rank]
    axes = dense.back(np.eye(rank))
    np.testing.assert_allclose(rows.T @ (rows @ axes), axes, atol=1e-5)


def test_errors_name_what_is_wrong(monkeypatch):
    monkeypatch.setattr(moments, "EXACT_LIMIT", 5)
    with pytest.raises(ValueError, match="8 rows and 9 columns is too large.*TruncatedSVD"):
        full_rank_coordinates(sparse.csr_matrix(np.eye(8, 9)), np.zeros(9))


@pytest.mark.parametrize("n_components", [3, 9])
def test_lanczos_gives_as_many_axes_as_are_asked_for_and_always_the_same(n_components, monkeypatch):
    X = sparse.random(120, 150, density=0.2, random_state=0, format="csr")
    mean = column_mean(X)
    s = np.linalg.svd(X.toarray() - mean, compute_uv=False)
    monkeypatch.setattr(moments, "EXACT_LIMIT", 50)
    V, found = principal_axes(X, mean, n_components)
    assert V.shape == (150, n_components)
    np.testing.assert_allclose(found, s[:n_components], rtol=1e-8)
    np.random.seed(1)  # noqa: NPY002 - what others draw makes no difference
    np.testing.assert_array_equal(principal_axes(X, mean, n_components)[0], V)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_unit_does_not_matter_to_which_axes_have_variance(scale, container):
    X = scale * np.random.RandomState(0).standard_normal((12, 3)) @ np.random.RandomState(1).standard_normal((3, 40))
    expected = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    V, s = principal_axes(container(X), column_mean(container(X)), 6)
    # Of sparse rows the Gram matrix is decomposed: its small values are known to half of the digits.
    np.testing.assert_allclose(s, expected[:6], atol=1e-6 * scale)
    np.testing.assert_allclose(V.T @ V, np.eye(6), atol=1e-8)
    within = (X - X.mean(axis=0)) @ V
    np.testing.assert_allclose(np.linalg.norm(within, axis=0), s, atol=1e-6 * scale)
