"""The collection that is served, and searches in it: those that came together are coded and searched together."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import numpy as np
from starlette.types import Receive, Scope, Send

from thpi._types import Array, Codes
from thpi.codes import check_codes, pack_signs
from thpi.collection import Collection, CollectionFileError
from thpi.encoder import Coding
from thpi.identity import ModelMismatchError, check_same_model
from thpi.index import Neighbours, Order
from thpi.web.batches import Batches, Check
from thpi.web.errors import RequestError, plain, short
from thpi.web.gate import Counters
from thpi.web.requests import BYTES, JSON, Asked, Bodies, Coders, parse
from thpi.web.settings import Settings

_TRIES = 5
_MOST = 200_000  # neighbours that are looked for together
_EXCERPT = 240
_log = logging.getLogger("thpi.web")


class Served:
    """A collection whose file others may change. ``problem`` says why it cannot be followed."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.problem: str | None = None
        self._coders = Coders("", collection.hasher, None)

    def coders(self) -> Coders:
        """Return the hash functions of the model that made the codes."""
        coders = self._coders
        if coders.model == self.collection.model:
            return coders
        for _ in range(2):  # the second time, a replacement that runs is waited for
            hasher, model = self.collection.hasher, self.collection.model
            if hasher.fingerprint_ == model:
                self._coders = coders = Coders(model, hasher, hasher.source_side if hasher.is_two_sided else None)
                return coders
        raise RequestError(503, "the model is being replaced; try again.")

    def refresh(self) -> None:
        """Take over what others have changed. If that fails, what was read before is served on."""
        try:
            self.collection.refresh()
            self.coders()
            self.problem = None
        except Exception as error:
            if self.problem is None:
                _log.warning("the file of the collection cannot be followed: %s", error)
            self.problem = plain(error)

    def about(self) -> dict[str, Any]:
        """Describe what is served."""
        coders, shop = self.coders(), self.collection
        found = {"title": shop.about["title"], "items": len(shop), "version": shop.version, "model": coders.model}
        found |= {"method": coders.target.method_name, "bits": shop.n_bits, "features": coders.target.n_features_in_}
        return found | {"source_features": coders.source and coders.source.n_features_in_}


