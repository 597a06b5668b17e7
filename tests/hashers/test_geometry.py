"""What the methods that learn in a geometry share, written out: imputed rows, the metric, and ITQ in it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from sklearn.linear_model import Ridge

from thpi import ITQ
from thpi.base import Views
from thpi.hashers._class_itq import class_indicators, taught_by_labels
from thpi.hashers._geometry import Geometry, Steps, metric_axes
from thpi.hashers._group_itq import taught_by_groups
from thpi.hashers._itq import ViewGeometry
from thpi.hashers._source_features import SourceFeatures, side_by_side
from thpi.hashers._transfer_itq import FLOOR, taught_by_source
from thpi.hashers._two_sided_itq import _axes
from thpi.solvers.diffusion_map import group_coordinates
from thpi.solvers.loo_ridge import RidgeFit, loo_ridge


@pytest.fixture(scope="module")
def geometry():
    """Forty pairs of six columns, of another mean than the further target rows; fifty unpaired source rows; classes."""
    rng = np.random.RandomState(0)
    S = rng.standard_normal((90, 4))
    X = S[:40] @ rng.standard_normal((4, 6)) + 0.5 * rng.standard_normal((40, 6))
    more = rng.standard_normal((15, 6)) + 1
    labels = np.arange(40) % 3
    source = SourceFeatures(Views(X, S[:40], S[40:]), rng, 3000)
    return Geometry(X, 4, 5, source, more=more, labels=labels, widths=(None,))


def _alpha(X, penalty):
    s = np.linalg.svd(X, compute_uv=False)
    return penalty * (s[s > 1e-6 * s[0]] ** 2).mean()


def test_imputed_rows_are_the_ridge_prediction_from_the_source(geometry):
    S, X = geometry.source.linear, geometry.real[:40]
    penalty = geometry.imputation.of_target.penalty
    model = Ridge(alpha=_alpha(S[:40] - S[:40].mean(axis=0), penalty)).fit(S[:40], X)
    np.testing.assert_allclose(geometry.imputed, model.predict(S[40:]), atol=1e-8)
    np.testing.assert_allclose(geometry.imputed_beside_pairs, model.predict(S[40:]) - X.mean(axis=0), atol=1e-8)


def test_the_kernel_of_the_imputation_is_the_one_that_explains_most():
    rng = np.random.RandomState(0)
    S = rng.standard_normal((80, 1))
    X = np.hstack([S**2, np.abs(S)])
    source = SourceFeatures(Views(X, S), rng, 3000)
    found = Geometry(X, 2, 0, source)
    alone = [Geometry(X, 2, 0, source, widths=(width,)).imputation.of_target.explained for width in found.widths]
    assert found.imputation.width == found.widths[int(np.argmax(alone))] is not None
    assert found.imputation.of_target.explained == pytest.approx(max(alone))


def _principal_in_the_metric(Z, W, weight, n_bits):
    """``A`` with ``Z A`` the leading principal coordinates of ``Z M^(1/2)``, by the root of M; the signs are free."""
    k = np.linalg.norm(Z) ** 2 / np.linalg.norm(Z @ W) ** 2
    root = linalg.sqrtm(np.eye(Z.shape[1]) + weight * k * W @ W.T).real
    return root @ np.linalg.svd(Z @ root)[2][:n_bits].T


def _quantised(Y, codes, n_iter):
    """ITQ from some codes, with plain steps."""
    for _ in range(n_iter):
        U, _, Vt = np.linalg.svd(Y.T @ codes, full_matrices=False)
        codes = np.where(Y @ (U @ Vt) >= 0, 1.0, -1.0)
    return U @ Vt


@pytest.mark.parametrize("imputed_weight", [0.0, 0.25, 3.0])
@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_quantisation_in_the_metric_is_the_formula(geometry, weight, imputed_weight):
    W = np.random.RandomState(1).standard_normal((6, 2))
    taught = RidgeFit(W, 1.0, 0.0)
    found = geometry.quantise(taught, weight, imputed_weight, start=0, steps=Steps(0.0, 200)).projection
    Z = np.vstack([geometry.real, np.sqrt(imputed_weight) * geometry.imputed])
    A = _principal_in_the_metric(Z, W, weight, 4)
    begin = np.where(Z @ geometry.plain().projection >= 0, 1.0, -1.0)
    expected = A @ _quantised(Z @ A, begin, 200)
    # Looking ahead may end in another optimum than plain steps do. Both are fixed points, in the same directions.
    span = A @ np.linalg.pinv(A)
    np.testing.assert_allclose(span @ found, found, atol=1e-8)
    R = np.linalg.lstsq(A, found, rcond=None)[0]
    np.testing.assert_allclose(R.T @ R, np.eye(4), atol=1e-8)
    np.testing.assert_allclose(_quantised(Z @ A, np.where(Z @ found >= 0, 1.0, -1.0), 1), R, atol=1e-5)

    def loss(P):
        return np.sum((np.where(Z @ P >= 0, 1, -1) - Z @ P) ** 2)

    assert loss(found) <= 1.05 * loss(expected)
    _, s, _ = np.linalg.svd(Z @ A, full_matrices=False)
    np.testing.assert_allclose(np.linalg.svd(Z @ found)[1], s, rtol=1e-8)


def test_a_whole_weight_counts_imputed_rows_so_many_times_in_the_directions(geometry):
    W = np.random.RandomState(1).standard_normal((6, 2))
    repeated = np.vstack([geometry.real, *[geometry.imputed] * 3])
    expected = metric_axes(*linalg.eigh(repeated.T @ repeated), W, 2.0, 4)
    A = metric_axes(*geometry._spectrum(3.0), W, 2.0, 4)
    np.testing.assert_allclose(A @ A.T, expected @ expected.T, atol=1e-8)


@pytest.mark.parametrize("weight", [1, 4])
@pytest.mark.parametrize("equal_classes", [False, True])
def test_a_whole_weight_counts_pseudo_labels_so_many_times(geometry, weight, equal_classes):
    X, Y = geometry.paired, class_indicators(geometry.labels, equal_classes=equal_classes)
    S = geometry.source.linear
    centred = S[:40] - S[:40].mean(axis=0)
    pseudo = (S[40:] - S[:40].mean(axis=0)) @ loo_ridge(centred, Y).W
    found = taught_by_labels(geometry, float(weight), equal_classes, 2.0)
    alpha = _alpha(X, 2.0 * loo_ridge(X, Y).penalty)
    rows = np.vstack([X, *[geometry.imputed_beside_pairs] * weight])
    expected = Ridge(alpha=alpha, fit_intercept=False).fit(rows, np.vstack([Y, *[pseudo] * weight])).coef_.T
    np.testing.assert_allclose(found.W, expected, atol=1e-8)


def test_indicators_of_classes_and_tags():
    labels = np.array(["b", "a", "b", "b"])
    counts = np.array([[0, 1], [1, 0], [0, 1], [0, 1]])
    for given in (labels, counts):
        plain, equal = (class_indicators(given, equal_classes=each) for each in (False, True))
        np.testing.assert_allclose(plain, counts - [0.25, 0.75])
        np.testing.assert_allclose(equal, plain / np.sqrt([1, 3]))


@pytest.mark.parametrize("features", ["linear", "rbf", "diffusion"])
def test_the_source_teaches_the_ridge_of_its_features_on_the_pairs(geometry, features):
    X, T = geometry.paired, geometry.source.named(features, 4)[:40]
    expected = loo_ridge(X, T - T.mean(axis=0), shrinkage=3.0)
    np.testing.assert_allclose(taught_by_source(geometry, features, 3.0).W, expected.W, atol=1e-10)


def test_the_mean_of_the_answers_teaches_nothing(geometry):
    T = geometry.source.linear[:40]
    found, moved = (geometry.predict(answers, shrinkage=2.0) for answers in (T, T + 100))
    np.testing.assert_allclose(moved.W, found.W, atol=1e-9)
    assert (moved.penalty, moved.explained) == pytest.approx((found.penalty, found.explained))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_groups_of_source_and_target_teach_by_their_share(geometry, share):
    pairs, all_rows = geometry.real[:40], geometry.real
    of_target = group_coordinates(all_rows, geometry.seed)
    of_source = geometry.source.diffusion[:40]
    if share == 1:
        X, T = all_rows, of_target
    elif share == 0:
        X, T = pairs, of_source
    else:
        X, T = pairs, side_by_side(of_source, of_target[:40], share)
    expected = loo_ridge(X - X.mean(axis=0), T - T.mean(axis=0))
    found = taught_by_groups(geometry, share)
    np.testing.assert_allclose(found.W @ found.W.T, expected.W @ expected.W.T, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_directions_without_variance_are_no_axes(scale, weight):
    rng = np.random.RandomState(0)
    Z = scale * rng.standard_normal((40, 3)) @ rng.standard_normal((3, 6))
    W = rng.standard_normal((6, 2)) / scale
    A = metric_axes(*linalg.eigh(Z.T @ Z), W, weight, 5)
    assert A.shape == (6, 3)
    assert np.linalg.matrix_rank(Z @ A) == 3
    assert metric_axes(np.zeros(6), np.eye(6), W, weight, 5).shape == (6, 5)


@pytest.mark.parametrize("shrinkage", [None, 0.2, 3.0])
def test_answers_are_predicted_with_the_penalty_of_leave_one_out_times_the_shrinkage(geometry, shrinkage):
    answers = np.random.RandomState(1).standard_normal((40, 3)) + geometry.paired[:, :3]
    best = loo_ridge(geometry.paired, answers - answers.mean(axis=0)).penalty
    found = geometry.predict(answers) if shrinkage is None else geometry.predict(answers, shrinkage)
    alpha = _alpha(geometry.paired, best * (shrinkage or 1.0))
    model = Ridge(alpha=alpha).fit(geometry.paired, answers)
    np.testing.assert_allclose(found.W, model.coef_.T, atol=1e-8)


@pytest.mark.parametrize("n_bits", [5, 6, 7])
def test_every_method_starts_at_itq_if_there_are_as_many_dimensions_as_bits(n_bits):
    X = np.random.RandomState(0).standard_normal((40, 6))
    whole = ViewGeometry(Views(X), n_bits, np.random.RandomState(3), 3000)
    assert (whole.itq is None) == (n_bits > 6)
    if whole.itq is not None:
        expected = ITQ(n_bits, random_state=3).fit(X).projection_
        np.testing.assert_allclose(whole.fitted(whole.geometry.plain())["projection_"], expected, atol=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_of_many_rows_evenly_spaced_ones_teach_groups(geometry, share, monkeypatch):
    monkeypatch.setattr("thpi.hashers._group_itq.MAX_REGRESSION_ROWS", 12)
    pairs, others = (np.unique(np.linspace(0, n - 1, 12).astype(int)) for n in (40, 15))
    T = geometry.source.diffusion[pairs]
    if share:
        of_target = group_coordinates(geometry.real[np.concatenate([pairs, 40 + others])], geometry.seed)
        T = side_by_side(T, of_target[:12], share)
    X = geometry.real[pairs]
    expected = loo_ridge(X - X.mean(axis=0), T - T.mean(axis=0))
    found = taught_by_groups(geometry, share)
    np.testing.assert_allclose(found.W @ found.W.T, expected.W @ expected.W.T, atol=1e-8)


@pytest.mark.parametrize("taught", ["source", "labels", "groups"])
def test_two_sided_directions_are_those_that_queries_can_tell_and_a_floor_of_all_others(geometry, taught):
    S, X = geometry.source.coordinates.values, geometry.paired
    predicted = X @ loo_ridge(X, S[:40] - S[:40].mean(axis=0)).W
    # Rows whose scatter is that of the formula.
    Z = np.vstack([predicted / np.sqrt(40), np.sqrt(FLOOR / 90) * S])
    A = _axes(geometry, taught, 16.0)
    if taught == "source":
        expected = np.linalg.svd(Z)[2][:4].T
    else:
        if taught == "labels":
            rows, T = S[:40] - S[:40].mean(axis=0), class_indicators(geometry.labels)
        else:
            rows, T = S - S.mean(axis=0), geometry.source.diffusion - geometry.source.diffusion.mean(axis=0)
        expected = _principal_in_the_metric(Z, loo_ridge(rows, T).W, 16.0, 4)
    np.testing.assert_allclose(np.abs(np.sum(A * expected, axis=0)), np.sum(expected**2, axis=0), rtol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(A, axis=0), np.linalg.norm(expected, axis=0), rtol=1e-7)
