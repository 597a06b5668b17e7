"""The bytes of an index file.

    bytes 0-7       ``b"thpi-idx"``
    8-55, 56-103    two slots, each: number of records (uint64), end of the acknowledged bytes (uint64), and the
                    sha256 of the snapshot's digest and these 16 bytes
    104-135         sha256 of bytes 136 up to the end of the snapshot
    136-151         length of the header (uint64), length of the body (uint64)
    152-            header (JSON, UTF-8), body, then the records

All numbers are little-endian. The body is the packed codes of :mod:`thpi.codes`, then the ids: one byte for the kind
(``i`` or ``s``), their number (uint64), and either int64 numbers or the lengths in bytes (uint32) followed by the
UTF-8 texts. The header is a JSON object:

    format    ``"thpi-index"``          n_bits    bits of a code
    version   1                         n         number of rows in the body
    thpi      version of the writer     recall    target recall, or null for exact search
    report    result of tuning, or null     random_state  seed of sampling and building
    model     fingerprint of the model that made the codes, or null; not in files of early versions

A record is one ``add`` or ``remove`` after the snapshot: length of its payload (uint64), kind (one byte, ``a`` or
``r``), sha256 of (digest of the previous record or of the snapshot; length; kind; payload), payload. The payload is
the ids and, for ``a``, the codes. The chain of digests fixes the order of the records.

A record is acknowledged once a slot includes it. Every byte up to that end must be present and match. Bytes after it
are an unfinished write: whole records are used, the rest is ignored. A slot is written after its record, so if one
slot is damaged the records must reach the end of the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from itertools import accumulate, pairwise
from typing import IO, Any, NamedTuple, TypedDict, cast

import numpy as np

from thpi._types import Array, Codes
from thpi.codes import check_codes, n_bytes
from thpi.identity import check_fingerprint
from thpi.index._ids import check_ids, id_kind

MAGIC, FORMAT, VERSION = b"thpi-idx", "thpi-index", 1
SLOTS, FIXED = (8, 56), 152
MAX_BITS = 2**23  # of a code; searches count on it
_SLOT, _RECORD_HEAD = 48, 41
_MAX_HEADER, _BLOCK = 2**24, 2**20
_ID_WIDTHS = {b"i": 8, b"s": 4}  # bytes for an id, or for the length of its text


class IndexFileError(ValueError):
    """A file that is not a whole, unaltered thpi index."""


class Header(TypedDict):
    thpi: str
    n_bits: int
    recall: float | None
    random_state: int
    report: dict[str, Any] | None
    model: str | None


class Record(NamedTuple):
    """One addition (``a``) or removal (``r``) after the snapshot."""

    kind: str
    ids: Array
    codes: Codes


class Contents(NamedTuple):
    """Contents of a file. Its last whole record is at ``last`` (0: there is none), ends at ``end``, has ``digest``."""

    header: Header
    codes: Codes
    ids: Array
    records: list[Record]
    snapshot_digest: bytes
    digest: bytes
    last: int
    end: int


class Tail(NamedTuple):
    """Records at the end of a file, as in ``Contents``; a slot includes the bytes up to ``acknowledged``."""

    records: list[Record]
    digest: bytes
    last: int
    end: int
    acknowledged: int


def snapshot_bytes(header: Header, codes: Codes, ids: Array) -> tuple[bytes, bytes]:
    """Return the bytes of a file without records, and the digest of its snapshot."""
    text = json.dumps({"format": FORMAT, "version": VERSION, **header, "n": len(codes)}, sort_keys=True).encode()
    body = codes.tobytes() + _ids_bytes(ids)
    checked = struct.pack("<QQ", len(text), len(body)) + text + body
    digest = hashlib.sha256(checked).digest()
    slot = slot_bytes(digest, 0, FIXED - 16 + len(checked))
    return MAGIC + slot + slot + digest + checked, digest


def slot_bytes(snapshot_digest: bytes, count: int, end: int) -> bytes:
    """Return the bytes of a slot that acknowledges ``count`` records up to ``end``."""
    numbers = struct.pack("<QQ", count, end)
    return numbers + hashlib.sha256(snapshot_digest + numbers).digest()


def record_bytes(record: Record, previous: bytes) -> tuple[bytes, bytes]:
    """Return the bytes and the digest of a record that follows the one with digest ``previous``."""
    payload = _ids_bytes(record.ids) + (record.codes.tobytes() if record.kind == "a" else b"")
    head = struct.pack("<Q", len(payload)) + record.kind.encode()
    digest = hashlib.sha256(previous + head + payload).digest()
    return head + digest + payload, digest


def parse(file: IO[bytes]) -> Contents:
    """Read an index file; raise ``IndexFileError``. Nothing large is held in memory before its digest is right."""
    file.seek(0)
    head = file.read(FIXED)
    # Measured after the head was read: another process may add a record meanwhile, and writes it before the head.
    size = file.seek(0, os.SEEK_END)
    file.seek(FIXED)
    if len(head) < FIXED or head[:8] != MAGIC:
        raise IndexFileError("it does not begin like one (truncated, or of another format).")
    digest = head[104:136]
    header_length, body_length = struct.unpack_from("<QQ", head, 136)
    snapshot_end = FIXED + header_length + body_length
    if snapshot_end > size:
        raise IndexFileError(f"it is truncated: {size} bytes, at least {snapshot_end} expected.")
    if header_length > _MAX_HEADER:
        raise IndexFileError(f"its header has {header_length} bytes; {_MAX_HEADER} are allowed.")
    header, n = _header(file.read(header_length))
    codes_end = header_length + n * n_bytes(header["n_bits"])
    _check_body(file, FIXED + codes_end, snapshot_end, n)
    ends = [end for at in SLOTS if (end := _slot_end(head, at, digest)) is not None]
    if not ends:
        raise IndexFileError("both its slots, or its checksum, are damaged; additions may be missing.")
    if max(ends) > size:
        raise IndexFileError(f"it is truncated: {size} bytes, at least {max(ends)} expected.")
    whole = _verified(file, FIXED, snapshot_end, hashlib.sha256(head[136:]), digest)
    if whole is None:
        raise IndexFileError("its checksum does not match: the file was altered or damaged.")
    codes = _codes(memoryview(whole)[header_length:codes_end], n, header["n_bits"])
    ids, rest = _parse_ids(memoryview(whole)[codes_end:])
    if len(ids) != n or len(rest):
        raise IndexFileError(f"it has {len(ids)} ids for {n} codes.")
    records, latest, last, end = _records(file, snapshot_end, max(ends), digest, header["n_bits"])
    if len(ends) < len(SLOTS) and end < size:
        # A slot is written after its record is complete, so an unfinished write cannot damage both.
        raise IndexFileError("a slot and a record are damaged: the file was altered.")
    return Contents(header, codes, ids, records, digest, latest, last, end)


class Known(NamedTuple):
    """The part of a file that a reader knows: as in ``Contents``, and the length of its codes."""

    n_bits: int
    snapshot_digest: bytes
    digest: bytes
    last: int
    end: int


def read_tail(file: IO[bytes], known: Known) -> Tail:
    """Read the records behind those that are known; ``IndexFileError`` if the known part is another one by now."""
    head = file.read(FIXED)
    file.seek(known.last)
    record = file.read(_RECORD_HEAD)
    same = head[:8] == MAGIC and head[104:136] == known.snapshot_digest and file.seek(0, os.SEEK_END) >= known.end
    if not same or (known.last and record[9:] != known.digest):
        raise IndexFileError("it is not the file that was read before.")
    acknowledged = max((end for at in SLOTS if (end := _slot_end(head, at, head[104:136])) is not None), default=0)
    records, digest, last, end = _records(file, known.end, acknowledged, known.digest, known.n_bits)
    return Tail(records, digest, last if records else known.last, end, acknowledged)


def _header(text: bytes) -> tuple[Header, int]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise IndexFileError(f"its header is not JSON ({error}).") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise IndexFileError("its header is not that of a thpi index.")
    if header.get("version") != VERSION:
        raise IndexFileError(f"it has version {header.get('version')!r}; this thpi reads version {VERSION}.")
    for name, least, most in (("n_bits", 1, MAX_BITS), ("n", 0, 2**40)):
        value = header.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise IndexFileError(f"its header has {name}={repr(value)[:80]}.")
    if missing := [name for name in ("recall", "random_state", "report") if name not in header]:
        raise IndexFileError(f"its header has no {missing[0]}.")
    try:
        check_fingerprint(header.setdefault("model", None))
    except ValueError as error:
        raise IndexFileError(f"its header has a wrong model ({error}).") from None
    return cast("Header", header), header["n"]


def _check_body(file: IO[bytes], at: int, end: int, n: int) -> None:
    """Refuse a body that cannot hold n codes, up to ``at``, and n ids, before all of it is read."""
    file.seek(min(at, end))
    kind, n_ids = struct.unpack("<cQ", file.read(min(9, end - file.tell())).ljust(9))
    if at + 9 + _ID_WIDTHS.get(kind, 4) * n > end:
        raise IndexFileError(f"it claims to have {n} codes, more than its bytes can hold.")
    if kind not in _ID_WIDTHS or n_ids != n or (kind == b"i" and at + 9 + 8 * n < end):
        raise IndexFileError(f"its ids are not those of {n} codes.")


def _slot_end(data: bytes, at: int, snapshot_digest: bytes) -> int | None:
    count, end = struct.unpack_from("<QQ", data, at)
    return int(end) if data[at : at + _SLOT] == slot_bytes(snapshot_digest, count, end) else None


def _records(
    file: IO[bytes], start: int, acknowledged: int, digest: bytes, n_bits: int
) -> tuple[list[Record], bytes, int, int]:
    """Return the whole records from ``start`` on, the digest of the last one, where it is and where it ends."""
    records: list[Record] = []
    last, size = 0, file.seek(0, os.SEEK_END)
    file.seek(start)
    while len(head := file.read(_RECORD_HEAD)) == _RECORD_HEAD:
        length, kind = struct.unpack_from("<Qc", head)
        begin, end, expected = start + _RECORD_HEAD, start + _RECORD_HEAD + length, head[9:]
        payload = _verified(file, begin, end, hashlib.sha256(digest + head[:9]), expected) if end <= size else None
        if payload is None:
            break
        ids, rest = _parse_ids(memoryview(payload))
        if kind not in (b"a", b"r"):
            raise IndexFileError(f"it has a record of unknown kind {kind!r}.")
        records.append(Record(kind.decode(), ids, _codes(rest, len(ids) if kind == b"a" else 0, n_bits)))
        last, start, digest = start, end, expected
    if start < acknowledged:
        raise IndexFileError("an addition or removal stored in it is damaged: the file was altered.")
    return records, digest, last, start


def _verified(file: IO[bytes], start: int, end: int, running: Any, expected: bytes) -> bytes | None:
    """Return the bytes from ``start`` to ``end``; None unless ``running``, a digest that goes on, ends as expected.

    Many bytes are read twice: a sparse file may claim any number of them, and they must not fill the memory.
    """
    file.seek(start)
    data = file.read(min(_BLOCK, end - start))
    running.update(data)
    while (left := end - file.tell()) > 0 and (block := file.read(min(_BLOCK, left))):
        running.update(block)
    if running.digest() != expected:
        return None
    if end - start > len(data):
        file.seek(start)
        data = file.read(end - start)
    return data


def _codes(data: memoryview, n: int, n_bits: int) -> Codes:
    if len(data) != n * n_bytes(n_bits):
        raise IndexFileError(f"it has {len(data)} bytes of codes where {n} codes of {n_bits} bits were expected.")
    try:
        return check_codes(np.frombuffer(data, dtype=np.uint8).reshape(n, n_bytes(n_bits)), n_bits=n_bits)
    except ValueError as error:
        raise IndexFileError(str(error)) from None


def _ids_bytes(ids: Array) -> bytes:
    if id_kind(ids) == "int64":
        return b"i" + struct.pack("<Q", len(ids)) + ids.astype("<i8").tobytes()
    texts = [value.encode() for value in ids]
    lengths = np.array([len(text) for text in texts], dtype="<u4")
    return b"s" + struct.pack("<Q", len(ids)) + lengths.tobytes() + b"".join(texts)


def _parse_ids(data: memoryview) -> tuple[Array, memoryview]:
    """Return the ids at the start of ``data``, and the bytes after them."""
    kind = bytes(data[:1])
    if len(data) < 9 or kind not in _ID_WIDTHS:
        raise IndexFileError("its ids are not readable.")
    (n,) = struct.unpack_from("<Q", data, 1)
    at = 9 + n * _ID_WIDTHS[kind]
    if at > len(data):
        raise IndexFileError(f"it claims to have {n} ids, more than its bytes can hold.")
    if kind == b"i":
        return np.frombuffer(data[9:at], dtype="<i8").astype(np.int64), data[at:]
    limits = list(accumulate(np.frombuffer(data[9:at], dtype="<u4").tolist(), initial=at))
    if limits[-1] > len(data):
        raise IndexFileError("the texts of its ids are cut off.")
    try:
        texts = [bytes(data[start:end]).decode() for start, end in pairwise(limits)]
    except UnicodeDecodeError as error:
        raise IndexFileError(f"an id is not UTF-8 text ({error}).") from None
    return check_ids(texts, kind="string"), data[limits[-1] :]
