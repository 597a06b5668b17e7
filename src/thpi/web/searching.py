"""Searches that came together, in a worker thread: coded together, and searched together if they are of one kind."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from thpi._types import Array, Codes
from thpi.codes import check_codes, pack_signs
from thpi.encoder import Coding
from thpi.identity import ModelMismatchError, check_same_model
from thpi.index import Neighbours, Order
from thpi.index._exact import no_check
from thpi.web.catalogue import Catalogue, Engine, Json
from thpi.web.errors import RequestError
from thpi.web.requests import SearchRequest

_TRIES = 5
_NO_CODES: Codes = np.empty((0, 0), dtype=np.uint8)


class Found(NamedTuple):
    """What was found for one request. ``described`` has the results as JSON, if details were asked for."""

    engine: Engine
    order: Order
    seconds: float
    neighbours: Neighbours
    described: list[str] | None

    def to_json(self) -> bytes:
        """Return the answer as JSON. ASCII only, so that a lone surrogate in an id cannot stop it."""
        about = {"method": self.engine.method, "bits": self.engine.n_bits, "order": self.order}
        head = json.dumps({**about, "seconds": round(self.seconds, 6)})
        results = self.described
        if results is None:
            results = [_to_json(*row) for row in zip(self.neighbours.ids, self.neighbours.distances, strict=True)]
        return f'{head[:-1]}, "results": [{", ".join(results)}]}}'.encode("ascii")

    def to_bytes(self) -> bytes:
        """Return the ids as int64, then the distances as float32, both little-endian and query by query."""
        ids, distances = self.neighbours.ids, self.neighbours.distances
        if ids.dtype == object:
            raise RequestError(406, "the ids of this index are texts, which have no form of fixed length; accept JSON.")
        return ids.astype("<i8").tobytes() + distances.astype("<f4").tobytes()


def _to_json(ids: Array, distances: Array) -> str:
    names = map(json.dumps, ids.tolist()) if ids.dtype == object else ids.tolist()
    pairs = zip(names, distances.tolist(), strict=True)
    neighbours = ", ".join([f'{{"id": {name}, "distance": {distance!r}}}' for name, distance in pairs])
    return f'{{"neighbours": [{neighbours}]}}'


@dataclass(eq=False)
class _Search:
    """A request on its way. It has codes to search by, or rows to code; all have rows if the order is asymmetric."""

    request: SearchRequest
    engine: Engine
    order: Order
    rows: Array | None
    codes: Codes

    @classmethod
    def of(cls, catalogue: Catalogue, request: SearchRequest) -> _Search:
        engine = catalogue.engine(request.method, request.bits)
        rows, codes = None, _NO_CODES
        if request.queries is not None:
            rows = catalogue.prepared(request.queries)
        elif request.codes is not None:
            codes = _checked(engine, request)
        elif request.id is not None:
            codes = catalogue.code_of(engine, request.id)
            if request.order == "asymmetric" or (request.order is None and catalogue.items is not None):
                rows = catalogue.prepared(catalogue.vector_of(request.id)[None])
        return cls(request, engine, request.order or ("hamming" if rows is None else "asymmetric"), rows, codes)

    @property
    def wanted(self) -> int:
        """How many neighbours to look for, with the item itself if that is left out of the answer."""
        return self.request.k + (self.request.id is not None and not self.request.include_self)

    @property
    def kind(self) -> tuple[int, Order, int]:
        """Searches of one kind are made together: of one engine and order, and k up to the same power of 2."""
        return id(self.engine), self.order, (self.wanted - 1).bit_length()

    def own(self, neighbours: Neighbours) -> Neighbours:
        """Return what this search is about of what was found for its queries."""
        k, item = self.request.k, self.request.id
        if item is not None and not self.request.include_self:
            return neighbours.without(item, k)
        return Neighbours(neighbours.distances[:, :k], neighbours.ids[:, :k])


def search(catalogue: Catalogue, request: SearchRequest, check: Callable[[], None] = no_check) -> Found:
    """Search. By id, the item itself is left out, unless it is asked for.

    ``check`` is called between blocks of work; by raising an exception it ends a search that nobody waits for.
    """
    (found,) = search_all(catalogue, [request], check)
    if isinstance(found, Exception):
        raise found
    return found


def search_all(
    catalogue: Catalogue, requests: Sequence[SearchRequest], check: Callable[[], None] = no_check
) -> list[Found | Exception]:
    """Make several searches, those of one kind together. One that fails does not affect the others."""
    found: list[Found | Exception] = []
    groups: dict[tuple[int, Order, int], dict[int, _Search]] = {}
    for place, request in enumerate(requests):
        try:
            made = _Search.of(catalogue, request)
        except Exception as error:
            found.append(error)
        else:
            found.append(RuntimeError("not searched"))
            groups.setdefault(made.kind, {})[place] = made
    for group in groups.values():
        for place, result in zip(group, _apart(catalogue, [*group.values()], check), strict=True):
            found[place] = result
    return found


def _apart(catalogue: Catalogue, searches: list[_Search], check: Callable[[], None]) -> list[Found | Exception]:
    """Make searches together or, if that fails, one by one."""
    try:
        for _ in range(_TRIES):
            try:
                return [*_together(catalogue, searches, check)]
            except KeyError:  # an item that was found was removed before it could be described
                continue
        raise RequestError(503, "items are being removed faster than they are found; try again.")
    except Exception as error:
        if len(searches) == 1:
            return [error]
    return [result for one in searches for result in _apart(catalogue, [one], check)]


def _together(catalogue: Catalogue, searches: list[_Search], check: Callable[[], None]) -> list[Found]:
    engine, order = searches[0].engine, searches[0].order
    rows = [each.rows for each in searches if each.rows is not None]
    projections = projections_of(engine.hasher, np.concatenate(rows)) if rows else None
    coded = iter([] if projections is None else _split(pack_signs(projections), rows))
    codes = [each.codes if each.rows is None else next(coded) for each in searches]
    queries = np.concatenate(codes) if projections is None or order == "hamming" else projections
    start = time.perf_counter()
    found = engine.index.search(queries, max(each.wanted for each in searches), check=check)
    seconds = time.perf_counter() - start
    answers = []
    parts = zip(_split(found.distances, codes), _split(found.ids, codes), strict=True)
    for each, own, part in zip(searches, codes, parts, strict=True):
        check()
        neighbours = each.own(Neighbours(*part))
        described = _described(catalogue, each, own, neighbours, check) if each.request.details else None
        answers.append(Found(engine, order, seconds, neighbours, described))
    return answers


def _split(rows: Array, like: Sequence[Array]) -> list[Array]:
    """Divide rows into parts as long as those of ``like``."""
    ends = list(accumulate(map(len, like)))
    return [rows[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _checked(engine: Engine, request: SearchRequest) -> Codes:
    try:
        check_same_model(("the index", engine.index.model), ("the request", request.model), any_model=engine.any_model)
        return check_codes(request.codes, n_bits=engine.n_bits)  # type: ignore[arg-type]
    except ModelMismatchError as error:
        raise RequestError(409, str(error).encode("ascii", "backslashreplace").decode("ascii")) from None
    except ValueError as error:
        raise RequestError(422, str(error)) from None


def projections_of(coder: Coding, ready: Array) -> Array:
    """Return the projections of prepared rows; 422 if they are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        projections = coder.decision_function(ready)
        finite = np.isfinite(np.abs(projections).sum(axis=1)).all()
    if not finite:
        raise RequestError(422, "the vector has numbers so large that its projections are not finite.")
    return projections


