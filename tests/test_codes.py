from __future__ import annotations

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist

from thpi import codes as C

bit_matrices = hnp.arrays(np.bool_, st.tuples(st.integers(1, 12), st.integers(1, 70)))


@given(bit_matrices)
def test_packing_round_trip_for_any_width(bits):
    packed = C.pack(bits)
    assert packed.shape == (len(bits), -(-bits.shape[1] // 8))
    np.testing.assert_array_equal(C.unpack(packed, bits.shape[1]), bits)
    signs = C.unpack_signs(packed, bits.shape[1])
    np.testing.assert_array_equal(signs, np.where(bits, 1, -1))
    np.testing.assert_array_equal(C.pack_signs(signs), packed)


@given(bit_matrices)
def test_bytes_read_as_the_documentation_says(bits):
    packed = C.pack(bits)
    for j in range(bits.shape[1]):
        np.testing.assert_array_equal((packed[:, j // 8] >> (j % 8)) & 1, bits[:, j])
    if bits.shape[1] % 8:
        assert not (packed[:, -1] >> (bits.shape[1] % 8)).any()


def test_zero_is_a_one():
    assert C.pack_signs([[0.0, -0.0, -1e-300, 1e-300]]).tolist() == [[0b1011]]


@given(bit_matrices)
def test_distances_are_those_of_scipy(bits):
    expected = np.rint(cdist(bits, bits, "hamming") * bits.shape[1])
    packed = C.pack(bits)
    np.testing.assert_array_equal(C.hamming_distances(packed, packed), expected)
    np.testing.assert_array_equal(C.paired_hamming_distances(packed, packed[::-1]), np.diag(expected[:, ::-1]))


def test_faiss_reads_the_same_bits():
    real = np.random.RandomState(0).standard_normal((50, 64)).astype(np.float32)
    from_faiss = np.empty((50, 8), dtype=np.uint8)
    faiss.fvecs2bitvecs(faiss.swig_ptr(real), faiss.swig_ptr(from_faiss), 64, 50)
    np.testing.assert_array_equal(C.pack_signs(real), from_faiss)


def test_distances_in_blocks_and_without_bitwise_count(monkeypatch):
    packed = np.random.RandomState(0).randint(0, 256, size=(2000, 5)).astype(np.uint8)
    expected = np.rint(cdist(*[np.unpackbits(packed[s], axis=1) for s in (slice(0, 700), slice(None))], "hamming") * 40)
    np.testing.assert_array_equal(C.hamming_distances(packed[:700], packed), expected)
    monkeypatch.setattr(C, "count_ones", C._ones_by_shifts)
    np.testing.assert_array_equal(C.hamming_distances(packed[:50], packed), expected[:50])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: C.pack([[0, 2]]), "only 0 and 1"),
        (lambda: C.pack([1, 0]), r"shape \(2,\)"),
        (lambda: C.unpack([[1, 2]], 8), "n_bits=8 needs 1 bytes"),
        (lambda: C.unpack([[255]], 7), "beyond n_bits=7"),
        (lambda: C.unpack([[1]], 0), "n_bits=0"),
        (lambda: C.unpack([[0.5]], 8), "uint8"),
        (lambda: C.hamming_distances([[1]], [[1, 2]]), "a has 1 bytes per row and b has 2"),
        (lambda: C.paired_hamming_distances([[1]], [[1], [2]]), r"\(1, 1\).*\(2, 1\)"),
    ],
)
def test_errors_name_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("values", [[-1], [0, -1], [256], [3, 256], [-1, 256]])
def test_numbers_that_are_no_bytes_are_refused(values):
    with pytest.raises(ValueError, match=r"must be packed bytes \(uint8\), got dtype int64"):
        C.check_codes([values])


def test_all_bytes_are_taken_whatever_their_type():
    for dtype in (np.uint8, np.int16, np.uint64):
        codes = C.check_codes(np.arange(256).reshape(4, 64).astype(dtype))
        assert codes.dtype == np.uint8
        np.testing.assert_array_equal(codes.ravel(), np.arange(256))
    assert C.check_codes(np.empty((0, 3), dtype=np.int64)).shape == (0, 3)


@pytest.mark.parametrize("function", [C.hamming_distances, C.paired_hamming_distances])
def test_the_argument_that_is_no_table_of_bytes_is_named(function):
    with pytest.raises(ValueError, match="a must be 2-D"):
        function([1], [[1]])
    with pytest.raises(ValueError, match="b must be 2-D"):
        function([[1]], [1])
