"""Rivals that follow the source."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.linear_model import LogisticRegression, Ridge

from experiments.rivals import clusters, source_coordinates
from experiments.rivals.cmfh import factorised
from experiments.rivals.features import FeatureChoice
from experiments.rivals.self_taught import learn_ridge, logistic, source_codes
from experiments.rivals.source import Source


def test_logistic_regression_is_scikit_learns(training, rng):
    Z = training().Z * 3
    B = np.where(Z[:, :2] + rng.standard_normal((60, 2)) > 0.3, 1.0, -1.0)
    weights, intercepts = logistic(Z, B, 0.5, steps=500)
    for bit in range(2):
        theirs = LogisticRegression(C=2.0, tol=1e-8, max_iter=1000).fit(Z, B[:, bit])
        np.testing.assert_allclose(weights[:, bit], theirs.coef_[0], atol=2e-3)
        np.testing.assert_allclose(intercepts[bit], theirs.intercept_[0], atol=2e-3)


def test_codes_of_the_source_are_predicted_by_ridge(training, rng):
    train = training()
    B = source_codes(train.source, FeatureChoice(), 4)
    assert set(np.unique(B)) == {-1.0, 1.0}
    found = learn_ridge(train, 4, {"source_features": FeatureChoice()}, rng)(train.Z)
    every = [
        Ridge(alpha=alpha).fit(train.Z, B).predict(train.Z)
        for alpha in np.logspace(-5, 1, 10) * np.sum(train.Z[:, 0] ** 2)
    ]
    assert min(np.abs(found - theirs).max() for theirs in every) < 1e-8


def test_predicted_components_of_the_source_are_turned(training, rng):
    train = training()
    found = source_coordinates.PCA.learn(train, 3, {"source_features": FeatureChoice()}, rng)(train.Z)
    S = train.source.rows - train.source.rows.mean(axis=0)
    angles = []
    for alpha in np.logspace(-5, 1, 10) * np.sum(train.Z[:, 0] ** 2):
        predicted = Ridge(alpha=alpha).fit(train.Z, S).predict(train.Z)
        leading = np.linalg.svd(predicted - predicted.mean(axis=0))[0][:, :3]
        angles.append(np.sin(subspace_angles(found, leading)).max())
    assert min(angles) < 1e-6


def test_spectral_coordinates_are_eigenvectors_of_the_walk(rng):
    rows = rng.standard_normal((60, 2))
    source = Source(rows, None, 0)
    from sklearn.neighbors import kneighbors_graph

    K = kneighbors_graph(rows, 10)
    A = np.maximum(K.toarray(), K.toarray().T)
    P = A / A.sum(axis=1, keepdims=True)
    C = source.spectral(10, 1)[:, 1:]
    assert abs(source.spectral(10, 1)[:, 0]).max() < 1e-8  # the constant one
    values = np.sort(np.linalg.eigvals(P).real)[::-1][1:]
    for j in range(3):
        np.testing.assert_allclose(P @ C[:, j], values[j] * C[:, j], atol=1e-8)
    ratio = source.spectral(10, 4)[:, 1:4] / C[:, :3]
    np.testing.assert_allclose(ratio / ratio[:, :1], np.tile((values[:3] / values[0]) ** 3, (60, 1)), rtol=1e-6)


def test_unpaired_rows_come_after_the_pairs_and_are_at_most_3000(rng):
    paired, unpaired = rng.standard_normal((20, 2)), rng.standard_normal((3500, 2))
    source = Source(paired, unpaired, 0)
    assert source.rows.shape == (3020, 2)
    np.testing.assert_array_equal(source.rows[:20], paired)
    assert source.components(FeatureChoice()) is source.components(FeatureChoice())


@pytest.mark.parametrize("space", ["linear", "spectral"])
def test_groups_that_are_apart_are_the_clusters(rng, space):
    group = np.arange(90) % 3
    source = Source(20 * np.eye(3)[group] + rng.standard_normal((90, 3)), None, 0)
    found = source.clusters(space, 3)
    np.testing.assert_array_equal(found @ found.T, group[:, None] == group)


def test_clusters_are_learned_as_labels_and_the_labels_are_not(training, rng):
    params = {"space": "linear", "k": 3, "learner": "ridge", "shrinkage": 0.1}
    train = training()
    found = clusters.RIVAL.learn(train, 8, params, np.random.RandomState(0))
    hidden = clusters.RIVAL.learn(train._replace(labels=None), 8, params, np.random.RandomState(0))
    np.testing.assert_array_equal(found.weights, hidden.weights)


def test_factors_of_both_views_are_where_the_objective_is_least(training, rng):
    Z, S = training(n=12).Z, rng.standard_normal((12, 4))
    weight, fit, penalty = 0.7, 0.5, 0.01

    def objective(V):
        total = penalty * np.sum(V**2)
        for rows, share in ((Z, 1 - weight), (S, weight)):
            A = np.linalg.solve(V.T @ V + penalty * np.eye(2), V.T @ rows)
            P = np.linalg.solve(rows.T @ rows + penalty * np.eye(rows.shape[1]), rows.T @ V)
            total += share * (np.sum((rows - V @ A) ** 2) + penalty * np.sum(A**2))
            total += fit * (np.sum((V - rows @ P) ** 2) + penalty * np.sum(P**2))
        return total

    V = factorised(Z, S, 2, weight, fit, np.random.RandomState(0))
    start = np.random.RandomState(0).standard_normal((12, 2)) / np.sqrt(2)
    assert objective(V) < 0.9 * objective(start)
    for _ in range(20):
        step = rng.standard_normal(V.shape)
        assert objective(V + 0.05 * step) > objective(V) - 1e-3
