from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import thpi
from thpi import AutoHasher, KernelAutoHasher
from thpi.auto import candidates


@pytest.fixture(scope="module")
def ring():
    """Target rows on a ring; in the source three arcs of it lie on each other, which no linear function can tell."""
    rng = np.random.RandomState(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    S = np.stack([np.cos(3 * angle), np.sin(3 * angle)], axis=1)
    X = 5 + np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.02 * rng.standard_normal((400, 2))
    return X[:200], S[:200], S[200:], X[200:]


@pytest.fixture(scope="module")
def curved(ring):
    X, S, S_U, _ = ring
    return KernelAutoHasher(8, relevance="source", random_state=0).fit(X, privileged=S, source=S_U)


@pytest.mark.slow
def test_what_no_linear_function_can_tell(ring, curved):
    X, S, S_U, _ = ring
    linear = AutoHasher(8, relevance="source", random_state=0).fit(X, privileged=S, source=S_U)
    best = {h: max(entry["score"] for entry in h.candidates_) for h in (linear, curved)}
    assert curved.is_kernel_
    assert curved.choice_.startswith("kernel ")
    assert best[curved] > best[linear] + 20


@pytest.mark.slow
def test_codes_are_the_signs_of_the_formula(ring, curved):
    unseen = ring[3]
    unit, near = (
        centred / np.linalg.norm(centred, axis=1, keepdims=True)
        for centred in (rows - ring[0].mean(axis=0) for rows in (unseen, curved.landmarks_))
    )
    squared = ((unit[:, None] - near) ** 2).sum(axis=2)
    values = (np.exp(-curved.gamma_ * squared) - curved.mean_) @ curved.projection_
    np.testing.assert_allclose(curved.decision_function(unseen), values, atol=1e-8)
    np.testing.assert_array_equal(curved.signs(unseen), np.where(values > 0, 1, -1))


@pytest.mark.slow
def test_the_length_of_a_centred_row_does_not_matter(ring, curved):
    unseen, centre = ring[3], ring[0].mean(axis=0)
    np.testing.assert_array_equal(curved.transform(centre + 7 * (unseen - centre)), curved.transform(unseen))
    assert np.all(np.isfinite(curved.decision_function(centre[None])))


@pytest.mark.slow
def test_sparse_rows_give_what_dense_ones_give(curved, ring, tmp_path):
    X, S, S_U, unseen = ring
    np.testing.assert_allclose(
        curved.decision_function(sparse.csr_array(unseen)), curved.decision_function(unseen), atol=1e-6
    )
    again = KernelAutoHasher(8, relevance="source", random_state=0).fit(sparse.csr_array(X), privileged=S, source=S_U)
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
def test_where_a_line_will_do_the_result_is_linear():
    rng = np.random.RandomState(0)
    S = rng.standard_normal((300, 4)) * [4, 3, 2, 1]
    X = np.hstack([S, 4 * rng.standard_normal((300, 8))])
    hasher = KernelAutoHasher(8, relevance="source", random_state=0).fit(X[:150], privileged=S[:150], source=S[150:])
    assert not hasher.is_kernel_
    assert hasher.projection_.shape == (12, 8)
    alone = AutoHasher(8, relevance="source", random_state=0).fit(X[:150], privileged=S[:150], source=S[150:])
    linear = [entry["score"] for entry in hasher.candidates_ if not entry["kernel"]]
    assert linear == [entry["score"] for entry in alone.candidates_]


@pytest.mark.slow
def test_each_candidate_is_tried_on_rows_and_on_kernel_features(curved):
    tried = [(entry["method"], entry["params"], entry["uses_source"], entry["kernel"]) for entry in curved.candidates_]
    for candidate in candidates("source", has_labels=False):
        if candidate.starts_at_itq:
            for kernel in (False, True):
                assert (candidate.method.__name__, dict(candidate.params), candidate.uses_source, kernel) in tried


@pytest.mark.slow
def test_landmarks_are_drawn_from_more_rows_and_few_pairs_are_left_to_itq(ring):
    X, S, S_U, _ = ring
    few = KernelAutoHasher(8, relevance="source", n_landmarks=30, random_state=0).fit(X, privileged=S, source=S_U)
    assert few.is_kernel_
    assert few.landmarks_.shape == (30, 2)
    tiny = KernelAutoHasher(2, relevance="source", random_state=0).fit(X[:5], privileged=S[:5])
    assert tiny.choice_ == "ITQ without source"
    with pytest.raises(ValueError, match="'gamma' parameter of KernelAutoHasher"):
        KernelAutoHasher(8, gamma=0).fit(X, privileged=S)


@pytest.mark.slow
def test_float32_stays(ring):
    X, S, S_U, _ = (part.astype(np.float32) for part in ring)
    hasher = KernelAutoHasher(8, relevance="source", random_state=0).fit(X, privileged=S, source=S_U)
    assert hasher.is_kernel_
    assert {hasher.projection_.dtype, hasher.landmarks_.dtype, hasher.decision_function(X).dtype} == {np.dtype("f4")}


@pytest.mark.slow
def test_near_in_target_space_it_is_autohasher_to_the_bit(ring):
    X, S, S_U, unseen = ring
    hashers = [cls(8, random_state=3).fit(X, privileged=S, source=S_U) for cls in (KernelAutoHasher, AutoHasher)]
    assert hashers[0].candidates_ == hashers[1].candidates_
    assert not hashers[0].is_kernel_
    np.testing.assert_array_equal(*(hasher.transform(unseen) for hasher in hashers))


@pytest.mark.slow
def test_pairs_whose_relation_only_kernels_see_are_pairs(ring, curved):
    X, S, S_U, _ = ring
    linear = AutoHasher(8, relevance="source", random_state=0).fit(X, privileged=S, source=S_U)
    assert linear.pairs_r2_ < 0.1 < curved.pairs_r2_
