"""LanceDB: codes in a Lance table, in a folder or in an object store.

The table has the columns ``id`` (int64 or string), ``position`` (order of insertion) and ``code`` (a list of fixed size
of uint8, the bytes of :mod:`thpi.codes`). The schema's metadata has an entry ``thpi``, the description of the codes.
Nothing runs beside the program: the engine is a library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from thpi._optional import require
from thpi._types import Array, Codes
from thpi.codes import n_bytes
from thpi.export._engine import EngineStore, Hit, IdKind
from thpi.export._table import Id
from thpi.export._workarounds import settle_ties
from thpi.index import id_kind

_LEAST = -(2**63)


class LanceDB(EngineStore):
    """Codes in a Lance table. Needs the extra ``lancedb``.

    ``address`` is a folder, made if it is missing, or an address that LanceDB knows (``s3://...``, ``gs://...``,
    ``az://...``). Search does not use an index. ``add`` and ``remove`` are one commit each; the first ``add`` makes the
    empty table before. Ids are checked before, so only one process should write; readers see the newest commit. See
    :class:`EngineStore` for the parameters.

    >>> store = LanceDB("shop.lancedb", "codes", n_bits=64)  # doctest: +SKIP
    >>> store.search(queries, k=5)  # doctest: +SKIP
    """

    on_disk, longest_name = True, 128
    _table: Any = None

    def _connect(self, address: str, token: str) -> None:
        lancedb, self._pa = require("lancedb", "lancedb"), require("pyarrow", "lancedb")
        if "://" not in address and Path(address).is_file():
            raise ValueError(f"address={address!r} is a file; it must be a folder, or an address of an object store.")
        self._database = lancedb.connect(address, read_consistency_interval=timedelta(0))

    def _description(self) -> str | bytes | None:
        try:
            self._table = self._database.open_table(self.table)
        except ValueError as error:
            if "not found" not in str(error):
                raise
            return None
        text: bytes = (self._table.schema.metadata or {}).get(b"thpi", b"")
        return text

    def _create(self, kind: IdKind, about: str) -> None:
        pa, code = self._pa, self._pa.list_(self._pa.uint8(), n_bytes(self.n_bits))
        columns = {"id": pa.int64() if kind == "int64" else pa.string(), "position": pa.int64(), "code": code}
        schema = pa.schema(list(columns.items()), metadata={"thpi": about})
        self._table = self._database.create_table(self.table, schema=schema)

    def _insert(self, ids: Array, codes: Codes) -> None:
        first, pa = self._largest("position") + 1, self._pa
        values = pa.array(codes.reshape(-1)), codes.shape[1]
        columns = [ids.tolist(), np.arange(first, first + len(ids)), pa.FixedSizeListArray.from_arrays(*values)]
        self._table.add(pa.table(columns, schema=self._table.schema))

    def _delete(self, ids: Array) -> None:
        self._table.delete(_among(ids))

    def _scan(self, columns: list[str], where: str | None = None) -> Any:
        query = self._table.search().select(columns).limit(None)
        return (query if where is None else query.where(where)).to_arrow()

    def _coded(self, rows: Any) -> Iterator[tuple[Id, Codes]]:
        codes = np.asarray(rows.column("code").combine_chunks().flatten(), dtype=np.uint8)
        return zip(rows.column("id").to_pylist(), codes.reshape(-1, n_bytes(self.n_bits)).copy(), strict=True)

    def _find(self, ids: Array) -> Iterable[tuple[Id, Codes]]:
        return self._coded(self._scan(["id", "code"], _among(ids)))

    def _rows(self) -> Iterator[tuple[Id, Codes]]:
        return self._coded(self._scan(["id", "position", "code"]).sort_by("position"))

    def _nearest(self, queries: Codes, k: int) -> list[list[Hit]]:
        return settle_ties(self._near, queries, min(k, self._count()))

    def _near(self, queries: Codes, limit: int | None, radius: int | None) -> list[list[Hit]]:
        return [self._near_one(query, limit or self._count(), radius) for query in queries]

    def _near_one(self, query: Codes, limit: int, radius: int | None) -> list[Hit]:
        search = self._table.search(query, vector_column_name="code").distance_type("hamming").bypass_vector_index()
        if radius is not None:
            search = search.distance_range(None, radius + 1)  # the upper bound is exclusive
        rows = search.select(["_distance", "position", "id"]).limit(limit).to_arrow().to_pydict()
        return list(zip(rows["_distance"], rows["position"], rows["id"], strict=True))

    def _count(self) -> int:
        return int(self._table.count_rows())

    def _largest_id(self) -> int:
        return self._largest("id")

    def _largest(self, column: str) -> int:
        largest = self._pa.compute.max(self._scan([column]).column(column)).as_py()
        return -1 if largest is None else int(largest)


def _among(ids: Array) -> str:
    """Return an SQL condition for ``ids``; Lance has no parameters. In its texts only the quote is special."""
    if id_kind(ids) == "string":
        values = ["'" + item.replace("'", "''") + "'" for item in ids]
    else:  # Lance reads the digits of the least integer as a float
        values = [f"CAST('{item}' AS BIGINT)" if item == _LEAST else str(item) for item in ids.tolist()]
    return f"id IN ({', '.join(values)})"
