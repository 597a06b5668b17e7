from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from thpi import CVH, ITQ, ITQPlus, LapITQPlus
from thpi.base import Views
from thpi.codes import unpack_signs
from thpi.datasets import load_digits_views
from thpi.hashers._itq_plus import _scale_factor

READINGS = [
    {"variant": "reduce", "reduction": "pca"},
    {"variant": "reduce", "reduction": "cca"},
    {"variant": "trace"},
    {"variant": "loss"},
]


@pytest.fixture(scope="module")
def digits():
    data = load_digits_views(target="pix", source="fou")
    rows = np.random.RandomState(0).permutation(2000)
    target, source = data.target.astype(np.float64), data.source.astype(np.float64)
    return target[rows[:150]], source[rows[:150]], source[rows[150:800]]


@pytest.mark.slow
@pytest.mark.parametrize("params", READINGS)
@pytest.mark.parametrize("method", [ITQPlus, LapITQPlus])
@pytest.mark.parametrize("scale", ["unit", "radius", None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_objective_never_rises_and_codes_are_balanced(method, params, scale, dtype, digits):
    X, S, S_U = (view.astype(dtype) for view in digits)
    extra = {"lambda2": 0.3} if method is LapITQPlus else {}
    hasher = method(n_bits=12, lambda1=0.5, scale=scale, random_state=0, tol=0, max_iter=25, **params, **extra)
    hasher.fit(X, privileged=S, source=S_U)
    assert 1 < hasher.n_iter_ <= 25
    assert np.all(np.diff(hasher.objective_) <= 0)
    assert hasher.objective_[-1] < hasher.objective_[0]
    assert (unpack_signs(hasher.codes_, 12).sum(axis=0) == 0).all()
    if params.get("reduction") != "cca":
        np.testing.assert_allclose(hasher.projection_.T @ hasher.projection_, np.eye(12), atol=1e-4)
        np.testing.assert_allclose(hasher.slack_projection_.T @ hasher.slack_projection_, np.eye(12), atol=1e-4)


@pytest.mark.parametrize("n_bits", [5, 30])
def test_scales_bring_a_view_to_the_size_of_codes(n_bits, digits):
    X = digits[1] - digits[1].mean(axis=0)
    n, d = X.shape
    # "unit": the leading directions, at most one per bit, have mean square 1, as the bits of codes.
    leading = np.linalg.svd(X, compute_uv=False)[: min(n_bits, d)] ** 2
    scaled = _scale_factor(X, "unit", n_bits) ** 2 * leading.sum()
    assert scaled == pytest.approx(n * min(n_bits, d))
    # "radius": the mean distance to the 50th neighbour is 1.
    fiftieth = np.sort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)[:, 50].mean()
    assert _scale_factor(X, "radius", n_bits) * fiftieth == pytest.approx(1)
    assert _scale_factor(X, None, n_bits) == 1


def test_canonical_coordinates_of_both_views_weigh_by_correlation(digits):
    X, S, _ = digits
    hasher = ITQPlus(n_bits=6, variant="reduce", reduction="cca", scale=None)
    found = hasher._coordinates(Views(X, S), S.mean(axis=0))
    cvh = CVH(n_bits=6, ridge=hasher.ridge).fit(X, privileged=S)
    directions = cvh.projection_, cvh.source_projection_
    for view, axes, coordinates in zip((X, S), directions, found, strict=True):
        expected = (view - view.mean(axis=0)) @ axes * cvh.correlations_
        np.testing.assert_allclose(coordinates.values, expected, atol=1e-9)
        np.testing.assert_allclose(coordinates.back(np.eye(6)), axes * cvh.correlations_, atol=1e-12)


@pytest.mark.parametrize("params", READINGS)
def test_without_its_weights_each_method_is_the_one_before_it_to_the_bit(params, digits):
    X, S, S_U = digits
    lap = LapITQPlus(n_bits=12, lambda1=0.2, lambda2=0, random_state=4, **params).fit(X, privileged=S, source=S_U)
    plus = ITQPlus(n_bits=12, lambda1=0.2, random_state=4, **params).fit(X, privileged=S, source=S_U)
    assert lap.projection_.tobytes() == plus.projection_.tobytes()
    assert lap.codes_.tobytes() == plus.codes_.tobytes()
    assert lap.objective_.tobytes() == plus.objective_.tobytes()


@pytest.mark.parametrize("seed", range(4))
def test_without_slack_it_is_balanced_itq_to_the_bit(seed, digits):
    X, S, _ = digits
    plus = ITQPlus(n_bits=12, lambda1=0, variant="reduce", scale=None, random_state=seed).fit(X, privileged=S)
    itq = ITQ(n_bits=12, balanced=True, random_state=seed).fit(X)
    np.testing.assert_array_equal(plus.codes_, itq.codes_)
    np.testing.assert_array_equal(plus.transform(X), itq.transform(X))
    np.testing.assert_allclose(plus.objective_, itq.objective_)


def test_trace_variant_without_slack_is_balanced_l1_pca(digits):
    X, S, _ = digits
    hasher = ITQPlus(n_bits=6, lambda1=0, variant="trace", scale=None, random_state=0).fit(X, privileged=S)
    # The recorded objective is -2 <B, XR>; with B the balanced signs that is -2 sum |XR - median| over the bits.
    values = (X - hasher.mean_) @ hasher.projection_
    balanced = np.abs(values - np.median(values, axis=0)).sum()
    np.testing.assert_allclose(-2 * balanced, hasher.objective_[-1], rtol=2e-5)


def test_wide_and_sparse_views_give_what_dense_ones_give(digits):
    X, S, _ = digits
    params = {"n_bits": 8, "lambda1": 0.3, "random_state": 0}
    dense = ITQPlus(**params).fit(X, privileged=S)  # 150 rows, 240 columns
    thin = ITQPlus(**params).fit(sparse.csr_matrix(X), privileged=S)
    np.testing.assert_array_equal(thin.transform(X), dense.transform(X))
    np.testing.assert_allclose(dense.objective_, thin.objective_)
    # A sparse source is put into other coordinates than a dense one, so the random start is another one.
    both = ITQPlus(**params).fit(sparse.csr_matrix(X), privileged=sparse.csr_matrix(S))
    np.testing.assert_allclose(dense.objective_[-1], both.objective_[-1], rtol=2e-2)


@pytest.mark.parametrize("variant", ["trace", "loss"])
def test_full_dimension_can_only_lower_the_objective_of_the_reduction(variant, digits):
    """R = V R' with the principal axes V is feasible at full dimension: the best of a few starts must not lose."""
    X, S, _ = digits
    common = {"n_bits": 6, "lambda1": 0.1, "scale": None, "random_state": 0, "n_init": 5, "max_iter": 500}
    X, S = X / 20, S
    full = ITQPlus(variant=variant, **common).fit(X, privileged=S)
    reduced = ITQPlus(variant="reduce", **common).fit(X, privileged=S)
    XR, SP = (X - X.mean(0)) @ reduced.projection_, (S - S.mean(0)) @ reduced.slack_projection_
    B = unpack_signs(reduced.codes_, 6)
    if variant == "loss":
        value = np.sum((B - XR) ** 2) + 0.1 * np.sum((B - XR - SP) ** 2)
        np.testing.assert_allclose(value, reduced.objective_[-1])
    else:
        value = -2 * np.sum(B * (1.1 * XR + 0.1 * SP)) + 0.2 * np.sum(XR * SP)
    assert full.objective_[-1] <= value + 1e-6


@pytest.mark.parametrize("method", [ITQPlus, LapITQPlus])
def test_restarts_keep_the_best(method, digits):
    X, S, S_U = digits
    one, many = (
        method(n_bits=8, n_init=n, random_state=0).fit(X, privileged=S, source=S_U).objective_[-1] for n in (1, 5)
    )
    assert many <= one


@pytest.mark.parametrize("method", [ITQPlus, LapITQPlus])
@pytest.mark.parametrize("variant", ["trace", "loss"])
def test_sparse_and_dense_rows_start_alike(method, variant, digits):
    """With more rows than columns; one iteration, because later rounding may turn a bit."""
    X, S, _ = digits
    one, other = (
        method(n_bits=8, variant=variant, max_iter=1, random_state=0).fit(container(X), privileged=container(S))
        for container in (np.asarray, sparse.csr_matrix)
    )
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-6)
    np.testing.assert_allclose(one.projection_, other.projection_, atol=1e-6)


