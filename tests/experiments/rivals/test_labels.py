"""Rivals that know the labels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge

from experiments.rivals import ksh, one_hot
from experiments.rivals.cca import canonical_directions
from experiments.rivals.discrete import fsdh_step, sdh_step
from experiments.rivals.discriminant import discriminant_directions


def test_directions_without_shrinkage_are_those_of_scikit_learn(training):
    Z, _, Y, *_ = training(classes=4)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(Z, Y.argmax(axis=1)).scalings_[:, :3]
    ours = discriminant_directions(Z, Y, 0.0)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs * np.sign(np.sum(ours * theirs, axis=0)), rtol=1e-6)


@pytest.mark.parametrize("shrinkage", [0.1, 0.5, 1.0])
def test_with_shrinkage_they_span_what_separates_classes_by_scikit_learn(training, shrinkage):
    Z, _, Y, *_ = training()
    coef = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(Z, Y.argmax(axis=1)).coef_
    theirs = (coef - coef.mean(axis=0)).T
    ours = discriminant_directions(Z, Y, shrinkage)
    assert ours.shape[1] == 2
    assert np.sin(subspace_angles(ours, np.linalg.svd(theirs)[0][:, :2])).max() < 1e-6


def test_a_row_with_two_tags_counts_as_two_half_rows(training):
    Z, _, tags, *_ = training(n=30)
    tags[:5, 1] = 1
    tags[5] = 0  # no tag
    halves = [(i, t) for i in range(30) for t in np.flatnonzero(tags[i])]
    weight = np.array([1 / tags[i].sum() for i, _ in halves])
    rows, label = Z[[i for i, _ in halves]], np.array([t for _, t in halves])
    repeated = np.repeat(np.arange(len(rows)), np.round(2 * weight).astype(int))
    copied = discriminant_directions(rows[repeated], np.eye(3)[label[repeated]], 0.3)
    ours = discriminant_directions(Z, tags, 0.3)
    np.testing.assert_allclose(ours, copied * np.sign(np.sum(ours * copied, axis=0)), rtol=1e-6)


def test_ridge_to_one_hot_is_scikit_learns_ridge_before_it_is_turned(training, rng):
    train = training()
    found = one_hot.learn(train, 8, {}, rng)
    spans = []
    for alpha in np.logspace(-5, 1, 10) * np.sum(train.Z[:, 0] ** 2):
        spans.append(np.linalg.svd(Ridge(alpha=alpha).fit(train.Z, train.labels).coef_.T)[0][:, :2])
    plane = np.linalg.svd(found.weights)[0][:, :2]
    assert min(np.sin(subspace_angles(plane, span)).max() for span in spans) < 1e-6


def test_canonical_directions_have_the_largest_correlations(training):
    train = training(classes=4)
    W = canonical_directions(train.Z, train.labels, 0.0)[:, :3]
    Y = train.labels[:, :3] - train.labels[:, :3].mean(axis=0)
    cosines = np.cos(subspace_angles(train.Z, Y))[::-1]  # canonical correlations, smallest first
    C = train.Z @ W
    np.testing.assert_allclose(np.corrcoef(C.T) - np.eye(3), 0, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(C, axis=0), np.sort(cosines)[::-1], atol=2e-3)


def _sdh_loss(B, W, Y, F, follow):
    return np.sum((Y - B @ W) ** 2) + follow * np.sum((B - F) ** 2)


def test_a_step_of_sdh_ends_where_no_bit_can_be_changed_for_the_better(rng):
    Y, F = np.eye(2)[[0, 1, 0, 1, 1]], rng.standard_normal((5, 3))
    B = np.where(rng.standard_normal((5, 3)) > 0, 1.0, -1.0)
    W = np.linalg.solve(B.T @ B + np.eye(3), B.T @ Y)
    found = sdh_step(B, Y, F, 0.1)
    loss = _sdh_loss(found, W, Y, F, 0.1)
    assert loss <= _sdh_loss(B, W, Y, F, 0.1)
    for i, bit in product(range(5), range(3)):
        other = found.copy()
        other[i, bit] *= -1
        assert _sdh_loss(other, W, Y, F, 0.1) >= loss - 1e-9


def test_a_step_of_fsdh_is_the_best_of_all_codes(rng):
    Y, F = np.eye(2)[[0, 1, 0]], rng.standard_normal((3, 2))
    B = np.where(rng.standard_normal((3, 2)) > 0, 1.0, -1.0)
    W = np.linalg.solve(Y.T @ Y + np.eye(2), Y.T @ B)
    every = [np.reshape(code, (3, 2)) for code in product([-1.0, 1.0], repeat=6)]
    best = min(every, key=lambda code: np.sum((code - Y @ W) ** 2) + 0.3 * np.sum((code - F) ** 2))
    np.testing.assert_array_equal(fsdh_step(B, Y, F, 0.3), best)


def test_ksh_brings_inner_products_of_codes_near_to_what_is_relevant(training, rng):
    train = training(n=40, classes=2)
    wanted = np.where(train.relevant | np.eye(40, dtype=bool), 1.0, -1.0)
    losses = []
    for n_bits in (1, 4, 12):
        B = np.where(ksh.learn(train, n_bits, {"penalty": 0.01}, rng)(train.Z) > 0, 1.0, -1.0)
        losses.append(np.mean((B @ B.T / n_bits - wanted) ** 2))
    assert losses[-1] <= losses[0]
    assert losses[-1] < 0.2 < np.mean((np.sign(rng.standard_normal((40, 40))) - wanted) ** 2)


def test_the_first_bit_of_ksh_is_not_worse_than_the_relaxation_it_starts_from(training, rng):
    train = training(n=30, classes=3)
    U = train.Z / np.linalg.norm(train.Z, axis=0)
    R = np.where(train.relevant | np.eye(30, dtype=bool), 1.0, -1.0)
    relaxed = np.sign(U @ np.linalg.eigh(U.T @ R @ U)[1][:, -1])
    found = np.sign(ksh.learn(train, 1, {"penalty": 0.0}, rng)(train.Z)[:, 0])
    assert found @ R @ found >= relaxed @ R @ relaxed - 1e-9
