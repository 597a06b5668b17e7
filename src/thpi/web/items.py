"""The collection that is served: its items as the page shows them, and changes, which are on disk when answered."""

from __future__ import annotations

import logging
import re
import threading
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from thpi._types import Array
from thpi.codes import check_codes, n_bytes, pack_signs
from thpi.collection import Collection
from thpi.encoder import Coding
from thpi.identity import ModelMismatchError, check_same_model
from thpi.web.errors import RequestError, file_errors, plain, short
from thpi.web.requests import Asked

_EXCERPT = 240
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
_PICTURES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))
_log = logging.getLogger("thpi.web")


class Coders(NamedTuple):
    """The hash functions of a model, by its fingerprint; ``source`` is None unless it is two-sided."""

    model: str
    target: Coding
    source: Coding | None

    def of(self, side: str) -> Coding:
        """Return the hash function of a side; 422 if the model has none for it."""
        if side == "source" and self.source is None:
            raise RequestError(422, "side='source' must be 'target': the model of this server codes target rows only.")
        return self.source if side == "source" and self.source is not None else self.target


class Served:
    """A collection whose file others may change. ``problem`` says why it cannot be followed."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.problem: str | None = None
        self._loading = threading.Lock()
        self._coders = Coders("", collection.hasher, None)

    def coders(self) -> Coders:
        """Return the hash functions of the model that made the codes."""
        coders = self._coders
        if coders.model == self.collection.model:
            return coders
        with self._loading, file_errors():
            for _ in range(2):  # the second time, a replacement that runs is waited for
                hasher, model = self.collection.hasher, self.collection.model
                if hasher.fingerprint_ == model:
                    self._coders = Coders(model, hasher, hasher.source_side if hasher.is_two_sided else None)
                    return self._coders
        raise RequestError(503, "the model is being replaced; try again.")

    def refresh(self) -> None:
        """Take over what others have changed. If that fails, what was read before is served on."""
        try:
            with file_errors():
                self.collection.refresh()
                self.coders()
        except Exception as error:
            if self.problem is None:
                _log.warning("the file of the collection cannot be followed: %s", error)
            self.problem = plain(error)
        else:
            self.problem = None

    def about(self) -> dict[str, Any]:
        """Describe what is served."""
        coders, collection = self.coders(), self.collection
        return {
            "title": collection.about["title"],
            "items": len(collection),
            "version": collection.version,
            "method": coders.target.method_name,
            "bits": coders.target.n_bits,
            "features": coders.target.n_features_in_,
            "source_features": None if coders.source is None else coders.source.n_features_in_,
            "model": coders.model,
        }


def projections_of(coder: Coding, rows: Array) -> Array:
    """Return the projections of rows; 422 if there are none that are finite."""
    if rows.shape[1] != coder.n_features_in_:
        raise RequestError(422, f"a vector must have {coder.n_features_in_} numbers; got {rows.shape[1]}.")
    with np.errstate(over="ignore", invalid="ignore"):
        projections = coder.decision_function(rows)
        finite = np.isfinite(np.abs(projections).sum(axis=1)).all()
    if not finite:
        raise RequestError(422, "the vector has numbers so large that its projections are not finite.")
    return projections


def show(collection: Collection, item: int | str) -> dict[str, Any]:
    """Return what the page shows of an item; ``KeyError`` if it has gone."""
    with file_errors():
        text, thumbnail = collection.details(item)
    shown = text[:_EXCERPT] + "…" if text and len(text) > _EXCERPT else text
    return {"id": item, "text": shown, "picture": thumbnail is not None}


def page_of_items(collection: Collection, offset: int, limit: int) -> dict[str, Any]:
    """Return some of the items, in the order in which they were added."""
    ids, items = collection.ids, []
    for item in ids[offset : offset + limit].tolist():
        with suppress(KeyError):  # removed meanwhile
            items.append(show(collection, item))
    return {"total": len(ids), "items": items}


def picture_of(collection: Collection, item: str) -> tuple[bytes, str]:
    """Return the picture of an item and its media type; 404 unless it is one that a browser shows safely.

    The signature decides: SVG, for example, can hold scripts.
    """
    with suppress(KeyError), file_errors():
        thumbnail = collection.details(known_id(collection, item)).thumbnail or b""
        for signature, kind in _PICTURES:
            if thumbnail.startswith(signature):
                return thumbnail, kind
        if thumbnail[:4] == b"RIFF" and thumbnail[8:12] == b"WEBP":
            return thumbnail, "image/webp"
    raise RequestError(404, f"there is no item {short(item)} with a picture.")


def known_id(collection: Collection, item: str) -> int | str:
    """Return the id that an address means: a text, or a number if the ids of the collection are numbers."""
    if collection.ids.dtype == object:
        return item
    if not _WHOLE.fullmatch(item) or not -(2**63) <= int(item) < 2**63:
        raise RequestError(404, f"id={short(item)} is not in the collection.")
    return int(item)


def check_writable(collection: Collection) -> None:
    """Raise an error unless changes can be written; for the start of a server."""
    collection.add_codes(np.empty((0, n_bytes(collection.n_bits)), dtype=np.uint8), [])  # takes the lock, adds nothing


def add_items(served: Served, request: Asked) -> dict[str, Any]:
    """Add items; 409 if an id is there already, or if the codes are of another model."""
    coders, collection = served.coders(), served.collection
    own = coders.model if request.codes is not None or request.model is not None else None
    try:
        check_same_model(("the collection", own), ("the request", request.model))
        if request.codes is not None:
            codes = check_codes(request.codes, n_bits=coders.target.n_bits)
        else:
            assert request.rows is not None
            codes = pack_signs(projections_of(coders.of(request.side), request.rows))
        with file_errors():
            added = collection.add_codes(codes, request.ids, model=coders.model)
    except ModelMismatchError as error:
        raise RequestError(409, plain(error)) from None
    except ValueError as error:
        raise RequestError(409 if "is in the collection already" in str(error) else 422, plain(error)) from None
    return {"ids": added.tolist(), "items": len(collection), "version": collection.version}


def remove_item(served: Served, item: str) -> dict[str, Any]:
    """Remove an item; 404 if there is none of this id."""
    collection = served.collection
    known = known_id(collection, item)
    try:
        with file_errors():
            collection.remove([known])
    except (KeyError, ValueError):
        raise RequestError(404, f"id={short(known)} is not in the collection.") from None
    return {"ids": [known], "items": len(collection), "version": collection.version}
