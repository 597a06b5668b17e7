"""What is exported: codes with their ids, width, bit order and model, and the files that hold them.

The bytes are those of :mod:`thpi.codes`; docs/reference/file-formats.md has the formats. An npy file is a structured
array, and the name of the field of codes has the metadata, ``code:bits=64:order=little:model=c4e8709f0e821f23``, so
that any numpy reads it. Parquet has them in the schema's metadata; faiss keeps none.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from thpi._files import atomic_open, atomic_write
from thpi._types import Array, Codes, PathLike
from thpi.codes import check_codes, n_bytes
from thpi.identity import check_fingerprint
from thpi.index import IdsLike, check_ids, id_kind

if TYPE_CHECKING:
    from thpi.collection import Collection

Id: TypeAlias = "int | str"

BIT_ORDER, VERSION = "little", 1  # of what files and tables of codes say about themselves


class CodeTable(NamedTuple):
    """Codes and ids, and texts of the items if they are wanted; ``model`` is a fingerprint (:mod:`thpi.identity`)."""

    codes: Codes
    ids: Array
    n_bits: int
    model: str | None = None
    texts: list[str | None] | None = None

    @classmethod
    def checked(cls, codes: npt.ArrayLike, ids: IdsLike | None, n_bits: int, model: str | None = None) -> CodeTable:
        """Check codes and ids (None: 0, 1, ...), which must be unique."""
        packed = check_codes(codes, n_bits=n_bits)
        given = np.arange(len(packed)) if ids is None else ids
        return cls(packed, check_ids(given, length=len(packed), unique=True), n_bits, check_fingerprint(model))

    @classmethod
    def of(cls, collection: Collection, *, texts: bool = False) -> CodeTable:
        """Return what a collection holds, in the order in which items were added."""
        known = collection.texts() if texts else None  # takes over what others have just changed
        return cls(collection.index.codes, collection.ids, collection.n_bits, collection.model, known)

    def description(self, **more: int | str | None) -> str:
        """Return the JSON text that every file and table of codes keeps beside them.

        >>> CodeTable.checked([[5]], ["a"], 3).description()
        '{"format": "thpi-codes", "version": 1, "n_bits": 3, "bit_order": "little", "model": null, "ids": "string"}'
        """
        about = {"format": "thpi-codes", "version": VERSION, "n_bits": self.n_bits, "bit_order": BIT_ORDER}
        return json.dumps(about | {"model": self.model, "ids": id_kind(self.ids)} | more)


def read_description(text: str | bytes, where: str) -> dict[str, Any]:
    """Read the text of :meth:`CodeTable.description`; ``where`` is for messages."""
    try:
        about: dict[str, Any] = json.loads(text)
        order = about["bit_order"]
        n_bytes(int(about["n_bits"]))
        about["model"] = check_fingerprint(about.get("model"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{where} has no readable description of codes ({error}).") from None
    if order != BIT_ORDER:
        raise ValueError(f"{where} has bit order {order!r}; only {BIT_ORDER!r} is known.")
    return about


def write_npy(path: PathLike, table: CodeTable) -> None:
    """Write codes and ids to a ``.npy`` file in one step."""
    column = table.ids
    if id_kind(column) == "string":
        if any(value.endswith("\0") for value in column):
            raise ValueError("ids must not end in a NUL character; numpy's fixed-width text drops it.")
        column = column.astype(np.str_) if len(column) else np.empty(0, dtype="<U1")
    field = f"code:bits={table.n_bits}:order={BIT_ORDER}" + ("" if table.model is None else f":model={table.model}")
    rows = np.empty(len(column), dtype=[("id", column.dtype), (field, np.uint8, table.codes.shape[1:])])
    rows["id"], rows[field] = column, table.codes
    with atomic_open(path) as file:
        np.save(file, rows, allow_pickle=False)


def write_parquet(path: PathLike, table: CodeTable) -> None:
    """Write codes, ids and texts, if there are any, to a Parquet file in one step."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffers = [None, pa.py_buffer(table.codes.tobytes())]
    id_type = pa.int64() if id_kind(table.ids) == "int64" else pa.string()
    columns = {
        "id": pa.array(table.ids.tolist(), type=id_type),
        "code": pa.FixedSizeBinaryArray.from_buffers(pa.binary(table.codes.shape[1]), len(table.codes), buffers),
    }
    if table.texts is not None:
        columns["text"] = pa.array(table.texts, type=pa.string())
    with atomic_open(path) as file:
        pq.write_table(pa.table(columns).replace_schema_metadata({"thpi": table.description()}), file)


def read_parquet(path: PathLike) -> CodeTable:
    """Read a file of :func:`write_parquet`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    where = repr(os.fspath(path))
    try:
        with open(path, "rb") as file:
            table = pq.read_table(file)
        code_column, id_column = (table.column(name).combine_chunks() for name in ("code", "id"))
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        raise ValueError(f"{where} is not a Parquet file of codes ({error}).") from None
    about = read_description((table.schema.metadata or {}).get(b"thpi", b""), where)
    width = n_bytes(about["n_bits"])
    if code_column.type != pa.binary(width) or code_column.null_count or id_column.null_count:
        expected = f"not {pa.binary(width)}, or nulls"
        raise ValueError(f"{where} has a column code of type {code_column.type}, {expected}.")
    codes = np.frombuffer(b"".join(code_column.to_pylist()), dtype=np.uint8).reshape(-1, width)
    ids = id_column.to_pylist() or np.empty(0, dtype=object if id_column.type == pa.string() else np.int64)
    texts = table.column("text").to_pylist() if "text" in table.schema.names else None
    return CodeTable.checked(codes, ids, about["n_bits"], about["model"])._replace(texts=texts)


def write_faiss(path: PathLike, table: CodeTable) -> None:
    """Write codes and int64 ids as a faiss binary index in one step."""
    import faiss

    if id_kind(table.ids) == "string":
        raise ValueError(f"ids={table.ids[0]!r}, ... are strings; a faiss index file holds integers only.")
    index = faiss.IndexBinaryIDMap2(faiss.IndexBinaryFlat(8 * table.codes.shape[1]))
    index.add_with_ids(table.codes, table.ids)
    atomic_write(path, faiss.serialize_index_binary(index).tobytes())
