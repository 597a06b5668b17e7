"""Bodies of search requests: read within limits, then parsed.

A body is JSON, or a file of vectors (``.npy`` or ``.csv``) with the other choices in the address.
"""

from __future__ import annotations

import io
import json
import math
from typing import NoReturn

import anyio
import numpy as np
from starlette.requests import ClientDisconnect, Request

from thpi._types import Array
from thpi.web.errors import RequestError, short
from thpi.web.models import SearchRequest, check_search
from thpi.web.settings import Settings

_NPY_TYPES = ("application/x-npy", "application/octet-stream")


async def read_body(request: Request, settings: Settings) -> bytes:
    """Read a body of at most ``max_body`` bytes within the time limit."""
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
                    # connection instead of the message.
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
    """Parse a body, and check it against the limits.

    >>> parse_search(b'{"vector": [1, 2.5], "k": 3}', "application/json", {}, Settings()).queries
    array([[1. , 2.5]])
    >>> parse_search(b"1,2\\n3,4\\n", "text/csv", {"k": "5"}, Settings()).queries
    array([[1., 2.],
           [3., 4.]])
    """
    kind = content_type.split(";")[0].strip().lower()
    if kind in ("application/json", ""):
        if choices:
            raise RequestError(422, f"{short(next(iter(choices)))}: with JSON every choice belongs in the body.")
        return check_search(_parse_json(body), settings)
    if kind != "text/csv" and kind not in _NPY_TYPES:
        allowed = ", ".join(("application/json", "text/csv", *_NPY_TYPES))
        raise RequestError(415, f"content-type {short(kind)} is not known; send one of {allowed}.")
    vectors = _parse_csv(body) if kind == "text/csv" else _parse_npy(body)
    return check_search({**choices, "vectors": vectors}, settings, strict=False)


def _parse_json(body: bytes) -> dict[str, object]:
    def refuse(name: str) -> NoReturn:
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


def _parse_csv(body: bytes) -> Array:
    try:
        text = body.decode("utf-8-sig")
        if not text.strip():
            raise RequestError(422, "the CSV body is empty; it must have one vector per line.")
        return np.loadtxt(io.StringIO(text), delimiter=",", ndmin=2, comments=None)
    except UnicodeDecodeError:
        raise RequestError(422, "the CSV body is not UTF-8 text.") from None
    except ValueError as error:
        message = str(error).encode("ascii", "backslashreplace").decode("ascii")[:200].rstrip(".")
        raise RequestError(422, f"the CSV body must hold numbers, one vector per line: {message}.") from None


def _parse_npy(body: bytes) -> Array:
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
    if min(shape) < 0 or math.prod(shape) * dtype.itemsize != len(rest):
        raise RequestError(422, f"the .npy body announces shape {shape} but has {len(rest)} bytes of numbers.")
    values: Array = np.frombuffer(rest, dtype=dtype).reshape(shape, order="F" if fortran else "C")
    return np.atleast_2d(values)
