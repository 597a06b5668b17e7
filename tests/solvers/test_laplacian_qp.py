from __future__ import annotations

from itertools import product

import numpy as np
import osqp
import pytest
from scipy import sparse
from scipy.linalg import eigh
from scipy.optimize import brentq
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph

from thpi.solvers import balance, graph_codes
from thpi.solvers.balance import project_balanced_box
from thpi.solvers.graph_codes import BoxQP


def knn_laplacian(X, k=12):
    A = kneighbors_graph(X, k)
    A = A.maximum(A.T)
    return sparse.csr_matrix(sparse.diags(np.asarray(A.sum(axis=1)).ravel()) - A)


@pytest.fixture(scope="module")
def digits():
    X = load_digits().data[:300]
    X = X - X.mean(axis=0)
    return X / X.std(), knn_laplacian(X)


def objective(B, K, L, lambda2):
    B = B.astype(np.float64)
    return np.sum(B * (lambda2 * (L @ B) - 2 * K))


def solve(K, L, lambda2, **options):
    return BoxQP(L, lambda2, K.dtype).solve(K, **options)


def solve_with_osqp(K, L, lambda2):
    n = len(K)
    A = sparse.vstack([sparse.eye(n), np.ones((1, n))]).tocsc()
    bound = np.append(np.ones(n), 0.0)
    B = np.empty_like(K)
    for j, k in enumerate(K.T):
        solver = osqp.OSQP()
        solver.setup(
            sparse.csc_matrix(2 * lambda2 * L),
            -2 * k,
            A,
            -bound,
            bound,
            verbose=False,
            eps_abs=1e-9,
            eps_rel=1e-9,
            max_iter=200_000,
            polishing=True,
        )
        B[:, j] = solver.solve(raise_error=True).x
    return B


def assert_feasible(B, slack=1e-10):
    assert np.abs(B).max() <= 1
    assert np.abs(B.sum(axis=0, dtype=np.float64)).max() <= slack


# Small lambda2: nearly all entries at a bound. Large lambda2: hardly any.
@pytest.mark.parametrize(("lambda2", "at_bound"), [(0.003, (0.9, 1)), (0.1, (0.2, 0.9)), (30.0, (0, 0.2))])
@pytest.mark.parametrize("n", [300, 297])
def test_agrees_with_osqp_on_digits(digits, lambda2, at_bound, n):
    X, L = digits[0][:n], digits[1] if n == 300 else knn_laplacian(digits[0][:n])
    # For large lambda2 a weak pull, so that the graph term alone keeps the codes inside the box.
    K = X @ np.random.RandomState(0).randn(64, 3) / 8 * (0.05 if lambda2 > 1 else 1)
    result = solve(K, L, lambda2, tol=1e-9, max_iter=20_000)
    assert result.converged
    assert_feasible(result.B)
    assert at_bound[0] <= np.mean(np.abs(result.B) == 1) <= at_bound[1]
    reference = solve_with_osqp(K, L, lambda2)
    expected = objective(reference, K, L, lambda2)
    assert objective(result.B, K, L, lambda2) == pytest.approx(expected, rel=1e-5)
    # A connected graph makes the optimum unique: 1'B = 0 removes the only flat direction.
    assert sparse.csgraph.connected_components(L)[0] == 1
    np.testing.assert_allclose(result.B, reference, atol=1e-3)


@pytest.mark.parametrize("max_iter", [1, 3, 10, 40])
def test_gap_bounds_the_distance_to_the_optimum(digits, max_iter):
    X, L = digits
    K = X @ np.random.RandomState(1).randn(64, 2) / 8
    optimum = objective(solve(K, L, 0.5, tol=1e-10, max_iter=50_000).B, K, L, 0.5)
    by_osqp = objective(solve_with_osqp(K, L, 0.5), K, L, 0.5)
    assert optimum == pytest.approx(by_osqp, rel=1e-7)
    result = solve(K, L, 0.5, tol=0, max_iter=max_iter)
    assert result.n_iter == max_iter
    assert not result.converged
    assert 0 <= objective(result.B, K, L, 0.5) - optimum <= result.gap


