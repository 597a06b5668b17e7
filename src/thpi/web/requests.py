"""Requests of the server: bodies are parsed and checked against limits; and its answers as OpenAPI shows them.

The body of a search is JSON, or a file of vectors (``.npy`` or ``.csv``) with the other choices in the address.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NoReturn

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, WithJsonSchema
from pydantic.functional_validators import PlainValidator, field_validator, model_validator

from thpi._types import Array
from thpi.index import Order
from thpi.web.errors import RequestError, short
from thpi.web.settings import Settings

_NPY_TYPES = ("application/x-npy", "application/octet-stream")
_AT_LEAST_1: dict[str, Any] = {"minimum": 1}
_NUMBERS = {"type": "array", "items": {"type": "number"}}
VECTORS = {"type": "array", "items": _NUMBERS}
_ID = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
_QUERIES = ("vector", "vectors", "id")
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


def _item_id(value: object) -> int | str:
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        return value
    raise ValueError(f"id={short(value)} must be a whole number or a string")


def _settings(info: ValidationInfo) -> Settings:
    return info.context if isinstance(info.context, Settings) else Settings()


class SearchRequest(BaseModel):
    """A search by one vector, by several vectors, or by the id of an item."""

    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True, json_schema_extra=_SCHEMA)

    vector: Annotated[Array | None, PlainValidator(_one_vector), WithJsonSchema(_NUMBERS)] = None
    vectors: Annotated[Array | None, PlainValidator(several_vectors), WithJsonSchema(VECTORS)] = None
    id: Annotated[int | str | None, PlainValidator(_item_id), WithJsonSchema(_ID)] = None
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
            raise ValueError(f"a search needs one of vector, vectors and id; got {', '.join(given) or 'none'}")
        return self

    @model_validator(mode="after")
    def _not_too_much(self, info: ValidationInfo) -> SearchRequest:
        n = len(self.vectors) if self.vectors is not None else 1
        allowed = _settings(info).max_neighbours // (10 if self.details else 1)
        if n * self.k > allowed:
            asked = f"vectors times k, {n} x {self.k}, must be at most {allowed}"
            raise ValueError(f"{asked} in a request {'with' if self.details else 'without'} details")
        return self

    @property
    def queries(self) -> Array | None:
        """The vectors to search by, one per row; None for a search by id."""
        return self.vectors if self.vector is None else self.vector


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
    features: tuple[str, ...] | None = None,
) -> SearchRequest:
    """Parse a body, and check it against the limits; ``features`` are the columns of a CSV body with a header line."""
    kind = content_type.split(";")[0].strip().lower()
    if kind in ("application/json", ""):
        if choices:
            raise RequestError(422, f"{short(next(iter(choices)))}: with JSON every choice belongs in the body.")
        return _check(parse_json(body), settings, strict=True)
    if kind != "text/csv" and kind not in _NPY_TYPES:
        allowed = ", ".join(("application/json", "text/csv", *_NPY_TYPES))
        raise RequestError(415, f"content-type {short(kind)} is not known; send one of {allowed}.")
    vectors = _parse_csv(body, features) if kind == "text/csv" else _parse_npy(body)
    return _check({**choices, "vectors": vectors}, settings, strict=False)  # the address has numbers as text


def parse_json(body: bytes) -> dict[str, object]:
    """Return the JSON object of a body."""

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
        raise RequestError(422, 'the body must be a JSON object, for a search such as {"vector": [0.5, 1.0], "k": 10}.')
    return asked


def _parse_csv(body: bytes, features: tuple[str, ...] | None) -> Array:
    """Read numbers, one vector per line. If the first line has names, ``features`` are found by name."""
    try:
        text = body.decode("utf-8-sig")
        if not text.strip():
            raise RequestError(422, "the CSV body is empty; it must have one vector per line.")
        first, _, rest = text.lstrip().partition("\n")
        columns = None
        if names := _names(first, features):
            if not rest.strip():
                raise RequestError(422, "the CSV body has a header line and no vectors.")
            if missing := [name for name in features or () if name not in names]:
                raise RequestError(422, f"the CSV body has no column {short(missing[0])}; the model needs it.")
            text, columns = rest, None if features is None else [names.index(name) for name in features]
        return np.loadtxt(io.StringIO(text), delimiter=",", ndmin=2, comments=None, quotechar='"', usecols=columns)
    except UnicodeDecodeError:
        raise RequestError(422, "the CSV body is not UTF-8 text.") from None
    except (ValueError, csv.Error) as error:
        message = str(error).encode("ascii", "backslashreplace").decode("ascii")[:200].rstrip(".")
        raise RequestError(422, f"the CSV body must hold numbers, one vector per line: {message}.") from None


def _names(line: str, features: tuple[str, ...] | None) -> list[str]:
    """Return the cells of a header line, of which none is a number or all features are there; else nothing."""
    cells = [cell.strip() for cell in next(csv.reader([line.rstrip("\r")]), [])]
    known = features is not None and set(features) <= set(cells)
    return cells if known or not any(map(_is_number, cells)) else []


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _parse_npy(body: bytes) -> Array:
    """Read a ``.npy`` file. Its header is checked against its size before anything is allocated."""
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    stream = io.BytesIO(body)
    try:
        shape, fortran, dtype = readers[np.lib.format.read_magic(stream)](stream)
    except Exception:  # numpy reads the header as Python text: a damaged one fails in any of a dozen ways
        raise RequestError(422, "the body is not a .npy file that numpy writes for numbers.") from None
    if dtype.kind not in "fiu" or dtype.itemsize > 8 or len(shape) not in (1, 2):
        raise RequestError(
            422, f"the .npy body has dtype {dtype} and shape {short(shape)}; 1-D or 2-D numbers are allowed."
        )
    rest = body[stream.tell() :]
    if min(shape) < 1:  # before numpy sees it: the other number may be beyond all bounds
        raise RequestError(422, f"the .npy body has shape {short(shape)}; at least one vector of one number is needed.")
    if math.prod(shape) * dtype.itemsize != len(rest):
        raise RequestError(422, f"the .npy body announces shape {short(shape)} but has {len(rest)} bytes of numbers.")
    values: Array = np.frombuffer(rest, dtype=dtype).reshape(shape, order="F" if fortran else "C")
    return np.atleast_2d(values)


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
