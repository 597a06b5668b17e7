"""Codes as texts of 0 and 1, the form of PostgreSQL's ``bit(n)``; bit 0 comes first."""

from __future__ import annotations

import numpy as np

from thpi._types import Codes


def bit_texts(codes: Codes, n_bits: int) -> list[str]:
    """Write each code as a text.

    >>> bit_texts(np.array([[1], [6]], dtype=np.uint8), 4)
    ['1000', '0110']
    """
    if len(codes) == 0:
        return []
    digits = np.unpackbits(codes, axis=1, count=n_bits, bitorder="little") + np.uint8(ord("0"))
    return [text.decode() for text in digits.view(f"S{n_bits}")[:, 0].tolist()]


def codes_of_texts(texts: list[str], n_bits: int) -> Codes:
    """Read each text back into a code; the inverse of :func:`bit_texts`.

    >>> codes_of_texts(["1000", "0110"], 4)
    array([[1],
           [6]], dtype=uint8)
    """
    digits = np.frombuffer("".join(texts).encode(), dtype=np.uint8).reshape(len(texts), n_bits)
    return np.packbits(digits == ord("1"), axis=1, bitorder="little")