def test_gap_is_the_frank_wolfe_gap(digits):
    X, L = digits
    K = X @ np.random.RandomState(1).randn(64, 2) / 8
    result = solve(K, L, 0.5, max_iter=5)
    gradient = 2 * 0.5 * (L @ result.B) - 2 * K
    # The linear minimiser over the balanced box puts +1 on the lower half of the gradient.
    lower = np.argsort(np.argsort(gradient, axis=0), axis=0) < len(K) // 2
    expected = np.sum(gradient * (result.B - np.where(lower, 1, -1)))
    assert result.gap == pytest.approx(expected, rel=1e-10)


def test_warm_start_saves_iterations(digits):
    X, L = digits
    K = X @ np.random.RandomState(2).randn(64, 4) / 8
    cold = solve(K, L, 1.0)
    assert solve(K, L, 1.0, start=cold.B).n_iter == 0
    nearby = K + 1e-4 * np.random.RandomState(3).randn(*K.shape)
    warm = solve(nearby, L, 1.0, start=cold.B)
    assert warm.converged
    assert warm.n_iter < solve(nearby, L, 1.0).n_iter


@pytest.mark.parametrize("lambda2", [0.5, 5.0])
def test_momentum_saves_half_of_the_iterations_of_plain_projected_gradients(digits, lambda2):
    X, L = digits
    K = X @ np.random.RandomState(1).randn(64, 2) / 8
    found = solve(K, L, lambda2, tol=1e-7, max_iter=5000)
    solver = BoxQP(L, lambda2, np.float64)
    B, multiplier, pull = np.zeros_like(K), np.zeros(2), K * (solver.inverse[:, None] / (solver.bound * lambda2))
    for _ in range(2 * found.n_iter):
        B = project_balanced_box(solver.averaging @ B + pull, solver.inverse, multiplier)
    goal = objective(found.B, K, L, lambda2)
    assert objective(B, K, L, lambda2) > goal + 1e-7 * abs(goal)


def test_columns_are_solved_independently(digits):
    X, L = digits
    # Very different scales, so that columns finish at different times.
    K = X @ np.random.RandomState(2).randn(64, 4) / 8 * [0.01, 0.3, 3, 30]
    together = solve(K, L, 1.0, tol=1e-9, max_iter=20_000)
    assert together.converged
    for j in range(4):
        alone = solve(K[:, [j]], L, 1.0, tol=1e-9, max_iter=20_000)
        np.testing.assert_allclose(together.B[:, [j]], alone.B, atol=2e-3)


@pytest.mark.parametrize("n", [4, 8, 12])
def test_relaxed_optimum_is_no_higher_than_any_balanced_code(n):
    rng = np.random.RandomState(n)
    codes = np.array([b for b in product((-1.0, 1.0), repeat=n) if sum(b) == 0])
    for _ in range(10):
        W = np.triu(rng.rand(n, n) < 0.4, 1).astype(float)
        W = W + W.T
        L = np.diag(W.sum(axis=1)) - W
        k, lambda2 = rng.randn(n, 1), 10 ** rng.uniform(-2, 1)
        best = (lambda2 * np.sum(codes @ L * codes, axis=1) - 2 * codes @ k[:, 0]).min()
        result = solve(k, L, lambda2, tol=1e-8, max_iter=50_000)
        assert result.converged
        assert objective(result.B, k, L, lambda2) - result.gap <= best + 1e-9


@pytest.mark.parametrize("n_isolated", [1, 6])
def test_disconnected_graph_with_isolated_vertices(n_isolated):
    rng = np.random.RandomState(0)
    blocks = [knn_laplacian(rng.randn(m, 3), 3) for m in (15, 20)] + [np.zeros((n_isolated, n_isolated))]
    L = sparse.csr_matrix(sparse.block_diag(blocks))
    K = rng.randn(L.shape[0], 3)
    result = solve(K, L, 0.3, tol=1e-8, max_iter=20_000)
    assert result.converged
    assert_feasible(result.B)
    expected = objective(solve_with_osqp(K, L, 0.3), K, L, 0.3)
    assert objective(result.B, K, L, 0.3) == pytest.approx(expected, rel=1e-6)


