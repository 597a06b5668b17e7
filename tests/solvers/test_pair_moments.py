from __future__ import annotations

import numpy as np
import pytest

from thpi.solvers.pair_moments import PairMoments, cross_moment
from thpi.solvers.procrustes import random_orthonormal


def _views(n=5000, p=9, q=7, dtype=np.float64):
    rng = np.random.RandomState(0)
    X, S = rng.standard_normal((n, p)), rng.standard_normal((n, q))
    return (X - X.mean(axis=0)).astype(dtype), (S - S.mean(axis=0)).astype(dtype), rng


@pytest.mark.parametrize("true_loss", [False, True])
@pytest.mark.parametrize("n_bits", [4, 8, 12])
@pytest.mark.parametrize("lambda1", [0.0, 0.5])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-10), (np.float32, 1e-5)])
@pytest.mark.parametrize("iterations_of_a_moment", [10, 0])  # with X'S, and without
def test_objective_and_steps_are_those_of_the_rows(
    true_loss, n_bits, lambda1, dtype, rtol, iterations_of_a_moment, monkeypatch
):
    monkeypatch.setattr("thpi.solvers.pair_moments._MOMENT_ITERATIONS", iterations_of_a_moment)
    X, S, rng = _views(dtype=dtype)
    moments = PairMoments(X, S, n_bits=n_bits, lambda1=lambda1, true_loss=true_loss)
    assert (moments.C is None) == (iterations_of_a_moment == 0)
    R, P = random_orthonormal(9, n_bits, rng), random_orthonormal(7, n_bits, rng)
    positive = rng.rand(n_bits, 5000) < 0.5
    moments.set_codes(positive, None)
    B, XR, SP = np.where(positive.T, 1.0, -1.0), X.astype(float) @ R, S.astype(float) @ P
    np.testing.assert_allclose(moments.pull(R, P).T, (1 + lambda1) * XR + lambda1 * SP, atol=100 * rtol)
    trace = -2 * np.sum(B * ((1 + lambda1) * XR + lambda1 * SP)) + 2 * lambda1 * np.sum(XR * SP)
    loss = np.sum((B - XR) ** 2) + lambda1 * np.sum((B - XR - SP) ** 2)
    np.testing.assert_allclose(moments.objective(R, P), loss if true_loss else trace, rtol=rtol, atol=5000 * rtol)
    new_R = moments.fit_target(R, P)
    assert moments.objective(new_R, P) <= moments.objective(R, P)
    assert moments.objective(new_R, moments.fit_slack(new_R, P)) <= moments.objective(new_R, P) + 1e-9


@pytest.mark.parametrize("part", [0.0, 0.001, 0.1, 0.6])  # few changes, and more than are worth it
def test_changed_bits_bring_the_moments_up_to_date(part):
    X, S, rng = _views()
    moments = PairMoments(X, S, n_bits=6, lambda1=0.1, true_loss=False)
    former = rng.rand(6, 5000) < 0.5
    moments.set_codes(former, None)
    positive = former ^ (rng.rand(6, 5000) < part)
    moments.set_codes(positive, former)
    B = np.where(positive.T, 1.0, -1.0)
    np.testing.assert_allclose(moments.XB, X.T @ B, atol=1e-9)
    np.testing.assert_allclose(moments.SB, S.T @ B, atol=1e-9)


def test_cross_moment_of_single_precision_keeps_the_digits_of_a_long_sum():
    rng = np.random.RandomState(0)
    X = (1 + rng.rand(300_000, 2)).astype(np.float32)
    np.testing.assert_allclose(cross_moment(X, X), X.astype(float).T @ X.astype(float), rtol=1e-6)
