"""Bodies of requests in memory: each within a size and a time, all of them together within a number of bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from thpi.web.errors import RequestError
from thpi.web.settings import Settings

_AT_A_TIME = 4
"""Bodies of the largest size that fit into memory at a time, and as many bytes of smaller ones."""
_SMALL = 2**14


class Body:
    """A body that waits for its turn; ``take`` gives its bytes to a thread that works on them."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies, self.parts = bodies, list[bytes]()
        self.scope: anyio.CancelScope | None = None
        self.size = 0

    def take(self) -> bytes:
        """Return the bytes. From now on the request is not given up for want of memory: it may have changed items."""
        self._bodies.held.pop(self, None)
        data = b"".join(self.parts)
        self.parts.clear()
        return data


class Bodies:
    """All bodies that are being received or wait. Beyond the limit the largest is given up, with status 503.

    So a few large or slow bodies cannot shut out small ones, which most requests have.
    """

    def __init__(self, settings: Settings) -> None:
        self._limit, self._time_limit = settings.max_body, settings.time_limit
        self.held: dict[Body, int] = {}
        # All connections together, these are not more bytes than the others.
        self._small = min(_SMALL, _AT_A_TIME * settings.max_body // settings.max_connections)

    def at_once(self, declared: bytes, receive: Receive) -> tuple[Body | None, Receive]:
        """Return a small body that has come together with its headers, as most do, without preparing to wait for it.

        ``declared`` is the header ``Content-Length``. If there is no such body, it is to be received from the result.
        """
        if not declared.isdigit() or int(declared) > self._small:
            return None, receive
        coming: Any = receive()
        try:
            coming.send(None)
        except StopIteration as done:
            message = done.value
            if message["type"] != "http.request" or message.get("more_body"):
                return None, _first(message, receive)
            body = Body(self)
            body.parts.append(message.get("body", b""))
            body.size = len(body.parts[0])
            return body, receive
        coming.close()  # it would wait
        return None, receive

    @asynccontextmanager
    async def receive(self, request: Request) -> AsyncIterator[Body]:
        """Read the body of a request, and hold it until it is taken or the context ends."""
        body = Body(self)
        with anyio.CancelScope() as body.scope:
            try:
                await self._read(request, body)
                yield body
            finally:
                self.held.pop(body, None)
        if body.scope.cancelled_caught:
            raise RequestError(503, "the server holds too many bytes of other requests; try again.")

    async def _read(self, request: Request, body: Body) -> None:
        limit = self._limit
        declared = request.headers.get("content-length", "0")
        size, received = int(declared) if declared.isdecimal() else 0, 0
        try:
            with anyio.fail_after(self._time_limit):
                async for part in request.stream():
                    received += len(part)
                    if size <= limit and received <= limit:
                        body.parts.append(part)
                        self._hold(body, received)
                    else:
                        # Read on for a while, storing nothing: a client that is cut off while it sends sees a broken
                        # connection instead of the message.
                        size = max(size, received)
                        body.parts.clear()
                        self._hold(body, 0)
                        if received > 8 * limit:
                            break
        except TimeoutError:
            raise RequestError(408, f"the body did not arrive within {self._time_limit:g} seconds.") from None
        except ClientDisconnect:
            raise RequestError(400, "the connection was closed before the whole body was sent.") from None
        if max(size, received) > limit:
            raise RequestError(413, f"the body has {max(size, received)} bytes or more; at most {limit} are allowed.")

    def _hold(self, body: Body, size: int) -> None:
        self.held[body] = body.size = size
        held = self.held.copy()  # in one step: a thread may take one meanwhile
        if sum(held.values()) > _AT_A_TIME * self._limit:
            largest = max(held, key=held.__getitem__)
            self.held.pop(largest, None)
            largest.parts.clear()
            if largest.scope is not None:
                largest.scope.cancel()


def _first(message: Message, receive: Receive) -> Receive:
    """Return a way to receive a message that was taken already, and then the others."""
    taken = False

    async def again() -> Message:
        nonlocal taken
        if taken:
            return await receive()
        taken = True
        return message

    return again
