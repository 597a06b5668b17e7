from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thpi.collection import Collection
from thpi.web.errors import RequestError
from thpi.web.requests import BYTES, Asked, Coders, parse
from thpi.web.searching import Served
from thpi.web.settings import Settings

LIMITS = Settings(max_k=100, max_neighbours=300)


@pytest.fixture(scope="module")
def coders(shop: Collection) -> Coders:
    return Served(shop).coders()


def read(coders: Coders, body: bytes, kind: str = "application/json", **choices: str) -> Asked:
    return parse(body, kind, choices, LIMITS, coders, adding=False)


def refused(coders: Coders, body: bytes, kind: str = "application/json", **choices: str) -> RequestError:
    with pytest.raises(RequestError) as caught:
        read(coders, body, kind, **choices)
    return caught.value


def test_all_choices_are_read_in_both_forms(coders: Coders) -> None:
    rows = np.arange(24.0).reshape(2, 12)
    as_json = read(coders, json.dumps({"vectors": rows.tolist(), "k": 7, "order": "hamming", "details": True}).encode())
    as_bytes = read(coders, rows.astype("<f4").tobytes(), BYTES, k="7", order="hamming", details="true")
    for asked in (as_json, as_bytes):
        np.testing.assert_array_equal(asked.rows, rows)
        assert asked.rows.dtype == np.float64
        assert (asked.k, asked.order, asked.details, asked.side, asked.n_queries) == (7, "hamming", True, "target", 2)
        assert asked.weight == 140
    assert read(coders, b'{"vector": [1, 2.5]}').rows.tolist() == [[1, 2.5]]
    assert read(coders, b'{"id": 41}') == Asked(id=41)
    asked = read(coders, b'{"codes": ["0f3a88", "c10001"], "model": "x"}')
    assert (asked.codes.tolist(), asked.model) == ([[15, 58, 136], [193, 0, 1]], "x")
    asked = read(coders, b"\x0f\x3a\x88", BYTES, content="codes", model="x")
    assert (asked.codes.tolist(), asked.model) == ([[15, 58, 136]], "x")


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "not valid JSON"),
        (b"{", 400, "not valid JSON"),
        (b"\xff\xfe{", 400, "not valid JSON"),
        (b"[" * 100_000, 400, "JSON"),
        (b'{"vector": [NaN]}', 422, "vector: number 0 of row 0 is nan; it must be finite"),
        (b'{"vector": [0, -Infinity]}', 422, "vector: number 1 of row 0 is -inf"),
        (b'{"vector": [1e999]}', 422, "finite"),
        (b'{"vector": [' + b"9" * 5000 + b"]}", 400, "JSON"),
        (b'{"vector": [99999999999999999999999]}', 422, "list of numbers"),
        (b"[1, 2]", 422, "JSON object"),
        (b"{}", 422, "one of vector, vectors, id, codes; got none"),
        (b'{"vector": [1], "id": 2}', 422, "got vector, id"),
        (b'{"vector": []}', 422, "list of numbers"),
        (b'{"vector": ["1"]}', 422, "vector=['1'] must be a list of numbers"),
        (b'{"vector": [null]}', 422, "list of numbers"),
        (b'{"vector": [[1]]}', 422, "list of numbers"),
        (b'{"vector": {"a": 1}}', 422, "list of numbers"),
        (b'{"vectors": [[1, 2], [3]]}', 422, "same length"),
        (b'{"vectors": 7}', 422, "vectors=7 must be a list of lists"),
        (b'{"vectors": [[1], [1], [1], [1]], "k": 100}', 422, "4 x 100, must be at most 300 in a request without"),
        (b'{"vectors": [[1], [1]], "k": 20, "details": true}', 422, "2 x 20, must be at most 30 in a request with"),
        (b'{"id": 1, "k": 0}', 422, "k=0 must be a whole number from 1 to 100"),
        (b'{"id": 1, "k": 101}', 422, "from 1 to 100"),
        (b'{"id": 1, "k": 1e3}', 422, "k=1000.0"),
        (b'{"id": 1, "k": true}', 422, "k=True"),
        (b'{"id": 1, "k": null}', 422, "k=None"),
        (b'{"id": 1, "k": 1' + b"0" * 4000 + b"}", 422, "from 1 to 100"),
        (b'{"id": 1.5}', 422, "id=1.5 must be a whole number or a text"),
        (b'{"id": true}', 422, "id=True"),
        (b'{"id": [1]}', 422, "id=[1]"),
        (b'{"id": 1, "details": 1}', 422, "details=1 must be true or false"),
        (b'{"id": 1, "model": 1}', 422, "model=1 must be a text"),
        (b'{"vector": [1], "order": "nearest"}', 422, "order='nearest' must be 'asymmetric' or 'hamming'"),
        (b'{"vector": [1], "order": []}', 422, "order=[] must be"),
        (b'{"id": 1, "order": "asymmetric"}', 422, "order='asymmetric' must be 'hamming'"),
        (b'{"vector": [1], "side": "both"}', 422, "side='both' must be 'target' or 'source'"),
        (b'{"id": 1, "side": "source"}', 422, "side='source' must be 'target'"),
        (b'{"vector": [1], "rerank": 9}', 422, "'rerank' is not known; a request has vector,"),
        (b'{"codes": []}', 422, "codes=[] must be"),
        (b'{"codes": "0f"}', 422, "codes='0f' must be"),
        (b'{"codes": ["0f", "0f3a"]}', 422, "all of the same length"),
        (b'{"codes": [""]}', 422, "hexadecimal"),
        (b'{"codes": [15]}', 422, "hexadecimal"),
        (b'{"codes": {"0f": 1}, "id": null}', 422, "model"),
    ],
)
def test_a_wrong_json_body_is_refused_with_the_reason(coders: Coders, body: bytes, status: int, message: str) -> None:
    if message == "model":  # a dictionary of texts is as good as a list of them
        assert read(coders, body).codes.tolist() == [[15]]
        return
    error = refused(coders, body)
    assert (error.status, message in error.message) == (status, True), error.message
    assert len(error.message) < 300
    assert error.message.isascii()


