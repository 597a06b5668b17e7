from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.cross_decomposition import CCA
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import thpi
from thpi import CCAITQ, CVH
from thpi.datasets import load_digits_views
from thpi.hashers._itq import restart_seeds
from thpi.rows import Blocks
from thpi.solvers.quantisation import iterative_quantisation


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


def test_restarts_keep_the_best(views):
    X, S, _ = views
    cvh = CVH(n_bits=6).fit(X, privileged=S)
    Z = (X - X.mean(axis=0)) @ cvh.projection_ * cvh.correlations_
    seeds = np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=5)
    losses = [iterative_quantisation(Z, np.random.RandomState(seed)).objective[-1] for seed in seeds]
    assert max(losses) > 1.00001 * min(losses)
    hasher = CCAITQ(n_bits=6, n_init=5, random_state=0).fit(X, privileged=S)
    assert hasher.objective_[-1] == pytest.approx(min(losses), rel=1e-9)


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


@pytest.mark.parametrize("method", [CVH, CCAITQ])
def test_a_large_ridge_is_partial_least_squares(method):
    digits = load_digits_views()
    X, S = (StandardScaler().fit_transform(view[::10]) for view in (digits.target, digits.source))
    leading = np.linalg.svd(X.T @ S)[0][:, :16]

    def cosines(ridge):
        directions = method(n_bits=16, ridge=ridge, random_state=0).fit(X, privileged=S).projection_
        return np.cos(subspace_angles(directions, leading))

    means = [cosines(ridge).mean() for ridge in (0.1, 1, 10, 100)]
    assert np.all(np.diff(means) > 0)
    assert means[0] < 0.85  # CCA is something else
    assert means[2] > 0.99
    np.testing.assert_allclose(cosines(1e6), 1, atol=1e-6)


# ---------------------------------------------------------------- more bits than canonical pairs


@pytest.fixture
def narrow(views):
    """Three topics that sum to one, so that two pairs correlate: less than any code below."""
    X, S, _ = views
    topics = np.exp(S[:, :3] / 3)
    return X, topics / topics.sum(axis=1, keepdims=True)


def test_filled_directions_are_principal_axes_of_the_residual(narrow):
    X, S = narrow
    centred = X - X.mean(axis=0)
    hasher = CVH(n_bits=6, fill="pca", ridge=0.1).fit(X, privileged=S)
    pairs = CVH(n_bits=2, ridge=0.1).fit(X, privileged=S)
    W, V = hasher.projection_[:, :2], hasher.projection_[:, 2:]
    np.testing.assert_allclose(W, pairs.projection_, atol=1e-12)
    np.testing.assert_allclose(hasher.source_projection_, pairs.source_projection_, atol=1e-12)
    np.testing.assert_allclose(hasher.correlations_, pairs.correlations_, atol=1e-12)
    np.testing.assert_allclose(W.T @ V, 0, atol=1e-12)
    # By hand: the rows minus their projection on the span of W, and the SVD of what is left.
    residual = centred - centred @ W @ np.linalg.pinv(W)
    _, s, Vt = np.linalg.svd(residual)
    lengths = np.sqrt(s[:4] ** 2 / 299 + 0.1 * np.trace(centred.T @ centred) / 299 / 8)
    np.testing.assert_allclose(np.abs(V), np.abs(Vt[:4].T / lengths), atol=1e-9)


def test_filled_directions_of_cca_itq_weigh_as_the_last_pair(narrow):
    X, S = narrow
    options = {"n_bits": 6, "fill": "pca"}
    cvh, itq = (method(**options, random_state=0).fit(X, privileged=S) for method in (CVH, CCAITQ))
    assert len(itq.correlations_) == 2
    scaled = cvh.projection_ * np.append(itq.correlations_, np.full(4, itq.correlations_[-1]))
    rotation = np.linalg.lstsq(scaled, itq.projection_, rcond=None)[0]
    np.testing.assert_allclose(scaled @ rotation, itq.projection_, atol=1e-9)
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(6), atol=1e-9)


@pytest.mark.parametrize("method", [CVH, CCAITQ])
def test_nothing_changes_where_the_pairs_are_enough(method, views):
    X, S, _ = views
    plain, filled = (method(7, fill=fill, random_state=0).fit(X, privileged=S) for fill in ("error", "pca"))
    for name in ("projection_", "source_projection_", "correlations_", "codes_"):
        assert getattr(plain, name).tobytes() == getattr(filled, name).tobytes()


