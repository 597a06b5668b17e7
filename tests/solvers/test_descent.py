"""A rise of an objective is an error, never convergence: each descent is given a step that is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from thpi.solvers import neighbour_embedding, procrustes, quantisation, slack_quantisation
from thpi.solvers.procrustes import AscentError, check_descent


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_last_digits_of_the_terms_may_rise(dtype):
    eps = float(np.finfo(dtype).eps)
    for scale in (1e-9, 1.0, 1e9):
        check_descent("it", 0.0, 10 * eps * scale, scale, dtype)
        check_descent("it", 5 * scale, -5 * scale, scale, dtype)
        with pytest.raises(AscentError, match="it: a step raised the objective from 0 to"):
            check_descent("it", 0.0, 1000 * eps * scale, scale, dtype)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_a_rise(value):
    with pytest.raises(AscentError):
        check_descent("it", 1.0, value, 1.0, np.float64)


@pytest.fixture
def views():
    rng = np.random.RandomState(0)
    X, S = rng.standard_normal((60, 6)), rng.standard_normal((60, 5))
    return X - X.mean(axis=0), S - S.mean(axis=0)


def _after(calls, step, wrong):
    """The step, and the wrong one from some call on."""
    done = []

    def either(*arguments, **options):
        done.append(None)
        return (step if len(done) <= calls else wrong)(*arguments, **options)

    return either


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("true_loss", [False, True])
def test_a_wrong_step_of_the_slack_alternation(views, monkeypatch, dtype, true_loss):
    X, S = (view.astype(dtype) for view in views)
    step = slack_quantisation.PairMoments.fit_target
    wrong = _after(2, step, lambda moments, R, P: -step(moments, R, P))
    monkeypatch.setattr(slack_quantisation.PairMoments, "fit_target", lambda *arguments: wrong(*arguments))
    with pytest.raises(AscentError, match="slack quantisation: a step raised"):
        slack_quantisation.slack_quantisation(
            X, S, np.random.RandomState(0), n_bits=4, lambda1=0.5, true_loss=true_loss, tol=0
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("balanced", [False, True])
def test_a_wrong_step_of_iterative_quantisation(views, monkeypatch, dtype, balanced):
    Z = views[0].astype(dtype)
    # A rotation that is not quite the best, so that the codes ahead of it are not the only ones that fall behind.
    turn = np.linalg.qr(np.eye(6) + 0.3 * np.random.RandomState(1).standard_normal((6, 6)))[0]
    polar = quantisation.polar
    monkeypatch.setattr(quantisation, "polar", _after(5, polar, lambda A: polar(A) @ turn))
    with pytest.raises(AscentError, match="quantisation: a step raised"):
        quantisation.iterative_quantisation(Z, np.random.RandomState(0), balanced=balanced, tol=0)


def test_a_bound_of_the_power_iteration_that_is_none(views):
    X = views[0] * np.linspace(9, 1, 6)
    gram, cross = X.T @ X, X.T @ np.random.RandomState(1).standard_normal((60, 3))
    start = procrustes.random_orthonormal(6, 3, np.random.RandomState(2))
    with pytest.raises(AscentError, match="tall Procrustes: a step raised"):
        procrustes.tall_procrustes(gram, cross, start, bound=0.0)


def test_a_quasi_newton_step_uphill(views, monkeypatch):
    def climb(value, x, *, callback, **options):
        for _ in range(3):
            x = x + value(x)[1]
            value(x)
            callback(x)

    monkeypatch.setattr(neighbour_embedding, "minimize", climb)
    X = views[0]
    A = neighbour_embedding.neighbour_probabilities(X, 0.3)
    with pytest.raises(AscentError, match="neighbour embedding: a step raised"):
        neighbour_embedding.neighbour_embedding(X, np.eye(6)[:, :3], A)
