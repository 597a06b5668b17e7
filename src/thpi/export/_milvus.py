"""Milvus: codes in a Milvus collection, on a server or cluster, or in a file.

The collection has the fields ``id`` (INT64 or VARCHAR, primary key), ``position`` (order of insertion), ``code``
(BINARY_VECTOR, the bytes of :mod:`thpi.codes`) and, if wanted, ``text``, empty where an item has none; its description
is that of the codes. Queries use strong consistency, so that they find what was just added.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

from thpi._optional import require
from thpi._types import Codes
from thpi.export._files import Id
from thpi.export._store import Store

_BATCH = 5_000  # rows of one request
_PATIENCE = 60.0  # seconds for the embedded engine to start
# Milvus's filters do not read the escapes of control characters as JSON does, and do not find the least and the largest
# integer. The embedded engine pastes ids into its own SQL when it deletes: a quote would fail, or delete other rows.
_EDGES = -(2**63), 2**63 - 1
_REFUSED, _TOO_LONG = r"[\x00-\x1f\x7f]|.{16384}", "a control character or more than 16,383 characters"


class Milvus(Store):
    """Codes in a Milvus collection. Needs the extra ``milvus``.

    ``address`` is that of a server, whose token (``user:password`` or an access token) is in ``THPI_STORE_TOKEN``, or a
    file for the embedded engine (milvus-lite 2.5; 3.x takes no binary vectors). Only one process should write.
    """

    extra, error_packages = "milvus", ("pymilvus", "grpc")

    def _connect(self, address: str) -> None:
        pymilvus, self._embedded = require("pymilvus", "milvus"), "://" not in address
        token = os.environ.get("THPI_STORE_TOKEN", "")
        self._engine = _open_file(pymilvus, address) if self._embedded else pymilvus.MilvusClient(address, token=token)

    def _check_ids(self, ids: list[Id]) -> None:
        refused = re.compile(f"'|{_REFUSED}" if self._embedded else _REFUSED)
        for item in ids:
            if item in _EDGES or (isinstance(item, str) and refused.search(item)):
                what = f"an extreme of 64 bits, or has {'a single quote, ' if self._embedded else ''}{_TOO_LONG}"
                raise ValueError(f"ids={item!r} is {what}, which Milvus does not take.")

    def _description(self) -> str | None:
        if not self._engine.has_collection(self.table):
            return None
        self._engine.load_collection(self.table)
        return str(self._engine.describe_collection(self.table)["description"])

    def _create(self, about: str) -> None:
        types = require("pymilvus", "milvus").DataType
        schema = self._engine.create_schema(auto_id=False, enable_dynamic_field=False, description=about)
        kind = types.INT64 if self.kind == "int64" else types.VARCHAR
        schema.add_field("id", kind, is_primary=True, max_length=65_535)
        schema.add_field("position", types.INT64)
        schema.add_field("code", types.BINARY_VECTOR, dim=(self.n_bits + 7) // 8 * 8)
        if self.with_texts:
            schema.add_field("text", types.VARCHAR, max_length=65_535)
        index = self._engine.prepare_index_params()
        index.add_index("code", index_type="BIN_FLAT", metric_type="HAMMING")
        self._engine.create_collection(self.table, schema=schema, index_params=index, consistency_level="Strong")

    def _drop(self) -> None:
        self._engine.drop_collection(self.table)

    def _insert(self, ids: list[Id], codes: Codes, texts: Sequence[str | None] | None) -> None:
        items = enumerate(zip(ids, map(bytes, codes), strict=True), start=self._end())
        rows: list[dict[str, Any]] = [{"id": item, "position": n, "code": code} for n, (item, code) in items]
        for row, text in zip(rows, texts or (), strict=False):
            row["text"] = text or ""
        for start in range(0, len(rows), _BATCH):
            self._engine.insert(self.table, rows[start : start + _BATCH])

    def _delete(self, ids: list[Id]) -> None:
        for start in range(0, len(ids), _BATCH):
            some = json.dumps(ids[start : start + _BATCH], ensure_ascii=False)  # the embedded engine has no parameters
            self._engine.delete(self.table, filter=f"id in {some}")

    def _rows(self) -> Iterator[tuple[Id, bytes, str | None]]:
        # Not query_iterator: it pastes ids into filters, and never ends on an id with a quote.
        fields = ["id", "code", "text"] if self.with_texts else ["id", "code"]
        for start in range(0, self._end(), _BATCH):
            for row in self._query(f"position >= {start} and position < {start + _BATCH}", fields):
                code = row["code"][0] if isinstance(row["code"], list) else row["code"]  # a list in the embedded engine
                yield row["id"], bytes(code), row.get("text")

    def _query(self, where: str, fields: list[str], **more: int) -> list[dict[str, Any]]:
        return list(self._engine.query(self.table, where, fields, consistency_level="Strong", **more))

    def _end(self) -> int:
        """Return one more than the largest position, by bisection: Milvus finds no largest value."""
        low, high = -1, 1  # low is reached, or -1; high is not
        while self._query(f"position >= {high}", ["position"], limit=1):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            there = self._query(f"position >= {middle}", ["position"], limit=1)
            low, high = (middle, high) if there else (low, middle)
        return high


def _open_file(pymilvus: Any, path: str) -> Any:
    """Return a client of the engine for a file, a process of its own. On a busy machine it may take long to start."""
    require("milvus_lite", "milvus")
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return pymilvus.MilvusClient(path, timeout=_PATIENCE)
        except pymilvus.MilvusException as error:
            if "Fail connecting to server" not in str(error) or time.monotonic() >= deadline:
                words = "does not open, or not in time; another program may have it open"
                raise ConnectionError(f"address={path!r} {words} ({error}).") from error
        time.sleep(0.25)
