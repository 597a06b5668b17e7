from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from sklearn.decomposition import PCA, TruncatedSVD

import thpi
from thpi import AutoHasher
from thpi.auto._auto import affordable_landmarks, fitted_on_these_rows
from thpi.hash_functions import KERNEL
from thpi.hashers._geometry import Learned


@pytest.fixture(scope="module")
def ring():
    """Target rows on a ring; in the source three arcs of it lie on each other, which no linear function can tell."""
    rng = np.random.RandomState(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    S = np.stack([np.cos(3 * angle), np.sin(3 * angle)], axis=1)
    X = 5 + np.pad(np.stack([np.cos(angle), np.sin(angle)], axis=1), ((0, 0), (0, 6)))  # as many columns as bits
    X += 0.02 * rng.standard_normal(X.shape)
    return X[:200], S[:200], S[200:], X[200:]


def _fitted(ring, **params):
    X, S, S_U, _ = ring
    return AutoHasher(8, relevance="source", random_state=0, **params).fit(X, privileged=S, source=S_U)


@pytest.fixture(scope="module")
def curved(ring):
    return _fitted(ring, max_encode_cost=500)


@pytest.mark.slow
def test_what_no_linear_function_can_tell(ring, curved):
    linear = _fitted(ring, kernel=False)
    best = {h: max(entry["score"] for entry in h.candidates_) for h in (linear, curved)}
    assert curved.is_kernel_
    assert curved.choice_.startswith("kernel ")
    assert not linear.is_kernel_
    assert best[curved] > best[linear] + 20
    assert linear.pairs_r2_ < 0.1 < curved.pairs_r2_  # only kernels see that the pairs are related


@pytest.mark.slow
def test_codes_are_the_signs_of_the_formula(ring, curved):
    unseen, centre = ring[3], ring[0].mean(axis=0)
    raw = ((unseen[:, None] - curved.landmarks_) ** 2).sum(axis=2)
    unit, near = (
        centred / np.linalg.norm(centred, axis=1, keepdims=True)
        for centred in (rows - centre for rows in (unseen, curved.landmarks_))
    )
    kinds = (curved.gamma_, raw), (curved.unit_gamma_, ((unit[:, None] - near) ** 2).sum(axis=2))
    kernel = sum(np.exp(-width * g * squared) for g, squared in kinds for width in (1, 3, 9)) / 6
    values = (kernel - curved.mean_) @ curved.projection_ - curved.offset_
    np.testing.assert_allclose(curved.decision_function(unseen), values, atol=1e-7)
    np.testing.assert_array_equal(curved.signs(unseen), np.where(values > 0, 1, -1))


@pytest.mark.parametrize("use_lengths", [True, False])
def test_inner_products_are_the_centred_kernel(use_lengths):
    """If all rows are landmarks: the mean of Gaussian kernels a third, one and three median distances wide."""
    rng = np.random.RandomState(0)
    X, S = rng.standard_normal((40, 5)) + 2, rng.standard_normal((40, 3))
    hasher = AutoHasher(6, relevance="source", kernel=True, use_lengths=use_lengths)
    trial = hasher.trial(hasher.check_views(X, None, S, None, None), np.random.RandomState(0))
    centred = X - X.mean(axis=0)
    spaces = [centred / np.linalg.norm(centred, axis=1, keepdims=True), *([X] if use_lengths else [])]
    K = np.zeros((40, 40))
    for rows in spaces:
        squared = squareform(pdist(rows, "sqeuclidean"))
        median = np.median(pdist(rows, "sqeuclidean"))
        K += sum(np.exp(-width * squared / median) for width in (1 / 3, 1, 3)) / 3 / len(spaces)
    H = np.eye(40) - 1 / 40
    for rows in (trial.kernel.geometry.real, trial.kernel.folds.X):
        np.testing.assert_allclose(rows @ rows.T, H @ K @ H, atol=1e-8)
    # The hash function of a projection of these coordinates is that of the kernels of a row.
    P, b = rng.standard_normal((rows.shape[1], 6)), rng.standard_normal(6)
    for offset in (None, b):
        fitted = trial.kernel.fitted(Learned(P, offset=offset))
        expected = trial.kernel.geometry.real @ P - (0 if offset is None else offset)
        np.testing.assert_allclose(KERNEL.project(X, fitted), expected, atol=1e-7)


@pytest.mark.slow
def test_without_lengths_that_of_a_centred_row_does_not_matter(ring):
    hasher = _fitted(ring, kernel=True, use_lengths=False)
    unseen, centre = ring[3], ring[0].mean(axis=0)
    assert hasher.gamma_ == 0 < hasher.unit_gamma_
    np.testing.assert_array_equal(hasher.transform(centre + 7 * (unseen - centre)), hasher.transform(unseen))
    assert np.all(np.isfinite(hasher.decision_function(centre[None])))
    for use_lengths in (True, False):
        linear = AutoHasher(8, relevance="target", kernel=False, use_lengths=use_lengths, random_state=0).fit(ring[0])
        assert any(entry["params"].get("offsets") for entry in linear.candidates_) == use_lengths


@pytest.mark.slow
def test_sparse_rows_give_what_dense_ones_give(curved, ring, tmp_path):
    X, S, S_U, unseen = ring
    np.testing.assert_allclose(
        curved.decision_function(sparse.csr_array(unseen)), curved.decision_function(unseen), atol=1e-6
    )
    again = _fitted((sparse.csr_array(X), S, S_U, unseen), max_encode_cost=500)
    assert again.is_kernel_
    assert sparse.issparse(again.landmarks_)
    np.testing.assert_allclose(again.gain_, curved.gain_, atol=3)
    again.save(tmp_path / "sparse.thpi")
    np.testing.assert_array_equal(thpi.load(tmp_path / "sparse.thpi").transform(unseen), again.transform(unseen))


@pytest.mark.slow
def test_saved_and_loaded(curved, ring, tmp_path):
    curved.save(tmp_path / "curved.thpi")
    again = thpi.load(tmp_path / "curved.thpi")
    assert again.is_kernel_
    assert again.candidates_ == curved.candidates_
    np.testing.assert_array_equal(again.transform(ring[3]), curved.transform(ring[3]))


@pytest.mark.slow
def test_the_cost_of_a_code_bounds_the_landmarks(ring):
    # With d = 8 and c = 8 a linear code has 64 products, and one of m landmarks 16 m.
    few = _fitted(ring, max_encode_cost=30)
    assert few.is_kernel_
    assert few.landmarks_.shape == (120, 8)
    assert not any(entry["kernel"] for entry in _fitted(ring, max_encode_cost=4).candidates_)
    assert _fitted(ring, kernel=True, n_landmarks=60).landmarks_.shape == (60, 8)
    assert affordable_landmarks(8, 8, 30, 500) == 120
    assert affordable_landmarks(1280, 32, 50, 500) == 500


@pytest.mark.slow
def test_float32_stays(ring):
    hasher = _fitted([part.astype(np.float32) for part in ring], max_encode_cost=500)
    assert hasher.is_kernel_
    kinds = {hasher.projection_.dtype, hasher.landmarks_.dtype, hasher.offset_.dtype}
    assert kinds | {hasher.decision_function(ring[3].astype(np.float32)).dtype} == {np.dtype("f4")}


def test_few_pairs_and_equal_rows(ring):
    X, S, _, unseen = ring
    for kernel in (True, "auto"):
        tiny = AutoHasher(2, relevance="source", kernel=kernel, random_state=0).fit(X[:5], privileged=S[:5])
        assert tiny.is_kernel_ == (kernel is True)
        assert tiny.transform(unseen).shape == (200, 1)
        equal = AutoHasher(2, relevance="target", kernel=kernel, random_state=0).fit(np.ones((40, 3)))
        assert len(np.unique(equal.transform(np.ones((5, 3))))) == 1


@pytest.mark.parametrize("reduce", [PCA(10), PCA(10, whiten=True), TruncatedSVD(10, random_state=0)])
def test_columns_fitted_on_these_rows_are_recognised(reduce):
    X = np.random.RandomState(0).standard_normal((80, 30)) + 1
    assert not fitted_on_these_rows(X)
    assert fitted_on_these_rows(reduce.fit_transform(X))
    assert fitted_on_these_rows(reduce.fit_transform(X).astype(np.float32))
    assert not fitted_on_these_rows(reduce.fit_transform(X)[:60])  # fitted on more rows
    assert not fitted_on_these_rows(sparse.csr_array(X))
    assert not fitted_on_these_rows(X[:20])
    hasher = AutoHasher(8, random_state=0).fit(reduce.fit_transform(X))
    assert not any(entry["params"].get("offsets") for entry in hasher.candidates_ if not entry["kernel"])


def test_components_are_recognised_wherever_their_origin_is():
    components = PCA(10).fit_transform(np.random.RandomState(0).standard_normal((80, 30)))
    assert fitted_on_these_rows(components + np.arange(10))
    assert not fitted_on_these_rows(components + 0.5 * components[:, :1])
