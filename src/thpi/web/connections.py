"""Connections that do not wait for ever: uvicorn's protocol with limits of time, number and unread bytes.

uvicorn closes a connection that is idle after an answer, and nothing else. Here one is closed if the headers of a
request, the next request or the reading of an answer take longer than the idle limit. Bodies have a time limit of their
own (:mod:`thpi.web.bodies`). If there are too many connections, the one that has waited longest is closed for a new
one. Only if the server works for all of them, the new one is refused. So clients that hold connections without using
them shut nobody out.
"""

from __future__ import annotations

import asyncio
import socket
from enum import Enum, auto

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from thpi.web.settings import Settings

_SEND_BUFFER = 2**17  # bytes in the kernel, which may grow to megabytes: then it is not seen that a client reads
_MOST_UNREAD = 64_000_000  # bytes of answers that wait to be read, of all connections but the newest of them
_LONGEST_HEAD = 2**16  # bytes of headers, which httptools does not limit
_PIECE = 2**12  # bytes that are parsed at a time, with all requests that they hold
_FULL = b'{"error": "the server has too many connections; try again."}'
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_FULL), _FULL)
)


class State(Enum):
    """What a connection waits for."""

    IDLE = auto()  # the first byte of a request
    HEADERS = auto()  # the rest of its headers
    BODY = auto()  # the rest of its body
    ANSWER = auto()  # the server
    READER = auto()  # the client to read the answer
    CLOSED = auto()


_TIMED = State.IDLE, State.HEADERS, State.READER


class Connection(HttpToolsProtocol):
    """One connection of a server; :func:`guarded` makes a class with the limits of that server."""

    settings: Settings
    open: dict[Connection, None]
    """All connections, in the order in which their present states began."""

    state = State.CLOSED
    begun = False
    head = 0  # bytes since the last end of headers or part of a body
    unparsed = b""
    refused = False
    timer: asyncio.TimerHandle | None = None
    since = 0.0  # when the present state began, or its client was last seen to read
    unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let a connection in, in place of another one if there are too many."""
        super().connection_made(transport)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        if len(self.open) >= self.settings.max_connections:
            waiting = next((each for each in self.open if each.state is not State.ANSWER), None)
            if waiting is None:
                transport.write(_REFUSAL)
                transport.close()
                return
            waiting.give_up()
        self.enter(State.IDLE)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection that is closed."""
        self.enter(State.CLOSED)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes of requests."""
        self.begun = True
        if self.unparsed or len(data) > _PIECE:
            self.unparsed += data
            self.parse()
        else:
            self.take(data)
        if self.pipeline:  # an application that waits for a disconnection reads on
            self.flow.pause_reading()
        self.look()

    def parse(self) -> None:
        """Take bytes until a request waits for the answer to another one: else a few bytes become many objects."""
        start = 0
        while start < len(self.unparsed) and not self.pipeline and not self.refused:
            self.take(self.unparsed[start : start + _PIECE])
            start += _PIECE
        self.unparsed = b"" if self.refused else self.unparsed[start:]

    def take(self, data: bytes) -> None:
        """Parse bytes. Those of headers have a limit, also behind a body."""
        if self.refused:
            return
        self._unset_keepalive_if_required()
        self.head += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as found:
            self.stay(data[found.args[0] :])
        except httptools.HttpParserError:
            self.refuse("Invalid HTTP request received.")
        else:
            if self.head > _LONGEST_HEAD:
                self.refuse("The headers of the request are too long.")

    def stay(self, rest: bytes) -> None:
        """Stay with HTTP/1.1 if asked for another protocol, which the parser would leave the rest to."""
        if self.scope["method"] == "CONNECT":
            self.refuse("Invalid HTTP request received.")
            return
        line = self.scope["method"], self.url.decode("latin-1"), "HTTP/" + self.scope["http_version"]
        head = [" ".join(line).encode("latin-1")]
        head += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.take(b"\r\n".join([*head, b"", rest]))

    def _should_upgrade(self) -> bool:
        return True  # nothing is done at the end of such headers

    def on_headers_complete(self) -> None:
        """Begin to answer a request."""
        self.head = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self.head = 0
        super().on_body(body)

    def refuse(self, reason: str) -> None:
        """Refuse what is no HTTP, once, and only if that cannot be taken for the answer to another request."""
        self.refused = True
        self.logger.warning(reason)
        cycle = self.cycle
        if cycle is None or (cycle.response_complete and cycle.scope is not self.scope):
            self.send_400_response(reason)
        elif cycle.scope is not self.scope:  # the requests before it are answered, then the connection is closed
            cycle.keep_alive = False
        elif self.pipeline or cycle.response_started:
            self.give_up()
        else:  # the application is at work for the first part of it; what it answers is dropped
            cycle.disconnected = True
            cycle.message_event.set()
            self.send_400_response(reason)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.begun = False
        super().on_response_complete()
        if self.unparsed:
            self.parse()
        self.look()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self.look()
        readers = [each for each in self.open if each.state is State.READER][:-1]
        unread = [each.transport.get_write_buffer_size() for each in readers]
        for place, each in enumerate(readers):
            if sum(unread[place:]) > _MOST_UNREAD:
                each.give_up()

    def resume_writing(self) -> None:
        """Go on after the client has read."""
        super().resume_writing()
        self.look()

    def look(self) -> None:
        """Enter the state that follows from the request that is being received or answered."""
        if self.state is State.CLOSED:
            return
        if self.flow.write_paused:
            self.enter(State.READER)
        elif self.cycle is not None and not self.cycle.response_complete:
            self.enter(State.BODY if self.cycle.more_body else State.ANSWER)
        else:
            self.enter(State.HEADERS if self.begun else State.IDLE)

    def enter(self, state: State) -> None:
        """Begin to wait for something else."""
        if state is self.state:
            return
        self.state = state
        self.open.pop(self, None)
        if state is not State.CLOSED:
            self.open[self] = None
        self.wait()

    def wait(self) -> None:
        """Begin the time limit of the present state anew."""
        self.since, self.unread = self.loop.time(), self.transport.get_write_buffer_size()
        if self.state is State.CLOSED and self.timer is not None:
            self.timer.cancel()
        elif self.timer is None and self.state is not State.CLOSED:
            self.timer = self.loop.call_later(self.settings.idle_limit, self.expire)

    def expire(self) -> None:
        """Close the connection if the limit is over, unless its client is reading an answer.

        One timer stays for all states of a connection: setting one for each of them would take longer than the rest.
        """
        left = self.since + self.settings.idle_limit - self.loop.time()
        if self.state in _TIMED and left <= 0:
            if self.state is not State.READER or self.transport.get_write_buffer_size() >= self.unread:
                self.give_up()
                return
            self.wait()
        self.timer = self.loop.call_later(left if left > 0 else self.settings.idle_limit, self.expire)

    def give_up(self) -> None:
        """Close the connection at once, also if its client reads nothing."""
        self.enter(State.CLOSED)
        self.transport.abort()


def guarded(settings: Settings) -> type[Connection]:
    """Return the protocol of a server, for the option ``http`` of ``uvicorn.Config``."""
    return type("GuardedConnection", (Connection,), {"settings": settings, "open": {}})
