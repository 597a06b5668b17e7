"""Asymmetric search: the codes nearest to the projections of a query, in one pass over all codes.

Let p be the projections of a query (one per bit) and b the code of an item, with bits -1 and +1. Their asymmetric
distance is

    sum over bits j with sgn(p_j) != b_j of |p_j|,

the Hamming distance weighted by the size of the query's projections. The bits of a byte are added up in their order,
then the bytes in theirs; every search adds in this order, so that all of them see the same ties.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from thpi._types import Codes, Floats, Ints
from thpi.codes import as_words, check_codes, count_ones, n_bytes, pack_signs
from thpi.index._exact import no_check, shared_out, word_size
from thpi.kernels import pays_off

Order: TypeAlias = Literal["asymmetric", "hamming"]
"""By which distance the items found are ordered."""
Queries: TypeAlias = "tuple[Codes, Floats | None]"
"""Codes of queries, and their projections if they are to be searched by asymmetric distance."""

_CALL_BYTES = 2**28  # for the lists and tables of the queries in one call of the kernel
_FIRST_ROWS, _ROWS = 2**10, 2**16  # of a block in numpy; of the first one all distances are computed
_FEW = 2**16  # pairs of a query and a row that are compared before a search could be divided
_MOST = 7  # steps of a weight: three bits
_STEPS = np.linspace(0.8, 2.8, 9) / _MOST  # in mean weights, to choose from
_DIFFERING = 0.4  # share of the bits, by weight, in which rows differ that are nearly near


def check_integer(name: str, value: object, minimum: int) -> int:
    """Return ``value`` as an int, if it is an integer of at least ``minimum``; ``name`` is for the message."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < minimum:
        raise ValueError(f"{name}={value!r} must be an integer of at least {minimum}.")
    return int(value)


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
    """Asymmetric distance of query i to the codes ``codes[i]``: (n, n_bits) and (n, m, n_bytes) to (n, m).

    Codes of shape (m, n_bytes) are those of every query.

    >>> asymmetric_distances([[0.5, -2.0]], np.array([[0b01], [0b11], [0b10]], dtype=np.uint8))
    array([[0. , 2. , 2.5]])
    """
    p = check_projections(projections)
    own, tables = pack_signs(p), _tables(np.abs(p))
    distances = np.zeros((len(p), codes.shape[-2]))
    for i in range(len(p)):
        distances[i] = _distances(own[i], tables[i], codes if codes.ndim == 2 else codes[i])
    return distances


