"""Limits and access of a server."""

from __future__ import annotations

import ipaddress
import os
from contextlib import suppress
from dataclasses import dataclass

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
"""Host names under which a server that listens on loopback answers."""


@dataclass(frozen=True)
class Settings:
    """Limits and access of a server.

    Parameters
    ----------
    token : bearer token of every request, except for the page's own files and ``/health``; None for no token.
    host_names : names allowed in the ``Host`` header; empty allows all. Without this check, any web page whose owner
        points its domain at 127.0.0.1 could read a server on loopback.
    max_body : largest body of a request, in bytes.
    max_k : largest number of neighbours.
    max_neighbours : most neighbours in one answer, over all its vectors; with ``details`` a tenth of it.
    time_limit : seconds for reading a body, and again for searching.
    n_threads : searches that run at the same time; others wait.
    writable : whether items can be added and removed; needs a token.

    >>> Settings(max_k=0)
    Traceback (most recent call last):
        ...
    ValueError: max_k=0 must be at least 1.
    """

    token: str | None = None
    host_names: tuple[str, ...] = ()
    max_body: int = 16_000_000
    max_k: int = 1000
    max_neighbours: int = 200_000
    time_limit: float = 10.0
    n_threads: int = os.cpu_count() or 1
    writable: bool = False

    def __post_init__(self) -> None:
        for name in ("max_body", "max_k", "max_neighbours", "n_threads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)!r} must be at least 1.")
        if not 0 < self.time_limit < float("inf"):
            raise ValueError(f"time_limit={self.time_limit!r} must be a positive number of seconds.")
        if self.token is not None and (not self.token.isascii() or not self.token.isprintable() or len(self.token) < 8):
            raise ValueError("token must have at least 8 characters, all of them printable ASCII.")
        if self.writable and self.token is None:
            raise ValueError("writable=True needs a token: else anyone who reaches the server could change the items.")


def is_loopback(host: str) -> bool:
    """Whether an address to listen on can be reached from this machine only."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