@pytest.mark.parametrize(
    ("choices", "body", "message"),
    [
        ({}, b"", "0 bytes; it must hold vectors of 12 float32 numbers, 48 bytes each"),
        ({}, b"1234", "4 bytes"),
        ({"content": "words"}, b"1234", "content='words' must be 'vectors' or 'codes'"),
        ({"content": "codes"}, b"1234", "codes of 20 bits, 3 bytes each"),
        ({"side": "source"}, bytes(48), "codes target rows only"),
        ({"side": "x"}, bytes(48), "side='x' must be"),
        ({"k": "-1"}, bytes(48), "k='-1' must be a whole number"),
        ({"k": "1" * 400}, bytes(48), "from 1 to 100"),
        ({"details": "yes"}, bytes(48), "details='yes' must be true or false"),
        ({"id": "3"}, bytes(48), "got vectors, id"),
        ({"bits": "20"}, bytes(48), "'bits' is not known"),
        ({}, np.full(12, np.nan, dtype="<f4").tobytes(), "must be finite"),
    ],
)
def test_wrong_bytes_are_refused(coders: Coders, choices: dict[str, str], body: bytes, message: str) -> None:
    for kind in (BYTES, BYTES + "; charset=x"):
        error = refused(coders, body, kind, **choices)
        if "vectors, id" in message:
            assert "got" in error.message
        else:
            assert message in error.message
        assert error.status == 422


def test_other_kinds_and_choices_in_two_places_are_refused(coders: Coders) -> None:
    assert refused(coders, b"<a/>", "application/xml").status == 415
    assert refused(coders, b"1,2", "text/csv").status == 415
    assert "belongs in the body" in refused(coders, b'{"id": 1}', k="3").message


@settings(max_examples=200)
@given(body=st.binary(max_size=300), kind=st.sampled_from(["application/json", BYTES, ""]))
def test_no_bytes_do_more_than_be_refused(coders: Coders, body: bytes, kind: str) -> None:
    try:
        asked = read(coders, body, kind)
    except RequestError as error:
        assert 400 <= error.status < 500  # noqa: PT017 - both outcomes are allowed
    else:
        assert asked.id is not None or asked.codes is not None or np.isfinite(asked.rows).all()


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda each: st.lists(each, max_size=4) | st.dictionaries(st.text(max_size=3), each, max_size=3),
    max_leaves=8,
)


@settings(max_examples=300)
@given(
    asked=st.dictionaries(
        st.sampled_from(["vector", "vectors", "id", "codes", "k", "order", "side", "details", "model"]),
        JSON,
        max_size=3,
    )
)
def test_no_values_do_more_than_be_refused(coders: Coders, asked: dict[str, Any]) -> None:
    for adding in (True, False):
        try:
            parse(json.dumps(asked).encode(), "", {}, LIMITS, coders, adding=adding)
        except RequestError as error:
            assert (400 <= error.status < 500, error.message.isascii()) == (True, True)  # noqa: PT017
