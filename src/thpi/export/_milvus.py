"""Milvus: codes in a Milvus collection, on a server or cluster, or in a file.

The collection has the fields ``id`` (INT64 or VARCHAR, primary key), ``position`` (order of insertion) and ``code``
(BINARY_VECTOR, the bytes of :mod:`thpi.codes`); its description is that of the codes. Queries use strong consistency,
so that they find what was just added.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from thpi._optional import require
from thpi._types import Array, Codes
from thpi.export._engine import EngineStore, Hit, IdKind
from thpi.export._milvus_lite import open_file
from thpi.export._table import Id
from thpi.export._workarounds import after_largest, settle_ties

_MAX_K, _BATCH = 16_384, 5_000  # Milvus's own limit on the answers to one query; rows of one request
# Milvus's filters do not read the escapes of control characters as JSON does. The embedded engine pastes ids into its
# own SQL when it deletes: a quote would fail, or delete other rows. A text field has at most 65,535 bytes.
_REFUSED = re.compile(r"[\x00-\x1f\x7f]|.{16384}"), "a control character or more than 16,383 characters"
_REFUSED_EMBEDDED = re.compile(rf"'|{_REFUSED[0].pattern}"), f"a single quote, {_REFUSED[1]}"


class Milvus(EngineStore):
    """Codes in a Milvus collection. Needs the extra ``milvus``.

    ``address`` is that of a server, or a file for the embedded engine (milvus-lite 2.5; 3.x takes no binary vectors).
    Milvus returns at most 16,384 items: a larger ``k`` is an error, and if more are within the distance of the k-th, it
    chooses among them. It has no transactions: ids are checked before a batch is sent, so only one process should
    write. See :class:`EngineStore` for the parameters; ``token`` is ``"user:password"`` or an access token.

    >>> store = Milvus("http://localhost:19530", "codes", n_bits=64)  # doctest: +SKIP
    >>> store.search(queries, k=5)  # doctest: +SKIP
    """

    on_disk = True

    def _connect(self, address: str, token: str) -> None:
        pymilvus, embedded = require("pymilvus", "milvus"), "://" not in address
        self._types, self.refused = pymilvus.DataType, _REFUSED_EMBEDDED if embedded else _REFUSED
        self._engine = open_file(address) if embedded else pymilvus.MilvusClient(address, token=token)

    def _description(self) -> str | None:
        if not self._engine.has_collection(self.table):
            return None
        self._engine.load_collection(self.table)
        return str(self._engine.describe_collection(self.table)["description"])

    def _create(self, kind: IdKind, about: str) -> None:
        schema = self._engine.create_schema(auto_id=False, enable_dynamic_field=False, description=about)
        id_type = self._types.INT64 if kind == "int64" else self._types.VARCHAR
        schema.add_field("id", id_type, is_primary=True, max_length=65_535)  # of a text
        schema.add_field("position", self._types.INT64)
        schema.add_field("code", self._types.BINARY_VECTOR, dim=(self.n_bits + 7) // 8 * 8)
        index = self._engine.prepare_index_params()
        index.add_index("code", index_type="BIN_FLAT", metric_type="HAMMING")
        self._engine.create_collection(self.table, schema=schema, index_params=index, consistency_level="Strong")

    def _insert(self, ids: Array, codes: Codes) -> None:
        items = enumerate(zip(ids.tolist(), codes, strict=True), start=self._after("position"))
        rows = [{"id": item, "position": place, "code": code.tobytes()} for place, (item, code) in items]
        for start in range(0, len(rows), _BATCH):
            self._engine.insert(self.table, rows[start : start + _BATCH])

    def _delete(self, ids: Array) -> None:
        for start in range(0, len(ids), _BATCH):
            self._engine.delete(self.table, filter=_among(ids[start : start + _BATCH]))

    def _query(self, where: str, fields: list[str], **more: int) -> list[dict[str, Any]]:
        return list(self._engine.query(self.table, where, fields, consistency_level="Strong", **more))

    def _find(self, ids: Array) -> Iterable[tuple[Id, Codes]]:
        return map(_coded, self._query(_among(ids), ["id", "code"]))

    def _rows(self) -> Iterator[tuple[Id, Codes]]:
        for start in range(0, self._after("position"), _BATCH):
            rows = self._query(f"position >= {start} and position < {start + _BATCH}", ["id", "position", "code"])
            yield from map(_coded, sorted(rows, key=lambda row: int(row["position"])))

    def _nearest(self, queries: Codes, k: int) -> list[list[Hit]]:
        if k > _MAX_K and (k := min(k, self._count())) > _MAX_K:
            raise ValueError(f"k={k!r} is more than Milvus returns; at most {_MAX_K}.")
        return settle_ties(self._near, queries, k)

    def _near(self, queries: Codes, limit: int | None, radius: int | None) -> list[list[Hit]]:
        limit, found = min(limit or _MAX_K, _MAX_K), list[Any]()
        block = min(1000, 2**18 // limit)  # limits the answers of one request
        within = {} if radius is None else {"radius": radius + 1}  # the bound is exclusive
        options = {"limit": limit, "search_params": {"metric_type": "HAMMING", "params": within}}
        options |= {"anns_field": "code", "output_fields": ["position"], "consistency_level": "Strong"}
        for start in range(0, len(queries), block):
            data = [code.tobytes() for code in queries[start : start + block]]
            found += self._engine.search(self.table, data=data, **options)
        return [[(hit["distance"], hit["entity"]["position"], hit["id"]) for hit in hits] for hits in found]

    def _count(self) -> int:
        return int(self._query("", ["count(*)"])[0]["count(*)"])

    def _largest_id(self) -> int:
        return self._after("id") - 1

    def _after(self, field: str) -> int:
        return after_largest(lambda value: bool(self._query(f"{field} >= {value}", [field], limit=1)))


def _among(ids: Array) -> str:
    """Return a filter for ``ids``. The embedded engine has no parameters, so texts are JSON literals."""
    return f"id in {json.dumps(ids.tolist(), ensure_ascii=False)}"


def _coded(row: dict[str, Any]) -> tuple[Id, Codes]:
    value = row["code"][0] if isinstance(row["code"], list) else row["code"]  # a list in the embedded engine
    return row["id"], np.frombuffer(value, dtype=np.uint8).copy()
