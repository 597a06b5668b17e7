"""The web application and its addresses."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from importlib.resources import files
from typing import Annotated, Any

import anyio
import anyio.to_thread
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from thpi.web.bodies import Bodies
from thpi.web.catalogue import Catalogue
from thpi.web.errors import RequestError, short
from thpi.web.gate import Counters, Gate
from thpi.web.items import AddRequest, ItemsChanged, add_items, check_writable, parse_add, remove_item
from thpi.web.pictures import image_file
from thpi.web.requests import BYTES, SearchAnswer, SearchRequest, explain, failures
from thpi.web.settings import Settings
from thpi.web.shortcut import Searches, Shortcut
from thpi.web.watching import Watch

_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_log = logging.getLogger("thpi.web")


class _ItemId(Convertor[str]):
    """An id in an address: any text, also with slashes and new lines."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("item_id", _ItemId())


class _App(FastAPI):
    """FastAPI behind an entrance: what every request passes, and searches that need no route."""

    entrance: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.entrance(scope, receive, send)

    async def route(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by its route."""
        await super().__call__(scope, receive, send)


def create_app(catalogue: Catalogue, settings: Settings | None = None) -> FastAPI:
    """Make the application that serves a catalogue; any ASGI server runs it.

    >>> import numpy as np, thpi
    >>> from fastapi.testclient import TestClient
    >>> from thpi.index import HammingIndex
    >>> from thpi.web import Engine
    >>> hasher = thpi.ITQ(8, random_state=0).fit(np.eye(20))
    >>> index = HammingIndex(8, model=hasher.fingerprint_)
    >>> _ = index.add(hasher.codes_)
    >>> client = TestClient(create_app(Catalogue("shop", (Engine(hasher, index),))))
    >>> client.get("/healthz").json()
    {'status': 'ok', 'items': 20, 'version': None}
    >>> client.post("/search", json={"vector": [1, 2]}).json()
    {'error': 'a vector must have 20 numbers; got 2.'}
    """
    from thpi import __version__

    settings = settings or Settings()
    counters, watch = Counters(catalogue), Watch([engine.index for engine in catalogue.engines])
    if settings.writable:
        check_writable(catalogue)
    # Without FastAPI's interactive documentation, which loads scripts from other servers.
    common = failures(401, 422)
    app = _App(
        title="thpi", version=__version__, docs_url=None, redoc_url=None, responses=common, lifespan=watch.lifespan
    )
    _add_page(app, "index.html" if catalogue.comparison is None else "compare.html")
    _add_items(app, catalogue, settings)
    bodies = Bodies(settings)
    shortcut = _add_search(app, catalogue, settings, counters, bodies)
    _add_changes(app, catalogue, settings, bodies)

    @app.get("/healthz", tags=["state"])
    async def healthz() -> dict[str, str | int | None]:
        """Say that the server answers, how many items it holds, and which state of the index file that is.

        If the file cannot be followed any more, the status is `stale`, with the `problem`.
        """
        index = catalogue.engines[0].index
        state = {"status": "ok"} if watch.problem is None else {"status": "stale", "problem": watch.problem}
        return {**state, "items": len(index), "version": index.version}

    @app.get("/metrics", tags=["state"], response_class=Response)
    async def metrics() -> Response:
        """Return the counters in Prometheus text form."""
        return Response(counters.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    _add_error_handlers(app)
    app.entrance = Gate(shortcut, settings, counters)
    return app


def _add_search(app: _App, catalogue: Catalogue, settings: Settings, counters: Counters, bodies: Bodies) -> Shortcut:
    searches = Searches(catalogue, settings, counters, bodies)
    answers = {200: {"model": SearchAnswer}, **failures(400, 404, 406, 408, 409, 413, 415, 503)}

    @app.post("/search", tags=["search"], openapi_extra=_body(), responses=answers, response_class=Response)
    async def search_items(request: Request) -> Response:
        """Find the nearest items to a vector, to an item, or to each vector or code of a batch."""
        answer = await searches.answer(request.scope, request.receive)
        return Response(answer.body, headers={name.decode(): value.decode() for name, value in answer.headers})

    return Shortcut(app.route, app.routes[-1], searches, _refusal)


def _add_changes(app: FastAPI, catalogue: Catalogue, settings: Settings, bodies: Bodies) -> None:
    one = anyio.CapacityLimiter(1)  # changes of a file wait for each other anyway
    schema = AddRequest.model_json_schema()
    described = {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}

    async def run(change: Callable[[], ItemsChanged]) -> ItemsChanged:
        if not settings.writable:
            raise RequestError(403, "this server is read-only; start it with --writable and a token to change items.")
        try:
            # Ends a wait for its turn. A change that has begun is finished, and its answer is true.
            with anyio.fail_after(settings.time_limit):
                return await anyio.to_thread.run_sync(change, limiter=one)
        except TimeoutError:
            raise RequestError(503, "other changes are being written; nothing was changed, try again.") from None

    answers = failures(400, 403, 408, 409, 413, 415, 503)

    @app.post("/items", tags=["items"], status_code=201, openapi_extra=described, responses=answers)
    async def add(request: Request) -> ItemsChanged:
        """Add items, all of them or none; they are on disk and searched when this is answered."""
        kind = request.headers.get("content-type", "")
        async with bodies.receive(request) as body:
            return await run(lambda: add_items(catalogue, parse_add(body.take(), kind, settings)))

    @app.delete("/items/{item:item_id}", tags=["items"], responses=failures(403, 404, 503))
    async def remove(item: str) -> ItemsChanged:
        """Remove an item; that is on disk when this is answered."""
        return await run(lambda: remove_item(catalogue, item))


def _body() -> dict[str, Any]:
    """Describe the body of ``/search`` for OpenAPI; the app reads it without FastAPI, to keep to its limits."""
    schema = SearchRequest.model_json_schema()
    kinds = {
        "application/json": schema,
        "text/csv": {"type": "string", "description": "One vector per line, with or without a header line."},
        "application/x-npy": {"type": "string", "format": "binary"},
        BYTES: {"type": "string", "format": "binary", "description": "Vectors of float32 numbers, or codes."},
    }
    note = "For all bodies but JSON, where it belongs in the body."
    return {
        "requestBody": {"required": True, "content": {kind: {"schema": about} for kind, about in kinds.items()}},
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": about, "description": note}
            for name, about in schema["properties"].items()
            if name not in ("vector", "vectors", "id", "codes", "include_self")
        ]
        + [
            {
                "name": "content",
                "in": "query",
                "required": False,
                "schema": {"enum": ["vectors", "codes"]},
                "description": f"What a body of {BYTES} holds.",
            }
        ],
    }


def _add_items(app: FastAPI, catalogue: Catalogue, settings: Settings) -> None:
    @app.get("/about", tags=["items"])
    def about() -> dict[str, Any]:
        """Describe what is served: methods, code lengths, classes, measured quality."""
        return catalogue.about() | {"max_k": settings.max_k}

    @app.get("/items", tags=["items"])
    def items(
        offset: Annotated[int, Query(ge=0, le=2**62)] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 60,
        label: Annotated[str | None, Query(max_length=500)] = None,
    ) -> Response:
        """Return a part of the gallery."""
        # Names come from data: a lone surrogate in them has no UTF-8 form, but it has an escape in JSON.
        text = json.dumps(catalogue.page_of_items(offset, limit, label))
        return Response(text.encode("ascii"), media_type="application/json")

    @app.get("/items/{item:item_id}/picture", tags=["items"], response_class=Response)
    def picture(item: str) -> Response:
        """Return the picture of an item as an image file."""
        data, kind = image_file(catalogue.picture_of(item))
        return Response(data, media_type=kind, headers={"cache-control": "private, max-age=3600"})

    @app.get("/items/{item}/vector", tags=["items"])
    def vector(item: int) -> list[float]:
        """Return the raw vector of an item, as ``/search`` takes it."""
        values: list[float] = catalogue.vector_of(item).tolist()
        return values


def _add_page(app: FastAPI, first: str) -> None:
    # The files are read once and served by name: no path of a request ever reaches the file system.
    folder = files("thpi.web") / "static"
    static = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.name.endswith(tuple(_KINDS))}

    @app.get("/static/{name}", include_in_schema=False)
    def file(name: str) -> Response:
        if name not in static:
            raise RequestError(404, f"there is no file {short(name)}.")
        kind = _KINDS[name[name.rfind(".") :]]
        return Response(static[name], media_type=kind, headers={"cache-control": "no-cache"})

    app.get("/", include_in_schema=False)(lambda: file(first))
    app.get("/favicon.ico", include_in_schema=False)(lambda: file("icon.svg"))


def _refusal(error: Exception, where: str) -> Response:
    if not isinstance(error, RequestError):
        _log.error("%s failed", where, exc_info=error)
        return JSONResponse({"error": "the server failed on this request; its log says why."}, 500)
    # The unread rest of a body must not be taken for the next request.
    headers = {"connection": "close"} if error.status in (408, 413, 503) else None
    return JSONResponse({"error": error.message}, error.status, headers)


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(RequestError)
    @app.exception_handler(Exception)
    async def refused(request: Request, error: Exception) -> Response:
        return _refusal(error, f"{request.method} {short(request.url.path)}")

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"error": explain(error.errors())}, 422)

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> JSONResponse:
        where = f"{request.method} {short(request.url.path)}"
        return JSONResponse({"error": f"{where}: {error.detail}."}, error.status_code, headers=error.headers)
