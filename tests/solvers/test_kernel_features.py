from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from thpi.solvers.kernel_features import kernel_map


def test_inner_products_with_landmarks_are_the_kernel():
    rng = np.random.RandomState(0)
    landmarks, others = rng.standard_normal((20, 3)), rng.standard_normal((7, 3))
    features = kernel_map(landmarks, 0.5)
    expected = rbf_kernel(others, landmarks, gamma=features.exponent)
    np.testing.assert_allclose(features(others) @ features(landmarks).T, expected, atol=1e-4)


def test_width_is_relative_to_the_median_distance():
    rows = np.random.RandomState(0).standard_normal((15, 4))
    one, scaled = kernel_map(rows, 1.0), kernel_map(100 * rows, 1.0)
    np.testing.assert_allclose(one(rows) @ one(rows).T, scaled(100 * rows) @ scaled(100 * rows).T, atol=1e-8)


def test_equal_landmarks_are_one():
    features = kernel_map(np.ones((4, 2)), 1.0)
    np.testing.assert_allclose(features(np.ones((3, 2))), np.full((3, 1), features(np.ones((1, 2)))[0, 0]))
