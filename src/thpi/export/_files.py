"""Codes in files that other programs read, with the width and the bit order of the codes and the model that made them.

npy       A structured array. The field ``code`` holds the packed bytes, the field ``id`` the ids. The name of the
          code's field carries the metadata, ``code:bits=64:order=little:model=c4e8709f0e821f23``, so that one file
          holds everything and any numpy reads it. String ids are fixed-width Unicode, so an id cannot end in a NUL
          character.
Parquet   Columns ``id`` (int64 or string) and ``code`` (fixed-size binary); the schema's metadata has an entry
          ``thpi``, a JSON object with ``n_bits``, ``bit_order`` and ``model``.
faiss     The format of ``faiss.write_index_binary``: an ``IndexBinaryIDMap2`` over an ``IndexBinaryFlat``, integer ids
          only. Behind it, where faiss does not look: a JSON object with ``n_bits``, ``bit_order``, ``model`` and the
          sha256 of the index, its length (uint64, little-endian), the sha256 of all that, and ``thpicode``. Without
          it the width is assumed to be whole bytes.

The bytes are those of :mod:`thpi.codes` in all three. ``model`` is a fingerprint (:mod:`thpi.identity`); codes from
elsewhere have none.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from collections.abc import Mapping
from typing import IO

import numpy as np
import numpy.typing as npt

from thpi._files import atomic_open, atomic_write
from thpi._optional import require
from thpi._types import PathLike
from thpi.codes import n_bytes
from thpi.export._table import BIT_ORDER, CodeTable, FileFormat, describe_codes, read_description
from thpi.index import id_kind

_END = b"thpicode"
_FAISS_BESIDE = 2**20  # bytes of a faiss file beside codes and ids, at most
_FIELD = re.compile(r"code:bits=([1-9][0-9]{0,8}):order=([a-z]+)(?::model=([0-9a-f]{16}))?")


def write_npy(
    path: PathLike, codes: npt.ArrayLike, n_bits: int, ids: npt.ArrayLike | None = None, model: str | None = None
) -> None:
    """Write codes and ids (by default 0, 1, ...) to a ``.npy`` file in one step."""
    table = CodeTable.checked(codes, ids, n_bits, model)
    column = table.ids
    if id_kind(column) == "string":
        if any(value.endswith("\0") for value in column):
            raise ValueError("ids must not end in a NUL character; numpy's fixed-width text drops it.")
        column = column.astype(np.str_) if len(column) else np.empty(0, dtype="<U1")
    field = f"code:bits={n_bits}:order={BIT_ORDER}" + ("" if model is None else f":model={model}")
    rows = np.empty(len(column), dtype=[("id", column.dtype), (field, np.uint8, (n_bytes(n_bits),))])
    rows["id"], rows[field] = column, table.codes
    with atomic_open(path) as file:
        np.save(file, rows, allow_pickle=False)


def read_npy(path: PathLike, n_bits: int | None = None) -> CodeTable:
    """Read a file of :func:`write_npy`, or, if ``n_bits`` is given, a plain 2-D array of packed bytes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_npy(f"{folder}/codes.npy", np.array([[5], [6]], dtype=np.uint8), 3, ids=["a", "b"])
    ...     read_npy(f"{folder}/codes.npy").n_bits
    3
    """
    try:
        with open(path, "rb") as file:
            rows = np.lib.format.read_array(file, allow_pickle=False)
    except (ValueError, EOFError, SyntaxError, TypeError, OverflowError, MemoryError) as error:
        raise ValueError(f"{os.fspath(path)!r} is not a readable .npy file ({error}).") from None
    names = rows.dtype.names
    if names is None:
        if n_bits is None:
            raise ValueError(f"{os.fspath(path)!r} is a plain array without metadata; pass n_bits.")
        return CodeTable.checked(rows, None, n_bits)
    match = next((match for name in names if (match := _FIELD.fullmatch(name))), None)
    if match is None or "id" not in names:
        raise ValueError(f"{os.fspath(path)!r} has fields {names}, not those of a file of codes.")
    stored = json.dumps({"n_bits": int(match[1]), "bit_order": match[2], "model": match[3]})
    about = read_description(stored, repr(os.fspath(path)), n_bits)
    ids = rows["id"].tolist() if rows["id"].dtype.kind == "U" else rows["id"]
    return CodeTable.checked(rows[match[0]], ids, about.n_bits, about.model)


def write_parquet(
    path: PathLike,
    codes: npt.ArrayLike,
    n_bits: int,
    ids: npt.ArrayLike | None = None,
    model: str | None = None,
    more: Mapping[str, int | str] | None = None,
) -> None:
    """Write codes and ids (by default 0, 1, ...) to a Parquet file in one step. Needs the extra ``parquet``.

    ``more`` is kept beside ``n_bits``, ``bit_order`` and ``model``.
    """
    pa, pq = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    table = CodeTable.checked(codes, ids, n_bits, model)
    buffers = [None, pa.py_buffer(table.codes.tobytes())]
    code_column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(n_bytes(n_bits)), len(table.codes), buffers)
    id_column = pa.array(table.ids.tolist(), type=pa.int64() if id_kind(table.ids) == "int64" else pa.string())
    columns = [("id", id_column.type), ("code", code_column.type)]
    schema = pa.schema(columns, metadata={"thpi": describe_codes(n_bits, model, **more or {})})
    with atomic_open(path) as file:
        pq.write_table(pa.Table.from_arrays([id_column, code_column], schema=schema), file)


def read_parquet(path: PathLike, n_bits: int | None = None) -> CodeTable:
    """Read a file of :func:`write_parquet`. Needs the extra ``parquet``."""
    pa, pq = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    try:
        with open(path, "rb") as file:
            table = pq.read_table(file)
        code_column, id_column = (table.column(name).combine_chunks() for name in ("code", "id"))
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{os.fspath(path)!r} is not a Parquet file of codes ({error}).") from None
    about = read_description((table.schema.metadata or {}).get(b"thpi", b""), repr(os.fspath(path)), n_bits)
    n_bits, model, width = about.n_bits, about.model, n_bytes(about.n_bits)
    if code_column.type != pa.binary(width) or code_column.null_count or id_column.null_count:
        expected = f"not {pa.binary(width)}, or nulls"
        raise ValueError(f"{os.fspath(path)!r} has a column code of type {code_column.type}, {expected}.")
    if len(code_column) == 0:
        kind = object if id_column.type == pa.string() else np.int64
        return CodeTable(np.empty((0, width), dtype=np.uint8), np.empty(0, dtype=kind), n_bits, model)
    # The array may begin within its buffer.
    codes = np.frombuffer(code_column.buffers()[1], dtype=np.uint8, offset=code_column.offset * width)
    codes = codes[: len(code_column) * width].reshape(-1, width).copy()
    return CodeTable.checked(codes, id_column.to_pylist(), n_bits, model)


def write_faiss(
    path: PathLike, codes: npt.ArrayLike, n_bits: int, ids: npt.ArrayLike | None = None, model: str | None = None
) -> None:
    """Write codes and int64 ids (by default 0, 1, ...) as a faiss binary index in one step."""
    import faiss

    table = CodeTable.checked(codes, ids, n_bits, model)
    if id_kind(table.ids) == "string":
        raise ValueError(f"ids={table.ids[0]!r}, ... are strings; a faiss index file holds integers only.")
    index = faiss.IndexBinaryIDMap2(faiss.IndexBinaryFlat(8 * n_bytes(n_bits)))
    index.add_with_ids(table.codes, table.ids)
    data = faiss.serialize_index_binary(index).tobytes()
    about = describe_codes(n_bits, model, sha256=hashlib.sha256(data).hexdigest()).encode()
    whole = data + about + len(about).to_bytes(8, "little")
    atomic_write(path, whole + hashlib.sha256(whole).digest() + _END)


def _check_faiss(path: PathLike, file: IO[bytes]) -> None:
    """Compare the size of a file with the number of codes in it, before all of it is read."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    head = file.read(29).ljust(29)
    file.seek(0)
    if b"IBxF" not in (head[:4], head[25:]):  # in an id map it comes second
        return  # not flat: faiss reads it, or says what is wrong
    width, n = struct.unpack_from("<iq", head, 8)
    if width < 0 or n < 0 or not n * width <= size <= n * (width + 8) + _FAISS_BESIDE:
        raise ValueError(f"{os.fspath(path)!r} has {size} bytes, not those of {n} codes: it was cut off or altered.")


