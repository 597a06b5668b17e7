"""Pages: the ids and codes of up to 1,024 items, packed, with a digest."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

import numpy as np

from thpi._types import Array, Bools, Codes, Ints
from thpi.codes import check_codes, n_bytes
from thpi.collection._file import CollectionFileError

LENGTH = 1024
"""A page holds the items whose numbers, divided by this, are its own number."""


class Page(NamedTuple):
    """Numbers (rising), ids (a JSON list of integers or texts) and codes of some items.

    The ids stay text until somebody asks for them: most of the time to open a large collection would go there.
    """

    numbers: Ints
    ids: str
    codes: Codes

    @classmethod
    def empty(cls, n_bits: int) -> Page:
        """A page without items."""
        return cls(np.empty(0, dtype=np.int64), "[]", np.empty((0, n_bytes(n_bits)), dtype=np.uint8))

    def extended(self, numbers: Ints, ids: list[Any], codes: Codes) -> Page:
        """The page with further items behind its own."""
        texts = _json(json.loads(self.ids) + ids)
        return Page(np.concatenate([self.numbers, numbers]), texts, np.vstack([self.codes, codes]))

    def keep(self, kept: Bools) -> Page:
        """The page with some of its items."""
        ids = [item for item, stays in zip(json.loads(self.ids), kept.tolist(), strict=True) if stays]
        return Page(self.numbers[kept], _json(ids), self.codes[kept])

    def packed(self, number: int) -> tuple[int, str, bytes, str, bytes]:
        """The row of the table."""
        numbers, codes = self.numbers.astype("<i8").tobytes(), self.codes.tobytes()
        return number, _digest(number, numbers, self.ids, codes), numbers, self.ids, codes


def unpacked(row: tuple[Any, ...], n_bits: int) -> Page:
    """Read a row of the table; ``CollectionFileError`` unless it is one that :meth:`Page.packed` made."""
    number, digest, numbers, ids, codes = row
    fits = isinstance(numbers, bytes) and isinstance(ids, str) and isinstance(codes, bytes)
    if not fits or _digest(number, numbers, ids, codes) != digest:
        raise CollectionFileError(f"the digest of its page {number} does not match.")
    n, width = len(numbers) // 8, n_bytes(n_bits)
    if not 0 < n <= LENGTH or (len(numbers), len(codes)) != (8 * n, n * width):
        raise CollectionFileError(f"its page {number} has another length.")
    found = np.frombuffer(numbers, dtype="<i8").astype(np.int64)
    if found[0] // LENGTH != number or found[-1] // LENGTH != number or (np.diff(found) <= 0).any():
        raise CollectionFileError(f"its page {number} has the numbers of other items.")
    return Page(found, ids, np.frombuffer(codes, dtype=np.uint8).reshape(n, width))


def parsed_ids(texts: list[str], n: int) -> Array:
    """Return the ids of all pages: 64-bit integers, or an object array of texts."""
    ids: list[Any] = []
    try:
        for text in texts:
            ids += json.loads(text)
        kinds = set(map(type, ids))
        if len(ids) != n or kinds not in ({int}, {str}, set()):
            raise ValueError(f"{len(ids)} ids of {len(kinds)} kinds")
        return np.array(ids, dtype=object if kinds == {str} else np.int64)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise CollectionFileError(f"its ids are not those of {n} items ({error}).") from None


def checked_codes(codes: Codes, n_bits: int) -> Codes:
    """Refuse codes with bits beyond their width."""
    try:
        return check_codes(codes, n_bits=n_bits)
    except ValueError as error:
        raise CollectionFileError(f"its codes are not of {n_bits} bits ({error}).") from None


def _json(ids: list[Any]) -> str:
    return json.dumps(ids, ensure_ascii=False, separators=(",", ":"))


def _digest(number: int, numbers: bytes, ids: str, codes: bytes) -> str:
    """Digest over the number of a page, the lengths of its parts, and the parts."""
    text = ids.encode()
    found = hashlib.sha256(f"{number} {len(numbers)} {len(text)} {len(codes)}\0".encode())
    for part in (numbers, text, codes):
        found.update(part)
    return found.hexdigest()
