"""Errors that a request can cause, each with the status it is answered with."""

from __future__ import annotations

from reprlib import Repr
from typing import Any

__all__ = ["RequestError", "short"]

_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


class RequestError(Exception):
    """A request that cannot be answered: an HTTP status from 400 to 599 and a sentence that says why.

    >>> RequestError(422, "k=0 must be at least 1.").status
    422
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def short(value: Any) -> str:
    """Quote a value of a request in a message: in ASCII, so that any text can be sent back, and not at length.

    >>> short("x" * 1000)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxxxxxxxxxx'"
    """
    return _SHORT.repr(value).encode("ascii", "backslashreplace").decode("ascii")
