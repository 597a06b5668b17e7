"""Errors that a request can cause, each with the HTTP status of its answer."""

from __future__ import annotations

from reprlib import Repr

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
    return _SHORT.repr(value).encode("ascii", "backslashreplace").decode("ascii")
