from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from thpi import ITQ
from thpi.codes import unpack_signs
from thpi.datasets import load_digits_views
from thpi.hashers._itq import restart_seeds
from thpi.solvers.moments import principal_axes
from thpi.solvers.quantisation import iterative_quantisation


@pytest.fixture(scope="module")
def X():
    return load_digits_views().target[:300].astype(np.float64)


def test_objective_is_the_quantisation_loss(X):
    hasher = ITQ(n_bits=16, random_state=0, tol=0, max_iter=5).fit(X)
    assert hasher.n_iter_ == 5
    assert not hasher.converged_
    assert np.all(np.diff(hasher.objective_) <= 0)
    values = hasher.decision_function(X)
    # One more half step, the signs of the last rotation, can only lower the recorded loss.
    assert np.linalg.norm(np.sign(values) - values) ** 2 <= hasher.objective_[-1]
    np.testing.assert_allclose(hasher.projection_.T @ hasher.projection_, np.eye(16), atol=1e-9)


@pytest.mark.parametrize("balanced", [False, True])
def test_restarts_keep_the_best(X, balanced):
    V, _ = principal_axes(X, X.mean(axis=0), 8)
    Z = (X - X.mean(axis=0)) @ V
    seeds = np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=6)
    losses = [iterative_quantisation(Z, np.random.RandomState(s), balanced=balanced).objective[-1] for s in seeds]
    assert len(set(losses)) > 1
    hasher = ITQ(n_bits=8, n_init=6, balanced=balanced, random_state=0).fit(X)
    assert hasher.objective_[-1] == pytest.approx(min(losses), rel=1e-9)


def test_balanced_codes(X):
    hasher = ITQ(n_bits=8, balanced=True, random_state=0).fit(X[:299])
    assert (np.abs(unpack_signs(hasher.codes_, 8).sum(axis=0)) == 1).all()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.01, 1.0, 250.0]))
def test_scale_and_shift_of_the_data_change_no_code(seed, scale):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((60, 6)) * np.array([6, 5, 4, 3, 2, 1.0])
    one = ITQ(n_bits=4, tol=0, random_state=seed).fit(X)
    other = ITQ(n_bits=4, tol=0, random_state=seed).fit(scale * (X + rng.standard_normal(6)))
    np.testing.assert_array_equal(one.codes_, other.codes_)
    np.testing.assert_allclose(one.projection_, other.projection_, atol=1e-7)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000))
def test_rotation_of_the_data_rotates_the_hash_functions(seed):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((60, 6)) * np.array([6, 5, 4, 3, 2, 1.0])
    turn = ortho_group.rvs(6, random_state=seed)
    one, other = (ITQ(n_bits=4, random_state=seed).fit(data) for data in (X, X @ turn))
    # The random start is drawn along principal axes, whose signs the rotation may change, so that the search may
    # end in another optimum; the span of the hash functions must turn with the data.
    np.testing.assert_allclose(
        turn.T @ one.projection_ @ one.projection_.T @ turn, other.projection_ @ other.projection_.T, atol=1e-7
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000))
def test_order_of_rows_changes_no_hash_function(seed):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((50, 6)) * np.array([6, 5, 4, 3, 2, 1.0])
    order = rng.permutation(50)
    one, other = (ITQ(n_bits=4, random_state=0).fit(data) for data in (X, X[order]))
    np.testing.assert_allclose(one.projection_, other.projection_, atol=1e-7)
    np.testing.assert_array_equal(one.codes_[order], other.codes_)


@pytest.mark.parametrize("seed", range(6))
def test_the_restart_that_ends_lowest_is_kept_not_the_one_that_begins_lowest(X, seed):
    V, _ = principal_axes(X[:60], X[:60].mean(axis=0), 8)
    Z = (X[:60] - X[:60].mean(axis=0)) @ V
    runs = [iterative_quantisation(Z, stream) for stream in restart_seeds(np.random.RandomState(seed), 4)]
    hasher = ITQ(n_bits=8, n_init=4, random_state=seed).fit(X[:60])
    assert hasher.objective_[-1] == pytest.approx(min(run.objective[-1] for run in runs), rel=1e-9)
