"""What a search takes, and the asymmetric distance.

Let p be the projections of a query (one per bit) and b the code of an item, with bits -1 and +1. Their asymmetric
distance is

    sum over bits j with sgn(p_j) != b_j of |p_j|,

the Hamming distance weighted by the size of the query's projections. The bits of a byte are added up in their order,
then the bytes in theirs; every search adds in this order, so that all of them see the same ties.
"""

from __future__ import annotations

from numbers import Integral
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes, Floats, Ints
from thpi.codes import check_codes, hamming_distances, n_bytes, pack_signs

Order: TypeAlias = Literal["asymmetric", "hamming"]
"""By which distance the items found are ordered."""
Queries: TypeAlias = "tuple[Codes, Floats | None]"
"""Codes of queries, and their projections if they are to be searched by asymmetric distance."""

FEW = 2**12
"""Pairs of a query and a code that are sorted by distance in less time than a search in many codes begins in."""


def no_check() -> None:
    """Let a search go on to its end."""


def check_integer(name: str, value: object, minimum: int, maximum: int | None = None) -> int:
    """Return ``value`` as an int, if it is an integer in this range; ``name`` is for the message."""
    number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
    if number is None or number < minimum or (maximum is not None and number > maximum):
        most = "" if maximum is None else f" and at most {maximum}"
        raise ValueError(f"{name}={value!r} must be an integer of at least {minimum}{most}.")
    return number


def read_queries(queries: npt.ArrayLike, order: Order | None, n_bits: int) -> Queries:
    """Check queries.

    They are packed codes or, if they are floating-point numbers, projections; these are searched by asymmetric
    distance unless ``order`` says otherwise.
    """
    if order is not None and order not in get_args(Order):
        raise ValueError(f"order={order!r} must be None, {' or '.join(map(repr, get_args(Order)))}.")
    given = np.asarray(queries)
    if given.dtype.kind != "f":
        if order == "asymmetric":
            raise ValueError("order='asymmetric' needs projections (hasher.decision_function(X)); queries has codes.")
        return check_codes(given, n_bits=n_bits, name="queries"), None
    projections = check_projections(given, n_bits, "queries")
    return pack_signs(projections), None if order == "hamming" else projections


def check_projections(projections: npt.ArrayLike, n_bits: int | None = None, name: str = "projections") -> Floats:
    """Return projections as a 2-D array of float64, or raise ``ValueError``."""
    p = np.asarray(projections, dtype=np.float64)
    with np.errstate(over="ignore"):
        finite = np.isfinite(np.abs(p).sum(axis=-1)).all()
    if p.ndim != 2 or p.shape[1] == 0 or not finite:
        raise ValueError(f"{name} must be a 2-D array of finite numbers, got shape {p.shape}.")
    if n_bits is not None and p.shape[1] != n_bits:
        raise ValueError(f"{name} has {p.shape[1]} projections per row; n_bits={n_bits} needs {n_bits}.")
    return p


def asymmetric_distances(projections: npt.ArrayLike, codes: Codes) -> Floats:
    """Asymmetric distance of each query to each code, (n, n_bits) and (m, n_bytes) to (n, m).

    >>> asymmetric_distances([[0.5, -2.0]], np.array([[0b01], [0b11], [0b10]], dtype=np.uint8))
    array([[0. , 2. , 2.5]])
    """
    p = check_projections(projections)
    return _asymmetric(pack_signs(p), p, codes)


def _asymmetric(signs: Codes, projections: Floats, codes: Codes) -> Floats:
    distances = np.empty((len(signs), len(codes)))
    for row, own, tables in zip(distances, signs, byte_tables(np.abs(projections)), strict=True):
        row[:] = summed(own, tables, codes)
    return distances


def nearest_of_few(signs: Codes, projections: Floats | None, codes: Codes, k: int) -> tuple[Array, Ints]:
    """Distances and positions of the ``k`` codes nearest to each query: all distances, sorted.

    >>> nearest_of_few(np.array([[0b01]], np.uint8), np.array([[0.5, -2.0]]), np.array([[3], [0], [2]], np.uint8), 2)
    (array([[0.5, 2. ]]), array([[1, 0]]))
    """
    return first(hamming_distances(signs, codes) if projections is None else _asymmetric(signs, projections, codes), k)


def first(distances: Array, k: int) -> tuple[Array, Ints]:
    """Return the ``k`` smallest distances of each row, by (distance, position), and their positions."""
    positions = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return distances[np.arange(len(distances))[:, None], positions], positions


def byte_tables(weights: Floats) -> Floats:
    """Sums of the weights for each value of each byte of differing bits: n x bytes x 256."""
    n, n_bits = weights.shape
    padded = np.zeros((n, n_bytes(n_bits), 8))
    padded.reshape(n, -1)[:, :n_bits] = weights
    tables = np.zeros((*padded.shape[:2], 256))
    for bit in range(8):
        # A value with this bit as its highest: the sum without it, then this weight.
        np.add(tables[..., : 1 << bit], padded[..., bit, None], out=tables[..., 1 << bit : 2 << bit])
    return tables


def summed(own: Codes, tables: Floats, codes: Codes) -> Floats:
    """Distances of one query: one look-up per byte."""
    distances = np.zeros(len(codes))
    for byte, table in enumerate(tables):
        distances += table[codes[:, byte] ^ own[byte]]
    return distances
