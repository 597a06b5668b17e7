from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs

from thpi import DSH


def test_planes_stand_halfway_between_groups():
    # Four groups on a square: the planes between neighbours are the two axes, each splitting the rows evenly.
    centres = np.array([[10.0, 10.0], [10.0, -10.0], [-10.0, 10.0], [-10.0, -10.0]])
    X, _ = make_blobs([50] * 4, centers=centres, cluster_std=0.5, random_state=0)
    hasher = DSH(n_bits=2, expansion=2, n_adjacent=2, kmeans_iter=50, random_state=3).fit(X)
    codes = hasher.transform(np.vstack([centres, centres * 0.2]))
    assert len(np.unique(codes[:4])) == 4
    np.testing.assert_array_equal(codes[:4], codes[4:])
    np.testing.assert_allclose(hasher.entropy_, np.log(2), atol=1e-3)


def test_a_plane_is_the_perpendicular_bisector_of_its_centres():
    X = np.vstack([np.full((10, 3), 0.0), np.full((30, 3), 4.0)])
    hasher = DSH(n_bits=1, expansion=2, random_state=0).fit(X)
    side = hasher.decision_function(np.array([[1.9] * 3, [2.0] * 3, [2.1] * 3])).ravel()
    assert abs(side[1]) < 1e-9
    assert side[0] * side[2] < 0
    p = 0.25
    np.testing.assert_allclose(hasher.entropy_, -p * np.log(p) - (1 - p) * np.log(1 - p))


def test_planes_with_most_entropy_come_first():
    X = np.random.RandomState(0).standard_normal((400, 6))
    hasher = DSH(n_bits=16, random_state=0).fit(X)
    share = (hasher.signs(X) > 0).mean(axis=0)
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    np.testing.assert_allclose(entropy, hasher.entropy_)
    assert np.all(np.diff(hasher.entropy_) <= 0)


def test_a_plane_is_normal_to_the_difference_of_two_group_means():
    means = np.array([[30.0, 3.0, -7.0], [0.0, 31.0, 5.0], [1.0, -4.0, 29.0]])
    X = np.repeat(means, 20, axis=0) + 0.1 * np.random.RandomState(0).standard_normal((60, 3))
    means = X.reshape(3, 20, 3).mean(axis=1)
    hasher = DSH(n_bits=3, expansion=1, n_adjacent=2, kmeans_iter=50, random_state=0).fit(X)
    differences = [means[0] - means[1], means[0] - means[2], means[1] - means[2]]
    for normal in hasher.projection_.T:
        assert min(np.abs(np.abs(normal) - np.abs(each)).max() for each in differences) < 1e-9
