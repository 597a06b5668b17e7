from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thpi.web.catalogue import Catalogue
from thpi.web.errors import RequestError
from thpi.web.requests import parse_search
from thpi.web.settings import Settings


def _npy(array: np.ndarray, **options: bool) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()


def _refused(body: bytes, kind: str = "application/json", **choices: str) -> RequestError:
    with pytest.raises(RequestError) as caught:
        parse_search(body, kind, choices, Settings(max_k=100, max_batch=5, max_neighbours=300))
    return caught.value


def test_a_request_just_within_the_work_allowed_is_taken() -> None:
    limits = Settings(max_neighbours=300)
    body = {"vectors": [[1.0]] * 3, "k": 100}
    assert parse_search(json.dumps(body).encode(), "application/json", {}, limits).k == 100
    body = {"vectors": [[1.0]] * 3, "k": 10, "details": True}
    assert parse_search(json.dumps(body).encode(), "application/json", {}, limits).details


def test_the_three_forms_of_a_batch_are_read_alike() -> None:
    X = np.random.RandomState(0).standard_normal((4, 3))
    csv = "\n".join(",".join(repr(float(x)) for x in row) for row in X).encode()
    asked = [
        parse_search(
            json.dumps({"vectors": X.tolist(), "k": 7, "bits": 8, "order": "hamming"}).encode(),
            "application/json",
            {},
            Settings(),
        ),
        parse_search(csv, "text/csv; charset=utf-8", {"k": "7", "bits": "8", "order": "hamming"}, Settings()),
        parse_search(_npy(X), "application/x-npy", {"k": "7", "bits": "8", "order": "hamming"}, Settings()),
        parse_search(
            _npy(np.asfortranarray(X)),
            "application/octet-stream",
            {"k": "7", "bits": "8", "order": "hamming"},
            Settings(),
        ),
    ]
    for one in asked:
        np.testing.assert_array_equal(one.queries, X)
        assert (one.k, one.bits, one.id, one.order) == (7, 8, None, "hamming")


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "not valid JSON"),
        (b"{", 400, "not valid JSON"),
        (b"\xff\xfe{", 400, "not valid JSON"),
        (b"[" * 100_000, 400, "JSON"),
        (b'{"vector": [NaN]}', 400, "NaN"),
        (b'{"vector": [-Infinity]}', 400, "Infinity"),
        (b'{"vector": [1e999]}', 422, "finite"),
        (b'{"vector": [' + b"9" * 5000 + b"]}", 400, "JSON"),
        (b'{"vector": [99999999999999999999999]}', 422, "list of numbers"),
        (b"[1, 2]", 422, "JSON object"),
        (b"{}", 422, "one of vector, vectors, id and codes"),
        (b'{"vector": [1], "id": 2}', 422, "vector, id"),
        (b'{"vector": []}', 422, "list of numbers"),
        (b'{"vector": ["1"]}', 422, "list of numbers"),
        (b'{"vector": [null]}', 422, "list of numbers"),
        (b'{"vector": [[1]]}', 422, "list of numbers"),
        (b'{"vectors": [[1, 2], [3]]}', 422, "same length"),
        (b'{"vectors": [[1], [1], [1], [1], [1], [1]]}', 422, "at most 5"),
        (b'{"vectors": [[1], [1], [1], [1], [1]], "k": 100, "details": true}', 422, "vectors times k, 5 x 100, must"),
        (b'{"vectors": [[1], [1], [1], [1]], "k": 100}', 422, "at most 300 in a request without details"),
        (b'{"id": 1, "k": 0}', 422, "k=0"),
        (b'{"id": 1, "k": 101}', 422, "from 1 to 100"),
        (b'{"id": 1, "k": 1e3}', 422, "k=1000.0"),
        (b'{"id": 1, "k": true}', 422, "k=True"),
        (b'{"id": 1, "k": 1' + b"0" * 4000 + b"}", 422, "from 1 to 100"),
        (b'{"id": 1.5}', 422, "id=1.5"),
        (b'{"id": 1, "bits": "8"}', 422, "bits='8'"),
        (b'{"id": 1, "method": 3}', 422, "method=3"),
        (b'{"id": 1, "details": 1}', 422, "details=1"),
        (b'{"vector": [1], "order": "nearest"}', 422, "order='nearest': Input should be 'asymmetric' or 'hamming'"),
        (b'{"vector": [1], "order": 1}', 422, "order=1"),
        (b'{"vector": [1], "rerank": 9}', 422, "'rerank' is not known"),
        (b'{"id": 1, "radius": 1}', 422, "'radius' is not known"),
    ],
)
def test_a_wrong_json_body_is_refused_with_the_reason(body: bytes, status: int, message: str) -> None:
    error = _refused(body)
    assert error.status == status
    assert message in error.message
    assert len(error.message) < 300
    assert error.message.isascii()


