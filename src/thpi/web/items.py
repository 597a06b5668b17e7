"""Adding items to the index that is served, and removing them. Both are on disk before they are answered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic.functional_validators import PlainValidator, model_validator

from thpi._types import Array, Codes
from thpi.codes import check_codes, n_bytes, pack_signs
from thpi.identity import ModelMismatchError, check_same_model
from thpi.index import IndexFileError, IndexLockedError
from thpi.index._ids import IdExistsError
from thpi.web.catalogue import Catalogue, Engine
from thpi.web.errors import RequestError, short
from thpi.web.requests import VECTORS, explain, parse_json, several_vectors
from thpi.web.searching import projections_of
from thpi.web.settings import Settings
from thpi.web.vector_files import parse_hex

_EXAMPLES: list[Any] = [
    {"ids": ["A-17"], "vectors": [[0.5, 1.0, -2.0]]},
    {"ids": [41, 42], "codes": ["0f3a", "88c1"], "model": "c4e8709f0e821f23"},
]
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")


class AddRequest(BaseModel):
    """Items to add, all of them or none: vectors, which the server encodes, or codes."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        arbitrary_types_allowed=True,
        json_schema_extra={"oneOf": [{"required": ["vectors"]}, {"required": ["codes"]}], "examples": _EXAMPLES},
    )

    ids: list[int | str] | None = Field(
        default=None, description="One per item, of the kind in the index; else numbered on from the largest."
    )
    vectors: Annotated[Array | None, PlainValidator(several_vectors), WithJsonSchema(VECTORS)] = None
    side: Literal["target", "source"] = Field(
        default="target", description="Of which side the vectors are; a two-sided model codes items by source rows."
    )
    codes: list[str] | None = Field(default=None, description="The bytes of each code as hexadecimal digits.")
    model: str | None = Field(
        default=None, description="Fingerprint of the model that made the codes; needed for them."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> AddRequest:
        if (self.vectors is None) == (self.codes is None):
            raise ValueError("items are added by vectors or by codes: one of them, not both")
        if self.codes is not None and self.side != "target":
            raise ValueError("side is for vectors; codes are those of one side already")
        return self


class ItemsChanged(BaseModel):
    """What was added or removed. It is on disk."""

    ids: list[int | str]
    items: int = Field(description="Items in the index now.")
    version: str = Field(description="State of the index, as `/healthz` shows it.")


def check_writable(catalogue: Catalogue) -> None:
    """Raise an error unless changes can be written to a file; for the start of a server."""
    index = catalogue.engines[0].index
    if len(catalogue.engines) != 1 or index.version is None:
        raise ValueError("writable=True needs one engine, with an index opened with mode='shared'.")
    index.add(np.empty((0, n_bytes(index.n_bits)), dtype=np.uint8), ids=[])  # takes the lock, and adds nothing


def parse_add(body: bytes, content_type: str, settings: Settings) -> AddRequest:
    """Parse a body, and check it against the limits."""
    kind = content_type.split(";")[0].strip().lower()
    if kind not in ("application/json", ""):
        raise RequestError(415, f"content-type {short(kind)} is not known; send application/json.")
    try:
        asked = AddRequest.model_validate(parse_json(body), context=settings)
    except ValidationError as error:
        raise RequestError(422, explain(error.errors(include_url=False), AddRequest)) from None
    if asked.codes is not None and not 1 <= len(asked.codes) <= settings.max_batch:
        raise RequestError(422, f"codes has {len(asked.codes)} codes; 1 to {settings.max_batch} are allowed.")
    return asked


def add_items(catalogue: Catalogue, request: AddRequest) -> ItemsChanged:
    """Add items to the index; 409 if an id is there already, or if the codes are of another model."""
    engine = catalogue.engines[0]
    index = engine.index
    if request.vectors is not None:
        codes = pack_signs(_projections(catalogue, engine, request.vectors, request.side))
        own = None if request.model is None else engine.hasher.fingerprint_
    else:
        codes, own = _codes(engine, request.codes or []), index.model
    try:
        check_same_model(("the index", own), ("the request", request.model), any_model=engine.any_model)
    except ModelMismatchError as error:
        raise RequestError(409, _ascii(error)) from None
    with _named_errors():
        added = index.add(codes, request.ids)
    return ItemsChanged(ids=added.tolist(), items=len(index), version=str(index.version))


def _projections(catalogue: Catalogue, engine: Engine, vectors: Array, side: str) -> Array:
    if side == "target":
        return projections_of(engine.hasher, catalogue.prepared(vectors))
    if not engine.hasher.is_two_sided:
        raise RequestError(422, "side source: the model of this server codes target rows only.")
    coder = engine.hasher.source_side
    if vectors.shape[1] != coder.n_features_in_:
        raise RequestError(422, f"a source vector must have {coder.n_features_in_} numbers; got {vectors.shape[1]}.")
    return projections_of(coder, vectors)


def remove_item(catalogue: Catalogue, item: str) -> ItemsChanged:
    """Remove an item from the index; 404 if there is none of this id."""
    index = catalogue.engines[0].index
    known: int | str = item
    if index.id_kind != "string":
        if not _WHOLE.fullmatch(item) or not -(2**63) <= int(item) < 2**63:
            raise RequestError(404, f"id={short(item)} is not in the index.")
        known = int(item)
    try:
        with _named_errors():
            index.remove([known])
    except KeyError:
        raise RequestError(404, f"id={short(known)} is not in the index.") from None
    return ItemsChanged(ids=[known], items=len(index), version=str(index.version))


def _codes(engine: Engine, texts: list[str]) -> Codes:
    try:
        return check_codes(parse_hex(texts), n_bits=engine.n_bits)
    except ValueError as error:
        raise RequestError(422, f"{_ascii(error).rstrip('.')}; a code has {n_bytes(engine.n_bits)} bytes.") from None


@contextmanager
def _named_errors() -> Iterator[None]:
    try:
        yield
    except IdExistsError as error:
        raise RequestError(409, _ascii(error)) from None
    except IndexLockedError:
        raise RequestError(503, "another process is writing the index; nothing was changed, try again.") from None
    except (IndexFileError, ModelMismatchError) as error:
        raise RequestError(503, f"the index file cannot be written: {_ascii(error)}") from None
    except ValueError as error:
        raise RequestError(422, _ascii(error)) from None


def _ascii(error: Exception) -> str:
    return str(error).encode("ascii", "backslashreplace").decode("ascii")[:300]