def _described(
    catalogue: Catalogue, asked: _Search, codes: Codes, found: Neighbours, check: Callable[[], None]
) -> list[str]:
    """Return results with all that the page draws, each as text: as objects they take ten times the memory."""
    item = asked.request.id
    results = []
    for i, (ids, distances) in enumerate(zip(found.ids, found.distances, strict=True)):
        check()
        pairs = zip(ids.tolist(), distances.tolist(), strict=True)
        result: Json = {"neighbours": [{"id": name, "distance": distance} for name, distance in pairs]}
        vector = None if item is not None or asked.rows is None else asked.rows[i]
        _add_details(catalogue, asked.engine, result, codes[i], item, vector)
        results.append(json.dumps(result))
    return results


def _add_details(
    catalogue: Catalogue, engine: Engine, result: Json, code: Codes, item: int | str | None, vector: Array | None
) -> None:
    """Add codes as hexadecimal bytes, descriptions of the items, and which are relevant."""
    neighbours = result["neighbours"]
    ids = [neighbour["id"] for neighbour in neighbours]
    result["code"] = code.tobytes().hex()
    result["item"] = None if item is None else catalogue.show(item)
    for neighbour, own in zip(neighbours, engine.index.get_codes(ids), strict=True):
        neighbour["code"] = own.tobytes().hex()
        neighbour["item"] = catalogue.show(neighbour["id"])
    if catalogue.truth is not None and (item is not None or vector is not None):
        relevant = catalogue.truth.relevant(None if item is None else int(item), vector, ids)
        for place, neighbour in enumerate(neighbours):
            neighbour["relevant"] = {kind: values[place] for kind, values in relevant.items()}
