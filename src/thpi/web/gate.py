"""Middleware for every request: checks host name and token, counts, answers errors, sets headers for browsers."""

from __future__ import annotations

import hmac
import logging
import os
import re
import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Summary, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thpi.collection import Collection
from thpi.web.errors import RequestError, as_refusal
from thpi.web.settings import Settings

# The page uses only files of this server and has no inline scripts.
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_ASK = {"www-authenticate": "Bearer"}
_CLOSING = (400, 401, 408, 413, 421, 503)
_log = logging.getLogger("thpi.web")


class Counters:
    """The counters behind ``/metrics``."""

    def __init__(self, collection: Collection) -> None:
        registry = CollectorRegistry()
        self.requests = Counter("thpi_requests", "Requests answered.", ["status"], registry=registry)
        self.queries = Counter("thpi_queries", "Vectors, codes and ids searched for.", registry=registry)
        self.seconds = Summary("thpi_request_seconds", "Time from head to answer of a request.", registry=registry)
        self.index_seconds = Summary("thpi_index_seconds", "Time of searches in the index alone.", registry=registry)
        about = "Items in the collection."
        self._items = Gauge("thpi_items", about, registry=registry, multiprocess_mode="mostrecent")
        self._collection, self._registry = collection, registry

    def text(self) -> bytes:
        """Return the counters in Prometheus text form, of all workers of a server together."""
        self._items.set(len(self._collection))
        registry = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:  # the folder by which the counters of several workers are added up
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


class Gate:
    """ASGI application around the others."""

    def __init__(self, app: ASGIApp, settings: Settings, counters: Counters) -> None:
        self.app, self.counters = app, counters
        self.host_names = {name.encode("ascii") for name in settings.host_names}
        self.token = None if settings.token is None else settings.token.encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0
        # The unread rest of a body must not be taken for the next request, and a proxy before this server may have gone
        # by a Content-Length, which granian drops beside Transfer-Encoding, and see another end of the body.
        chunked = any(name == b"transfer-encoding" for name, _ in scope["headers"])

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                closing = [(b"connection", b"close")] if chunked or status in _CLOSING else []
                message["headers"] = [*message["headers"], *_HEADERS, *closing]
            await send(message)

        try:
            self._check(scope)
            await self.app(scope, receive, send_on)
        except Exception as error:
            if status:  # the answer has begun
                raise
            await _refusal(error, f"{scope['method']} {scope['path']!r}")(scope, receive, send_on)
        finally:
            self.counters.requests.labels(str(status)).inc()
            self.counters.seconds.observe(time.perf_counter() - start)

    def _check(self, scope: Scope) -> None:
        hosts = {re.sub(rb":\d*$", b"", value.lower()) for name, value in scope["headers"] if name == b"host"}
        if self.host_names and (not hosts or hosts - self.host_names):
            allowed = b", ".join(sorted(self.host_names)).decode()
            raise RequestError(421, f"this server answers only under the names {allowed}.")
        path = scope["path"]
        if self.token is None or path in ("/", "/health") or path.startswith("/static/"):
            return  # they hold no data
        scheme, _, given = dict(scope["headers"]).get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self.token):
            raise RequestError(401, "this server needs a token: send the header 'Authorization: Bearer <token>'.")


def _refusal(error: Exception, where: str) -> JSONResponse:
    refusal = as_refusal(error)
    if refusal is None:
        _log.error("%s failed", where, exc_info=error)
        refusal = RequestError(500, "the server failed on this request; its log says why.")
    return JSONResponse({"error": refusal.message}, refusal.status, _ASK if refusal.status == 401 else None)
