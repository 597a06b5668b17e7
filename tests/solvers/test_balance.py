from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize
from scipy.stats import chi2

from thpi.solvers.balance import balanced_signs, project_balanced_box


def all_balanced_codes(n):
    codes = np.array(list(product((-1, 1), repeat=n)))
    return codes[np.abs(codes.sum(axis=1)) == n % 2]


def columns_sum_right(B):
    return np.all(np.abs(B.sum(axis=0, dtype=int)) == len(B) % 2)


@pytest.mark.parametrize("n", range(1, 11))
@pytest.mark.parametrize("with_ties", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_best_of_all_balanced_codes(n, with_ties, dtype):
    rng = np.random.RandomState(n)
    # Small integers: exact arithmetic, and with ties many equal entries.
    M = rng.randint(-2, 3, (n, 40)) if with_ties else np.argsort(rng.rand(40, n), axis=1).T - n // 2
    M = M.astype(dtype)
    B = balanced_signs(M, rng)
    assert B.dtype == np.int8
    assert B.shape == M.shape
    assert set(np.unique(B)) <= {-1, 1}
    assert columns_sum_right(B)
    np.testing.assert_array_equal((B * M).sum(axis=0), (all_balanced_codes(n) @ M).max(axis=0))


@pytest.mark.parametrize(("middle", "expected"), [(0.5, 1), (0.0, 1), (-0.0, 1), (-0.5, -1)])
def test_odd_median_takes_its_own_sign(middle, expected):
    B = balanced_signs(np.array([[7.0], [middle], [-7.0]]), 0)
    np.testing.assert_array_equal(B.ravel(), [1, expected, -1])


@pytest.mark.parametrize("n_tied", [4, 7, 10])
def test_each_tied_row_is_equally_likely(n_tied):
    # Rows: one above, one below, the rest tied; columns are independent draws.
    draws = 4000
    M = np.zeros((n_tied + 2, draws))
    M[0], M[-1] = 1, -1
    B = balanced_signs(M, 3)
    assert columns_sum_right(B)
    share = (n_tied + n_tied % 2) // 2 / n_tied
    counts = (B[1:-1] > 0).sum(axis=1)
    # Sampling without replacement: the covariance has n_tied - 1 equal eigenvalues s(1-s) n/(n-1).
    statistic = np.sum((counts - draws * share) ** 2) / (draws * share * (1 - share)) * (n_tied - 1) / n_tied
    assert statistic < chi2.ppf(0.9999, n_tied - 1)
    # Columns draw independently: not one common choice.
    assert len(np.unique(B.T, axis=0)) > 1


def test_random_numbers_are_used_only_for_straddling_ties():
    random = np.random.RandomState(5)
    before = random.get_state()[1].copy(), random.get_state()[2]
    # Ties within the upper half and within the lower half, none across.
    balanced_signs(np.array([[2.0, 1], [2.0, 3], [1.0, 0], [1.0, 0]]), random)
    # Odd n: the whole tied group at the median lies on one side.
    balanced_signs(np.array([[1.0], [1.0], [-1.0]]), random)
    assert random.get_state()[2] == before[1]
    np.testing.assert_array_equal(random.get_state()[1], before[0])
    balanced_signs(np.zeros((4, 1)), random)
    assert random.get_state()[2] != before[1]


def test_same_seed_same_code():
    M = np.zeros((50, 8))
    np.testing.assert_array_equal(balanced_signs(M, 1), balanced_signs(M, 1))
    assert np.any(balanced_signs(M, 1) != balanced_signs(M, 2))


integers = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=9),
    elements=st.integers(-6, 6).map(float),
)


@given(integers, st.sampled_from([0.125, 0.5, 2.0, 64.0]))
def test_positive_scaling_changes_nothing(M, factor):
    np.testing.assert_array_equal(balanced_signs(M, 0), balanced_signs(factor * M, 0))


@given(integers, st.integers(-50, 50))
def test_a_constant_added_to_a_column_changes_nothing_for_even_n(M, constant):
    M = np.vstack([M, M])
    np.testing.assert_array_equal(balanced_signs(M, 0), balanced_signs(M + constant, 0))


@given(st.integers(1, 9), st.integers(1, 4), st.randoms(use_true_random=False))
def test_without_ties_rows_may_be_permuted(n, c, random):
    rng = np.random.RandomState(random.randrange(2**31))
    M = rng.permutation(n * c).reshape(n, c) - 0.5 * n * c
    order = rng.permutation(n)
    np.testing.assert_array_equal(balanced_signs(M[order], 0), balanced_signs(M, 0)[order])


def _project(V, weights):
    return project_balanced_box(V, 1 / weights, np.zeros(V.shape[1], V.dtype))


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 4), st.sampled_from([0.1, 1.0, 30.0]), st.integers(0, 10**6))
def test_projection_meets_the_kkt_conditions(n, c, spread, seed):
    rng = np.random.RandomState(seed)
    V = spread * rng.standard_cauchy((n, c))
    weights = 10 ** rng.uniform(-3, 3, n)
    B = _project(V, weights)
    assert np.abs(B).max() <= 1
    np.testing.assert_allclose(B.sum(axis=0), 0, atol=1e-12 * n)
    # weights (V - B) is the multiplier mu where free, at least mu at +1, at most mu at -1.
    pressure = weights[:, None] * (V - B)
    slack = 1e-9 * (weights[:, None] * (1 + np.abs(V))).max(axis=0)
    at_least = np.where(B > -1, pressure, np.inf).min(axis=0)
    at_most = np.where(B < 1, pressure, -np.inf).max(axis=0)
    assert np.all(at_most <= at_least + slack)


@pytest.mark.parametrize("seed", range(5))
def test_projection_against_a_general_solver(seed):
    rng = np.random.RandomState(seed)
    v, w = 2 * rng.randn(7), rng.uniform(0.5, 2, 7)
    found = minimize(
        lambda b: np.sum(w * (b - v) ** 2),
        np.zeros(7),
        jac=lambda b: 2 * w * (b - v),
        bounds=[(-1, 1)] * 7,
        constraints={"type": "eq", "fun": np.sum, "jac": lambda b: np.ones(7)},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(_project(v[:, None], w)[:, 0], found.x, atol=1e-6)


def test_projection_keeps_feasible_points():
    B = _project(np.random.RandomState(0).randn(20, 3), np.arange(1.0, 21))
    np.testing.assert_allclose(_project(B, np.ones(20)), B, atol=1e-12)


def test_projection_of_many_float32_rows_ends_and_is_balanced():
    """Newton's method must not chase the rounding of a long sum: half a million rows took it four times as long."""
    rng = np.random.RandomState(0)
    V = rng.standard_normal((500_000, 2)).astype(np.float32) + np.float32(0.01)
    B = _project(V, rng.uniform(5, 20, len(V)).astype(np.float32))
    assert np.abs(B.mean(axis=0, dtype=np.float64)).max() < np.finfo(np.float32).eps
    assert np.abs(B).max() <= 1
