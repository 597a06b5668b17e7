"""TwoSidedITQ against its formulas, and the source side of a model: codes, files, fingerprints, ONNX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import thpi
from thpi.codes import unpack_signs
from thpi.encoder import Encoder, SourceSide


@pytest.fixture(scope="module")
def pairs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(0)
    S = rng.standard_normal((400, 12)) * np.linspace(3, 1, 12)
    return S @ rng.standard_normal((12, 20)) + 0.3 * rng.standard_normal((400, 20)), S


def fitted(pairs: tuple[np.ndarray, np.ndarray], n: int = 150, **params: object) -> thpi.TwoSidedITQ:
    X, S = pairs
    return thpi.TwoSidedITQ(8, random_state=0, **params).fit(X[:n], privileged=S[:n], source=S[n:300])


def test_items_are_coded_by_a_linear_function_of_the_source(pairs):
    S = pairs[1]
    hasher = fitted(pairs)
    values = (S - S[:300].mean(axis=0)) @ hasher.item_projection_
    np.testing.assert_array_equal(unpack_signs(hasher.transform_source(S), 8), np.where(values >= 0, 1, -1))
    np.testing.assert_allclose(hasher.item_mean_, S[:300].mean(axis=0))


def test_the_quantisation_is_optimal_for_its_codes(pairs):
    """With the directions as they are, R is the polar factor of Y'B, the Procrustes solution."""
    S = pairs[1]
    hasher = fitted(pairs, max_iter=500, tol=0.0)
    centred = S[:300] - S[:300].mean(axis=0)
    P = hasher.item_projection_
    axes, s, _ = np.linalg.svd(P, full_matrices=False)
    np.testing.assert_allclose(s, 1.0, atol=1e-8)  # orthonormal directions, then a rotation
    Y, B = centred @ axes, np.where(centred @ P >= 0, 1.0, -1.0)
    u, _, vt = np.linalg.svd(Y.T @ B)
    np.testing.assert_allclose(axes @ (u @ vt), P, atol=1e-6)


def test_queries_are_the_ridge_prediction_of_item_projections(pairs):
    X, S = pairs
    hasher = fitted(pairs)
    answers = (S[:150] - hasher.item_mean_) @ hasher.item_projection_
    projected = hasher.decision_function(X[:150])
    np.testing.assert_allclose(projected.mean(axis=0), answers.mean(axis=0), atol=1e-8)
    # A ridge solution: its residuals are X times the coefficients, up to the penalty, in every column alike.
    centred = X[:150] - X[:150].mean(axis=0)
    gradient = centred.T @ (answers - projected)
    ratio = np.vdot(gradient, hasher.projection_) / np.vdot(hasher.projection_, hasher.projection_)
    assert ratio > 0
    np.testing.assert_allclose(gradient, ratio * hasher.projection_, atol=1e-6 * np.abs(gradient).max() + 1e-8)


def test_directions_that_queries_cannot_tell_are_left_out():
    rng = np.random.RandomState(1)
    S = rng.standard_normal((500, 10)) * np.r_[np.ones(5), 2 * np.ones(5)]
    X = S[:, :5] + 0.01 * rng.standard_normal((500, 5))  # nothing of the five columns of larger variance
    hasher = thpi.TwoSidedITQ(5, random_state=0).fit(X, privileged=S)
    energy = (hasher.item_projection_**2).sum(axis=1)
    assert energy[:5].sum() > 0.85 * energy.sum()
    axes = np.linalg.eigh(np.cov(S.T))[1][:, -5:]  # principal directions, in contrast
    assert (axes[:5] ** 2).sum() < 0.05 * 5


@pytest.mark.parametrize("taught", ["labels", "groups"])
def test_what_is_taught_comes_first(taught):
    rng = np.random.RandomState(2)
    y = rng.randint(4, size=300)
    S = np.hstack([3 * np.eye(4)[y] + 0.3 * rng.standard_normal((300, 4)), 2 * rng.standard_normal((300, 8))])
    X = S @ rng.standard_normal((12, 12))
    plain = thpi.TwoSidedITQ(4, random_state=0).fit(X, y, privileged=S)
    hasher = thpi.TwoSidedITQ(4, taught=taught, random_state=0).fit(X, y, privileged=S)
    share = [(h.item_projection_[:4] ** 2).sum() / (h.item_projection_**2).sum() for h in (plain, hasher)]
    assert share[1] > share[0] + 0.2


