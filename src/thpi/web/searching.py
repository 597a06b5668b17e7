"""Answering one search, in a worker thread: from a request to the JSON text of its answer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from thpi._types import Array, Codes
from thpi.codes import pack_signs
from thpi.index._exact import no_check
from thpi.web.catalogue import Catalogue, Engine, Json
from thpi.web.errors import RequestError
from thpi.web.requests import SearchRequest

_TRIES = 5


class Answer(NamedTuple):
    """JSON text of an answer, with the numbers for the counters."""

    body: bytes
    n_queries: int
    index_seconds: float


def search(catalogue: Catalogue, request: SearchRequest, check: Callable[[], None] = no_check) -> Answer:
    """Search and return the answer. A search by id leaves out the item itself, unless it is asked for.

    ``check`` is called between blocks of work; by raising an exception it ends a search that nobody waits for.
    """
    for _ in range(_TRIES):
        try:
            return _search(catalogue, request, check)
        except KeyError:  # an item that was found was removed before it could be described
            continue
    raise RequestError(503, "items are being removed faster than they are found; try again.")


def _search(catalogue: Catalogue, request: SearchRequest, check: Callable[[], None]) -> Answer:
    engine = catalogue.engine(request.method, request.bits)
    ready = projections = None
    if request.queries is not None:
        ready = catalogue.prepared(request.queries)
        projections = projections_of(engine, ready)
        codes = pack_signs(projections)
    else:
        assert request.id is not None
        codes = catalogue.code_of(engine, request.id)
        if request.order == "asymmetric" or (request.order is None and catalogue.items is not None):
            projections = projections_of(engine, catalogue.prepared(catalogue.vector_of(request.id)[None]))
    order = request.order or ("hamming" if projections is None else "asymmetric")
    queries: Array = projections if order == "asymmetric" and projections is not None else codes
    start = time.perf_counter()
    if request.id is None or request.include_self:
        found = engine.index.search(queries, request.k, check=check)
    else:
        found = engine.index.search(queries, request.k + 1, check=check).without(request.id, request.k)
    seconds = time.perf_counter() - start
    # Each result becomes text before the next is made: as objects, all of them take ten times the memory.
    results = []
    for i, (ids, distances) in enumerate(zip(found.ids, found.distances, strict=True)):
        check()
        neighbours = zip(ids.tolist(), distances.tolist(), strict=True)
        result: Json = {"neighbours": [{"id": item, "distance": distance} for item, distance in neighbours]}
        if request.details:
            _add_details(catalogue, engine, result, codes[i], request.id, None if ready is None else ready[i])
        results.append(json.dumps(result))
    about = json.dumps({"method": engine.method, "bits": engine.n_bits, "order": order, "seconds": round(seconds, 6)})
    # ASCII only, so that a lone surrogate in an id cannot stop an answer.
    text = f'{about[:-1]}, "results": [{", ".join(results)}]}}'
    return Answer(text.encode("ascii"), len(codes), seconds)


def projections_of(engine: Engine, ready: Array) -> Array:
    """Return the projections of prepared rows; 422 if they are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        projections = engine.hasher.decision_function(ready)
    if not np.isfinite(projections).all():
        raise RequestError(422, "the vector has numbers so large that its projections are not finite.")
    return projections


def _add_details(
    catalogue: Catalogue, engine: Engine, result: Json, code: Codes, item: int | str | None, vector: Array | None
) -> None:
    """Add what the page draws: codes as hexadecimal bytes, descriptions of the items, and which are relevant."""
    neighbours = result["neighbours"]
    ids = [neighbour["id"] for neighbour in neighbours]
    result["code"] = code.tobytes().hex()
    result["item"] = None if item is None else catalogue.show(item)
    for neighbour, own in zip(neighbours, engine.index.get_codes(ids), strict=True):
        neighbour["code"] = own.tobytes().hex()
        neighbour["item"] = catalogue.show(neighbour["id"])
    if catalogue.truth is not None:
        relevant = catalogue.truth.relevant(None if item is None else int(item), vector, ids)
        for place, neighbour in enumerate(neighbours):
            neighbour["relevant"] = {kind: values[place] for kind, values in relevant.items()}