def projections_of(coder: Coding, rows: Array) -> Array:
    """Return the projections of rows; 422 if there are none that are finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        projections = coder.decision_function(rows)
        finite = np.isfinite(np.abs(projections).sum(axis=1)).all()
    if not finite:
        raise RequestError(422, "the vector has numbers so large that its projections are not finite.")
    return projections


def show(collection: Collection, item: int | str) -> dict[str, Any]:
    """Return what the page shows of an item; ``KeyError`` if it has gone."""
    text, thumbnail = collection.details(item)
    shown = text[:_EXCERPT] + "…" if text and len(text) > _EXCERPT else text
    return {"id": item, "text": shown, "picture": thumbnail is not None}


class Found(NamedTuple):
    """The answer to one request."""

    body: bytes
    order: Order
    seconds: float


class Searches:
    """ASGI application of one address, which answers those searches together that wait at the same moment."""

    def __init__(self, served: Served, settings: Settings, bodies: Bodies, counters: Counters) -> None:
        self._served, self._settings, self._bodies, self._counters = served, settings, bodies, counters
        self._batches = Batches(partial(search_all, served), settings, min(settings.max_neighbours, _MOST))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or raise :class:`RequestError`."""
        headers = dict(scope["headers"])
        kind, accept = (headers.get(name, b"").decode("latin-1") for name in (b"content-type", b"accept"))
        choices = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        async with self._bodies.receive(receive) as body:
            request = parse(body, kind, choices, self._settings, self._served.coders(), adding=False)
            found: Found = await self._batches.run(request._replace(raw=accept == BYTES), request.weight)
        self._counters.queries.inc(request.n_queries)
        self._counters.index_seconds.observe(found.seconds)
        answered = [(b"content-type", (BYTES if accept == BYTES else JSON[0]).encode())]
        answered += [(b"content-length", b"%d" % len(found.body)), (b"x-thpi-order", found.order.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": answered})
        await send({"type": "http.response.body", "body": found.body})


class _Search(NamedTuple):
    """A request on its way: it has rows to code, or codes to search by."""

    request: Asked
    order: Order
    rows: Array | None
    codes: Codes | None

    @property
    def wanted(self) -> int:
        """How many neighbours to look for, with the item itself, which is left out of the answer."""
        return self.request.k + (self.request.id is not None)

    @property
    def kind(self) -> tuple[Order, str, int]:
        """Searches of one kind are made together: of one order and side, and k up to the same power of 2."""
        return self.order, self.request.side, (self.wanted - 1).bit_length()


def search_all(served: Served, requests: Sequence[Asked], check: Check) -> Sequence[Found | Exception]:
    """Make searches, each with its own result or exception; those of one kind together.

    ``check`` is called between blocks of work; by raising an exception it ends a search that nobody waits for.
    """
    found: list[Any] = [None] * len(requests)
    kinds: dict[tuple[Order, str, int], dict[int, _Search]] = {}
    model = served.collection.model
    for place, request in enumerate(requests):
        check()
        try:
            search = _prepared(served, request)
            kinds.setdefault(search.kind, {})[place] = search
        except Exception as error:
            found[place] = error
    for group in kinds.values():
        try:
            results: Sequence[Any] = _together(served, list(group.values()), check)
        except Exception:  # of one of them, whose vectors are too long, say: then each has its own
            results = [_alone(served, each.request, check) for each in group.values()]
        for place, result in zip(group, results, strict=True):
            found[place] = result
    if served.collection.model == model:
        return found
    # Another model took its place meanwhile: distances between codes of two models mean nothing.
    return [_alone(served, request, check) for request in requests]


def _alone(served: Served, request: Asked, check: Check) -> Found | Exception:
    """Search again if the model was replaced meanwhile, or an item was removed before it could be described."""
    for _ in range(_TRIES):
        model = served.collection.model
        try:
            (found,) = _together(served, [_prepared(served, request)], check)
        except KeyError:
            continue
        except Exception as error:
            return error
        if served.collection.model == model:
            return found
    return RequestError(503, "items are being replaced faster than they are found; try again.")


def _prepared(served: Served, request: Asked) -> _Search:
    coders = served.coders()
    if request.rows is not None:
        coders.of(request.side, request.rows)
        return _Search(request, request.order or "asymmetric", request.rows, None)
    try:
        if request.codes is None:
            return _Search(request, "hamming", None, served.collection.codes_of([request.id]))
        check_same_model(("the collection", coders.model), ("the request", request.model))
        return _Search(request, "hamming", None, check_codes(request.codes, n_bits=coders.target.n_bits))
    except (CollectionFileError, ModelMismatchError):
        raise
    except KeyError:
        raise RequestError(404, f"id={short(request.id)} is not in the collection.") from None
    except (ValueError, OverflowError) as error:
        raise RequestError(422, plain(error)) from None


def _together(served: Served, searches: list[_Search], check: Check) -> list[Found]:
    coders, order = served.coders(), searches[0].order
    rows = [each.rows for each in searches if each.rows is not None]
    projections, coded = None, iter(list[Codes]())
    if rows:
        projections = projections_of(coders.of(searches[0].request.side), np.concatenate(rows))
        coded = iter(_split(pack_signs(projections), rows))
    codes = [next(coded) if each.codes is None else each.codes for each in searches]
    queries = np.concatenate(codes) if projections is None or order == "hamming" else projections
    start = time.perf_counter()
    found = served.collection.search_codes(queries, max(each.wanted for each in searches), check=check)
    seconds = time.perf_counter() - start
    answers = []
    parts = zip(_split(found.distances, codes), _split(found.ids, codes), strict=True)
    for each, own, part in zip(searches, codes, parts, strict=True):
        neighbours = Neighbours(*part)
        if each.request.id is not None:
            neighbours = neighbours.without(each.request.id, each.request.k)
        answers.append(_answer(served, each, own, neighbours, seconds, check))
    return answers


def _answer(served: Served, search: _Search, codes: Codes, found: Neighbours, seconds: float, check: Check) -> Found:
    """Write an answer. As JSON in ASCII, so that a lone surrogate in an id cannot stop it."""
    ids, distances = found.ids[:, : search.request.k], found.distances[:, : search.request.k]
    if search.request.raw:
        if ids.dtype == object:
            raise RequestError(406, "the ids of this collection are texts, which have no fixed length; accept JSON.")
        return Found(ids.astype("<i8").tobytes() + distances.astype("<f4").tobytes(), search.order, seconds)
    coder = served.coders().target
    about = {"method": coder.method_name, "bits": coder.n_bits, "order": search.order, "seconds": round(seconds, 6)}
    results = []  # each as text: as objects they take ten times the memory
    for code, *row in zip(codes, ids.tolist(), distances.tolist(), strict=True):
        check()
        result: dict[str, Any] = {"neighbours": [{"id": item, "distance": at} for item, at in zip(*row, strict=True)]}
        if search.request.details:
            result["code"] = code.tobytes().hex()
            of_items = served.collection.codes_of(row[0]) if row[0] else ()
            for neighbour, own in zip(result["neighbours"], of_items, strict=True):
                neighbour |= {"code": own.tobytes().hex(), "item": show(served.collection, neighbour["id"])}
        results.append(json.dumps(result))
    body = f'{json.dumps(about)[:-1]}, "results": [{", ".join(results)}]}}'
    return Found(body.encode("ascii"), search.order, seconds)


def _split(rows: Array, like: Sequence[Array]) -> list[Array]:
    """Divide rows into parts as long as those of ``like``."""
    return np.split(rows, list(accumulate(map(len, like)))[:-1])
