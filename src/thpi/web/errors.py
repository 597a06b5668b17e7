"""Errors that a request can cause, each with the HTTP status of its answer."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from reprlib import Repr

from thpi.collection import CollectionFileError, CollectionLockedError

_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


class RequestError(Exception):
    """A request that cannot be answered: an HTTP status from 400 to 599 and a sentence with the reason."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def short(value: object) -> str:
    """Quote a value of a request for a message: shortened, and in ASCII so that any text can be sent back.

    >>> short("x" * 1000)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxxxxxxxxxx'"
    """
    return plain(_SHORT.repr(value))


def plain(text: object) -> str:
    """Return a message in ASCII and of bounded length."""
    return str(text).encode("ascii", "backslashreplace").decode("ascii")[:300]


@contextmanager
def file_errors() -> Iterator[None]:
    """Answer by 503 if the file of the collection is being changed, is damaged, or has gone."""
    try:
        yield
    except CollectionLockedError:
        raise RequestError(503, "another process is writing the collection; nothing was changed, try again.") from None
    except (CollectionFileError, OSError, sqlite3.Error) as error:
        raise RequestError(503, f"the file of the collection cannot be used: {plain(error)}") from None
