"""Fingerprints: one for each hash function, the same wherever it is computed, and one comparison."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import thpi
from thpi.identity import ModelMismatchError, check_fingerprint, check_same_model, fingerprint

X, noise = (np.random.RandomState(seed).standard_normal((80, 12)) for seed in (0, 1))
S = X[:, ::-1] + 0.3 * noise


@pytest.mark.parametrize("method", list(thpi.HASHERS.values()), ids=lambda method: method.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_survives_saving_and_names_one_hash_function(method, dtype, tmp_path):
    fits = [method(n_bits=6, random_state=seed).fit(X.astype(dtype), privileged=S.astype(dtype)) for seed in (0, 0, 1)]
    fits[0].save(tmp_path / "model")
    loaded = thpi.load(tmp_path / "model")
    assert check_fingerprint(fits[0].fingerprint_) == fits[1].fingerprint_ == loaded.fingerprint_
    parts = [[np.asarray(getattr(fit, name, ())) for name in fit.hash_parts] for fit in (fits[0], fits[2])]
    same_codes = all(np.array_equal(*part) for part in zip(*parts, strict=True))
    assert (fits[0].fingerprint_ == fits[2].fingerprint_) == same_codes


@pytest.mark.parametrize("method", ["ITQ", "DSH", "SpectralHashing"])
def test_every_number_that_decides_codes_is_in_it(method):
    hasher = thpi.HASHERS[method](n_bits=6, random_state=0).fit(X)
    before = hasher.fingerprint_
    for name in [name for name in hasher.hash_parts if hasattr(hasher, name)]:
        part = getattr(hasher, name)
        kept = part.flat[-1]
        part.flat[-1] = np.nextafter(kept, np.inf)
        assert hasher.fingerprint_ != before, name
        part.flat[-1] = kept
    assert hasher.fingerprint_ == before


def test_neither_class_nor_training_rows_are_in_it():
    auto = thpi.AutoHasher(6, kernel=False, use_lengths=False, random_state=0).fit(X)
    plain = thpi.ITQ(6, random_state=1).fit(X[:40])
    plain.mean_, plain.projection_ = auto.mean_.copy(order="F"), np.asfortranarray(auto.projection_)
    assert plain.fingerprint_ == auto.fingerprint_


def test_kernel_parts_are_in_it_and_sparse_ones_have_one_form(tmp_path):
    angle = np.random.RandomState(0).uniform(0, 6.28, 200)
    S = np.stack([np.cos(3 * angle), np.sin(3 * angle)], axis=1)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    hasher = thpi.AutoHasher(8, relevance="source", kernel=True, random_state=0).fit(sparse.csr_matrix(X), privileged=S)
    assert hasher.is_kernel_
    hasher.save(tmp_path / "kernel")
    loaded = thpi.load(tmp_path / "kernel")
    before = loaded.fingerprint_
    assert before == hasher.fingerprint_
    loaded.landmarks_ = loaded.landmarks_[:, ::-1].tocoo().tocsr()[:, ::-1]  # the same matrix, other order inside
    assert loaded.fingerprint_ == before
    loaded.gamma_ *= 1.001
    assert loaded.fingerprint_ != before


def test_byte_order_does_not_matter_and_type_does():
    parts = {"mean_": np.arange(3.0), "projection_": np.eye(3)}
    swapped = {name: value.astype(">f8") for name, value in parts.items()}
    narrow = {name: value.astype("f4") for name, value in parts.items()}
    assert fingerprint(3, swapped) == fingerprint(3, parts)
    assert len({fingerprint(3, parts), fingerprint(3, narrow), fingerprint(4, parts)}) == 3


def test_a_method_that_does_not_name_its_parts_is_told():
    class Curved(thpi.LSH):
        def _project(self, X):
            return np.cos(super()._project(X))

    with pytest.raises(TypeError, match="Curved overrides _project; it must name"):
        _ = Curved(4, random_state=0).fit(X).fingerprint_


def test_an_unfitted_hasher_has_none():
    assert not hasattr(thpi.ITQ(4), "fingerprint_")


A, B = "5a2a0bdbfdbe7f2d", "0d1f6f3f1c8e9b7a"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [(A, A, True), (None, None, True), (A, None, False), (None, A, False), (A, B, False)],
)
def test_the_comparison(one, other, same):
    if same:
        check_same_model(("x", one), ("y", other))
        return
    with pytest.raises(ModelMismatchError) as caught:
        check_same_model(("x", one), ("y", other))
    for given in (one, other):
        assert given is None or given in str(caught.value)
    unknown = {A: "y does not say", None: "x does not say"}[one]
    assert (unknown in str(caught.value)) == (None in (one, other))


@pytest.mark.parametrize("wrong", ["", "5A2A0BDBFDBE7F2D", A[:-1], A + "0", A + "\n", 7])
def test_what_is_no_fingerprint_is_refused(wrong):
    with pytest.raises(ValueError, match="model="):
        check_fingerprint(wrong)
