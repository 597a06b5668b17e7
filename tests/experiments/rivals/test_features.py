"""Features equal scikit-learn's principal components and kernel principal components."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA, KernelPCA
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import normalize

from experiments.rivals.features import FEATURES, FeatureChoice, fit_features


def _same_up_to_sign_and_scale(ours, theirs):
    theirs = theirs / np.sqrt(theirs[:, 0].var()) * np.sqrt(ours[:, 0].var())
    signs = np.sign(np.einsum("ij,ij->j", ours, theirs))
    np.testing.assert_allclose(ours, theirs * signs, atol=1e-6)


@pytest.mark.parametrize("unit", [False, True])
def test_linear_features_are_principal_components(rng, unit):
    X = rng.standard_normal((40, 5)) * [5, 4, 3, 2, 1] + 1
    found = fit_features(X, FeatureChoice(unit), rng)
    _same_up_to_sign_and_scale(found.values, PCA().fit_transform(normalize(X) if unit else X))
    np.testing.assert_allclose(found(X), found.values, atol=1e-9)
    assert found.values.var(axis=0).sum() == pytest.approx(1)


def test_wide_rows_have_the_same_features_as_by_covariance(rng):
    X = rng.standard_normal((10, 30))
    found = fit_features(X, FeatureChoice(), rng)
    assert found.values.shape == (10, 9)
    _same_up_to_sign_and_scale(found.values, PCA(9).fit_transform(X))
    np.testing.assert_allclose(found(X), found.values, atol=1e-9)


@pytest.mark.parametrize("width", [0.3, 1.0, 3.0])
def test_kernel_features_are_kernel_principal_components(rng, width):
    X, others = rng.standard_normal((30, 3)), rng.standard_normal((8, 3))
    found = fit_features(X, FeatureChoice(width=width), rng, most=6)
    squared = euclidean_distances(X, squared=True)[np.triu_indices(30, 1)]
    theirs = KernelPCA(6, kernel="rbf", gamma=width / np.median(squared)).fit(X)
    both = theirs.transform(np.vstack([X, others]))
    both -= both[:30].mean(axis=0)
    ours = np.vstack([found(X), found(others)])
    np.testing.assert_allclose(found(X), found.values, atol=1e-7)
    _same_up_to_sign_and_scale(ours[:30], both[:30])
    _same_up_to_sign_and_scale(ours, both / both[:30, 0].std() * both[:, 0].std())


@pytest.mark.parametrize("choice", FEATURES)
def test_columns_are_centred_orthogonal_and_of_falling_variance(rng, choice):
    Z = fit_features(rng.standard_normal((50, 4)) + 2, choice, rng).values
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-7)
    gram = Z.T @ Z
    np.testing.assert_allclose(gram - np.diag(np.diag(gram)), 0, atol=1e-6)
    assert (np.diff(np.diag(gram)) <= 1e-9).all()


def test_at_most_500_rows_are_landmarks(rng):
    found = fit_features(rng.standard_normal((700, 2)), FeatureChoice(width=1.0), rng)
    assert found.landmarks.shape == (500, 2)
    assert found.values.shape[0] == 700
