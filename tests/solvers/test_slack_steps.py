"""Each step of ITQ+ and LapITQ+ alone: against closed forms, enumeration, and an optimiser on the manifold."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pymanopt
import pytest
from scipy import linalg, sparse

from thpi.solvers.graph_codes import GraphCodes, SwapDescent
from thpi.solvers.slack_quantisation import PairMoments, slack_quantisation

WEIGHTS = [0.0, 0.01, 0.5, 5.0, 50.0]


class Problem:
    """Views and codes of n rows, R and P of c bits, and the objective written out."""

    def __init__(self, lambda1, *, n=30, p=6, q=5, c=3, true_loss=True, seed=0):
        rng = np.random.RandomState(seed)
        X, S = rng.standard_normal((n, p)) * np.linspace(2, 0.4, p), rng.standard_normal((n, q))
        self.X, self.S, self.lambda1, self.true_loss = X - X.mean(axis=0), S - S.mean(axis=0), lambda1, true_loss
        self.B = np.where(rng.rand(n, c) < 0.5, 1.0, -1.0)
        self.R, self.P = self.frame(p, c, rng), self.frame(q, c, rng)
        self.moments = PairMoments(self.X, self.S, n_bits=c, lambda1=lambda1, true_loss=true_loss)
        self.moments.set_codes((self.B > 0).T)

    @staticmethod
    def frame(rows, columns, rng):
        Q = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))[0]
        Q = Q * rng.choice([-1, 1], size=Q.shape[1])  # else all square ones would have the same determinant
        return Q if rows >= columns else Q.T

    def value(self, R, P):
        XR, SP = self.X @ R, self.S @ P
        E = self.B - XR
        loss = np.sum(E**2) + self.lambda1 * np.sum((E - SP) ** 2)
        if self.true_loss:
            return loss
        norms = (1 + self.lambda1) * (np.sum(XR**2) + self.B.size) + self.lambda1 * np.sum(SP**2)
        return loss - norms

    def slope_of_target(self, R):
        return 2 * self.X.T @ (self.X @ R - self.B + self.lambda1 * (self.X @ R - self.B + self.S @ self.P))

    def slope_of_slack(self, P):
        return 2 * self.lambda1 * self.S.T @ (self.S @ P - self.B + self.X @ self.R)


# The numbers of columns at which R and P are tall, square and wide; tall ones have a closed form for the trace alone.
SHAPES = [(6, 5, 3, False), (5, 5, 5, False), (5, 5, 5, True), (4, 3, 6, True), (4, 3, 6, False)]


@pytest.mark.parametrize("lambda1", WEIGHTS)
@pytest.mark.parametrize(("p", "q", "c", "true_loss"), SHAPES)
def test_steps_of_both_functions_are_the_closed_forms(lambda1, p, q, c, true_loss):
    at = Problem(lambda1, p=p, q=q, c=c, true_loss=true_loss)
    R = linalg.polar(at.X.T @ ((1 + lambda1) * at.B - lambda1 * at.S @ at.P))[0]
    P = linalg.polar(at.S.T @ (at.B - at.X @ at.R))[0]
    np.testing.assert_allclose(at.moments.fit_target(at.R, at.P), R, atol=1e-9)
    np.testing.assert_allclose(at.moments.fit_slack(at.R, at.P), P, atol=1e-9)
    # They are minima: no other frame does better.
    rng = np.random.RandomState(1)
    for _ in range(50):
        assert at.value(R, at.P) <= at.value(at.frame(p, c, rng), at.P) + 1e-9
        assert at.value(at.R, P) <= at.value(at.R, at.frame(q, c, rng)) + 1e-9


def _optimised(value, slope, start):
    """Conjugate gradients on the Stiefel manifold, down to a stationary point."""
    manifold = pymanopt.manifolds.Stiefel(*start.shape)
    cost, gradient = (pymanopt.function.numpy(manifold)(function) for function in (value, slope))
    optimiser = pymanopt.optimizers.ConjugateGradient(verbosity=0, min_gradient_norm=1e-8, max_iterations=2000)
    return optimiser.run(pymanopt.Problem(manifold, cost, euclidean_gradient=gradient), initial_point=start).cost


def _along_the_manifold(slope, Q):
    """Norm of the Riemannian gradient, relative to that of the Euclidean one."""
    G = slope(Q)
    return np.linalg.norm(G - Q @ (Q.T @ G + G.T @ Q) / 2) / np.linalg.norm(G)


@pytest.mark.parametrize("lambda1", [0.5, 5.0, 50.0])
@pytest.mark.parametrize("which", ["target", "slack"])
@pytest.mark.parametrize("seed", range(3))
def test_steps_of_the_true_loss_end_where_an_optimiser_on_the_manifold_ends(lambda1, which, seed):
    at = Problem(lambda1, seed=seed)
    rng = np.random.RandomState(seed)
    if which == "target":
        rows, slope = 6, at.slope_of_target
        value, step = (lambda R: at.value(R, at.P)), (lambda R: at.moments.fit_target(R, at.P))
    else:
        rows, slope = 5, at.slope_of_slack
        value, step = (lambda P: at.value(at.R, P)), (lambda P: at.moments.fit_slack(at.R, P))
    found, optimised = [], []
    for _ in range(5):  # the problem has local minima: of a few starts, which both share, the best
        start = Q = at.frame(rows, 3, rng)
        values = [value(Q)]
        for _ in range(25):
            Q = step(Q)
            values.append(value(Q))
        assert np.all(np.diff(values) <= 1e-9 * values[0])
        np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-9)
        assert _along_the_manifold(slope, Q) < 0.01
        found.append(values[-1])
        optimised.append(_optimised(value, slope, start))
    assert min(found) <= min(optimised) * (1 + 1e-4)


@pytest.mark.parametrize("lambda1", [5.0, 50.0])
def test_closed_forms_are_no_higher_than_what_an_optimiser_finds(lambda1):
    at = Problem(lambda1, p=4, q=4, c=4)
    rng = np.random.RandomState(0)
    R, P = at.moments.fit_target(at.R, at.P), at.moments.fit_slack(at.R, at.P)
    assert _along_the_manifold(at.slope_of_target, R) < 1e-9
    assert _along_the_manifold(at.slope_of_slack, P) < 1e-9
    starts = [at.frame(4, 4, rng) for _ in range(6)]  # of both determinants
    for_target = [_optimised(lambda R: at.value(R, at.P), at.slope_of_target, start) for start in starts]
    for_slack = [_optimised(lambda P: at.value(at.R, P), at.slope_of_slack, start) for start in starts]
    assert at.value(R, at.P) == pytest.approx(min(for_target), rel=1e-6)
    assert at.value(at.R, P) == pytest.approx(min(for_slack), rel=1e-6)


def _algorithm_1(X, S, seed, n_bits, lambda1, n_iter):
    """The paper's alternation without a graph, written out: trace objectives, codes and both functions."""
    rng = np.random.RandomState(seed)

    def nearest(A):
        U, _, Vt = np.linalg.svd(A, full_matrices=False)
        return U @ Vt

    def start(d):
        Q, T = np.linalg.qr(rng.standard_normal((max(d, n_bits), min(d, n_bits))))
        Q = Q * np.sign(np.diag(T))
        return Q if d >= n_bits else Q.T

    R, P = start(X.shape[1]), start(S.shape[1])
    values = []
    for _ in range(n_iter):
        M = (1 + lambda1) * X @ R + lambda1 * S @ P
        B = np.where(np.argsort(np.argsort(M, axis=0), axis=0) >= len(M) // 2, 1.0, -1.0)
        R = nearest(X.T @ ((1 + lambda1) * B - lambda1 * S @ P))
        P = nearest(S.T @ (B - X @ R))
        M = (1 + lambda1) * X @ R + lambda1 * S @ P
        values.append(-2 * np.sum(B * M) + 2 * lambda1 * np.sum((X @ R) * (S @ P)))
    return values, B, R, P


@pytest.mark.parametrize("lambda1", WEIGHTS)
@pytest.mark.parametrize(("p", "q", "c"), [(8, 7, 3), (6, 6, 6), (4, 5, 7)])
def test_the_alternation_is_algorithm_1_step_by_step(lambda1, p, q, c):
    at = Problem(lambda1, n=80, p=p, q=q, c=c)
    options = {"n_bits": c, "lambda1": lambda1}
    ours = slack_quantisation(at.X, at.S, np.random.RandomState(3), true_loss=False, tol=0, max_iter=12, **options)
    n_iter = len(ours.objective)
    assert n_iter > 4
    values, B, R, P = _algorithm_1(at.X, at.S, 3, n_iter=n_iter, **options)
    np.testing.assert_allclose(ours.objective, values, rtol=1e-10)
    np.testing.assert_array_equal(ours.B, B)
    np.testing.assert_allclose(ours.R, R, atol=1e-8)
    np.testing.assert_allclose(ours.P, P, atol=1e-8)


# ---------------------------------------------------------------- codes


def _laplacian(rng, n, density=0.4):
    W = np.triu(rng.rand(n, n) * (rng.rand(n, n) < density), 1)
    W = W + W.T
    return np.diag(W.sum(axis=1)) - W


def _balanced_codes(n):
    for size in {n // 2, n - n // 2}:
        for ones in combinations(range(n), size):
            yield np.where(np.isin(np.arange(n), ones), 1.0, -1.0)


def _swaps(b):
    """All codes that differ by an exchange of a +1 and a -1; for odd n also by a flip that keeps the balance."""
    for i, j in product(np.flatnonzero(b > 0), np.flatnonzero(b < 0)):
        other = b.copy()
        other[[i, j]] *= -1
        yield other
    if len(b) % 2:
        for i in np.flatnonzero(b == b.sum()):
            other = b.copy()
            other[i] *= -1
            yield other


@pytest.mark.parametrize("n", [2, 3, 8, 9, 14, 15])
@pytest.mark.parametrize("lambda2", [0.0, 0.2, 2.0])
def test_a_swap_is_the_best_of_all_swaps(n, lambda2):
    for seed in range(5):
        rng = np.random.RandomState(seed)
        L, k = _laplacian(rng, n), rng.standard_normal(n)
        b = np.where(rng.permutation(n) < n // 2, 1.0, -1.0)

        def value(codes, k=k, L=L):
            return -2 * codes @ k + lambda2 * codes @ L @ codes

        swapped, found, cut = SwapDescent(L, lambda2).descend(b.astype(np.int8)[None], k[None], max_swaps=1)
        best = min([value(b), *map(value, _swaps(b))])
        assert found[0] == pytest.approx(best, abs=1e-9)
        assert found[0] == pytest.approx(value(swapped[0].astype(float)), abs=1e-9)
        assert cut[0] == pytest.approx(lambda2 * swapped[0] @ L @ swapped[0], abs=1e-9)
        assert abs(swapped[0].sum()) == n % 2


@pytest.mark.parametrize("n", [6, 7, 10, 11])
@pytest.mark.parametrize("lambda2", [0.02, 0.5])
def test_code_steps_with_a_graph_against_enumeration(n, lambda2):
    """Rounding, then swapping: never higher, never below the optimum, and of problems this small mostly at it."""
    exact = []
    for seed in range(12):
        rng = np.random.RandomState(seed)
        L, k = _laplacian(rng, n), rng.standard_normal(n)
        codes = GraphCodes(sparse.csr_matrix(L), lambda2, np.float64)
        rounded, first = codes.rounded(k[None], rng)
        swapped, second = codes.swapped(k[None], rounded)
        values = []
        for positive, cut in ((rounded, first), (swapped, second)):
            b = np.where(positive[0], 1.0, -1.0)
            assert abs(b.sum()) == n % 2
            assert cut == pytest.approx(lambda2 * b @ L @ b, abs=1e-9)
            values.append(-2 * b @ k + cut)
        best = min(-2 * b @ k + lambda2 * b @ L @ b for b in _balanced_codes(n))
        assert best - 1e-9 <= values[1] <= values[0] + 1e-9
        exact.append(values[1] <= best + 1e-9)
    assert np.mean(exact) > 0.7


@pytest.mark.parametrize("lambda1", WEIGHTS)
def test_rounding_errors_are_judged_by_the_loss_without_cancellation(lambda1):
    at = Problem(lambda1)
    # No codes and no functions have a higher loss, and the worst come near to it.
    b, x, s = np.sqrt(at.B.size), np.linalg.norm(at.X), np.linalg.norm(at.S)
    assert at.moments.scale == pytest.approx((b + x) ** 2 + lambda1 * (b + x + s) ** 2)
    at.B = -np.sign(at.X @ at.R + at.S @ at.P)
    assert at.value(at.R, at.P) <= at.moments.scale
