"""The web application and its addresses."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.resources import files
from typing import Any

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from thpi.collection import Collection
from thpi.web.errors import RequestError, short
from thpi.web.gate import Counters, Gate
from thpi.web.items import add_items, page_of_items, picture_of, remove_item
from thpi.web.requests import Bodies, parse
from thpi.web.searching import Searches, Served
from thpi.web.settings import Settings

_LOOK = 0.25  # seconds between two looks at the file
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def create_app(collection: Collection, settings: Settings | None = None) -> Starlette:
    """Make the application that serves a collection; any ASGI server runs it.

    >>> import tempfile, numpy as np, thpi
    >>> from starlette.testclient import TestClient
    >>> folder = tempfile.TemporaryDirectory()
    >>> shop = thpi.build(f"{folder.name}/shop.thpi", np.eye(20), bits=8)
    >>> client = TestClient(create_app(shop))
    >>> client.get("/health").json()["items"]
    20
    >>> client.post("/search", json={"vector": [1, 2]}).json()
    {'error': 'a vector must have 20 numbers; got 2.'}
    """
    settings = settings or Settings()
    served, counters, bodies = Served(collection), Counters(collection), Bodies(settings)
    served.coders()
    collection.index.warm_up()
    if settings.writable:
        collection.remove([])  # takes the lock, and removes nothing

    @asynccontextmanager
    async def following(app: Starlette) -> AsyncIterator[None]:
        gc.freeze()  # what is there now stays: no collection of garbage need go through it while requests wait
        look = asyncio.create_task(_follow(served))
        yield
        look.cancel()

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        message = f"{request.method} {short(request.url.path)}: {error.detail}."
        return JSONResponse({"error": message}, error.status_code, error.headers)

    routes = [
        Route("/search", Searches(served, settings, bodies, counters), methods=["POST"]),
        *_reading(served, counters, settings),
        *_changing(served, settings, bodies),
        *_page(),
    ]
    gate = Middleware(Gate, settings, counters)
    return Starlette(routes=routes, middleware=[gate], exception_handlers={HTTPException: refused}, lifespan=following)


async def _follow(served: Served) -> None:
    while True:
        await asyncio.sleep(_LOOK if served.problem is None else 4 * _LOOK)
        await asyncio.to_thread(served.refresh)


def _reading(served: Served, counters: Counters, settings: Settings) -> list[Route]:
    collection = served.collection

    async def health(request: Request) -> Response:
        state = {"status": "ok"} if served.problem is None else {"status": "stale", "problem": served.problem}
        return _json({**state, "items": len(collection), "version": collection.version})

    async def metrics(request: Request) -> Response:
        return Response(counters.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    def about(request: Request) -> Response:
        return _json(served.about() | {"max_k": settings.max_k, "writable": settings.writable})

    def items(request: Request) -> Response:
        offset, limit = _number(request, "offset", 0, 0, 2**62), _number(request, "limit", 60, 1, 500)
        return _json(page_of_items(collection, offset, limit))

    def picture(request: Request) -> Response:
        data, kind = picture_of(collection, request.path_params["item"])
        return Response(data, media_type=kind, headers={"cache-control": "private, max-age=3600"})

    return [
        Route("/health", health),
        Route("/metrics", metrics),
        Route("/about", about),
        Route("/items", items, methods=["GET"]),
        Route("/items/{item:path}/picture", picture),
    ]


def _changing(served: Served, settings: Settings, bodies: Bodies) -> list[Route]:
    one = anyio.CapacityLimiter(1)  # changes of a file wait for each other anyway

    async def run(change: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if not settings.writable:
            raise RequestError(403, "this server is read-only; start it with --writable and a token to change items.")
        try:
            # Ends a wait for its turn. A change that has begun is finished, and its answer is true.
            with anyio.fail_after(settings.time_limit):
                return await anyio.to_thread.run_sync(change, limiter=one)
        except TimeoutError:
            raise RequestError(503, "other changes are being written; nothing was changed, try again.") from None

    async def add(request: Request) -> Response:
        kind, choices = request.headers.get("content-type", ""), dict(request.query_params)
        async with bodies.receive(request.receive) as body:
            asked = parse(body, kind, choices, settings, served.coders(), adding=True)
            return _json(await run(partial(add_items, served, asked)), 201)

    async def remove(request: Request) -> Response:
        return _json(await run(partial(remove_item, served, request.path_params["item"])))

    return [
        Route("/items", add, methods=["POST"]),
        Route("/items/{item:path}", remove, methods=["DELETE"]),
    ]


def _page() -> list[Route]:
    # The files are read once and served by name: no path of a request ever reaches the file system.
    folder = files("thpi.web") / "static"
    static = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.name.endswith(tuple(_KINDS))}

    async def file(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in static:
            raise RequestError(404, f"there is no file {short(name)}.")
        kind = _KINDS[name[name.rfind(".") :]]
        return Response(static[name], media_type=kind, headers={"cache-control": "no-cache"})

    return [Route("/", file), Route("/static/{name}", file)]


def _json(value: dict[str, Any], status: int = 200) -> Response:
    # Names come from data: a lone surrogate in them has no UTF-8 form, but it has an escape in JSON.
    return Response(json.dumps(value).encode("ascii"), status, media_type="application/json")


def _number(request: Request, name: str, default: int, least: int, most: int) -> int:
    text = request.query_params.get(name, str(default))
    with suppress(ValueError):
        if text.isascii() and least <= int(text) <= most:
            return int(text)
    raise RequestError(422, f"{name}={short(text)} must be a whole number from {least} to {most}.")
