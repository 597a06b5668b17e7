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
from typing import IO, Any

import numpy as np

from thpi._types import Array, PathLike
from thpi.codes import check_codes, n_bytes
from thpi.index._hamming_index import HammingIndex
from thpi.index._ids import id_kind

MAGIC, FORMAT, VERSION = b"thpi-idx", "thpi-index", 2
_HEAD, _MAX_HEADER = 48, 2**16
_MAX_BITS = 2**23  # of a code; searches count on it


class IndexFileError(ValueError):
    """A file that is not a whole, unaltered thpi index."""


def encoded(index: HammingIndex) -> bytes:
    """Return the bytes of the file."""
    from thpi import __version__

    rows = index._state.rows
    ids = rows.ids.astype("<i8").tobytes() if id_kind(rows.ids) == "int64" else _texts(rows.ids)
    about = {"format": FORMAT, "version": VERSION, "thpi": __version__, "n_bits": index.n_bits, "n": len(rows)}
    about |= {"recall": index.recall, "random_state": index.random_state, "model": index.model}
    about |= {"ids": id_kind(rows.ids), "body": rows.codes.size + len(ids)}
    header = json.dumps(about, sort_keys=True).encode()
    rest = len(header).to_bytes(8, "little") + header + rows.codes.tobytes() + ids
    return MAGIC + hashlib.sha256(rest).digest() + rest


def read(path: PathLike) -> HammingIndex:
    """Read a file; ``IndexFileError`` unless it is one that :func:`encoded` made."""
    with open(path, "rb") as file:
        try:
            return _read(file)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            text = str(error) if isinstance(error, IndexFileError) else f"its content is not that of one ({error})."
            raise IndexFileError(f"{os.fspath(path)!r} is not a usable thpi index file: {text}") from None


def _read(file: IO[bytes]) -> HammingIndex:
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
    return _index(about, memoryview(file.read()))


def _index(about: dict[str, Any], body: memoryview) -> HammingIndex:
    """Make the index; whatever is wrong is a ``ValueError``, ``KeyError`` or ``TypeError``."""
    n, n_bits = about["n"], about["n_bits"]
    index = HammingIndex(n_bits, about["recall"], random_state=about["random_state"], model=about["model"])
    end = n * n_bytes(n_bits)
    if n_bits > _MAX_BITS or not 0 <= end <= len(body):
        raise IndexFileError(f"it claims to have {n} codes of {n_bits} bits, more than its bytes can hold.")
    codes = check_codes(np.frombuffer(body[:end], dtype=np.uint8).reshape(n, n_bytes(n_bits)), n_bits=n_bits)
    ids: Any = json.loads(bytes(body[end:])) if about["ids"] == "string" else np.frombuffer(body[end:], dtype="<i8")
    index.add(codes, ids)
    if len(index) and index.id_kind != about["ids"]:
        raise IndexFileError(f"its ids are not of kind {about['ids']!r}.")
    return index


def _texts(ids: Array) -> bytes:
    return json.dumps(ids.tolist(), ensure_ascii=False, separators=(",", ":")).encode()
