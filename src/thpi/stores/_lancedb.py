"""LanceDB: codes in a Lance table, in a folder or in an object store.

The table has the columns ``id`` (int64 or string), ``position`` (insertion order) and ``code`` (a list of fixed size of
uint8, the bytes of :mod:`thpi.codes`). The schema's metadata has an entry ``thpi``, a JSON object with the width in
bits, the bit order and the fingerprint of the model. Nothing runs beside the program: the engine is a library.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thpi._optional import require
from thpi._types import Array, Codes, PathLike
from thpi.codes import n_bytes
from thpi.identity import check_fingerprint
from thpi.index._ids import check_ids, id_kind
from thpi.stores._store import BIT_ORDER, Id, Stored, StoreInfo, check_name, describe_codes
from thpi.stores._ties import Found, TieStore

_BATCH, _LEAST = 5_000, -(2**63)


class LanceDB(TieStore):
    """The calls of :class:`thpi.index.HammingIndex` on a Lance table. Needs the extra ``lancedb``.

    The first ``add`` creates the table, for the kind of ids that it gets. Search is exact, ties included, and does not
    use an index. ``add`` and ``remove`` are one commit each. Ids are checked before, so only one process should write;
    readers see the newest commit.

    Parameters
    ----------
    uri : a folder, made if it is missing, or an address that LanceDB knows (``s3://...``, ``gs://...``, ``az://...``).
    table : letters, digits and underscores.
    n_bits : needed if the table does not exist yet.
    model : fingerprint of the model that makes the codes; kept with a new table, compared with that of an old one.
    any_model : accept a table that does not say which model made its codes.

    >>> store = LanceDB("shop.lancedb", "codes", n_bits=64)  # doctest: +SKIP
    >>> store.search(queries, k=5)  # doctest: +SKIP
    """

    def __init__(
        self,
        uri: PathLike,
        table: str,
        n_bits: int | None = None,
        *,
        model: str | None = None,
        any_model: bool = False,
    ) -> None:
        lancedb, self._pa = require("lancedb", "lancedb"), require("pyarrow", "lancedb")
        self.table, self._where = check_name("table", table, longest=128), f"table {table!r}"
        if "://" not in str(uri):
            if Path(uri).exists() and not Path(uri).is_dir():
                raise ValueError(f"uri={str(uri)!r} is a file; it must be a folder, or an address of an object store.")
            if not Path(uri).exists():  # nothing is left behind if n_bits is missing
                self._agree(None, n_bits, model, any_model)
        self._database = lancedb.connect(str(uri), read_consistency_interval=timedelta(0))
        self._table: Any = None
        self._counted: tuple[int, int] | None = None  # version of the table, and the position that comes next
        self._agree(self._stored(), n_bits, model, any_model)

    def __len__(self) -> int:
        return 0 if self._kind is None else int(self._table.count_rows())

    def __iter__(self) -> Iterator[tuple[Id, Codes]]:
        if self._kind is None:
            return
        rows = self._scan(["id", "position", "code"]).sort_by("position")
        yield from zip(rows.column("id").to_pylist(), self._codes(rows), strict=True)

    def _scan(self, columns: list[str], where: str | None = None) -> Any:
        query = self._table.search().select(columns).limit(None)
        return (query if where is None else query.where(where)).to_arrow()

    def _codes(self, rows: Any) -> Codes:
        column = rows.column("code").combine_chunks()
        return np.asarray(column.flatten(), dtype=np.uint8).reshape(-1, n_bytes(self.n_bits)).copy()

    def _find(self, ids: Array) -> dict[Id, Codes]:
        found: dict[Id, Codes] = {}
        for start in range(0, len(ids) if self._kind is not None else 0, _BATCH):
            rows = self._scan(["id", "code"], _among(ids[start : start + _BATCH]))
            found.update(zip(rows.column("id").to_pylist(), self._codes(rows), strict=True))
        return found

    def add(self, codes: npt.ArrayLike, ids: npt.ArrayLike | None = None) -> Array:
        """Add codes under ids in one commit. Everything is checked before."""
        packed, checked = self._checked(codes, ids)
        if len(packed) == 0:
            return checked
        self._refuse_known(checked, self._find(checked))
        kind, first = id_kind(checked), self._next_position()
        pa, width = self._pa, n_bytes(self.n_bits)
        columns = [
            pa.array(checked.tolist(), type=pa.int64() if kind == "int64" else pa.string()),
            pa.array(np.arange(first, first + len(packed))),
            pa.FixedSizeListArray.from_arrays(pa.array(packed.reshape(-1)), width),
        ]
        about = {"thpi": json.dumps(describe_codes(self.n_bits, self.model))}
        fields = zip(("id", "position", "code"), (column.type for column in columns), strict=True)
        rows = pa.Table.from_arrays(columns, schema=pa.schema(list(fields), metadata=about))
        if self._kind is None:
            self._table, self._kind = self._database.create_table(self.table, data=rows), kind
        else:
            self._table.add(rows)
        self._counted = self._table.version, first + len(packed)
        return checked

    def _next_position(self) -> int:
        if self._kind is None:
            return 0
        if self._counted is None or self._counted[0] != self._table.version:  # somebody else has changed the table
            self._counted = self._table.version, self._after("position")
        return self._counted[1]

    def _after(self, column: str) -> int:
        largest = self._pa.compute.max(self._scan([column]).column(column)).as_py()
        return 0 if largest is None else int(largest) + 1

    def _next_id(self) -> int:
        return self._after("id")

    def remove(self, ids: npt.ArrayLike) -> None:
        """Remove the codes of ``ids`` in one commit. An unknown id raises a ``KeyError``, and nothing is removed."""
        checked = check_ids(ids, kind=self.id_kind, unique=True)
        self._check_present(checked, self._find(checked))
        if len(checked):
            following = self._next_position()
            self._table.delete(_among(checked))
            self._counted = self._table.version, following

    def _near(self, query: Codes, limit: int | None, radius: int | None) -> list[Found]:
        search = self._table.search(query, vector_column_name="code").distance_type("hamming").bypass_vector_index()
        if radius is not None:
            search = search.distance_range(None, radius + 1)  # the upper bound is exclusive
        rows = search.select(["_distance", "position", "id"]).limit(limit or len(self)).to_arrow().to_pydict()
        distances = (round(distance) for distance in rows["_distance"])
        return list(zip(distances, rows["position"], rows["id"], strict=True))

    def _stored(self) -> Stored | None:
        try:
            self._table = self._database.open_table(self.table)
        except ValueError as error:
            if "not found" not in str(error):
                raise
            return None
        schema = self._table.schema
        try:
            about = json.loads((schema.metadata or {})[b"thpi"])
            n_bits, order = int(about["n_bits"]), about["bit_order"]
            model, kind = check_fingerprint(about.get("model")), schema.field("id").type
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"table={self.table!r} exists, but it is not a table of codes.") from None
        if order != BIT_ORDER:
            raise ValueError(f"the {self._where} has bit order {order!r}; only {BIT_ORDER!r} is known.")
        return n_bits, "int64" if kind == self._pa.int64() else "string", model

    def close(self) -> None:
        """Forget the table. There is no connection to close."""
        self._table = None


def _among(ids: Array) -> str:
    """Return an SQL condition for ``ids``; Lance has no parameters. In its texts only the quote is special."""
    if id_kind(ids) == "string":
        return f"id IN ({', '.join(_text(item) for item in ids)})"
    # Lance reads the digits of the least integer as a float.
    return f"id IN ({', '.join(f'CAST({_text(str(i))} AS BIGINT)' if i == _LEAST else str(i) for i in ids.tolist())})"


def _text(item: str) -> str:
    return "'" + item.replace("'", "''") + "'"


STORE = StoreInfo(
    name="lancedb",
    description="a Lance table, in a folder or an object store",
    connect=lambda address, table, token, **codes: LanceDB(address, table, **codes),
    extra="lancedb",
    prefixes=("s3://", "gs://", "az://"),
    suffixes=(".lancedb",),
    error_packages=("lancedb",),
)
