"""The file of a HammingIndex: one snapshot with a digest.

    bytes 0-7    ``b"thpi-idx"``
    8-39         sha256 of all bytes behind
    40-47        length of the header (uint64, little-endian)
    48-          header, codes, ids

The header is a JSON object: ``format`` ("thpi-index"), ``version`` (2), ``thpi`` (version of the writer), ``n_bits``,
``n`` (codes), ``ids`` ("int64" or "string"), ``body`` (bytes of codes and ids), and ``recall``, ``random_state`` and
``model`` as :class:`HammingIndex` takes them. The codes are those of :mod:`thpi.codes`. The ids are 64-bit integers
(little-endian), or a JSON list of texts. Reading executes nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from thpi._types import Array, Codes, PathLike
from thpi.codes import n_bytes
from thpi.index._ids import id_kind

MAGIC, FORMAT, VERSION = b"thpi-idx", "thpi-index", 2
_HEAD, _MAX_HEADER = 48, 2**16
_MAX_BITS = 2**23  # of a code; searches count on it


class IndexFileError(ValueError):
    """A file that is not a whole, unaltered thpi index."""


def encoded(about: dict[str, Any], codes: Codes, ids: Array) -> bytes:
    """Return the bytes of the file; ``about`` is what :class:`HammingIndex` is made of."""
    from thpi import __version__

    texts = "" if id_kind(ids) == "int64" else json.dumps(ids.tolist(), ensure_ascii=False, separators=(",", ":"))
    body = codes.tobytes() + (texts.encode() if texts else ids.astype("<i8").tobytes())
    known = {"format": FORMAT, "version": VERSION, "thpi": __version__, "ids": id_kind(ids), "n": len(ids)}
    header = json.dumps(about | known | {"body": len(body)}, sort_keys=True).encode()
    rest = len(header).to_bytes(8, "little") + header + body
    return MAGIC + hashlib.sha256(rest).digest() + rest


@contextmanager
def usable(path: PathLike) -> Iterator[None]:
    """Turn what is wrong with the content of a file into an ``IndexFileError`` that names the file."""
    try:
        yield
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        text = str(error) if isinstance(error, IndexFileError) else f"its content is not that of one ({error})."
        raise IndexFileError(f"{os.fspath(path)!r} is not a usable thpi index file: {text}") from None


def read(file: IO[bytes]) -> tuple[dict[str, Any], Codes, Any]:
    """Read the header, codes and ids of a file that :func:`encoded` made; within :func:`usable`."""
    head, size = file.read(_HEAD), os.fstat(file.fileno()).st_size
    if len(head) < _HEAD or head[:8] != MAGIC:
        raise IndexFileError("it does not begin like one (truncated, or of another format).")
    length = int.from_bytes(head[40:], "little")
    header = file.read(min(length, _MAX_HEADER))
    about = json.loads(header)
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise IndexFileError("its header is not that of a thpi index.")
    if about.get("version") != VERSION:
        raise IndexFileError(f"it has version {about.get('version')!r}; this thpi reads version {VERSION}.")
    # A sparse file may claim any size: it is compared with what the header says before anything large is read.
    if _HEAD + length + about["body"] != size:
        raise IndexFileError(f"it has {size} bytes, {_HEAD + length + about['body']} expected.")
    digest = hashlib.sha256(head[40:] + header)
    while block := file.read(2**20):
        digest.update(block)
    if digest.digest() != head[8:40]:
        raise IndexFileError("its checksum does not match: the file was altered or damaged.")
    file.seek(_HEAD + length)
    n, n_bits, body = about["n"], about["n_bits"], memoryview(file.read())
    end = n * n_bytes(n_bits)
    if n_bits > _MAX_BITS or not 0 <= end <= len(body):
        raise IndexFileError(f"it claims to have {n} codes of {n_bits} bits, more than its bytes can hold.")
    codes = np.frombuffer(body[:end], dtype=np.uint8).reshape(n, n_bytes(n_bits))
    if about["ids"] == "int64":
        return about, codes, np.frombuffer(body[end:], dtype="<i8")
    ids = json.loads(bytes(body[end:]))
    if not isinstance(ids, list) or {*map(type, ids)} - {str}:
        raise IndexFileError("its ids are not texts.")
    return about, codes, ids
