"""Requests: bodies within a size, a time and a share of the memory, and what they ask for, checked against the limits.

The body of a search is JSON, or vectors or codes as bytes, with the other choices in the address.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, get_args

import anyio
import numpy as np
from starlette.types import Receive

from thpi._types import Array, Codes
from thpi.codes import n_bytes
from thpi.encoder import Coding
from thpi.index import Order
from thpi.web.errors import RequestError, plain, short
from thpi.web.settings import Settings

BYTES = "application/octet-stream"
JSON = ("application/json", "")
_SEARCHING = ("vector", "vectors", "id", "codes"), ("model", "side", "order", "k", "details")
_ADDING = ("vectors", "codes"), ("ids", "model", "side")
_SMALL = 2**16  # bytes of a body that is always let in
_AT_A_TIME = 4  # bodies of the largest size that fit into memory at a time, and as many bytes of smaller ones


class Coders(NamedTuple):
    """The hash functions of a model, by its fingerprint; ``source`` is None unless it is two-sided."""

    model: str
    target: Coding
    source: Coding | None

    def of(self, side: str, rows: Array | None = None) -> Coding:
        """Return the hash function of a side; 422 if the model has none, or one for other rows."""
        coder = self.source if side == "source" else self.target
        if coder is None:
            raise RequestError(422, "side='source' must be 'target': the model of this server codes target rows only.")
        if rows is not None and rows.shape[1] != coder.n_features_in_:
            raise RequestError(422, f"a vector must have {coder.n_features_in_} numbers; got {rows.shape[1]}.")
        return coder


class Asked(NamedTuple):
    """Rows of one side, packed codes of a ``model``, or the ``id`` of an item: to search by, or to add as ``ids``."""

    rows: Array | None = None
    codes: Codes | None = None
    id: int | str | None = None
    ids: list[int | str] | None = None
    model: str | None = None
    side: str = "target"
    order: Order | None = None
    k: int = 10
    details: bool = False
    raw: bool = False  # an answer in bytes

    @property
    def n_queries(self) -> int:
        """How many results the answer has."""
        several = self.rows if self.codes is None else self.codes
        return 1 if several is None else len(several)

    @property
    def weight(self) -> int:
        """How much the answer holds."""
        return self.n_queries * self.k * (10 if self.details else 1)


class Bodies:
    """All bodies that are being received or answered. Beyond a limit a large one is refused with status 503."""

    def __init__(self, settings: Settings) -> None:
        self._limit, self._time_limit, self._held = settings.max_body, settings.time_limit, 0

    @asynccontextmanager
    async def receive(self, receive: Receive) -> AsyncIterator[bytes]:
        """Read the body of a request, whose memory counts until the context ends."""
        parts, size, held, more = list[bytes](), 0, 0, True
        try:
            with anyio.move_on_after(self._time_limit):
                # Beyond the limit it is read for a while and not kept: a client that is cut off while it sends sees a
                # broken connection instead of the message.
                while more and size <= 8 * self._limit:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise RequestError(400, "the connection was closed before the whole body was sent.")
                    part, more = message.get("body", b""), message.get("more_body", False)
                    size += len(part)
                    if size > self._limit:
                        continue
                    if size > _SMALL and self._held + len(part) > _AT_A_TIME * self._limit:
                        raise RequestError(503, "the server holds too many bytes of other requests; try again.")
                    self._held, held = self._held + len(part), size
                    parts.append(part)
            if size > self._limit:
                raise RequestError(413, f"the body has {size} bytes or more; at most {self._limit} are allowed.")
            if more:
                raise RequestError(408, f"the body did not arrive within {self._time_limit:g} seconds.")
            yield b"".join(parts)
        finally:
            self._held -= held


def parse(
    body: bytes, content_type: str, choices: Mapping[str, str], settings: Settings, coders: Coders, *, adding: bool
) -> Asked:
    """Parse the body of a search or of items to add, and check it against the limits.

    ``choices`` are those of the address; ``coders`` say how many bytes a vector and a code have.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in (*JSON, BYTES):
        raise RequestError(415, f"content-type={short(kind)} must be application/json or {BYTES}.")
    if kind in JSON and choices:
        raise RequestError(422, f"{short(next(iter(choices)))}: with JSON every choice belongs in the body.")
    asked = _parse_json(body) if kind in JSON else _parse_bytes(body, dict(choices), coders)
    query = _one_given(asked, _ADDING if adding else _SEARCHING)
    rows = codes = ids = None
    if query == "codes":
        codes = _codes(asked[query])
    elif query != "id":
        rows = _vectors(query, asked[query])
    if _typed(asked, "ids", list, "a list of whole numbers or of texts") is not None:
        ids = [_item_id("ids", item) for item in asked["ids"]]
    order, side = asked.get("order"), asked.get("side", "target")
    if order is not None:
        _one_of("order", order, ("hamming",) if rows is None else get_args(Order))
    _one_of("side", side, ("target",) if rows is None else ("target", "source"))
    item = _item_id("id", asked["id"]) if query == "id" else None
    model, k = _typed(asked, "model", str, "a text"), asked.get("k", 1 if adding else 10)
    details = bool(_typed(asked, "details", bool, "true or false"))
    found = Asked(rows, codes, item, ids, model, side, order, k, details)
    n, most = found.n_queries, settings.max_neighbours // (10 if details else 1)
    if type(k) is not int or not 1 <= k <= settings.max_k:
        raise RequestError(422, f"k={short(k)} must be a whole number from 1 to {settings.max_k}.")
    if n * k > most:
        allowed = f"{most} in a request with{'' if details else 'out'} details"
        raise RequestError(422, f"{query} times k, {n} x {k}, must be at most {allowed}.")
    return found


