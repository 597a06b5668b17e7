"""Codes in files that other programs read, with the width and the bit order of the codes beside them.

npy       A structured array. The field ``code`` holds the packed bytes, the field ``id`` the ids. The name of the
          code's field carries the metadata, ``code:bits=64:order=little``, so that one file holds all of it and any
          numpy reads it. String ids are fixed-width Unicode there, so an id cannot end in a NUL character.
Parquet   Columns ``id`` (int64 or string) and ``code`` (fixed-size binary); the schema's metadata has an entry
          ``thpi``, a JSON object with ``n_bits`` and ``bit_order``.
faiss     What ``faiss.write_index_binary`` writes: an ``IndexBinaryIDMap2`` over an ``IndexBinaryFlat``. faiss has
          room neither for metadata nor for string ids; ``n_bits``, ``bit_order`` and the sha256 of the index file
          stand in a JSON file beside it (``codes.faiss.json``). Without it the width is taken to be whole bytes.

The bytes are those of :mod:`thpi.codes` in all three.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thpi._files import atomic_open, atomic_write
from thpi._optional import require
from thpi.codes import Codes, check_codes, n_bytes
from thpi.index._ids import check_ids, check_unique, id_kind

__all__ = ["CodeTable", "read_faiss", "read_npy", "read_parquet", "write_faiss", "write_npy", "write_parquet"]

StrPath = str | os.PathLike[str]
_ORDER = "little"
_FIELD = re.compile(r"code:bits=([1-9][0-9]{0,8}):order=([a-z]+)")


class CodeTable(NamedTuple):
    """Codes and ids read from a file; iterate ``rows()`` to add them to a store."""

    codes: Codes
    ids: npt.NDArray[Any]
    n_bits: int

    def rows(self) -> Any:
        """Give (id, code) in order."""
        return zip(self.ids, self.codes, strict=True)


def _checked(codes: npt.ArrayLike, ids: Any, n_bits: int) -> CodeTable:
    packed = check_codes(codes, n_bits=n_bits)
    checked = check_ids(np.arange(len(packed)) if ids is None else ids, length=len(packed))
    check_unique(checked)
    return CodeTable(packed, checked, n_bits)


def _order_checked(path: StrPath, order: Any) -> None:
    if order != _ORDER:
        raise ValueError(f"{os.fspath(path)!r} has bit order {order!r}; only {_ORDER!r} is known.")


def write_npy(path: StrPath, codes: npt.ArrayLike, n_bits: int, ids: Any = None) -> None:
    """Write codes and ids (by default 0, 1, ...) to a ``.npy`` file in one step."""
    table = _checked(codes, ids, n_bits)
    column = table.ids
    if id_kind(column) == "string":
        if any(value.endswith("\0") for value in column):
            raise ValueError("ids must not end in a NUL character; numpy's fixed-width text drops it.")
        column = column.astype(np.str_) if len(column) else np.empty(0, dtype="<U1")
    field = f"code:bits={n_bits}:order={_ORDER}"
    rows = np.empty(len(column), dtype=[("id", column.dtype), (field, np.uint8, (n_bytes(n_bits),))])
    rows["id"], rows[field] = column, table.codes
    with atomic_open(path) as file:
        np.save(file, rows, allow_pickle=False)


def read_npy(path: StrPath, n_bits: int | None = None) -> CodeTable:
    """Read a file of :func:`write_npy`, or with ``n_bits`` given a plain 2-D array of packed bytes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_npy(Path(folder) / "codes.npy", np.array([[5], [6]], dtype=np.uint8), 3, ids=["a", "b"])
    ...     read_npy(Path(folder) / "codes.npy").n_bits
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
        return _checked(rows, None, n_bits)
    match = next((match for name in names if (match := _FIELD.fullmatch(name))), None)
    if match is None or "id" not in names:
        raise ValueError(f"{os.fspath(path)!r} has fields {names}, not those of a file of codes.")
    _order_checked(path, match[2])
    _check_bits(path, n_bits, int(match[1]))
    ids = rows["id"].tolist() if rows["id"].dtype.kind == "U" else rows["id"]
    return _checked(rows[match[0]], ids, int(match[1]))


def write_parquet(path: StrPath, codes: npt.ArrayLike, n_bits: int, ids: Any = None) -> None:
    """Write codes and ids (by default 0, 1, ...) to a Parquet file in one step. Needs the extra ``parquet``."""
    pa, pq = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    table = _checked(codes, ids, n_bits)
    width = n_bytes(n_bits)
    code_column = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(width), len(table.codes), [None, pa.py_buffer(table.codes.tobytes())]
    )
    id_column = pa.array(table.ids.tolist(), type=pa.int64() if id_kind(table.ids) == "int64" else pa.string())
    metadata = {"thpi": json.dumps({"format": "thpi-codes", "version": 1, "n_bits": n_bits, "bit_order": _ORDER})}
    schema = pa.schema([("id", id_column.type), ("code", code_column.type)], metadata=metadata)
    with atomic_open(path) as file:
        pq.write_table(pa.Table.from_arrays([id_column, code_column], schema=schema), file)


