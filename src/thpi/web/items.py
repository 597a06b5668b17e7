"""Items as the page shows them, and changes of them, which are on disk when answered."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from thpi.codes import check_codes, pack_signs
from thpi.collection import Collection, CollectionFileError
from thpi.identity import ModelMismatchError, check_same_model
from thpi.web.errors import RequestError, plain, short
from thpi.web.requests import Asked
from thpi.web.searching import Served, projections_of, show

_PICTURE = re.compile(
    rb"(?P<png>\x89PNG\r\n\x1a\n)|(?P<jpeg>\xff\xd8\xff)|(?P<gif>GIF8)|(?P<webp>RIFF....WEBP)", re.DOTALL
)


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
    with suppress(KeyError, OverflowError):
        thumbnail = collection.details(_known_id(collection, item)).thumbnail or b""
        if found := _PICTURE.match(thumbnail):
            return thumbnail, f"image/{found.lastgroup}"
    raise RequestError(404, f"there is no item {short(item)} with a picture.")


def _known_id(collection: Collection, item: str) -> int | str:
    """Return the id that an address means: a number if ids are numbers and it is written as one."""
    with suppress(ValueError):
        if collection.ids.dtype != object and str(int(item)) == item:
            return int(item)
    return item


def add_items(served: Served, request: Asked) -> dict[str, Any]:
    """Add items; 409 if an id is there already, or if the codes are of another model."""
    coders, collection = served.coders(), served.collection
    own = coders.model if request.codes is not None or request.model is not None else None
    check_same_model(("the collection", own), ("the request", request.model))
    try:
        if request.codes is not None:
            codes = check_codes(request.codes, n_bits=coders.target.n_bits)
        else:
            assert request.rows is not None
            codes = pack_signs(projections_of(coders.of(request.side, request.rows), request.rows))
        added = collection.add_codes(codes, request.ids, model=coders.model)
    except (CollectionFileError, ModelMismatchError):
        raise
    except ValueError as error:
        raise RequestError(409 if "is in the collection already" in str(error) else 422, plain(error)) from None
    return {"ids": added.tolist(), "items": len(collection), "version": collection.version}


def remove_item(served: Served, item: str) -> dict[str, Any]:
    """Remove an item; 404 if there is none of this id."""
    collection = served.collection
    known = _known_id(collection, item)
    try:
        collection.remove([known])
    except CollectionFileError:
        raise
    except (KeyError, ValueError, OverflowError):
        raise RequestError(404, f"id={short(known)} is not in the collection.") from None
    return {"ids": [known], "items": len(collection), "version": collection.version}
