"""What a search answers, and the checks of what it is asked."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy.typing as npt

__all__ = ["Neighbours", "check_k", "check_radius"]


class Neighbours(NamedTuple):
    """Distances and ids of the items found, nearest first.

    From ``search`` both are of shape (n_queries, min(k, number of items)); from ``radius_search`` there is one
    ``Neighbours`` a query, both one-dimensional.

    >>> import numpy as np
    >>> Neighbours(np.array([[0, 3]]), np.array([[7, 4]])).ids
    array([[7, 4]])
    """

    distances: npt.NDArray[Any]
    ids: npt.NDArray[Any]


def check_k(k: Any) -> int:
    """Return ``k`` as an integer of at least 1.

    >>> check_k(5)
    5
    """
    if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k={k!r} must be an integer of at least 1.")
    return int(k)


def check_radius(radius: Any) -> int:
    """Return ``radius`` as an integer of at least 0.

    >>> check_radius(2)
    2
    """
    if not isinstance(radius, Integral) or isinstance(radius, bool) or radius < 0:
        raise ValueError(f"radius={radius!r} must be an integer of at least 0 (a number of bits).")
    return int(radius)