def nearest_asymmetric(
    projections: Floats, codes: Codes, k: int, check: Callable[[], None] = no_check
) -> tuple[Floats, Ints]:
    """Distances and positions of the ``k`` codes nearest to each row of projections, by (distance, position).

    >>> nearest_asymmetric(np.array([[0.5, -2.0]]), np.array([[0b11], [0b00], [0b10]], np.uint8), 2)
    (array([[0.5, 2. ]]), array([[1, 0]]))
    """
    k = min(k, len(codes))
    if not k or not len(projections):
        return np.empty((len(projections), k)), np.empty((len(projections), k), dtype=np.int64)
    n, (m, width) = len(projections), codes.shape
    if m <= _FIRST_ROWS and n * m <= _FEW:
        distances = asymmetric_distances(projections, codes)
        positions = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(distances, positions, axis=1), positions
    n_words = 3 * -(-width // 8)
    in_place = 8 * _MOST * width < 2**16 and not codes.ctypes.data % word_size(width)
    search = _kernel_nearest if in_place and pays_off(n * m * n_words) else _numpy_nearest
    most = max(1, _CALL_BYTES // (32 * k + 2**12 * (1 + width)))

    def part(queries: slice, rows: slice) -> tuple[Floats, Ints]:
        return search(_Queries.of(projections[queries]), codes[rows], k)

    return shared_out(part, (n, m, n_words), k, most, check)


def order_asymmetric(
    projections: Floats, codes: Codes, candidates: Ints, k: int, check: Callable[[], None] = no_check
) -> tuple[Floats, Ints]:
    """Order candidates, (n, m) positions of codes, by (asymmetric distance, position), and keep ``k``; -1 is no code.

    >>> order_asymmetric(np.array([[0.5, -2.0]]), np.array([[3], [0], [2]], np.uint8), np.array([[2, 1, -1]]), 2)
    (array([[0.5, 2.5]]), array([[1, 2]]))
    """
    shape = len(candidates), min(k, candidates.shape[1])
    found = np.empty(shape), np.empty(shape, dtype=np.int64)
    own, tables = pack_signs(projections), _tables(np.abs(projections))
    for i, rows in enumerate(np.sort(candidates, axis=1)):
        check()
        distances = np.where(rows < 0, np.inf, _distances(own[i], tables[i], codes[rows]))
        order = np.argsort(distances, kind="stable")[:k]
        found[0][i], found[1][i] = distances[order], rows[order]
    return found


class _Queries(NamedTuple):
    """What a pass needs to know of queries; see :mod:`thpi.kernels.nearest_weighted`."""

    own: Codes
    masks: Codes  # n x 3 x bytes
    steps: Floats
    excess: Floats
    tables: Floats

    @classmethod
    def of(cls, projections: Floats) -> _Queries:
        weights = np.abs(projections)
        counts, steps, excess = _in_steps(weights)
        masks = np.stack([np.packbits(counts & bit, axis=1, bitorder="little") for bit in (1, 2, 4)], axis=1)
        return cls(pack_signs(projections), masks, steps, excess, _tables(weights))


def _in_steps(weights: Floats) -> tuple[Codes, Floats, Floats]:
    """Round weights to 0 to 7 steps: these numbers, the step of each query, and the sum of what was rounded up.

    Any step and any rounding give right answers. These rule out most rows: a weight that is rounded up makes room for
    rows that agree in this bit, one that is rounded down for rows that differ.
    """
    mean = weights.mean(axis=1)
    steps = np.where(mean > 0, mean, 1.0)[:, None] * _STEPS
    counts = np.minimum(np.floor(weights[:, None] / steps[..., None] + _DIFFERING), _MOST)
    over = counts * steps[..., None] - weights[:, None]
    excess = np.maximum(over, 0.0).sum(axis=2)
    best = (excess - _DIFFERING * over.sum(axis=2)).argmin(axis=1)
    rows = np.arange(len(weights))
    return counts[rows, best].astype(np.uint8), steps[rows, best], excess[rows, best]


def _tables(weights: Floats) -> Floats:
    """Sum of the weights for each value of each byte of differing bits: n x bytes x 256."""
    n, n_bits = weights.shape
    padded = np.zeros((n, n_bytes(n_bits), 8))
    padded.reshape(n, -1)[:, :n_bits] = weights
    tables = np.zeros((*padded.shape[:2], 256))
    for bit in range(8):
        # A value with this bit as its highest: the sum without it, then this weight.
        np.add(tables[..., : 1 << bit], padded[..., bit, None], out=tables[..., 1 << bit : 2 << bit])
    return tables


def _distances(own: Codes, tables: Floats, codes: Codes) -> Floats:
    """Distances of one query: one look-up per byte."""
    distances = np.zeros(len(codes))
    for byte, table in enumerate(tables):
        distances += table[codes[:, byte] ^ own[byte]]
    return distances


def _kernel_nearest(queries: _Queries, codes: Codes, k: int) -> tuple[Floats, Ints]:
    from thpi.kernels.nearest_weighted import nearest_weighted

    words = f"u{word_size(codes.shape[1])}"
    queries = queries._replace(masks=queries.masks.view(words))
    return nearest_weighted(*queries, codes, codes.view(words), min(k, len(codes)))


def _numpy_nearest(queries: _Queries, codes: Codes, k: int) -> tuple[Floats, Ints]:
    """Do what the kernel does, in larger blocks."""
    k = min(k, len(codes))
    found = np.empty((len(queries.own), k)), np.empty((len(queries.own), k), dtype=np.int64)
    first = max(_FIRST_ROWS, k)
    for i, (own, masks, step, excess, tables) in enumerate(zip(*queries, strict=True)):
        distances = _distances(own, tables, codes[:first])
        positions = np.argsort(distances, kind="stable")[:k]
        distances = distances[positions]
        words, bits = as_words(own[None]), as_words(masks)
        for start in range(first, len(codes), _ROWS):
            differs = as_words(codes[start : start + _ROWS]) ^ words
            counts = sum(count_ones(differs & mask) * np.uint16(1 << j) for j, mask in enumerate(bits))
            limit = (distances[-1] + excess) / step * (1 + 1e-9)
            near = np.flatnonzero(np.sum(counts, axis=1) <= limit) + start
            both = np.concatenate([distances, _distances(own, tables, codes[near])])
            order = np.argsort(both, kind="stable")[:k]  # rows of earlier blocks come first
            distances, positions = both[order], np.concatenate([positions, near])[order]
        found[0][i], found[1][i] = distances, positions
    return found