def _split_faiss(path: PathLike) -> tuple[bytes, bytes | None]:
    """Return the bytes that faiss reads, and the JSON text that describes them, if there is one."""
    with open(path, "rb") as file:
        _check_faiss(path, file)
        data = file.read()
    if data.endswith(_END):
        whole, digest = data[: -32 - len(_END)], data[-32 - len(_END) : -len(_END)]
        end = len(whole) - 8
        start = end - int.from_bytes(whole[end:], "little")
        if start < 0 or hashlib.sha256(whole).digest() != digest:
            raise ValueError(f"{os.fspath(path)!r} does not match its checksum: the file was altered or damaged.")
        return whole[:start], whole[start:end]
    return data, None


def read_faiss(path: PathLike, n_bits: int | None = None) -> CodeTable:
    """Read a faiss binary index file: flat, or an id map over a flat one.

    If thpi did not write it, faiss reads the file unchecked: use such files only from people you trust.
    """
    import faiss

    (data, text), model = _split_faiss(path), None
    if text is not None:
        about = read_description(text, repr(os.fspath(path)), n_bits)
        if about.more.get("sha256") != hashlib.sha256(data).hexdigest():
            raise ValueError(f"{os.fspath(path)!r} does not match its checksum: the file was altered or damaged.")
        n_bits, model = about.n_bits, about.model
    try:
        index = faiss.deserialize_index_binary(np.frombuffer(data, dtype=np.uint8))
    except RuntimeError as error:
        raise ValueError(f"{os.fspath(path)!r} is not a faiss binary index ({error}).") from None
    if text is None and len(faiss.serialize_index_binary(index)) != len(data):
        raise ValueError(f"{os.fspath(path)!r} has bytes behind the index: the file was cut off, altered or damaged.")
    ids, flat = None, index
    if isinstance(index, (faiss.IndexBinaryIDMap, faiss.IndexBinaryIDMap2)):
        ids = faiss.vector_to_array(index.id_map).copy()
        flat = faiss.downcast_IndexBinary(index.index)  # owned by the id map
    if not isinstance(flat, faiss.IndexBinaryFlat):
        raise ValueError(f"{os.fspath(path)!r} holds a {type(flat).__name__}; only flat indexes hold plain codes.")
    codes = faiss.vector_to_array(getattr(flat, "xb")).reshape(flat.ntotal, flat.code_size)  # noqa: B009
    return CodeTable.checked(codes, ids, n_bits if n_bits is not None else flat.d, model)


_FAISS = (b"IBxF", b"IBMp", b"IBM2")
_FORMATS = (
    FileFormat("npy", "an array for numpy, width and ids included", ".npy", (b"\x93NUMPY",), read_npy, write_npy),
    FileFormat("parquet", "a Parquet file", ".parquet", (b"PAR1",), read_parquet, write_parquet, extra="parquet"),
    FileFormat("faiss", "a faiss binary index; integer ids only", ".faiss", _FAISS, read_faiss, write_faiss),
)
FORMATS: dict[str, FileFormat] = {entry.name: entry for entry in _FORMATS}
"""The kinds of files of codes by name."""
