from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from thpi.solvers.balanced_box import project_balanced_box


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 4), st.sampled_from([0.1, 1.0, 30.0]), st.integers(0, 10**6))
def test_projection_meets_the_kkt_conditions(n, c, spread, seed):
    rng = np.random.RandomState(seed)
    V = spread * rng.standard_cauchy((n, c))
    weights = 10 ** rng.uniform(-3, 3, n)
    B = project_balanced_box(V, weights)
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
    np.testing.assert_allclose(project_balanced_box(v[:, None], w)[:, 0], found.x, atol=1e-6)


def test_projection_keeps_feasible_points():
    B = project_balanced_box(np.random.RandomState(0).randn(20, 3), np.arange(1.0, 21))
    np.testing.assert_allclose(project_balanced_box(B, np.ones(20)), B, atol=1e-12)


def test_projection_of_many_float32_rows_ends_and_is_balanced():
    """Newton's method must not chase the rounding of a long sum: half a million rows took it four times as long."""
    rng = np.random.RandomState(0)
    V = rng.standard_normal((500_000, 2)).astype(np.float32) + np.float32(0.01)
    B = project_balanced_box(V, rng.uniform(5, 20, len(V)).astype(np.float32))
    assert np.abs(B.mean(axis=0, dtype=np.float64)).max() < np.finfo(np.float32).eps
    assert np.abs(B).max() <= 1
