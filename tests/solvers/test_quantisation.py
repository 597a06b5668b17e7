from __future__ import annotations

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from thpi.datasets import load_digits_views
from thpi.solvers.moments import centred_product, principal_axes
from thpi.solvers.quantisation import frame_quantisation, iterative_quantisation, to_signs


def _loss(Z, R):
    rotated = Z @ R
    return np.linalg.norm(np.where(rotated >= 0, 1, -1) - rotated) ** 2


@pytest.mark.parametrize("n_bits", [8, 16, 32])
def test_loss_is_no_worse_than_that_of_faiss(n_bits):
    X = load_digits_views().target.astype(np.float64)[:500]
    V, _ = principal_axes(X, X.mean(axis=0), n_bits)
    Z = centred_product(X, X.mean(axis=0), V)
    itq = faiss.ITQMatrix(n_bits)
    itq.max_iter = 150
    itq.train(Z.astype(np.float32))
    theirs = faiss.vector_to_array(itq.A).reshape(n_bits, n_bits).T.astype(np.float64)
    runs = [iterative_quantisation(Z, np.random.RandomState(seed)) for seed in range(5)]
    # Both are local searches from random starts; the best of a few starts must not lose.
    assert min(_loss(Z, run.R) for run in runs) <= _loss(Z, theirs) * (1 + 1e-9)
    for run in runs:
        np.testing.assert_allclose(run.R.T @ run.R, np.eye(n_bits), atol=1e-9)


@pytest.mark.parametrize("balanced", [False, True])
def test_objective_is_the_loss_and_never_rises(balanced):
    Z = np.random.RandomState(0).standard_normal((101, 6)) * np.arange(6, 0, -1)
    Z -= Z.mean(axis=0)
    run = iterative_quantisation(Z, np.random.RandomState(0), balanced=balanced, tol=0, max_iter=40)
    assert np.all(np.diff(run.objective) <= 1e-9)
    if balanced:
        np.testing.assert_allclose(run.objective[-1], np.linalg.norm(run.B - Z @ run.R) ** 2)
        assert (np.abs(run.B.sum(axis=0)) == 1).all()  # 101 rows
    else:
        # Signs taken once more can only lower the recorded loss.
        assert _loss(Z, run.R) <= run.objective[-1] + 1e-9


def test_codes_that_exist_are_found_without_loss():
    rng = np.random.RandomState(3)
    B = np.where(rng.standard_normal((200, 4)) >= 0, 1.0, -1.0)
    rotation = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    losses = [iterative_quantisation(B @ rotation, np.random.RandomState(s)).objective[-1] for s in range(10)]
    assert min(losses) < 1e-9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_signs_in_place_are_those_of_copysign(dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    values = np.array([[0.0, -0.0, tiny, -tiny], [np.inf, -np.inf, 3.5, -2.0]], dtype=dtype)
    expected = np.copysign(dtype(1), values)
    assert to_signs(values) is values
    assert values.tobytes() == expected.tobytes()


def test_objective_of_many_rows_is_the_loss_and_threads_do_not_change_it():
    Z = np.random.RandomState(0).standard_normal((9_000, 8)).astype(np.float32) * np.arange(8, 0, -1, dtype=np.float32)
    runs = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            runs.append(iterative_quantisation(Z, np.random.RandomState(0), tol=0, max_iter=30))
    assert runs[0].R.tobytes() == runs[1].R.tobytes()
    assert runs[0].objective == runs[1].objective
    assert _loss(Z.astype(np.float64), runs[0].R) <= runs[0].objective[-1] * (1 + 1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(0, 4))
def test_loss_of_a_frame_never_rises_and_its_rows_are_orthonormal(seed, p, more):
    rng = np.random.RandomState(seed)
    Y = rng.standard_normal((30, p))
    result = frame_quantisation(Y, rng.standard_normal((30, p + more)), tol=0)
    assert np.all(np.diff(result.objective) <= 0)
    np.testing.assert_allclose(result.R @ result.R.T, np.eye(p), atol=1e-9)
    values = Y @ result.R
    # One more half step, the signs, can only lower the loss that was recorded.
    assert np.linalg.norm(np.where(values >= 0, 1, -1) - values) ** 2 <= result.objective[-1] + 1e-9


def test_a_frame_at_a_fixed_point_stays():
    Y = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    result = frame_quantisation(Y, Y)
    np.testing.assert_allclose(result.R, np.eye(2), atol=1e-12)
    assert result.converged


def test_more_columns_than_bits_are_refused():
    with pytest.raises(ValueError, match="Y has 3 columns and start 2"):
        frame_quantisation(np.ones((4, 3)), np.ones((4, 2)))
