from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from thpi import ITQ
from thpi.hashers import TransferITQ
from thpi.hashers._geometry import metric_axes
from thpi.hashers._source_features import SOURCE_FEATURES


@pytest.fixture(scope="module")
def views():
    rng = np.random.RandomState(0)
    S = rng.standard_normal((400, 5)) * [4, 3, 2, 1, 1]
    X = S @ rng.standard_normal((5, 20)) + rng.standard_normal((400, 20))
    return X[:80], S[:80], S[80:], X[80:]


def test_without_source_terms_it_is_itq(views):
    X, S, S_U, _ = views
    hasher = TransferITQ(8, source_weight=0, imputed_weight=0, tol=0, random_state=3).fit(X, privileged=S, source=S_U)
    # Begun at ITQ's codes, ITQ has nothing left to improve.
    plain = ITQ(8, random_state=3, tol=0).fit(X)
    np.testing.assert_array_equal(hasher.transform(X), plain.transform(X))


def test_imputed_rows_span_what_the_pairs_span(views):
    X, S, S_U, _ = views
    hasher = TransferITQ(8, random_state=0).fit(X[:12], privileged=S[:12], source=S_U)
    centred = X[:12] - X[:12].mean(axis=0)
    outside = linalg.null_space(centred)
    np.testing.assert_allclose(outside.T @ hasher.projection_, 0, atol=1e-8)


def test_objective_never_rises_and_shares_are_reported(views):
    X, S, S_U, _ = views
    hasher = TransferITQ(8, source_weight=4, random_state=0).fit(X, privileged=S, source=S_U)
    assert np.all(np.diff(hasher.objective_) <= 0)
    assert 0.8 < hasher.imputation_r2_ < 1
    assert 0 < hasher.source_r2_ < 1


def test_a_source_that_tells_nothing_is_seen_to(views):
    X = views[0]
    noise = np.random.RandomState(1).standard_normal((400, 5))
    hasher = TransferITQ(8, random_state=0).fit(X, privileged=noise[:80], source=noise[80:])
    assert hasher.imputation_r2_ < 0.05


@pytest.mark.parametrize("features", SOURCE_FEATURES)
def test_a_large_weight_follows_the_source(views, features):
    X, S, S_U, unseen = views
    rng = np.random.RandomState(2)
    # Half of the columns are louder and have nothing to do with the source.
    loud = 30 * rng.standard_normal((400, 20))
    X, unseen = np.hstack([X, loud[:80]]), np.hstack([unseen, loud[80:]])
    energies = []
    for weight in (0.0, 100.0):
        P = (
            TransferITQ(5, source_weight=weight, source_features=features, random_state=0)
            .fit(X, privileged=S, source=S_U)
            .projection_
        )
        energies.append(np.linalg.norm(P[20:]) ** 2 / np.linalg.norm(P) ** 2)
    assert energies[0] > 0.9
    # There are no groups in these rows for diffusion to find.
    assert energies[1] < (0.8 if features == "diffusion" else 0.5)


def test_as_many_bits_as_all_target_rows_have_directions(views):
    X, S, S_U, _ = views
    pairs = {"X": X[:6], "privileged": S[:6], "source": S_U}
    with pytest.raises(ValueError, match="n_bits=6 is more than TransferITQ can give for these data: at most 5,"):
        TransferITQ(6, random_state=0).fit(**pairs)
    hasher = TransferITQ(6, random_state=0).fit(**pairs, target=X[6:])
    assert hasher.transform(X).shape == (80, 1)
    assert np.all(np.diff(hasher.objective_) <= 0)


def test_metric_axes_are_the_principal_axes_in_the_metric():
    rng = np.random.RandomState(0)
    Z, W, weight = rng.standard_normal((30, 6)), rng.standard_normal((6, 2)), 3.0
    k = np.linalg.norm(Z) ** 2 / np.linalg.norm(Z @ W) ** 2
    root = linalg.sqrtm(np.eye(6) + weight * k * W @ W.T).real
    _, s, Vt = np.linalg.svd(Z @ root)
    A = metric_axes(*linalg.eigh(Z.T @ Z), W, weight, 4)
    expected = root @ Vt[:4].T
    np.testing.assert_allclose(np.abs(np.sum(A * expected, axis=0)), np.sum(expected**2, axis=0), rtol=1e-8)
    np.testing.assert_allclose(A.T @ Z.T @ Z @ A, np.diag(s[:4] ** 2), atol=1e-8)


def test_rows_beyond_the_limit_are_sampled(views):
    X, S, S_U, _ = views
    few = TransferITQ(8, max_unpaired=10, random_state=0).fit(X, privileged=S, source=S_U)
    again = TransferITQ(8, max_unpaired=10, random_state=0).fit(X, privileged=S, source=S_U)
    assert few.projection_.tobytes() == again.projection_.tobytes()
    with pytest.raises(ValueError, match="'source_weight' parameter of TransferITQ"):
        TransferITQ(8, source_weight=-1).fit(X, privileged=S)
