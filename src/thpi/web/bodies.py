"""Bodies of search requests: reading them within limits, and what they ask for.

A body is JSON, or a file of vectors (``.npy`` or ``.csv``) whose other choices stand in the address.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from starlette.requests import ClientDisconnect, Request

from thpi.web.errors import RequestError, short
from thpi.web.settings import Settings

__all__ = ["SearchRequest", "parse_search", "read_body"]

_KEYS = ("vector", "vectors", "id", "k", "method", "bits", "details", "rerank")
_NPY_TYPES = ("application/x-npy", "application/octet-stream")


@dataclass(frozen=True, eq=False)
class SearchRequest:
    """One search: by ``vectors`` or by the ``id`` of an item, with the choices that were made.

    ``rerank`` is how many of the nearest are put into the order of asymmetric distance.
    """

    vectors: npt.NDArray[Any] | None
    id: int | str | None
    k: int = 10
    method: str | None = None
    bits: int | None = None
    details: bool = False
    rerank: int | None = None


async def read_body(request: Request, settings: Settings) -> bytes:
    """Read a body of at most ``max_body`` bytes within the time limit."""
    import anyio

    limit = settings.max_body
    declared = request.headers.get("content-length", "0")
    size = int(declared) if declared.isdecimal() else 0
    parts: list[bytes] = []
    try:
        with anyio.fail_after(settings.time_limit):
            received = 0
            async for part in request.stream():
                received += len(part)
                if size <= limit and received <= limit:
                    parts.append(part)
                else:
                    # Read on for a while, storing nothing: a client that is cut off while it sends sees a broken
                    # connection in place of the message.
                    size, parts = max(size, received), []
                    if received > 8 * limit:
                        break
    except TimeoutError:
        raise RequestError(408, f"the body did not arrive within {settings.time_limit:g} seconds.") from None
    except ClientDisconnect:
        raise RequestError(400, "the connection was closed before the whole body was sent.") from None
    if max(size, received) > limit:
        raise RequestError(413, f"the body has {max(size, received)} bytes or more; at most {limit} are allowed.")
    return b"".join(parts)


def parse_search(body: bytes, content_type: str, choices: dict[str, str], settings: Settings) -> SearchRequest:
    """Read what a body asks for.

    >>> parse_search(b'{"vector": [1, 2.5], "k": 3}', "application/json", {}, Settings())
    SearchRequest(vectors=array([[1. , 2.5]]), id=None, k=3, method=None, bits=None, details=False, rerank=None)
    >>> parse_search(b"1,2\\n3,4\\n", "text/csv", {"k": "5"}, Settings()).vectors
    array([[1., 2.],
           [3., 4.]])
    """
    kind = content_type.split(";")[0].strip().lower()
    if kind in ("application/json", ""):
        if choices:
            raise RequestError(422, f"{short(next(iter(choices)))}: with JSON every choice stands in the body.")
        asked = _parse_json(body)
    elif kind == "text/csv":
        asked = _parse_choices(choices) | {"vectors": _parse_csv(body)}
    elif kind in _NPY_TYPES:
        asked = _parse_choices(choices) | {"vectors": _parse_npy(body)}
    else:
        allowed = ", ".join(("application/json", "text/csv", *_NPY_TYPES))
        raise RequestError(415, f"content-type {short(kind)} is not known; send one of {allowed}.")
    return _checked(asked, settings)


def _parse_json(body: bytes) -> dict[str, Any]:
    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is no JSON number")

    try:
        asked = json.loads(body, parse_constant=refuse)
    except RecursionError:
        raise RequestError(400, "the body is not valid JSON: too deeply nested.") from None
    except ValueError as error:
        reason = f"not UTF-8 text ({error.reason})" if isinstance(error, UnicodeDecodeError) else error
        raise RequestError(400, f"the body is not valid JSON: {reason}.") from None
    if not isinstance(asked, dict):
        raise RequestError(422, 'the body must be a JSON object such as {"vector": [0.5, 1.0], "k": 10}.')
    return asked


def _parse_choices(choices: dict[str, str]) -> dict[str, Any]:
    asked: dict[str, Any] = dict(choices)
    for name in ("k", "bits", "rerank"):
        if name in asked:
            text = asked[name]
            if not (text.isascii() and text.isdecimal() and len(text) < 10):
                raise RequestError(422, f"{name}={short(text)} must be a whole number.")
            asked[name] = int(text)
    if "details" in asked:
        asked["details"] = asked["details"] in ("1", "true")
    return asked


def _parse_csv(body: bytes) -> npt.NDArray[Any]:
    try:
        text = body.decode("utf-8-sig")
        if not text.strip():
            raise RequestError(422, "the CSV body is empty; it must have one vector a line.")
        return np.loadtxt(io.StringIO(text), delimiter=",", ndmin=2, comments=None)
    except UnicodeDecodeError:
        raise RequestError(422, "the CSV body is not UTF-8 text.") from None
    except ValueError as error:
        message = str(error).encode("ascii", "backslashreplace").decode("ascii")[:200].rstrip(".")
        raise RequestError(422, f"the CSV body must hold numbers, one vector a line: {message}.") from None


def _parse_npy(body: bytes) -> npt.NDArray[Any]:
    """Read a ``.npy`` file. Its header is checked against its size before anything is allocated."""
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    stream = io.BytesIO(body)
    try:
        shape, fortran, dtype = readers[np.lib.format.read_magic(stream)](stream)
    except Exception:  # numpy reads the header as Python text: a damaged one fails in any of a dozen ways
        raise RequestError(422, "the body is not a .npy file that numpy writes for numbers.") from None
    if dtype.kind not in "fiu" or dtype.itemsize > 8 or len(shape) not in (1, 2):
        raise RequestError(422, f"the .npy body has dtype {dtype} and shape {shape}; 1-D or 2-D numbers are allowed.")
    rest = body[stream.tell() :]
    expected = dtype.itemsize
    for extent in shape:
        expected *= extent
    if min(shape) < 0 or expected != len(rest):
        raise RequestError(422, f"the .npy body announces shape {shape} but has {len(rest)} bytes of numbers.")
    values: npt.NDArray[Any] = np.frombuffer(rest, dtype=dtype).reshape(shape, order="F" if fortran else "C")
    return np.atleast_2d(values)


def _checked(asked: dict[str, Any], settings: Settings) -> SearchRequest:
    unknown = [name for name in asked if name not in _KEYS]
    if unknown:
        raise RequestError(422, f"{short(unknown[0])} is not known; a search has {', '.join(_KEYS)}.")
    given = [name for name in ("vector", "vectors", "id") if name in asked]
    if len(given) != 1:
        raise RequestError(422, f"a search needs one of vector, vectors and id; got {', '.join(given) or 'none'}.")
    k, bits, method = asked.get("k", 10), asked.get("bits"), asked.get("method")
    if type(k) is not int or not 1 <= k <= settings.max_k:
        raise RequestError(422, f"k={short(k)} must be a whole number from 1 to {settings.max_k}.")
    if bits is not None and type(bits) is not int:
        raise RequestError(422, f"bits={short(bits)} must be a whole number.")
    if method is not None and not isinstance(method, str):
        raise RequestError(422, f"method={short(method)} must be the name of a method.")
    if type(asked.get("details", False)) is not bool:
        raise RequestError(422, f"details={short(asked['details'])} must be true or false.")
    rerank = asked.get("rerank")
    if rerank is not None and (type(rerank) is not int or not k <= rerank <= settings.max_k):
        raise RequestError(422, f"rerank={short(rerank)} must be a whole number from k={k} to {settings.max_k}.")
    vectors = None
    if "id" in asked:
        if type(asked["id"]) not in (int, str):
            raise RequestError(422, f"id={short(asked['id'])} must be a whole number or a string.")
    else:
        vectors = _vectors(asked, given[0])
        if len(vectors) > settings.max_batch:
            raise RequestError(422, f"{len(vectors)} vectors are too many; at most {settings.max_batch} a request.")
    return SearchRequest(vectors, asked.get("id"), k, method, bits, asked.get("details", False), rerank)


def _vectors(asked: dict[str, Any], name: str) -> npt.NDArray[Any]:
    value = [asked[name]] if name == "vector" else asked[name]
    try:
        array = np.asarray(value)
    except (ValueError, RecursionError):
        array = np.empty(0, dtype=object)
    if array.ndim != 2 or array.dtype.kind not in "fiu" or 0 in array.shape:
        form = "a list of numbers" if name == "vector" else "a list of lists of numbers, all of the same length"
        raise RequestError(422, f"{name} must be {form}, none of them missing.")
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        row, column = (int(place[0]) for place in np.nonzero(~np.isfinite(numbers)))
        raise RequestError(
            422, f"{name}: number {column} of vector {row} is {numbers[row, column]}; it must be finite."
        )
    return numbers
