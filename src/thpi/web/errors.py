"""Errors that a request can cause, each with the HTTP status of its answer."""

from __future__ import annotations

import sqlite3
from reprlib import Repr

from thpi.collection import CollectionFileError, CollectionLockedError
from thpi.identity import ModelMismatchError

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


def as_refusal(error: Exception) -> RequestError | None:
    """Return what a client is told of an error; None if it is one of ours."""
    if isinstance(error, CollectionLockedError):
        return RequestError(503, "another process is writing the collection; nothing was changed, try again.")
    if isinstance(error, (CollectionFileError, OSError, sqlite3.Error)):
        return RequestError(503, f"the file of the collection cannot be used: {plain(error)}")
    if isinstance(error, ModelMismatchError):
        return RequestError(409, plain(error))
    return error if isinstance(error, RequestError) else None
