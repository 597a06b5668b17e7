from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import fractional_matrix_power
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics.pairwise import rbf_kernel

from thpi.solvers.kernel_features import inverse_root, kernel_map, median_exponent


def test_inner_products_with_landmarks_are_the_kernel():
    rng = np.random.RandomState(0)
    landmarks, others = rng.standard_normal((20, 3)), rng.standard_normal((7, 3))
    features = kernel_map(landmarks, 0.5)
    expected = rbf_kernel(others, landmarks, gamma=median_exponent(squareform(pdist(landmarks) ** 2), 0.5))
    np.testing.assert_allclose(features(others) @ features(landmarks).T, expected, atol=1e-4)


@pytest.mark.parametrize("width", [0.25, 1.0, 4.0])
def test_the_exponent_is_the_width_over_the_median_squared_distance(width):
    landmarks = np.random.RandomState(0).standard_normal((20, 3))
    squared = pdist(landmarks) ** 2
    assert median_exponent(squareform(squared), width) == pytest.approx(width / np.median(squared))


def test_the_root_is_that_of_the_inverse_and_leaves_out_what_is_rounding():
    rng = np.random.RandomState(0)
    rows = rng.standard_normal((7, 3))
    K = rbf_kernel(rows)
    root = inverse_root(K)
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(K), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(np.linalg.svd(root)[1], np.linalg.svd(fractional_matrix_power(K, -0.5))[1], rtol=1e-6)
    twice = rbf_kernel(np.vstack([rows, rows]))
    assert inverse_root(twice).shape == (14, 7)
    np.testing.assert_allclose(twice @ inverse_root(twice) @ inverse_root(twice).T @ twice, twice, atol=1e-8)


def test_width_is_relative_to_the_median_distance():
    rows = np.random.RandomState(0).standard_normal((15, 4))
    one, scaled = kernel_map(rows, 1.0), kernel_map(100 * rows, 1.0)
    np.testing.assert_allclose(one(rows) @ one(rows).T, scaled(100 * rows) @ scaled(100 * rows).T, atol=1e-8)


def test_equal_landmarks_are_one():
    features = kernel_map(np.ones((4, 2)), 1.0)
    np.testing.assert_allclose(features(np.ones((3, 2))), np.full((3, 1), features(np.ones((1, 2)))[0, 0]))
