"""The answer of a search, and checks of its parameters."""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

from thpi._types import Array


class Neighbours(NamedTuple):
    """Distances and ids of the items found, nearest first.

    ``search`` returns arrays of shape (n_queries, min(k, number of items)); ``radius_search`` returns one
    ``Neighbours`` per query, with 1-D arrays.
    """

    distances: Array
    ids: Array


def check_integer(name: str, value: object, minimum: int) -> int:
    """Return ``value`` as an integer of at least ``minimum``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < minimum:
        raise ValueError(f"{name}={value!r} must be an integer of at least {minimum}.")
    return int(value)


def check_k(k: object) -> int:
    return check_integer("k", k, 1)


def check_radius(radius: object) -> int:
    return check_integer("radius", radius, 0)
