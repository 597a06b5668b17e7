"""LanceDB: codes in a Lance table, in a folder or in an object store.

The table has the columns ``id`` (int64 or string), ``code`` (a list of fixed size of uint8, the bytes of
:mod:`thpi.codes`) and, if wanted, ``text``. The schema's metadata has an entry ``thpi``, the description of the codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from thpi._optional import require
from thpi._types import Codes
from thpi.codes import n_bytes
from thpi.export._files import Id
from thpi.export._store import Store

_BATCH = 5_000  # ids of one deletion


class LanceDB(Store):
    """Codes in a Lance table. Needs the extra ``lancedb``.

    ``address`` is a folder, made if it is missing, or ``s3://...``, ``gs://...``, ``az://...``. Additions are one
    commit, and removals one for 5,000 items: only one process should write; readers see the newest commit.
    """

    extra, error_packages = "lancedb", ("lancedb",)
    longest_name = 128
    _table: Any = None

    def _connect(self, address: str) -> None:
        if "://" not in address and Path(address).is_file():
            raise ValueError(f"address={address!r} is a file; it must be a folder, or an address of an object store.")
        self._database = require("lancedb", "lancedb").connect(address, read_consistency_interval=timedelta(0))

    def _description(self) -> str | bytes | None:
        try:
            self._table = self._database.open_table(self.table)
        except ValueError as error:
            if "not found" in str(error):
                return None
            raise
        return bytes((self._table.schema.metadata or {}).get(b"thpi", b""))

    def _create(self, about: str) -> None:
        import pyarrow as pa

        columns = [("id", pa.int64() if self.kind == "int64" else pa.string())]
        columns.append(("code", pa.list_(pa.uint8(), n_bytes(self.n_bits))))
        columns += [("text", pa.string())] if self.with_texts else []
        self._table = self._database.create_table(self.table, schema=pa.schema(columns, metadata={"thpi": about}))

    def _drop(self) -> None:
        self._database.drop_table(self.table)

    def _insert(self, ids: list[Id], codes: Codes, texts: Sequence[str | None] | None) -> None:
        import pyarrow as pa

        columns = [ids, pa.FixedSizeListArray.from_arrays(pa.array(codes.reshape(-1)), codes.shape[1])]
        self._table.add(pa.table([*columns, *([] if texts is None else [texts])], schema=self._table.schema))

    def _delete(self, ids: list[Id]) -> None:
        for start in range(0, len(ids), _BATCH):
            self._table.delete(f"id IN ({', '.join(map(_literal, ids[start : start + _BATCH]))})")

    def _rows(self) -> Iterator[tuple[Id, bytes, str | None]]:
        rows = self._table.search().limit(None).to_arrow()
        codes = np.asarray(rows.column("code").combine_chunks().flatten(), dtype=np.uint8)
        packed = map(bytes, codes.reshape(-1, n_bytes(self.n_bits)))
        texts = rows.column("text").to_pylist() if self.with_texts else [None] * len(rows)
        yield from zip(rows.column("id").to_pylist(), packed, texts, strict=True)


def _literal(item: Id) -> str:
    """Return an id as SQL; Lance has no parameters. In its texts only the quote is special."""
    if isinstance(item, str):
        return "'" + item.replace("'", "''") + "'"
    return f"CAST('{item}' AS BIGINT)" if item == -(2**63) else str(item)  # it reads the least integer as a float
