"""Kernel PCA with ITQ, and offsets."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.rivals import kernel_pca, thermometer


@pytest.mark.parametrize(("marks", "n_bits"), [(1, 4), (2, 6), (3, 8), (8, 8), (4, 30)])
def test_bits_of_a_direction_count_the_quantiles_below(training, rng, marks, n_bits):
    train = training()
    Z = train.Z
    found = thermometer.learn(train, n_bits, {"thresholds": marks, "rotated": False}, rng)
    bits = found(Z) > 0
    start = 0
    for j in range(min(Z.shape[1], -(-n_bits // marks))):
        count = int(np.count_nonzero(found.weights[j]))
        cuts = np.quantile(Z[:, j], np.arange(1, count + 1) / (count + 1))
        by_hand = np.searchsorted(cuts, Z[:, j])
        np.testing.assert_array_equal(bits[:, start : start + count].sum(axis=1), by_hand)
        start += count
    assert start == n_bits


def test_thresholds_divide_the_training_rows_evenly(training, rng):
    train = training(n=60)
    for rotated in (False, True):
        bits = thermometer.learn(train, 6, {"thresholds": 3, "rotated": rotated}, rng)(train.Z) > 0
        np.testing.assert_array_equal(bits.sum(axis=0), [45, 30, 15] * 2)


def test_offsets_tell_core_from_outskirts_where_planes_through_the_mean_cannot(rng, training):
    train = training()._replace(Z=np.array([[-9.0], [-1.0], [0.0], [1.0], [9.0]]))
    bits = thermometer.learn(train, 2, {"thresholds": 2, "rotated": False}, rng)(train.Z) > 0
    assert bits.astype(int).tolist() == [[0, 0], [0, 0], [1, 0], [1, 1], [1, 1]]


def test_kernel_pca_turns_the_leading_components(training, rng):
    train = training()
    found = kernel_pca.learn(train, 2, {}, rng)
    assert not found.weights[2:].any()
    np.testing.assert_allclose(found(train.Z) @ found(train.Z).T, train.Z[:, :2] @ train.Z[:, :2].T, atol=1e-9)
