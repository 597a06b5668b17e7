"""Middleware for every request: checks host name and token, counts requests, sets headers for browsers."""

from __future__ import annotations

import hmac
import json
import re
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thpi.web.counters import Counters
from thpi.web.settings import Settings

__all__ = ["OPEN_ROUTES", "Gate"]

OPEN_ROUTES = ("/", "/healthz", "/favicon.ico")
"""Answered without a token, as are the page's files, which hold no data."""

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


class Gate:
    """ASGI middleware around the app."""

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

        try:
            with self.counters.running.track_inprogress():
                refusal = self._refusal(scope)
                if refusal is None:
                    await self.app(scope, receive, send_on)
                else:
                    await _refuse(send_on, *refusal)
        finally:
            # The route's pattern, not the address: the number of addresses has no limit.
            route = getattr(scope.get("route"), "path", "other")
            self.counters.requests.labels(route, str(status)).inc()
            self.counters.seconds.labels(route).observe(time.perf_counter() - start)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = dict(scope["headers"])
        if self.host_names:
            name = re.sub(r":\d*$", "", headers.get(b"host", b"").decode("latin-1").lower())
            if name not in self.host_names:
                return 421, f"this server answers only under the names {', '.join(self.host_names)}."
        path = scope["path"]
        if self.token is None or path in OPEN_ROUTES or path.startswith("/static/"):
            return None
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self.token):
            return 401, "this server needs a token: send the header 'Authorization: Bearer <token>'."
        return None


async def _refuse(send: Send, status: int, message: str) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps({"error": message}).encode("ascii")})
