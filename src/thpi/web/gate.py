"""Middleware for every request: checks host name and token, counts, sets headers for browsers."""

from __future__ import annotations

import hmac
import os
import re
import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thpi.web.catalogue import Catalogue
from thpi.web.settings import Settings

OPEN_ROUTES = ("/", "/healthz", "/favicon.ico")
"""Answered without a token, as are the page's files, which hold no data."""

_WORKERS = "PROMETHEUS_MULTIPROC_DIR"  # the folder by which the counters of several processes are added up
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_HEADERS = [
    # The page uses only files of this server and has no inline scripts.
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class Counters:
    """The counters behind ``/metrics``; each app has its own registry, so that several apps can share a process."""

    def __init__(self, catalogue: Catalogue) -> None:
        from thpi import __version__

        self.registry = registry = CollectorRegistry()
        self.requests = Counter("thpi_requests", "Requests answered.", ["route", "status"], registry=registry)
        about = "Time from the first byte to the answer."
        self.seconds = Histogram("thpi_request_seconds", about, ["route"], buckets=_SECONDS, registry=registry)
        about = "Requests that are being answered."
        self.running = Gauge("thpi_requests_in_progress", about, registry=registry, multiprocess_mode="livesum")
        self.queries = Counter("thpi_queries", "Vectors and ids searched for.", registry=registry)
        about = "Time of a search in the index alone."
        self.index_seconds = Histogram("thpi_index_seconds", about, buckets=_SECONDS, registry=registry)
        # What all workers of a server know; the rest is added up over them.
        self.known = known = CollectorRegistry() if _WORKERS in os.environ else registry
        codes = Gauge("thpi_index_codes", "Codes in the index.", ["method", "bits"], registry=known)
        for engine in catalogue.engines:
            codes.labels(engine.method, str(engine.n_bits)).set_function(engine.index.__len__)
        Info("thpi_build", "The package.", registry=known).info({"version": __version__})
        self._of_route: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer. The counters of a route and a status are looked up once, which takes long."""
        if (known := self._of_route.get((route, status))) is None:
            known = self.requests.labels(route, str(status)), self.seconds.labels(route)
            self._of_route[route, status] = known
        known[0].inc()
        known[1].observe(seconds)

    def text(self) -> bytes:
        """Return the counters in Prometheus text form, of all workers of a server together."""
        if self.known is self.registry:
            return generate_latest(self.registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry) + generate_latest(self.known)


class Gate:
    """ASGI application around the others."""

    def __init__(self, app: ASGIApp, settings: Settings, counters: Counters) -> None:
        self.app, self.counters = app, counters
        self.host_names = settings.host_names
        self.token = None if settings.token is None else settings.token.encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 500

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        self.counters.running.inc()
        try:
            refusal = self._refusal(scope)
            if refusal is None:
                await self.app(scope, receive, send_on)
            else:
                await refusal(scope, receive, send_on)
        finally:
            self.counters.running.dec()
            # The route's pattern, not the address: the number of addresses has no limit.
            route = getattr(scope.get("route"), "path", "other")
            self.counters.answered(route, status, time.perf_counter() - start)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers = dict(scope["headers"])
        if b"content-length" in headers and b"transfer-encoding" in headers:
            # A proxy before this server may go by the other one and see another end of the body: request smuggling.
            error = "a request must not have both the headers Content-Length and Transfer-Encoding."
            return JSONResponse({"error": error}, 400, {"connection": "close"})
        if [name for name, _ in scope["headers"]].count(b"host") != 1 and scope["http_version"] == "1.1":
            return JSONResponse({"error": "a request must have one header Host."}, 400, {"connection": "close"})
        if self.host_names:
            name = re.sub(r":\d*$", "", headers.get(b"host", b"").decode("latin-1").lower())
            if name not in self.host_names:
                error = f"this server answers only under the names {', '.join(self.host_names)}."
                return JSONResponse({"error": error}, 421, {"connection": "close"})
        path = scope["path"]
        if self.token is None or path in OPEN_ROUTES or path.startswith("/static/"):
            return None
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self.token):
            error = "this server needs a token: send the header 'Authorization: Bearer <token>'."
            return JSONResponse({"error": error}, 401, {"connection": "close", "www-authenticate": "Bearer"})
        return None
