"""ONNX files: onnxruntime gives the codes of thpi, bit by bit."""

from __future__ import annotations

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper
from scipy import sparse

import thpi
from thpi.codes import n_bytes, pack_signs, unpack
from thpi.datasets import load_digits_views
from thpi.onnx_file import check_onnx, onnx_bytes, write_onnx

FUNCTIONS = {"linear": "ITQ", "offset": "DSH", "eigenfunction": "SpectralHashing", "kernel": "AutoHasher"}


@pytest.fixture(scope="module")
def digits():
    return load_digits_views(target="kar", source="fou")


@pytest.fixture(scope="module", params=[(name, kind) for name in FUNCTIONS for kind in (np.float64, np.float32)])
def hasher(request, digits):
    name, dtype = request.param
    options = {"relevance": "groups", "kernel": True} if name == "kernel" else {}
    method = thpi.HASHERS[FUNCTIONS[name]](n_bits=19, random_state=0, **options)
    X = digits.target[:150].astype(dtype)
    fitted = method.fit(X, privileged=digits.source[:150])
    assert fitted.hash_name == name
    return fitted


def run(data, X):
    return onnxruntime.InferenceSession(data).run(["codes", "projections"], {"rows": X})


def test_the_codes_are_those_of_thpi(hasher, digits):
    X = digits.target.astype(np.float32)
    data = onnx_bytes(hasher)
    codes, projections = run(data, X)
    expected, values = hasher.transform(X), hasher.decision_function(X)
    assert codes.dtype == np.uint8
    assert codes.shape == (len(X), n_bytes(19))
    assert projections.dtype == np.float32
    different = unpack(codes, 19) != unpack(expected, 19)
    typical = np.sqrt((values.astype(np.float64) ** 2).mean(axis=0))
    assert (np.abs(projections - values) <= 2e-5 * typical).all()
    assert (np.abs(values) <= 2e-5 * typical)[different].all()
    assert different.mean() < 1e-4
    # The packed bits are the signs of its own projections.
    np.testing.assert_array_equal(codes, pack_signs(projections))
    assert check_onnx(data, hasher, X).at_zero == different.sum()
    assert len(run(data, X[:1])[0]) == 1
    assert len(run(data, X[:0])[0]) == 0


@pytest.mark.parametrize("n_bits", [1, 7, 8, 9, 64])
def test_every_width_is_packed_with_zero_padding(n_bits):
    X = np.random.RandomState(0).standard_normal((300, 5)).astype(np.float32)
    hasher = thpi.LSH(n_bits=n_bits, random_state=0).fit(X)
    codes, projections = run(onnx_bytes(hasher), X)
    np.testing.assert_array_equal(codes, pack_signs(projections))
    assert check_onnx(onnx_bytes(hasher), hasher, X).bits == 300 * n_bits


def test_a_projection_of_zero_is_a_one():
    hasher = thpi.LSH(n_bits=8, random_state=0).fit(np.array([[-1.0, 2.0], [1.0, -2.0]], dtype=np.float32))
    codes, projections = run(onnx_bytes(hasher), hasher.mean_[None])
    assert (projections == 0).all()
    assert codes.tolist() == [[255]]


def test_a_wrong_model_is_found(digits):
    X = digits.target[:200]
    hasher, other = (thpi.ITQ(n_bits=16, random_state=seed).fit(X) for seed in (0, 1))
    with pytest.raises(ValueError, match="differs from thpi in"):
        check_onnx(onnx_bytes(other), hasher, X)
    # One weight that is off by a thousandth of its size is enough.
    model = onnx.load_from_string(onnx_bytes(hasher))
    tensor = next(t for t in model.graph.initializer if tuple(t.dims) == hasher.projection_.shape)
    weights = numpy_helper.to_array(tensor).copy()
    weights[np.unravel_index(np.abs(weights).argmax(), weights.shape)] *= 1.001
    tensor.CopyFrom(numpy_helper.from_array(weights, tensor.name))
    rows = hasher.mean_ + np.random.RandomState(0).standard_normal((20_000, X.shape[1]))
    with pytest.raises(ValueError, match="differs from thpi in"):
        check_onnx(model.SerializeToString(), hasher, rows)


def test_codes_that_are_not_the_signs_are_found():
    X = np.random.RandomState(0).standard_normal((300, 5)).astype(np.float32)
    hasher = thpi.LSH(n_bits=9, random_state=0).fit(X)
    model = onnx.load_from_string(onnx_bytes(hasher))
    places = next(t for t in model.graph.initializer if tuple(t.dims) == (9, 2))
    places.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(places)[::-1].copy(), places.name))
    with pytest.raises(ValueError, match="differs from thpi in"):
        check_onnx(model.SerializeToString(), hasher, X)


def test_the_metadata(hasher):
    model = onnx.load_from_string(onnx_bytes(hasher))
    about = json.loads({entry.key: entry.value for entry in model.metadata_props}["thpi"])
    assert about["n_bits"] == 19
    assert about["class"] == type(hasher).__name__
    assert about["fingerprint"] == hasher.fingerprint_
    assert about["bit_order"] == "little"
    assert about["thpi"] == thpi.__version__
    assert onnx_bytes(hasher) == onnx_bytes(hasher)


def test_an_encoder_writes_the_same_file(hasher, tmp_path):
    hasher.save(tmp_path / "m")
    assert write_onnx(thpi.load_encoder(tmp_path / "m"), tmp_path / "m.onnx") is not None
    assert (tmp_path / "m.onnx").read_bytes() == onnx_bytes(hasher)


def test_sparse_landmarks(digits):
    rows = sparse.csr_array(np.where(digits.target > 0.6, digits.target, 0.0))
    hasher = thpi.AutoHasher(n_bits=12, relevance="groups", kernel=True, random_state=0)
    hasher.fit(rows[:150], privileged=digits.source[:150])
    assert sparse.issparse(hasher.landmarks_)
    assert check_onnx(onnx_bytes(hasher), hasher, rows.toarray()).rows == digits.n


def test_a_hash_function_of_the_methods_own_is_refused(digits, tmp_path):
    class Squares(thpi.ITQ):
        def _project(self, X):
            return super()._project(X) ** 2 - 1

    hasher = Squares(n_bits=8, random_state=0).fit(digits.target)
    with pytest.raises(ValueError, match="Squares has a hash function of its own"):
        write_onnx(hasher, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []
