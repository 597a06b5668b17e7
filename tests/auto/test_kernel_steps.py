"""Kernel features of the rows, written out: the kernel itself, its widths, and the way back to a hash function."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from thpi import ITQ, AutoHasher, NeighbourHash
from thpi.auto import Candidate
from thpi.auto._trial import FINAL_LIMITS
from thpi.hashers._itq import learn

N, MORE = 50, 15


@pytest.fixture(scope="module")
def views():
    rng = np.random.RandomState(0)
    S = rng.standard_normal((N, 5))
    X = S @ rng.standard_normal((5, 7)) + rng.standard_normal((N, 7)) + 3
    return X, None, S, rng.standard_normal((30, 5)), rng.standard_normal((MORE, 7)) + 3


def _trial(views, relevance="source", **params):
    options = {"n_landmarks": 500, "n_repeats": 1, "random_state": 0, "kernel": True, "use_lengths": True}
    hasher = AutoHasher(4, relevance=relevance, **(options | params))
    return hasher.trial(hasher.check_views(*views), np.random.RandomState(0))


def _exponent(squared):
    return 1 / 3 / np.median(squared[~np.eye(len(squared), dtype=bool)])


def _kernels(rows, landmarks, centre):
    """The kernel of rows as they are and that of their directions, with the exponents of the landmarks."""
    found, exponents = [], []
    for scaled in (
        lambda each: each,
        lambda each: (each - centre) / np.linalg.norm(each - centre, axis=1, keepdims=True),
    ):
        a, b = scaled(rows), scaled(landmarks)
        exponents.append(_exponent(cdist(b, b, "sqeuclidean")))
        found.append(sum(np.exp(-width * exponents[-1] * cdist(a, b, "sqeuclidean")) for width in (1, 3, 9)) / 3)
    return found, exponents


KINDS = [("source", True, (True, True)), ("source", False, (False, True)), ("target", True, (True, False))]


@pytest.mark.parametrize(("relevance", "use_lengths", "used"), KINDS)
@pytest.mark.parametrize("n_landmarks", [20, 500])
@pytest.mark.parametrize(
    "candidate", [Candidate(ITQ), Candidate(NeighbourHash, {"offsets": True, "start_penalty": 1.0})]
)
def test_a_hash_function_is_the_kernel_of_landmarks_times_what_was_learned(
    views, candidate, n_landmarks, relevance, use_lengths, used
):
    trial = _trial(views, relevance, use_lengths=use_lengths, n_landmarks=n_landmarks)
    space, rows = trial.kernel, np.vstack([views[0], views[4]])
    learned = learn(candidate.make(4), space.geometry, 1, FINAL_LIMITS)
    found = space.fitted(learned)
    centre, landmarks = rows.mean(axis=0), found["landmarks_"]
    np.testing.assert_allclose(found["centre_"], centre)
    assert len(landmarks) == min(n_landmarks, N + MORE)
    assert {tuple(row) for row in landmarks} <= {tuple(row) for row in rows}
    kernels, exponents = _kernels(rows, landmarks, centre)
    expected = [exponent if use else 0 for exponent, use in zip(exponents, used, strict=True)]
    np.testing.assert_allclose([found["gamma_"], found["unit_gamma_"]], expected, rtol=1e-9)
    kernel = np.mean([each for each, use in zip(kernels, used, strict=True) if use], axis=0)
    np.testing.assert_allclose(found["mean_"], kernel.mean(axis=0), atol=1e-12)
    values = (kernel - found["mean_"]) @ found["projection_"] - found["offset_"]
    geometry = space.geometry
    assert geometry.X.shape[0] == N
    assert geometry.real.shape[0] == N + MORE
    np.testing.assert_allclose(values, learned.project(geometry.real + geometry.mean, geometry.mean), atol=1e-6)
    if n_landmarks > N + MORE:  # then inner products of the coordinates are the kernel, centred
        H = np.eye(len(rows)) - 1 / len(rows)
        np.testing.assert_allclose(geometry.real @ geometry.real.T, H @ kernel @ H, atol=1e-6)


def test_folds_are_the_same_in_both_spaces(views):
    trial = _trial(views)
    linear, kernel = trial.linear, trial.kernel
    np.testing.assert_array_equal(kernel.folds.fold_of, linear.folds.fold_of)
    np.testing.assert_array_equal(kernel.folds.relevant, linear.folds.relevant)
    np.testing.assert_allclose(kernel.folds.X, kernel.geometry.X + kernel.geometry.mean, atol=1e-9)
    assert len(kernel.folds.more) == MORE