@pytest.mark.slow
def test_slack_explains_part_of_the_error(digits):
    X, S, _ = digits
    hasher = ITQPlus(n_bits=8, lambda1=2.0, variant="loss", scale=None, random_state=0).fit(X, privileged=S)
    slack = (S - hasher.source_mean_) @ hasher.slack_projection_
    error = unpack_signs(hasher.codes_, 8) - hasher.decision_function(X)
    assert np.vdot(error, slack) > 0


@pytest.mark.parametrize("n_bits", [2, 5, 6, 9])
def test_on_the_unit_scale_the_leading_coordinates_are_as_large_as_codes(n_bits):
    X = np.random.RandomState(0).standard_normal((40, 6)) * [9, 5, 3, 2, 1, 0.5]
    X -= X.mean(axis=0)
    leading = X @ np.linalg.svd(X)[2].T[:, :n_bits]
    assert np.mean((_scale_factor(X, "unit", n_bits) * leading) ** 2) == pytest.approx(1)
    assert _scale_factor(0 * X, "unit", n_bits) == 1


@pytest.mark.parametrize(("n", "neighbour"), [(30, 29), (51, 50), (80, 50)])
def test_on_the_radius_scale_the_50th_neighbour_is_at_distance_1(n, neighbour):
    X = 7 * np.random.RandomState(0).standard_normal((n, 6))
    scaled = _scale_factor(X, "radius", 8) * X
    assert np.sort(cdist(scaled, scaled), axis=1)[:, neighbour].mean() == pytest.approx(1)
    assert _scale_factor(0 * X, "radius", 8) == 1
    assert _scale_factor(X, None, 8) == 1