@pytest.mark.parametrize(
    ("text", "features", "expected"),
    [
        ("a,b\n1,2\n3,4", None, [[1, 2], [3, 4]]),
        ("\ufeffa,b\r\n1,2\r\n", None, [[1, 2]]),
        ('"first, name",b\n1,2', None, [[1, 2]]),
        ("b,id,a\n1,x,2\n3,y,4", ("a", "b"), [[2, 1], [4, 3]]),
        ('b,id,a\n1,"x, y",2', ("a", "b"), [[2, 1]]),
        ("0,1,id\n5,6,7", ("1", "0"), [[6, 5]]),
        ("5,6\n7,8", ("a", "b"), [[5, 6], [7, 8]]),
    ],
)
def test_a_header_line_of_csv_names_the_columns(
    shop: Catalogue, text: str, features: tuple[str, ...], expected: list[Any]
) -> None:
    asked = parse_search(text.encode(), "text/csv", {}, Settings(), replace(shop, features=features))
    np.testing.assert_array_equal(asked.queries, expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,c\n1,2", "no column 'b'"),
        ("a,b", "no vectors"),
        ("a,b\n\n", "no vectors"),
        ("1,x\n2,3", "must hold numbers"),  # not a header: a number that is not one
        ("a,b\nx,2", "must hold numbers"),
    ],
)
def test_a_wrong_header_line_is_refused(shop: Catalogue, text: str, message: str) -> None:
    with pytest.raises(RequestError, match=message) as caught:
        parse_search(text.encode(), "text/csv", {}, Settings(), replace(shop, features=("a", "b")))
    assert caught.value.status == 422


def test_wrong_files_are_refused() -> None:
    huge = _npy(np.zeros((2, 2))).replace(b"(2, 2)", b"(9999999999, 2)")
    for body in (
        b"",
        b"\x93NUMPY",
        b"PK\x03\x04",
        _npy(np.zeros(3))[:-1],
        huge,
        _npy(np.array(["a"])),
        _npy(np.float64(1)),
    ):
        assert _refused(body, "application/x-npy").status == 422
    objects = io.BytesIO()
    np.save(objects, np.array([{}], dtype=object), allow_pickle=True)
    assert "dtype object" in _refused(objects.getvalue(), "application/x-npy").message
    for body in (b"", b" \n", b"a,b", b"1,2\n3", b"\xff"):
        assert _refused(body, "text/csv").status == 422
    assert "finite" in _refused(b"1,nan", "text/csv").message
    assert _refused(b"1,2", "text/csv", k="-1").status == 422
    assert _refused(b"<a/>", "application/xml").status == 415
    assert _refused(b'{"id": 1}', k="3").status == 422


@pytest.mark.parametrize(
    "shape", [(0,), (0, 5), (5, 0), (0, 0), (0, 2**62), (0, 2**70), (2**70, 0), (-1, 0), (0, True), (2**70, 2**70)]
)
def test_a_shape_without_numbers_or_beyond_all_bounds_is_refused(shape: tuple[int, ...]) -> None:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    error = _refused(stream.getvalue(), "application/x-npy")
    assert error.status == 422
    assert "shape" in error.message


@settings(max_examples=200, deadline=None)
@given(body=st.binary(max_size=300), kind=st.sampled_from(["application/json", "text/csv", "application/x-npy", ""]))
def test_no_bytes_do_more_than_be_refused(body: bytes, kind: str) -> None:
    try:
        asked = parse_search(body, kind, {}, Settings())
    except RequestError as error:
        assert 400 <= error.status < 500  # noqa: PT017 - both outcomes are allowed
    else:
        assert asked.id is not None or np.isfinite(asked.queries).all()


@settings(max_examples=100, deadline=None)
@given(cut=st.integers(0, 150), place=st.integers(0, 140), value=st.integers(0, 255))
def test_no_damaged_npy_does_more_than_be_refused(cut: int, place: int, value: int) -> None:
    body = bytearray(_npy(np.arange(6.0).reshape(2, 3)))
    body[place] = value
    try:
        asked = parse_search(bytes(body[: len(body) - cut]), "application/x-npy", {}, Settings())
    except RequestError as error:
        assert error.status == 422  # noqa: PT017
    else:
        assert asked.queries.ndim == 2
