"""Packed binary codes: packing, unpacking and Hamming distances.

A code of ``n_bits`` bits is ``ceil(n_bits / 8)`` bytes. Bit ``j`` of the code (``j`` counted from 0) is
``(byte[j // 8] >> (j % 8)) & 1``: the first bit is the least significant bit of the first byte ("little" bit order, as
in faiss, in ``numpy.packbits(..., bitorder="little")`` and in ``get_bit(bytea, j)`` of PostgreSQL). Bits beyond
``n_bits`` in the last byte are zero. A bit is 1 where the hash function is +1, that is where its real-valued projection
is >= 0, and 0 where it is -1. ``n`` codes are ``n`` such rows without gaps (C order); nothing else is stored. The
Hamming distance of two codes is the number of ones in the exclusive-or of their bytes; the padding needs no mask.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Bools, Distances, Signs, Words
from thpi._types import Codes as Codes

__all__ = [
    "check_codes",
    "hamming_distances",
    "n_bytes",
    "pack",
    "pack_signs",
    "paired_hamming_distances",
    "unpack",
    "unpack_signs",
]


def n_bytes(n_bits: int) -> int:
    """Return the number of bytes of one code."""
    if n_bits < 1:
        raise ValueError(f"n_bits={n_bits!r} must be a positive integer.")
    return -(-n_bits // 8)


def pack(bits: npt.ArrayLike) -> Codes:
    """Pack rows of bits (True/False or 1/0) into rows of bytes.

    >>> pack([[1, 0, 0, 0, 0, 0, 0, 0, 1, 1]])
    array([[1, 3]], dtype=uint8)
    """
    array = _check_columns(bits, "bits")
    if array.dtype != np.bool_:
        if not np.isin(array, (0, 1)).all():
            raise ValueError("bits must hold only 0 and 1 (for -1 and +1 use pack_signs).")
        array = array.astype(np.bool_)
    return np.packbits(array, axis=1, bitorder="little")


def pack_signs(values: npt.ArrayLike) -> Codes:
    """Pack rows of real numbers, including -1 and +1: the bit is 1 where the number is >= 0.

    >>> pack_signs([[-1, 1, 0.0, -0.5]])
    array([[6]], dtype=uint8)
    """
    return np.packbits(_check_columns(values, "values") >= 0, axis=1, bitorder="little")


def _check_columns(values: npt.ArrayLike, name: str) -> Array:
    array = np.asarray(values)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name} must be a 2-D array with at least one column, got shape {array.shape}.")
    return array


def unpack(codes: npt.ArrayLike, n_bits: int) -> Bools:
    """Unpack rows of bytes into rows of ``n_bits`` bits; the inverse of :func:`pack`.

    >>> unpack([[1, 3]], 10).astype(int)
    array([[1, 0, 0, 0, 0, 0, 0, 0, 1, 1]])
    """
    packed = check_codes(codes, n_bits=n_bits)
    return np.unpackbits(packed, axis=1, count=n_bits, bitorder="little").view(np.bool_)


def unpack_signs(codes: npt.ArrayLike, n_bits: int) -> Signs:
    """Unpack rows of bytes into rows of -1 and +1."""
    return 2 * unpack(codes, n_bits).view(np.int8) - np.int8(1)


def check_codes(codes: npt.ArrayLike, *, n_bits: int | None = None, name: str = "codes") -> Codes:
    """Return packed codes as C-ordered 2-D uint8, or raise ``ValueError``; ``n_bits`` checks width and padding too."""
    packed = np.asarray(codes)
    if packed.ndim != 2:
        raise ValueError(f"{name} must be 2-D (rows of bytes), got shape {packed.shape}.")
    if packed.dtype != np.uint8:
        if packed.dtype.kind not in "iu" or (packed.size and (packed.min() < 0 or packed.max() > 255)):
            raise ValueError(f"{name} must be packed bytes (uint8), got dtype {packed.dtype}.")
        packed = packed.astype(np.uint8)
    if n_bits is not None:
        width = n_bytes(n_bits)
        if packed.shape[1] != width:
            raise ValueError(f"{name} has {packed.shape[1]} bytes per row; n_bits={n_bits} needs {width} bytes.")
        if n_bits % 8 and packed.size and (packed[:, -1] >> (n_bits % 8)).any():
            raise ValueError(f"{name} has bits set beyond n_bits={n_bits}; padding bits must be zero.")
    return np.ascontiguousarray(packed)


def _ones_by_shifts(words: Words) -> Codes:
    # Adds up neighbouring bits, pairs and fours; the product adds the eight bytes.
    u = np.uint64  # numpy 1.26 turns uint64 with a plain int into float64
    twos, fours = u(0x3333333333333333), u(0x0F0F0F0F0F0F0F0F)
    x = words - ((words >> u(1)) & u(0x5555555555555555))
    x = (x & twos) + ((x >> u(2)) & twos)
    x = (x + (x >> u(4))) & fours
    return np.asarray((x * u(0x0101010101010101)) >> u(56), dtype=np.uint8)


# The number of ones in each word; numpy 1.26 has no function for it.
count_ones: Callable[[Words], Codes] = getattr(np, "bitwise_count", _ones_by_shifts)


def as_words(codes: Codes) -> Words:
    """View rows of bytes as rows of zero-padded 64-bit words, which need an eighth of the operations."""
    short = -codes.shape[1] % 8
    return (np.pad(codes, ((0, 0), (0, short))) if short else codes).view(np.uint64)


def hamming_distances(a: npt.ArrayLike, b: npt.ArrayLike) -> Distances:
    """Hamming distance of each row of ``a`` to each row of ``b``, shape ``(len(a), len(b))``.

    To search a large collection, use :class:`thpi.index.HammingIndex`.

    >>> hamming_distances([[0b0011]], [[0b0001], [0b1100]])
    array([[1, 4]], dtype=int32)
    """
    left, right = check_codes(a, name="a"), check_codes(b, name="b")
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"a has {left.shape[1]} bytes per row and b has {right.shape[1]}; they must be equal.")
    left_words, right_words = as_words(left), as_words(right)
    distances = np.empty((len(left), len(right)), dtype=np.int32)
    # In blocks, so that the exclusive-or stays in cache.
    block = max(1, 2**20 // max(1, right_words.size))
    for start in range(0, len(left), block):
        rows = slice(start, start + block)
        distances[rows] = count_ones(left_words[rows, None, :] ^ right_words).sum(axis=-1, dtype=np.int32)
    return distances


def paired_hamming_distances(a: npt.ArrayLike, b: npt.ArrayLike) -> Distances:
    """Hamming distance of each row of ``a`` to the same row of ``b``."""
    left, right = check_codes(a, name="a"), check_codes(b, name="b")
    if left.shape != right.shape:
        raise ValueError(f"a has shape {left.shape} and b has shape {right.shape}; they must be equal.")
    return np.asarray(count_ones(as_words(left) ^ as_words(right)).sum(axis=-1, dtype=np.int32))
