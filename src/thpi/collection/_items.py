"""Items in the file, one row each, and the pages that hold their codes for search."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from thpi._types import Array, Codes, Ints
from thpi.collection._file import CollectionFile, CollectionFileError
from thpi.collection._pages import LENGTH, Page, unpacked

_STATE = "state"
_MANY = 500  # values in one statement; SQLite allows 999 in its oldest versions


class Details(NamedTuple):
    """What people see of an item: a text and a small picture (WebP, PNG or JPEG), where there are any."""

    text: str | None = None
    thumbnail: bytes | None = None


def read_digests(file: CollectionFile) -> dict[int, str]:
    """Return the digests of all pages, which must be those that the last change left."""
    found = {
        int(str(page)): str(digest) for page, digest in file.execute("SELECT page, sha256 FROM page ORDER BY page")
    }
    if json.loads(file.read_part(_STATE)) != _state(found):
        raise CollectionFileError("pages are missing, or from another time.")
    return found


def read_page(file: CollectionFile, number: int, n_bits: int) -> Page:
    """Return a page whose digest matches."""
    return unpacked(file.execute("SELECT * FROM page WHERE page=?", (number,))[0], n_bits)


def read_pages(file: CollectionFile, n_bits: int) -> Iterator[Page]:
    """Iterate over all pages."""
    for row in file.execute("SELECT * FROM page ORDER BY page"):
        yield unpacked(row, n_bits)


def insert(file: CollectionFile, ids: Array, codes: Codes, details: Sequence[Details] | None, n_bits: int) -> None:
    """Add items; the caller has a transaction, and has checked everything but whether the ids are new."""
    last = file.execute("SELECT max(seq) FROM sqlite_sequence WHERE name='item'")[0][0]
    first = 1 + (last if last is not None else -1)
    numbers, values = np.arange(first, first + len(ids)), ids.tolist()
    rows: Iterator[tuple[Any, ...]]
    if details is None:
        rows = ((*row, None, None, None) for row in zip(numbers.tolist(), values, map(bytes, codes), strict=True))
    else:
        rows = (
            (number, item, code, *about, _crc(item, about))
            for number, item, code, about in zip(numbers.tolist(), values, map(bytes, codes), details, strict=True)
        )
    file.execute_many("INSERT INTO item VALUES (?, ?, ?, ?, ?, ?)", rows)
    starts = np.flatnonzero(np.diff(numbers // LENGTH, prepend=-1))
    known = {page for (page,) in file.execute("SELECT page FROM page WHERE page>=?", (first // LENGTH,))}
    for start, stop in zip(starts, [*starts[1:], len(numbers)], strict=True):
        number = int(numbers[start]) // LENGTH
        page = read_page(file, number, n_bits) if number in known else Page.empty(n_bits)
        _write_page(file, number, page.extended(numbers[start:stop], values[start:stop], codes[start:stop]))
    _write_state(file)


def delete(file: CollectionFile, numbers: Ints, n_bits: int) -> None:
    """Remove items by their numbers; the caller has a transaction."""
    file.execute_many("DELETE FROM item WHERE number=?", ((number,) for number in numbers.tolist()))
    for number in np.unique(numbers // LENGTH).tolist():
        page = read_page(file, number, n_bits)
        rest = page.keep(~np.isin(page.numbers, numbers))
        if len(rest.numbers):
            _write_page(file, number, rest)
        else:
            file.execute("DELETE FROM page WHERE page=?", (number,))
    _write_state(file)


def clear(file: CollectionFile) -> None:
    """Remove all items; the caller has a transaction."""
    file.execute("DELETE FROM item")
    file.execute("DELETE FROM page")
    _write_state(file)


def numbers_of(file: CollectionFile, ids: Sequence[int | str]) -> dict[int | str, int]:
    """Return the numbers of the ids that are there."""
    found: dict[int | str, int] = {}
    for start in range(0, len(ids), _MANY):
        some = tuple(ids[start : start + _MANY])
        marks = ",".join("?" * len(some))
        found |= dict(file.execute(f"SELECT id, number FROM item WHERE id IN ({marks})", some))
    return found


def details_of(file: CollectionFile, item: int | str) -> Details:
    """Return text and picture of an item; ``KeyError`` if there is none, ``CollectionFileError`` if it was altered."""
    rows = file.execute("SELECT text, thumbnail, crc FROM item WHERE id=?", (item,))
    if not rows:
        raise KeyError(f"id={item!r} is not in the collection.")
    ((text, thumbnail, crc),) = rows
    typed = isinstance(text, (str, type(None))) and isinstance(thumbnail, (bytes, type(None)))
    if not typed or _crc(item, Details(text, thumbnail)) != crc:
        raise CollectionFileError(f"its item {item!r} was altered.")
    return Details(text, thumbnail)


def check_rows(file: CollectionFile, n_bits: int) -> None:
    """Compare every row with its page; ``CollectionFileError`` if they differ, or if an item was altered."""
    for page in read_pages(file, n_bits):
        number = int(page.numbers[0]) // LENGTH
        span = number * LENGTH, number * LENGTH + LENGTH - 1
        rows: Any = file.execute("SELECT * FROM item WHERE number BETWEEN ? AND ? ORDER BY number", span)
        known = list(zip(page.numbers.tolist(), json.loads(page.ids), map(bytes, page.codes), strict=True))
        if [row[:3] for row in rows] != known:
            raise CollectionFileError(f"its items {span[0]} to {span[1]} are not those of page {number}.")
        for _, item, _, text, thumbnail, crc in rows:
            if _crc(item, Details(text, thumbnail)) != crc:
                raise CollectionFileError(f"its item {item!r} was altered.")
    ((n_rows,),) = file.execute("SELECT count(*) FROM item")
    if n_rows != sum(len(page.numbers) for page in read_pages(file, n_bits)):
        raise CollectionFileError("it has items that no page knows.")


def _write_page(file: CollectionFile, number: int, page: Page) -> None:
    file.execute("INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?)", page.packed(number))


def _write_state(file: CollectionFile) -> None:
    digests = {
        int(str(page)): str(digest) for page, digest in file.execute("SELECT page, sha256 FROM page ORDER BY page")
    }
    file.write_part(_STATE, json.dumps(_state(digests)).encode())


def _state(digests: dict[int, str]) -> dict[str, Any]:
    text = "".join(f"{page} {digest}\n" for page, digest in digests.items())
    return {"pages": len(digests), "sha256": hashlib.sha256(text.encode()).hexdigest()}


def _crc(item: int | str, details: Details) -> int | None:
    """Checksum of what people see of an item; None if that is nothing. The codes that are searched are in the pages."""
    if details == Details():
        return None
    text = "" if details.text is None else "t" + details.text
    picture = b"" if details.thumbnail is None else b"p" + details.thumbnail
    return zlib.crc32(picture, zlib.crc32(f"{item!r}\0{text}\0".encode()))
