"""The short way of a search through the server. Finding its route and making objects of its head would take longer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from thpi.web.answering import Answer, Asked, answer_all
from thpi.web.batches import Batches
from thpi.web.bodies import Bodies, Body
from thpi.web.catalogue import Catalogue
from thpi.web.gate import Counters
from thpi.web.settings import Settings


class Searches:
    """Answers requests for searches, those together that wait at the same moment."""

    def __init__(self, catalogue: Catalogue, settings: Settings, counters: Counters, bodies: Bodies) -> None:
        self._bodies, self._counters = bodies, counters
        self._batches = Batches[Asked, Answer](
            lambda asked, check: answer_all(catalogue, settings, asked, check), settings
        )

    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        """Answer one request, or raise :class:`RequestError`."""
        headers = dict(reversed(scope["headers"]))  # the first one of a name counts
        small, receive = self._bodies.at_once(headers.get(b"content-length", b""), receive)
        if small is not None:
            answer = await self._find(scope, headers, small, receive)
        else:
            async with self._bodies.receive(Request(scope, receive)) as body:
                answer = await self._find(scope, headers, body, receive)
        self._counters.queries.inc(answer.n_queries)
        self._counters.index_seconds.observe(answer.index_seconds)
        return answer

    async def _find(self, scope: Scope, headers: dict[bytes, bytes], body: Body, receive: Receive) -> Answer:
        kind, accept = (headers.get(name, b"").decode("latin-1") for name in (b"content-type", b"accept"))
        choices = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        return await self._batches.run(Asked(body.take, kind, dict(choices), accept), body.size, receive)


class Shortcut:
    """ASGI application that answers the requests of the route of searches, and hands others on."""

    def __init__(
        self, app: ASGIApp, route: Any, searches: Searches, refuse: Callable[[Exception, str], ASGIApp]
    ) -> None:
        self._app, self._route, self._searches, self._refuse = app, route, searches, refuse
        self._path, (self._method,) = route.path, route.methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http" or scope["path"] != self._path or scope["method"] != self._method:
            await self._app(scope, receive, send)
            return
        scope["route"] = self._route
        try:
            answer = await self._searches.answer(scope, receive)
        except Exception as error:
            await self._refuse(error, f"{self._method} {self._path}")(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": 200, "headers": answer.headers})
            await send({"type": "http.response.body", "body": answer.body})
