from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from thpi.solvers import neighbour_embedding as module
from thpi.solvers.neighbour_embedding import neighbour_embedding, neighbour_probabilities


def _objective(X, P, b, log_t, A, P0, start_penalty):
    """The formula of the docstring, row by row."""
    n, p = X.shape
    H, t = np.tanh(X @ P - b), np.exp(log_t)
    total = 0.0
    for i in range(n):
        others = [j for j in range(n) if j != i]
        Q = np.exp(t * H[others] @ H[i])
        Q /= Q.sum()
        a = A[i, others]
        total += np.sum(a[a > 0] * np.log(a[a > 0] / Q[a > 0]))
    C = X.T @ X / n
    D = P - P0
    held = np.trace(D.T @ (C + np.trace(C) / p * np.eye(p)) @ D) + b @ b
    return total / n + start_penalty / P.shape[1] * held


@pytest.fixture
def problem():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((12, 4))
    return X, rng.standard_normal((4, 3)), neighbour_probabilities(X, 0.3)


def _watched(monkeypatch, X, start, A, start_penalty, offsets):
    """The function that is given to L-BFGS, and where it starts."""
    seen = {}

    def minimise(value, x, **options):
        seen.update(value=value, x=x)
        return real(value, x, **options)

    real = module.minimize
    monkeypatch.setattr(module, "minimize", minimise)
    neighbour_embedding(X, start, A, start_penalty=start_penalty, offsets=offsets, max_iter=1)
    return seen["value"], seen["x"]


@pytest.mark.parametrize("offsets", [False, True])
def test_objective_is_the_formula_and_the_gradient_its_slope(problem, monkeypatch, offsets):
    X, start, A = problem
    value, x = _watched(monkeypatch, X, start, A, 0.7, offsets)
    P0 = start / np.abs(X @ start).mean()
    unit = np.sqrt((X**2).mean()) / 0.3  # the variables are those of rows with a root mean square of 0.3
    np.testing.assert_allclose(x[:12].reshape(4, 3) / unit, P0, rtol=1e-12)
    np.testing.assert_array_equal(x[12:-1], np.zeros(3 if offsets else 0))
    for step in (0.0, 0.3):
        at = x + step * np.random.RandomState(1).standard_normal(len(x))

        def formula(z):
            # The penalty of P does not depend on the unit; that of b is the same in all units.
            b = z[12:-1] if offsets else np.zeros(3)
            return _objective(X, z[:12].reshape(4, 3) / unit, b, z[-1], A, P0, 0.7)

        found, slope = value(at)
        assert found == pytest.approx(formula(at), rel=1e-10)
        np.testing.assert_allclose(slope, approx_fprime(at, formula, 1e-7), atol=2e-6)


def test_objective_never_rises_and_the_trace_is_true(problem):
    X, start, A = problem
    found = neighbour_embedding(X, start, A, start_penalty=0.05, max_iter=50)
    assert np.all(np.diff(found.objective) <= 0)
    assert found.objective[-1] < 0.9 * found.objective[0]
    short = neighbour_embedding(X, start, A, start_penalty=0.05, max_iter=2)
    assert short.objective == pytest.approx(found.objective[:3], rel=1e-12)
    assert not short.converged


def test_a_strong_penalty_holds_the_start(problem):
    X, start, A = problem
    held = neighbour_embedding(X, start, A, start_penalty=1e6).projection
    np.testing.assert_allclose(held, start / np.abs(X @ start).mean(), atol=1e-4)


@given(st.integers(2, 40), st.floats(0.05, 0.9), st.integers(0, 100))
def test_probabilities_are_probabilities_of_the_wanted_perplexity(n, share, seed):
    rows = np.random.RandomState(seed).standard_normal((n, 3))
    A = neighbour_probabilities(rows, share)
    assert np.all(A.diagonal() == 0)
    np.testing.assert_allclose(A.sum(axis=1), 1, rtol=1e-5)
    entropy = -np.sum(np.where(A > 0, A * np.log(np.maximum(A, 1e-38)), 0), axis=1)
    # At most the n - 1 others, and at least one.
    assert np.exp(entropy).mean() == pytest.approx(np.clip(share * n, 1, n - 1), rel=0.02, abs=0.02)


def test_the_nearer_is_the_likelier():
    rows = np.random.RandomState(3).standard_normal((20, 2))
    A = neighbour_probabilities(rows, 0.4)
    distances = np.linalg.norm(rows[:, None] - rows, axis=2)
    for i in range(20):
        others = np.delete(np.arange(20), i)
        order = others[np.argsort(distances[i, others])]
        assert np.all(np.diff(A[i, order]) <= 0)


def test_equal_rows_are_neighbours_alike():
    A = neighbour_probabilities(np.ones((5, 2)), 0.3)
    np.testing.assert_allclose(A, (1 - np.eye(5)) / 4)
    found = neighbour_embedding(np.zeros((5, 2)), np.eye(2), A)
    assert np.all(np.isfinite(found.projection))


def test_a_step_to_where_every_neighbour_is_certain_does_not_overflow(problem, monkeypatch):
    """Where many rows are alike t grows, and a line search may look far ahead: there is a bound, up to which single
    precision gives what the formula gives."""
    minimize, seen = module.minimize, []
    X, start, A = problem
    X = np.repeat(X, 3, axis=0)
    A = neighbour_probabilities(X, 0.3)
    unit = np.sqrt(np.mean(X**2)) / module._SPREAD
    most = module._MOST_LOG_TC - np.log(3)

    def look_ahead(value, x, **options):
        seen.append((x, [value(np.append(x[:-1], log_t)) for log_t in (most - 1e-9, most + 1, 1000.0)]))
        return minimize(value, x, **options)

    monkeypatch.setattr(module, "minimize", look_ahead)
    with np.errstate(over="raise", invalid="raise"):
        neighbour_embedding(X, start, A)
    ((x, found),) = seen
    (at, slope), (beyond, flat), (far, flatter) = found
    P0 = x[:-1].reshape(4, 3)
    H = np.tanh(X / unit @ P0)
    E = np.exp(most) * H @ H.T
    np.fill_diagonal(E, -np.inf)
    logs = E - E.max(axis=1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    true = np.mean([np.sum(a[a > 0] * (np.log(a[a > 0]) - q[a > 0])) for a, q in zip(A, logs, strict=True)])
    assert at == pytest.approx(true, rel=1e-4)
    assert beyond == far == pytest.approx(at, rel=1e-4)
    assert slope[-1] > 0 == flat[-1] == flatter[-1]


@pytest.mark.parametrize("seed", [218, 513, 1961, 2492])
def test_the_objective_is_never_below_nothing(seed):
    """KL and the penalty are not negative; without a bound of t rounding made them so, by up to 2,400."""
    rng = np.random.RandomState(seed)
    k, n, d, c = rng.randint(2, 6), rng.randint(6, 60), rng.randint(1, 4), int(rng.choice([16, 32, 64]))
    X = rng.standard_normal((k, d))[rng.randint(k, size=n)]
    start, A = rng.standard_normal((d, c)), neighbour_probabilities(X, 0.3)
    found = neighbour_embedding(X, start, A, start_penalty=float(rng.choice([0, 0.1, 1])))
    assert found.objective[-1] > -1e-3
    assert np.all(np.diff(found.objective) <= 0)
