from __future__ import annotations

import numpy as np
import pytest

from thpi import SpectralHashing
from thpi.rows import Blocks


def test_bits_are_the_lowest_eigenfunctions_of_a_box():
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(4000, 2)) * [4.2, 1.0]
    hasher = SpectralHashing(n_bits=6).fit(X)
    # Frequencies m pi / length in ascending order: four modes of the long side, then the first of the short side.
    lengths = [4.2, 4.2, 4.2, 4.2, 1.0, 4.2]
    modes = [1, 2, 3, 4, 1, 5]
    expected = np.pi * np.array(modes) / np.array(lengths)
    np.testing.assert_allclose(hasher.frequency_, np.sort(expected), rtol=0.02)
    assert (np.abs(hasher.projection_[0]).round(1) == np.where(np.array(lengths) == 4.2, 1, 0)).all()
    np.testing.assert_allclose(hasher.lower_, ((X - X.mean(axis=0)) @ hasher.projection_).min(axis=0))
    # Mode m changes its sign m times along its axis.
    line = np.linspace(X.min(axis=0), X.max(axis=0), 1000)
    line[:, 1] = 0.5
    changes = (np.diff(hasher.signs(line)[:, :4], axis=0) != 0).sum(axis=0)
    np.testing.assert_array_equal(changes, [1, 2, 3, 4])


def test_first_bits_are_balanced_on_a_uniform_box():
    X = np.random.RandomState(0).uniform(size=(5000, 3)) * [3, 2, 1]
    assert np.abs(SpectralHashing(n_bits=4).fit(X).signs(X).mean(axis=0)).max() < 0.05


def test_more_bits_than_columns_and_columns_without_extent():
    X = np.random.RandomState(0).uniform(size=(100, 2))
    X[:, 1] = 3
    hasher = SpectralHashing(n_bits=12).fit(X)
    np.testing.assert_allclose(hasher.frequency_, hasher.frequency_[0] * np.arange(1, 13))
    constant = SpectralHashing(n_bits=4).fit(np.ones((5, 3)))
    np.testing.assert_array_equal(constant.transform(np.ones((1, 3))), [[15]])


@pytest.mark.parametrize("shift", [0, 1000.0])
def test_new_rows_outside_the_range_get_a_code(shift):
    X = np.random.RandomState(0).uniform(size=(100, 3)) + shift
    assert np.isfinite(SpectralHashing(n_bits=8).fit(X).decision_function(X * 5)).all()


def test_the_range_is_that_of_all_blocks():
    X = np.random.RandomState(0).uniform(size=(90, 3)) * [3, 2, 1]
    whole, blocks = (SpectralHashing(n_bits=5).fit(rows) for rows in (X, Blocks([X[:20], X[20:50], X[50:]])))
    np.testing.assert_allclose(blocks.lower_, whole.lower_, atol=1e-9)
    np.testing.assert_allclose(blocks.frequency_, whole.frequency_, rtol=1e-9)
