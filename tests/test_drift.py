"""Drift: new rows like the training rows are accepted, others are found; numbers against closed forms and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import thpi
from thpi.datasets import load_digits_views
from thpi.drift import Drift, drift
from thpi.rows import Blocks


@pytest.fixture(scope="module")
def digits():
    return load_digits_views(target="kar", source="fou")


@pytest.fixture(scope="module")
def fitted(digits):
    rows = np.random.RandomState(0).permutation(digits.n)
    return thpi.ITQ(n_bits=16, random_state=0).fit(digits.target[rows[:800]]), digits.target[rows[800:]]


def test_the_numbers_are_those_of_the_rows(fitted, digits):
    hasher, new = fitted
    train = digits.target[np.random.RandomState(0).permutation(digits.n)[:800]]
    before, after = hasher.decision_function(train), hasher.decision_function(new)
    np.testing.assert_allclose(hasher.projection_mean_, before.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(hasher.projection_scale_, before.std(axis=0))
    np.testing.assert_allclose(hasher.bit_share_, (before >= 0).mean(axis=0))
    found = drift(hasher, new)
    assert (found.n_rows, found.n_trained) == (len(new), 800)
    np.testing.assert_allclose(found.share_change, (after >= 0).mean(axis=0) - (before >= 0).mean(axis=0))
    np.testing.assert_allclose(found.shift, (after.mean(axis=0) - before.mean(axis=0)) / before.std(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.spread, after.std(axis=0) / before.std(axis=0))
    # The test of two shares is the chi-square test of a 2 x 2 table, that of means Welch's.
    p_values = [stats.ttest_ind(*pair, equal_var=False).pvalue for pair in zip(after.T, before.T, strict=True)]
    for one, other in zip((after >= 0).T, (before >= 0).T, strict=True):
        table = [[one.sum(), (~one).sum()], [other.sum(), (~other).sum()]]
        p_values.append(stats.chi2_contingency(table, correction=False).pvalue)
    assert found.p_value == pytest.approx(min(1.0, 32 * min(p_values)), rel=0.05)


@pytest.mark.parametrize("method", ["LSH", "ITQ", "DSH", "SpectralHashing"])
def test_rows_of_the_same_kind_are_accepted_and_others_found(digits, method):
    alarms = 0
    for seed in range(10):
        rows = np.random.RandomState(seed).permutation(digits.n)
        hasher = thpi.HASHERS[method](n_bits=16, random_state=seed).fit(digits.target[rows[:500]])
        alarms += drift(hasher, digits.target[rows[500:1000]]).drifted
    assert alarms <= 1
    known = digits.labels < 8
    hasher = thpi.HASHERS[method](n_bits=16, random_state=0).fit(digits.target[known])
    found = drift(hasher, digits.target[~known])
    assert found.drifted
    assert "the rows differ from those learned from" in str(found)


def test_a_difference_that_is_certain_but_tiny_is_none(fitted):
    nothing = np.zeros(2)
    assert not Drift(10**6, 10**6, nothing + 0.001, nothing + 0.01, nothing + 1, 1e-9).drifted
    assert Drift(10**6, 10**6, nothing + 0.001, nothing + 0.2, nothing + 1, 1e-9).drifted
    assert not Drift(10, 10, nothing + 0.3, nothing + 0.5, nothing + 1, 0.2).drifted
    assert "no clear difference" in str(drift(*fitted))


def test_files_keep_the_numbers_and_encoders_use_them(fitted, tmp_path):
    hasher, new = fitted
    hasher.save(tmp_path / "m")
    assert str(drift(thpi.load_encoder(tmp_path / "m"), new + 1)) == str(drift(hasher, new + 1))


def test_a_model_that_learned_on_a_cluster_has_nothing_to_compare_with(fitted):
    hasher, new = fitted
    old = hasher.light()
    for name in ("bit_share_", "projection_mean_", "projection_scale_", "n_measured_"):
        del old.__dict__[name]
    with pytest.raises(ValueError, match="this ITQ does not know .* rows on a cluster"):
        drift(old, new)


def test_a_constant_bit_is_no_division_by_zero():
    X = np.zeros((20, 3))
    X[:, 0] = np.arange(20)
    hasher = thpi.LSH(n_bits=4, random_state=0).fit(np.ones((20, 3)))
    assert drift(hasher, np.ones((5, 3))).p_value == 1
    assert np.isfinite(drift(hasher, X).share_change).all()


def test_rows_that_are_not_in_memory_are_measured(digits):
    blocks = Blocks([digits.target[:700], digits.target[700:]])
    one, other = (thpi.LSH(n_bits=8, random_state=0).fit(rows) for rows in (blocks, digits.target))
    np.testing.assert_allclose(one.projection_scale_, other.projection_scale_, rtol=1e-6)