def test_labels_are_needed_where_they_are_taught(pairs):
    with pytest.raises(ValueError, match="taught='labels' needs y"):
        fitted(pairs, taught="labels")


def test_files_keep_both_sides(pairs, tmp_path: Path):
    X, S = pairs
    hasher = fitted(pairs)
    hasher.save(tmp_path / "shop.thpi")
    loaded, encoder = thpi.load(tmp_path / "shop.thpi"), thpi.load_encoder(tmp_path / "shop.thpi")
    assert isinstance(encoder, Encoder)
    for model in (loaded, encoder):
        assert model.is_two_sided
        assert model.fingerprint_ == hasher.fingerprint_ == model.source_side.fingerprint_
        np.testing.assert_array_equal(model.transform_source(S), hasher.transform_source(S))
        np.testing.assert_array_equal(model.transform(X), hasher.transform(X))


def test_the_fingerprint_covers_both_sides(pairs):
    hasher, other = fitted(pairs), fitted(pairs)
    assert hasher.fingerprint_ == other.fingerprint_
    other.item_projection_ = -other.item_projection_
    assert hasher.fingerprint_ != other.fingerprint_


def test_a_one_sided_model_says_so(pairs):
    X, S = pairs
    with pytest.raises(ValueError, match=r"codes target rows only.*AutoHasher\(sides="):
        thpi.ITQ(4, random_state=0).fit(X).transform_source(S)


def test_source_rows_are_checked(pairs):
    hasher = fitted(pairs)
    with pytest.raises(ValueError, match="S has 3 columns; the model was fitted on 12"):
        hasher.transform_source(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="S holds NaN"):
        hasher.transform_source(np.full((2, 12), np.nan))


def test_a_torn_source_side_is_refused(pairs):
    hasher = fitted(pairs)
    hasher.item_projection_ = hasher.item_projection_[:, :4]
    with pytest.raises(ValueError, match="do not fit"):
        hasher.check_fitted()


def test_sparse_wide_sources(pairs):
    from scipy import sparse

    rng = np.random.RandomState(3)
    S = sparse.random(200, 900, density=0.02, format="csr", random_state=rng)
    X = np.asarray(S @ rng.standard_normal((900, 15)))
    hasher = thpi.TwoSidedITQ(8, random_state=0).fit(X, privileged=S)
    np.testing.assert_array_equal(hasher.transform_source(S), hasher.transform_source(S.toarray()))


def test_both_sides_as_onnx(pairs):
    pytest.importorskip("onnxruntime")
    from thpi.onnx_file import check_onnx, onnx_bytes

    X, S = (view.astype(np.float32) for view in pairs)
    hasher = fitted((X, S))
    for coder, rows in ((hasher, X), (hasher.source_side, S)):
        assert check_onnx(onnx_bytes(coder), coder, rows).bits == 400 * 8
    assert isinstance(hasher.source_side, SourceSide)


def test_the_same_seed_gives_the_same_bytes(pairs, tmp_path: Path):
    for name in ("a", "b"):
        fitted(pairs).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_where_queries_tell_nothing_more_the_loudest_directions_of_the_source_are_coded():
    rng = np.random.RandomState(0)
    scales = np.r_[np.full(2, 2.0), 6.0, 5.0, np.full(6, 1.0)]
    S = np.linalg.qr(rng.standard_normal((300, 10)))[0]
    S = (S - S.mean(axis=0)) * np.sqrt(300) * scales
    X = S[:, :2] @ rng.standard_normal((2, 8))  # queries tell two directions, and four are coded
    coded = thpi.TwoSidedITQ(4, random_state=0).fit(X, privileged=S).item_projection_
    share = (coded**2).sum(axis=1)
    np.testing.assert_allclose(share[:4], 1, atol=0.05)
    assert share[4:].sum() < 0.2
