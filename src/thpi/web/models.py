"""Requests and answers of the server as pydantic models, of which the OpenAPI description is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from thpi._types import Array
from thpi.web.errors import RequestError, short
from thpi.web.settings import Settings

_AT_LEAST_1: dict[str, Any] = {"minimum": 1}
_NUMBERS = {"type": "array", "items": {"type": "number"}}
_VECTORS = {"type": "array", "items": _NUMBERS}
_ID = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
_QUERIES = ("vector", "vectors", "id")


def _one_vector(value: object) -> Array:
    return _finite("vector", [value], "a list of numbers")


def _several_vectors(value: object, info: ValidationInfo) -> Array:
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
    """A search by one vector, by several vectors, or by the id of an item.

    >>> SearchRequest(vector=[1, 2.5], k=3).queries
    array([[1. , 2.5]])
    """

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        arbitrary_types_allowed=True,
        json_schema_extra={
            "oneOf": [{"required": [name]} for name in _QUERIES],
            "examples": [
                {"vector": [0.5, 1.0, -2.0], "k": 5},
                {"id": 41, "k": 5},
                {"vectors": [[0.5, 1.0, -2.0], [0.0, 0.0, 1.0]], "k": 5},
            ],
        },
    )

    vector: Annotated[Array | None, PlainValidator(_one_vector), WithJsonSchema(_NUMBERS)] = None
    vectors: Annotated[Array | None, PlainValidator(_several_vectors), WithJsonSchema(_VECTORS)] = None
    id: Annotated[int | str | None, PlainValidator(_item_id), WithJsonSchema(_ID)] = None
    k: int = Field(default=10, validate_default=True, description="Neighbours.", json_schema_extra=_AT_LEAST_1)
    method: str | None = Field(default=None, description="Name of a method; the server's first choice if not given.")
    bits: int | None = Field(default=None, description="Length of the codes.")
    details: bool = Field(default=False, description="Also return codes, items and relevance.")
    rerank: int | None = Field(
        default=None,
        description="Sort this many of the nearest by asymmetric distance, then return k of them.",
        json_schema_extra=_AT_LEAST_1,
    )

    @field_validator("k", "rerank")
    @classmethod
    def _within_limits(cls, value: int | None, info: ValidationInfo) -> int | None:
        least, most = info.data.get("k", 1) if info.field_name == "rerank" else 1, _settings(info).max_k
        if value is not None and not least <= value <= most:
            start = f"k={least}" if info.field_name == "rerank" else least
            raise ValueError(f"{info.field_name}={short(value)} must be a whole number from {start} to {most}")
        return value

    @model_validator(mode="after")
    def _one_query(self) -> SearchRequest:
        given = [name for name in _QUERIES if name in self.model_fields_set]
        if len(given) != 1:
            raise ValueError(f"a search needs one of vector, vectors and id; got {', '.join(given) or 'none'}")
        return self

    @property
    def queries(self) -> Array | None:
        """The vectors to search by, one per row; None for a search by id."""
        return self.vectors if self.vector is None else self.vector


def check_search(asked: Mapping[str, object], settings: Settings, *, strict: bool = True) -> SearchRequest:
    """Check a request against the limits of the server; unless ``strict``, numbers may be text.

    >>> check_search({"id": 41, "k": 0}, Settings())
    Traceback (most recent call last):
        ...
    thpi.web.errors.RequestError: k=0 must be a whole number from 1 to 1000.
    """
    try:
        return SearchRequest.model_validate(dict(asked), strict=strict, context=settings)
    except ValidationError as error:
        raise RequestError(422, explain(error.errors(include_url=False))) from None


def explain(errors: Sequence[Mapping[str, object]]) -> str:
    """Return a sentence on the first of the errors that pydantic found: the field, its value and what is allowed."""
    first = errors[0]
    place, context = first["loc"], first.get("ctx")
    name = place[-1] if isinstance(place, tuple) and place else "the request"
    if first["type"] == "extra_forbidden":
        return f"{short(name)} is not known; a search has {', '.join(SearchRequest.model_fields)}."
    if isinstance(context, dict) and isinstance(context.get("error"), ValueError):
        return f"{context['error']}."
    return f"{name}={short(first.get('input'))}: {first['msg']}."


class Neighbour(BaseModel):
    """An item that was found."""

    id: int | str
    distance: float = Field(description="Bits that differ; with `rerank` the asymmetric distance.")


class SearchResult(BaseModel):
    """What was found for one query."""

    neighbours: list[Neighbour]


class SearchAnswer(BaseModel):
    """One entry in `results` for each query."""

    method: str
    bits: int
    seconds: float = Field(description="Time in the index.")
    results: list[SearchResult]


class Failure(BaseModel):
    """Why a request was refused."""

    error: str


_REASONS = {
    400: "The body is not JSON.",
    401: "No token, or a wrong one.",
    404: "No item has this id.",
    408: "The body came too slowly.",
    413: "The body is too large.",
    415: "The content type of the body is not known.",
    422: "A value is not allowed; the message names the value and says what is allowed.",
    503: "The search took too long.",
}


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe error answers for OpenAPI.

    >>> failures(413)[413]["description"]
    'The body is too large.'
    """
    return {status: {"model": Failure, "description": _REASONS[status]} for status in statuses}
