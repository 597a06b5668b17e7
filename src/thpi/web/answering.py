"""From the bytes of requests to the bytes of their answers, in a worker thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from thpi.web.catalogue import Catalogue
from thpi.web.errors import RequestError
from thpi.web.requests import BYTES, SearchRequest, parse_search
from thpi.web.searching import search_all
from thpi.web.settings import Settings


class Asked(NamedTuple):
    """A request for a search: where its body comes from, and what its head says."""

    take: Callable[[], bytes]
    kind: str
    choices: dict[str, str]
    accept: str = ""


class Answer(NamedTuple):
    """Bytes of an answer and its headers, with the numbers for the counters."""

    body: bytes
    headers: list[tuple[bytes, bytes]]
    n_queries: int
    index_seconds: float


def answer_all(
    catalogue: Catalogue, settings: Settings, asked: Sequence[Asked], check: Callable[[], None]
) -> list[Answer | BaseException | None]:
    """Answer requests, each with an answer or an exception; None for those that are too much for one time."""
    answers: list[Answer | BaseException | None] = [None] * len(asked)
    requests: dict[int, SearchRequest] = {}
    room = settings.max_neighbours
    for place, one in enumerate(asked):
        check()
        if requests and room <= 0:
            break
        try:
            request = parse_search(one.take(), one.kind, one.choices, settings, catalogue)
        except Exception as error:
            answers[place] = _without_frames(error)
            continue
        requests[place] = request
        room -= request.n_queries * request.k * (10 if request.details else 1)
    for place, found in zip(requests, search_all(catalogue, list(requests.values()), check), strict=True):
        try:
            if isinstance(found, Exception):
                raise found
            raw = asked[place].accept == BYTES
            body = found.to_bytes() if raw else found.to_json()
        except Exception as error:
            answers[place] = _without_frames(error)
        else:
            headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
            if raw:
                headers[0] = (b"content-type", BYTES.encode())
                headers.append((b"x-thpi-order", found.order.encode()))
            answers[place] = Answer(body, headers, len(found.neighbours.ids), found.seconds)
    return answers


def _without_frames(error: Exception) -> Exception:
    """Return a refusal without its traceback, which holds the parsed body, and this list of answers besides.

    Such a cycle stays in memory until the next full collection; refused bodies took 1.6 GB by then. Other errors keep
    their traceback for the log.
    """
    if isinstance(error, RequestError):
        error.__context__ = None
        return error.with_traceback(None)
    return error
