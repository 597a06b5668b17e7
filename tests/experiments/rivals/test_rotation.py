from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from experiments.rivals.rotation import quantised, rotation


def _loss(C, R):
    return np.sum((np.sign(C @ R) - C @ R) ** 2)


@pytest.mark.parametrize("n_bits", [2, 4, 9])
def test_procrustes_steps_lower_the_loss_and_keep_rows_or_columns_orthonormal(rng, n_bits):
    C = rng.standard_normal((80, 4))[:, : min(4, n_bits)]
    losses = [_loss(C, rotation(C, n_bits, np.random.RandomState(1), steps)) for steps in (0, 1, 2, 5, 40)]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(losses))
    assert losses[-1] < losses[0]
    R = rotation(C, n_bits, rng)
    np.testing.assert_allclose(R @ R.T if n_bits > 4 else R.T @ R, np.eye(min(R.shape)), atol=1e-9)


def test_corners_of_a_square_are_found_whatever_its_turn():
    corners = np.array(list(product([-1.0, 1.0], repeat=2)))
    turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    R = rotation(corners @ turn, 2, np.random.RandomState(0))
    np.testing.assert_allclose(np.abs(corners @ turn @ R), 1, atol=1e-6)


def test_coordinates_are_centred_and_reduced_to_the_leading_axes(rng):
    Z = rng.standard_normal((50, 3)) + 7
    W = np.diag([3.0, 2.0, 0.01])
    found = quantised(Z, W, 2, rng)
    C = (Z - Z.mean(axis=0)) @ W
    V = np.linalg.svd(C)[2][:2].T
    np.testing.assert_allclose(found(Z).mean(axis=0), 0, atol=1e-9)
    # The same plane: the projections are the leading components, turned.
    np.testing.assert_allclose(found(Z) @ found(Z).T, (C @ V) @ (C @ V).T, atol=1e-8)


@pytest.mark.parametrize("W", [np.zeros((3, 2)), np.zeros((3, 0))])
def test_where_coordinates_say_nothing_the_features_are_turned(rng, W):
    Z = rng.standard_normal((50, 3)) * [3, 2, 1]
    first, second = (quantised(Z, V, 2, np.random.RandomState(0)) for V in (W, np.eye(3)))
    np.testing.assert_allclose(first(Z), second(Z))
