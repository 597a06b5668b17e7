"""Requests of the server: bodies are parsed and checked against limits; and its answers as OpenAPI shows them.

The body of a search is JSON, or vectors or codes in another form (:mod:`thpi.web.vector_files`), with the other choices
in the address.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, WithJsonSchema
from pydantic.functional_validators import PlainValidator, field_validator, model_validator
from pydantic_core import from_json

from thpi._types import Array
from thpi.index import Order
from thpi.web.errors import RequestError, short
from thpi.web.settings import Settings
from thpi.web.vector_files import NPY_MAGIC, parse_codes, parse_csv, parse_floats, parse_hex, parse_npy

if TYPE_CHECKING:
    from thpi.web.catalogue import Catalogue

BYTES = "application/octet-stream"
_CONTENTS = ("vectors", "codes")  # of bytes
_AT_LEAST_1: dict[str, Any] = {"minimum": 1}
_NUMBERS = {"type": "array", "items": {"type": "number"}}
VECTORS = {"type": "array", "items": _NUMBERS}
_ID = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
_HEX = {"type": "array", "items": {"type": "string", "pattern": "^([0-9a-fA-F]{2})+$"}}
_QUERIES = ("vector", "vectors", "id", "codes")
_EXAMPLES = ({"vector": [0.5, 1.0, -2.0]}, {"id": 41}, {"vectors": [[0.5, 1.0, -2.0], [0.0, 0.0, 1.0]]})
_SCHEMA: dict[str, Any] = {
    "oneOf": [{"required": [name]} for name in _QUERIES],
    "examples": [{**query, "k": 5} for query in _EXAMPLES],
}


def _one_vector(value: object) -> Array:
    return _finite("vector", [value], "a list of numbers")


def several_vectors(value: object, info: ValidationInfo) -> Array:
    """Return a batch of vectors as an array, if it is within the limits."""
    vectors = _finite("vectors", value, "a list of lists of numbers, all of the same length")
    most = _settings(info).max_batch
    if len(vectors) > most:
        raise ValueError(f"vectors has {len(vectors)} vectors; at most {most} are allowed in a request")
    return vectors


def _finite(name: str, value: object, form: str) -> Array:
    try:
        array = np.asarray(value)
    except (ValueError, RecursionError):
        array = np.empty(0, dtype=object)
    if array.ndim != 2 or array.dtype.kind not in "fiu" or 0 in array.shape:
        raise ValueError(f"{name} must be {form}, none of them missing")
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        row, column = (int(place[0]) for place in np.nonzero(~np.isfinite(numbers)))
        raise ValueError(f"{name}: number {column} of vector {row} is {numbers[row, column]}; it must be finite")
    return numbers


def _several_codes(value: object, info: ValidationInfo) -> Array:
    codes = value if isinstance(value, np.ndarray) else parse_hex(value)
    most = _settings(info).max_batch
    if not 1 <= len(codes) <= most:
        raise ValueError(f"codes has {len(codes)} codes; 1 to {most} are allowed in a request")
    return codes


def _item_id(value: object) -> int | str:
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        return value
    raise ValueError(f"id={short(value)} must be a whole number or a string")


def _settings(info: ValidationInfo) -> Settings:
    return info.context if isinstance(info.context, Settings) else Settings()


class SearchRequest(BaseModel):
    """A search by one vector, by several vectors, by the id of an item, or by codes."""

    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True, json_schema_extra=_SCHEMA)

    vector: Annotated[Array | None, PlainValidator(_one_vector), WithJsonSchema(_NUMBERS)] = None
    vectors: Annotated[Array | None, PlainValidator(several_vectors), WithJsonSchema(VECTORS)] = None
    id: Annotated[int | str | None, PlainValidator(_item_id), WithJsonSchema(_ID)] = None
    codes: Annotated[Array | None, PlainValidator(_several_codes), WithJsonSchema(_HEX)] = None
    model: str | None = Field(
        default=None, description="Fingerprint of the model that made the codes; needed for them."
    )
    k: int = Field(default=10, validate_default=True, description="Neighbours.", json_schema_extra=_AT_LEAST_1)
    method: str | None = Field(default=None, description="Name of a method; the server's first choice if not given.")
    bits: int | None = Field(default=None, description="Length of the codes.")
    include_self: bool = Field(default=False, description="With `id`: the item itself is among its neighbours.")
    details: bool = Field(default=False, description="Also return codes, items and relevance.")
    order: Order | None = Field(
        default=None,
        description="Distance to order by; asymmetric by default, hamming for an item of which only the code is known.",
    )

    @field_validator("k")
    @classmethod
    def _within_limits(cls, value: int, info: ValidationInfo) -> int:
        most = _settings(info).max_k
        if not 1 <= value <= most:
            raise ValueError(f"k={short(value)} must be a whole number from 1 to {most}")
        return value

    @model_validator(mode="after")
    def _one_query(self) -> SearchRequest:
        given = [name for name in _QUERIES if name in self.model_fields_set]
        if len(given) != 1:
            raise ValueError(f"a search needs one of vector, vectors, id and codes; got {', '.join(given) or 'none'}")
        return self

    @model_validator(mode="after")
    def _not_too_much(self, info: ValidationInfo) -> SearchRequest:
        n = self.n_queries
        allowed = _settings(info).max_neighbours // (10 if self.details else 1)
        if n * self.k > allowed:
            asked = f"vectors times k, {n} x {self.k}, must be at most {allowed}"
            raise ValueError(f"{asked} in a request {'with' if self.details else 'without'} details")
        return self

    @property
    def queries(self) -> Array | None:
        """The vectors to search by, one per row; None for a search by id or by codes."""
        return self.vectors if self.vector is None else self.vector

    @property
    def n_queries(self) -> int:
        """How many results the answer has."""
        several = self.vectors if self.codes is None else self.codes
        return 1 if several is None else len(several)


def _check(asked: dict[str, object], settings: Settings, *, strict: bool) -> SearchRequest:
    try:
        return SearchRequest.model_validate(asked, strict=strict, context=settings)
    except ValidationError as error:
        raise RequestError(422, explain(error.errors(include_url=False))) from None


def explain(errors: Sequence[Mapping[str, object]], asked: type[BaseModel] = SearchRequest) -> str:
    """Return a sentence on the first of the errors that pydantic found: the field, its value and what is allowed."""
    first = errors[0]
    place, context = first["loc"], first.get("ctx")
    name = place[-1] if isinstance(place, tuple) and place else "the request"
    if first["type"] == "extra_forbidden":
        return f"{short(name)} is not known; a request has {', '.join(asked.model_fields)}."
    if isinstance(context, dict) and isinstance(context.get("error"), ValueError):
        return f"{context['error']}."
    return f"{name}={short(first.get('input'))}: {first['msg']}."


def parse_search(
    body: bytes,
    content_type: str,
    choices: dict[str, str],
    settings: Settings,
    catalogue: Catalogue | None = None,
) -> SearchRequest:
    """Parse a body, and check it against the limits; raw bytes and the columns of a CSV body need the catalogue."""
    kind = content_type.split(";")[0].strip().lower()
    if kind in ("application/json", ""):
        if choices:
            raise RequestError(422, f"{short(next(iter(choices)))}: with JSON every choice belongs in the body.")
        return _check(parse_json(body), settings, strict=True)
    name, rows = "vectors", None
    if kind == "text/csv":
        rows = parse_csv(body, None if catalogue is None else catalogue.features)
    elif kind == "application/x-npy" or (kind == BYTES and body.startswith(NPY_MAGIC)):
        rows = parse_npy(body)
    elif kind == BYTES and catalogue is not None:
        name, rows = _parse_bytes(body, choices, catalogue)
        choices = {key: value for key, value in choices.items() if key != "content"}
    if rows is None:
        allowed = ", ".join(("application/json", "text/csv", "application/x-npy", BYTES))
        raise RequestError(415, f"content-type {short(kind)} is not known; send one of {allowed}.")
    return _check({**choices, name: rows}, settings, strict=False)  # the address has numbers as text


def _parse_bytes(body: bytes, choices: dict[str, str], catalogue: Catalogue) -> tuple[str, Array]:
    """Read raw bytes: vectors, or codes of the engine that the choices name."""
    content, bits = choices.get("content", "vectors"), choices.get("bits")
    if content not in _CONTENTS:
        raise RequestError(422, f"content={short(content)} must be {' or '.join(_CONTENTS)}.")
    if content == "vectors":
        return content, parse_floats(body, catalogue.n_features)
    if bits is not None and not bits.isdecimal():
        raise RequestError(422, f"bits={short(bits)} must be a whole number.")
    return content, parse_codes(
        body, catalogue.engine(choices.get("method"), None if bits is None else int(bits)).n_bits
    )


def parse_json(body: bytes) -> dict[str, object]:
    """Return the JSON object of a body."""

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is no JSON number")

    try:
        try:
            asked = from_json(body, allow_inf_nan=False)
        except ValueError:  # it is slower to say what is wrong, and takes a few more forms
            asked = json.loads(body, parse_constant=refuse)
    except RecursionError:
        raise RequestError(400, "the body is not valid JSON: too deeply nested.") from None
    except ValueError as error:
        reason = f"not UTF-8 text ({error.reason})" if isinstance(error, UnicodeDecodeError) else str(error)
        raise RequestError(400, f"the body is not valid JSON: {reason}.") from None
    if not isinstance(asked, dict):
        raise RequestError(422, 'the body must be a JSON object, for a search such as {"vector": [0.5, 1.0], "k": 10}.')
    return asked


class Neighbour(BaseModel):
    """An item that was found."""

    id: int | str
    distance: float = Field(description="In hamming order the number of bits that differ.")


class SearchResult(BaseModel):
    """What was found for one query."""

    neighbours: list[Neighbour]


class SearchAnswer(BaseModel):
    """One entry in `results` for each query."""

    method: str
    bits: int
    order: Order = Field(description="Distance that the neighbours are ordered by.")
    seconds: float = Field(description="Time in the index.")
    results: list[SearchResult]


class Failure(BaseModel):
    """Why a request was refused."""

    error: str


_REASONS = {
    400: "The body is not JSON.",
    401: "No token, or a wrong one.",
    403: "The server is read-only.",
    404: "No item has this id.",
    406: "The ids are texts and cannot be sent as bytes.",
    408: "The body came too slowly.",
    409: "An id is in the index already, or the codes are of another model.",
    413: "The body is too large.",
    415: "The content type of the body is not known.",
    422: "A value is not allowed; the message names the value and says what is allowed.",
    503: "The search took too long, the server has too much to do, or another process is writing the index.",
}


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe error answers for OpenAPI."""
    return {status: {"model": Failure, "description": _REASONS[status]} for status in statuses}