def _parse_json(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"the body is not valid JSON: {plain(error)}.") from None
    if not isinstance(asked, dict):
        raise RequestError(422, 'the body must be a JSON object, for a search such as {"vector": [0.5, 1.0], "k": 10}.')
    return asked


def _parse_bytes(body: bytes, choices: dict[str, Any], coders: Coders) -> dict[str, Any]:
    """Read little-endian float32 vectors or packed codes, and the choices of the address, which are texts."""
    content = _one_of("content", choices.pop("content", "vectors"), ("vectors", "codes"))
    if content == "vectors":
        width = coders.of(choices.get("side", "target")).n_features_in_
        dtype, what = "<f4", f"vectors of {width} float32 numbers"
    else:
        width = n_bytes(coders.target.n_bits)
        dtype, what = "u1", f"codes of {coders.target.n_bits} bits"
    size = np.dtype(dtype).itemsize * width
    if not body or len(body) % size:
        raise RequestError(422, f"the body has {len(body)} bytes; it must hold {what}, {size} bytes each.")
    if str(choices.get("k")).isdecimal():
        choices["k"] = int(choices["k"][:20])
    if "details" in choices:
        choices["details"] = {"true": True, "false": False}.get(choices["details"], choices["details"])
    return {**choices, content: np.frombuffer(body, dtype=dtype).reshape(-1, width)}


def _one_given(asked: Mapping[str, Any], fields: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
    """Return which query a request has, of which it must have one; other fields it may have."""
    queries, others = fields
    for name in asked:
        if name not in queries + others:
            raise RequestError(422, f"{short(name)} is not known; a request has {', '.join(queries + others)}.")
    given = [name for name in queries if asked.get(name) is not None]
    if len(given) != 1:
        raise RequestError(422, f"a request needs one of {', '.join(queries)}; got {', '.join(given) or 'none'}.")
    return given[0]


def _vectors(name: str, value: Any) -> Array:
    """Return rows of finite numbers."""
    try:
        rows = np.asarray([value] if name == "vector" else value)
    except (ValueError, RecursionError, OverflowError):
        rows = np.empty(0, dtype=object)
    if rows.ndim != 2 or rows.dtype.kind not in "fiu" or 0 in rows.shape:
        form = "a list of numbers" if name == "vector" else "a list of lists of numbers, all of the same length"
        raise RequestError(422, f"{name}={short(value)} must be {form}, none of them missing.")
    rows = rows.astype(np.float64)
    if not np.isfinite(rows).all():
        row, column = (int(place[0]) for place in np.nonzero(~np.isfinite(rows)))
        raise RequestError(422, f"{name}: number {column} of row {row} is {rows[row, column]}; it must be finite.")
    return rows


def _codes(value: Any) -> Codes:
    """Return packed codes: bytes that were read already, or texts of hexadecimal digits."""
    if not isinstance(value, np.ndarray):
        try:
            rows = [bytes.fromhex(text) for text in value]
        except (TypeError, ValueError):
            rows = []
        if len({len(row) for row in rows}) != 1 or not rows[0]:
            form = "a list of texts of hexadecimal digits, all of the same length"
            raise RequestError(422, f"codes={short(value)} must be {form}.")
        value = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1)
    return value  # type: ignore[no-any-return]


def _item_id(name: str, value: Any) -> int | str:
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        return value
    raise RequestError(422, f"{name}={short(value)} must be a whole number or a text.")


def _typed(asked: Mapping[str, Any], name: str, kind: type, what: str) -> Any:
    value = asked.get(name)
    if value is not None and not isinstance(value, kind):
        raise RequestError(422, f"{name}={short(value)} must be {what}.")
    return value


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise RequestError(422, f"{name}={short(value)} must be {' or '.join(map(repr, allowed))}.")
    return value