@pytest.mark.parametrize("method", [CVH, CCAITQ])
def test_the_kinds_of_rows_agree_on_filled_directions(method, narrow):
    X, S = narrow
    hasher = method(6, fill="pca", random_state=0).fit(X, privileged=S)
    streamed = method(6, fill="pca", random_state=0).fit(Blocks([X[:100], X[100:]]), privileged=S)
    np.testing.assert_allclose(streamed.projection_, hasher.projection_, atol=1e-8)
    coded = method(6, fill="pca", random_state=0).fit(sparse.csr_array(X), privileged=S)
    assert coded.source_projection_.shape == (3, 2)
    assert (coded.codes_ == hasher.codes_).mean() > 0.9 if method is CVH else coded.projection_.shape == (8, 6)
    wide = np.random.RandomState(1).standard_normal((20, 50))
    fitted = method(15, fill="pca", random_state=0).fit(wide, privileged=S[:20])
    assert np.linalg.matrix_rank(fitted.decision_function(wide)) == 15


def test_limits_of_filled_directions(narrow):
    X, S = narrow
    with pytest.raises(ValueError, match="n_bits=9 is more than CVH can give.*at most 8, the smaller of n_features=8"):
        CVH(9, fill="pca").fit(X, privileged=S)
    with pytest.raises(ValueError, match="n_bits=4 is more than CVH can give.*privileged columns=3"):
        CVH(4).fit(X, privileged=S)
    same = sparse.csr_array(np.hstack([X[:, :2], X[:, :2]]))
    with pytest.raises(ValueError, match="n_bits=4 is more than the data can give: the target rows span 2"):
        CVH(4, fill="pca").fit(same, privileged=S)
    constant = CCAITQ(4, fill="pca", random_state=0).fit(X, privileged=np.ones((300, 2)))
    assert len(constant.correlations_) == 0
    assert np.linalg.matrix_rank(constant.projection_) == 4


@pytest.mark.parametrize("method", [CVH, CCAITQ])
def test_a_model_with_filled_directions_is_saved(method, narrow, tmp_path):
    X, S = narrow
    hasher = method(6, fill="pca", random_state=0).fit(X, privileged=S)
    hasher.save(tmp_path / "model.thpi")
    loaded = thpi.load(tmp_path / "model.thpi")
    assert loaded.fill == "pca"
    np.testing.assert_array_equal(loaded.transform(X), hasher.transform(X))
    np.testing.assert_array_equal(loaded.source_projection_, hasher.source_projection_)


@pytest.mark.slow
@pytest.mark.parametrize("method", [CVH, CCAITQ])
def test_scikit_learn_checks_with_filled_directions(method):
    class OneColumn(method):
        """Has one privileged column, so that the second bit is filled."""

        def fit(self, X, y=None, *, privileged=None, source=None):
            n = X.shape[0] if sparse.issparse(X) else len(np.asarray(X))
            return super().fit(X, y, privileged=np.sin(np.arange(n))[:, None], source=source)

    OneColumn.__name__ = OneColumn.__qualname__ = f"{method.__name__}OfOneColumn"
    globals()[OneColumn.__name__] = OneColumn  # pickle looks it up here
    hasher = OneColumn(n_bits=2, fill="pca", random_state=0)
    impossible = {"check_fit2d_1feature": "2 bits need 2 columns"}
    checks = check_estimator(hasher, expected_failed_checks=impossible, on_fail=None, on_skip=None)
    assert not [(each["check_name"], each["exception"]) for each in checks if each["status"] == "failed"]


@pytest.mark.parametrize("method", [CVH, CCAITQ])
def test_without_filling_there_are_no_more_bits_than_pairs(method, narrow):
    X, S = narrow
    with pytest.raises(ValueError, match=f"n_bits=4 is more than {method.__name__} can give.*privileged columns=3"):
        method(4).fit(X, privileged=S)


def test_restarts_keep_the_lowest_loss(views):
    X, S = (view[:40] for view in views[:2])
    cvh = CVH(6).fit(X, privileged=S)
    Z = cvh.decision_function(X) * cvh.correlations_
    losses = [iterative_quantisation(Z, stream).objective[-1] for stream in restart_seeds(np.random.RandomState(0), 6)]
    assert max(losses) > 1.0003 * min(losses)
    hasher = CCAITQ(6, n_init=6, random_state=0).fit(X, privileged=S)
    assert hasher.objective_[-1] == pytest.approx(min(losses), rel=1e-9)