def read_parquet(path: StrPath) -> CodeTable:
    """Read a file of :func:`write_parquet`. Needs the extra ``parquet``."""
    pa, pq = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    try:
        with open(path, "rb") as file:
            table = pq.read_table(file)
        about = json.loads((table.schema.metadata or {})[b"thpi"])
        n_bits, order = about["n_bits"], about["bit_order"]
        code_column, id_column = (table.column(name).combine_chunks() for name in ("code", "id"))
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{os.fspath(path)!r} is not a Parquet file of codes ({error}).") from None
    _order_checked(path, order)
    code_type = pa.binary(n_bytes(n_bits))
    if code_column.type != code_type or code_column.null_count or id_column.null_count:
        raise ValueError(
            f"{os.fspath(path)!r} has a column code of type {code_column.type}, not {code_type}, or nulls."
        )
    if len(code_column) == 0:
        kind = object if id_column.type == pa.string() else np.int64
        return CodeTable(np.empty((0, n_bytes(n_bits)), dtype=np.uint8), np.empty(0, dtype=kind), n_bits)
    # The array may begin within its buffer.
    start, stop = (at * n_bytes(n_bits) for at in (code_column.offset, code_column.offset + len(code_column)))
    codes = np.frombuffer(code_column.buffers()[1], dtype=np.uint8)[start:stop]
    return _checked(codes.reshape(-1, n_bytes(n_bits)).copy(), id_column.to_pylist(), n_bits)


def write_faiss(path: StrPath, codes: npt.ArrayLike, n_bits: int, ids: Any = None) -> None:
    """Write codes and int64 ids (by default 0, 1, ...) as a faiss binary index, and ``<path>.json`` beside it."""
    import faiss

    table = _checked(codes, ids, n_bits)
    if id_kind(table.ids) == "string":
        raise ValueError(f"ids={table.ids[0]!r}, ... are strings; a faiss index file holds integers only.")
    index = faiss.IndexBinaryIDMap2(faiss.IndexBinaryFlat(8 * n_bytes(n_bits)))
    index.add_with_ids(table.codes, table.ids)
    data = faiss.serialize_index_binary(index).tobytes()
    about = {
        "format": "thpi-codes",
        "version": 1,
        "n_bits": n_bits,
        "bit_order": _ORDER,
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    atomic_write(path, data)
    atomic_write(_beside(path), json.dumps(about, indent=1))


def read_faiss(path: StrPath, n_bits: int | None = None) -> CodeTable:
    """Read a faiss binary index file: flat, or an id map over a flat one.

    A file without ``<path>.json`` beside it is read as faiss reads it: take such files from people you trust only.
    """
    import faiss

    data = Path(path).read_bytes()
    if _beside(path).exists():
        try:
            about = json.loads(_beside(path).read_bytes())
            order, stored_bits, digest = about["bit_order"], about["n_bits"], about["sha256"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{os.fspath(_beside(path))!r} is not readable ({error}).") from None
        if digest != hashlib.sha256(data).hexdigest():
            raise ValueError(f"{os.fspath(path)!r} does not match its checksum: the file was altered or damaged.")
        _order_checked(path, order)
        _check_bits(path, n_bits, stored_bits)
        n_bits = stored_bits
    try:
        index = faiss.deserialize_index_binary(np.frombuffer(data, dtype=np.uint8))
    except RuntimeError as error:
        raise ValueError(f"{os.fspath(path)!r} is not a faiss binary index ({error}).") from None
    ids, flat = None, index
    if isinstance(index, (faiss.IndexBinaryIDMap, faiss.IndexBinaryIDMap2)):
        ids = faiss.vector_to_array(index.id_map).copy()
        flat = faiss.downcast_IndexBinary(index.index)  # lives as long as the id map that owns it
    if not isinstance(flat, faiss.IndexBinaryFlat):
        raise ValueError(f"{os.fspath(path)!r} holds a {type(flat).__name__}; only flat ones hold plain codes.")
    codes = faiss.vector_to_array(getattr(flat, "xb")).reshape(flat.ntotal, flat.code_size)  # noqa: B009
    return _checked(codes, ids, n_bits if n_bits is not None else flat.d)


def _beside(path: StrPath) -> Path:
    return Path(os.fspath(path) + ".json")


def _check_bits(path: StrPath, given: int | None, stored: int) -> None:
    if given is not None and given != stored:
        raise ValueError(f"n_bits={given!r} was given, but {os.fspath(path)!r} holds codes of {stored} bits.")