def test_float32_stays_float32(digits):
    X, L = digits
    K = X @ np.random.RandomState(0).randn(64, 4) / 8
    for lambda2 in (0.01, 0.3):
        single = solve(K.astype(np.float32), L, lambda2, tol=1e-5)
        assert single.B.dtype == np.float32
        assert single.converged
        assert_feasible(single.B, slack=1e-3)
        double = objective(solve(K, L, lambda2).B, K, L, lambda2)
        assert objective(single.B, K, L, lambda2) == pytest.approx(double, rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lambda2", [0.1, 3.0])
def test_the_direct_way_of_small_data_changes_no_bit(digits, dtype, lambda2, monkeypatch):
    K, L = digits
    direct = solve(K.astype(dtype), L, lambda2, tol=1e-4)
    for module in (balance, graph_codes):
        monkeypatch.setattr(module, "CACHED", -1)
    by_blocks = solve(K.astype(dtype), L, lambda2, tol=1e-4)
    assert direct.n_iter == by_blocks.n_iter
    assert direct.B.tobytes() == by_blocks.B.tobytes()


# ---------------------------------------------------------------- one step at a time


def _projected(V, metric):
    """The point of the balanced box nearest to each column in a metric, by root finding."""
    columns = []
    for v in V.T:
        far = (np.abs(v).max() + 1) * metric.max()
        root = brentq(lambda m, v=v: np.clip(v - m / metric, -1, 1).sum(), -far, far, xtol=1e-14)
        columns.append(np.clip(v - root / metric, -1, 1))
    return np.stack(columns, axis=1)


def _greedy_fista(K, L, lambda2, bound, n_iter):
    """The method as its paper has it, in the metric D of the degrees: dense, one step after the other."""
    degrees = L.diagonal()
    metric = np.where(degrees > 0, degrees, 0.01 * degrees[degrees > 0].min())
    X = Y = np.zeros_like(K)
    for _ in range(n_iter):
        gradient = 2 * lambda2 * (L @ Y) - 2 * K
        former, X = X, _projected(Y - gradient / (2 * bound * lambda2 * metric[:, None]), metric)
        uphill = (metric[:, None] * (Y - X) * (X - former)).sum(axis=0) > 0
        Y = X + np.where(uphill, 0.0, X - former)
    return X


@pytest.mark.parametrize("n", [24, 80])
@pytest.mark.parametrize("n_iter", [1, 2, 5, 20, 60])
def test_iterations_are_those_of_greedy_fista(n, n_iter):
    rng = np.random.RandomState(0)
    W = np.triu(rng.rand(n, n) * (rng.rand(n, n) < 6 / n), 1) * rng.uniform(0.1, 3, n)
    W[:, -1] = 0  # an isolated vertex
    W = W + W.T
    L, K = np.diag(W.sum(axis=1)) - W, rng.standard_normal((n, 3)) * [0.1, 1, 4]
    solver = BoxQP(L, 0.7, np.float64)
    found = solver.solve(K, None, 0.0, n_iter)
    assert found.n_iter == n_iter
    np.testing.assert_allclose(found.B, _greedy_fista(K, L, 0.7, solver.bound, n_iter), atol=1e-9)


@pytest.mark.parametrize("n", [30, 80, 200])
def test_the_step_is_as_long_as_the_curvature_allows(n):
    rng = np.random.RandomState(n)
    W = np.triu(rng.rand(n, n) < 6 / n, 1) * rng.uniform(0.1, 30, n)
    W = W + W.T + np.eye(n, k=1) + np.eye(n, k=-1)
    L = np.diag(W.sum(axis=1)) - W
    largest = eigh(L, np.diag(L.diagonal()), eigvals_only=True)[-1]
    bound = BoxQP(L, 1.0, np.float64).bound
    assert largest <= bound <= (2 if n < 50 else min(2, 1.04 * largest))


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_a_column_stops_at_its_share_of_the_tolerance(tol, digits):
    X, L = digits
    K = X @ np.random.RandomState(2).randn(64, 4) / 8 * [0.3, 1, 3, 10]
    found = solve(K, L, 1.0, tol=tol, max_iter=20_000)
    assert found.converged
    assert found.gap <= tol * abs(objective(found.B, K, L, 1.0))
    # Eight iterations before, at the check before the last, it had not converged.
    assert not solve(K, L, 1.0, tol=tol, max_iter=found.n_iter - 8).converged
