from __future__ import annotations

import numpy as np
import pytest
from sklearn.cross_decomposition import CCA

from thpi import CCAITQ, CVH


@pytest.fixture
def views():
    rng = np.random.RandomState(0)
    shared = rng.standard_normal((300, 3))
    X = np.hstack([shared, rng.standard_normal((300, 5))]) @ rng.standard_normal((8, 8))
    S = np.hstack([shared, rng.standard_normal((300, 4))]) @ rng.standard_normal((7, 7))
    return X, S, shared


def test_cca_itq_hashes_what_the_views_share(views):
    X, S, shared = views
    hasher = CCAITQ(n_bits=3, ridge=1e-6, random_state=0).fit(X, privileged=S)
    np.testing.assert_allclose(hasher.correlations_, 1, atol=1e-3)
    values = hasher.decision_function(X)
    residual = values - shared @ np.linalg.lstsq(shared, values, rcond=None)[0]
    assert np.linalg.norm(residual - residual.mean(axis=0)) < 0.02 * np.linalg.norm(values)
    assert np.all(np.diff(hasher.objective_) <= 0)


def test_cca_itq_is_a_rotation_of_the_scaled_directions(views):
    X, S, _ = views
    cvh = CVH(n_bits=3).fit(X, privileged=S)
    itq = CCAITQ(n_bits=3, random_state=0).fit(X, privileged=S)
    scaled = cvh.projection_ * cvh.correlations_
    rotation = np.linalg.lstsq(scaled, itq.projection_, rcond=None)[0]
    np.testing.assert_allclose(scaled @ rotation, itq.projection_, atol=1e-9)
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(3), atol=1e-9)


def test_cvh_signs_are_those_of_canonical_variates(views):
    X, S, _ = views
    variates = CCA(n_components=3, max_iter=5000, tol=1e-12).fit(X, S).transform(X)
    hasher = CVH(n_bits=3, ridge=0).fit(X, privileged=S)
    agreement = np.abs(np.corrcoef(hasher.decision_function(X).T, variates.T)[:3, 3:])
    # The three shared directions correlate equally, so only their span is determined.
    np.testing.assert_allclose((agreement**2).sum(axis=1), 1, atol=0.02)


def test_cvh_codes_of_both_views_agree_on_pairs(views):
    X, S, _ = views
    hasher = CVH(n_bits=3, ridge=1e-6).fit(X, privileged=S)
    source_values = (S - S.mean(axis=0)) @ hasher.source_projection_
    assert (np.sign(source_values) == hasher.signs(X)).mean() > 0.97
