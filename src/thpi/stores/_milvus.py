"""Milvus: codes in a Milvus collection, on one machine or on a cluster.

The collection has the fields ``id`` (INT64 or VARCHAR, primary key), ``position`` (insertion order) and ``code``
(BINARY_VECTOR, the bytes of :mod:`thpi.codes`, padded with zeros). Its description holds the width in bits, the bit
order and the fingerprint of the model that made the codes. Queries use strong consistency, so that they find what was
just added.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from thpi._optional import require
from thpi._types import Array, Codes
from thpi.codes import check_codes, n_bytes
from thpi.identity import check_fingerprint
from thpi.index._ids import IdKind, Neighbours, check_ids, check_integer, id_kind
from thpi.stores._store import BIT_ORDER, EngineStore, Id, Stored, StoreInfo, check_name, describe_codes

Row: TypeAlias = "dict[str, Any]"

_MAX_K = 16_384  # Milvus's own limit on the number of answers to one query
_BATCH = 5_000
_LONGEST_ID = 65_535
_PATIENCE = 60.0  # seconds for the embedded engine to start
# Milvus's filters do not read the escapes of control characters as JSON does. The embedded engine pastes ids into its
# own SQL when it deletes: a quote would fail, or delete other rows.
_REFUSED, _REFUSED_EMBEDDED = (re.compile(f"[\\x00-\\x1f\\x7f{quote}]") for quote in ("", "'"))


class Milvus(EngineStore):
    """The calls of :class:`thpi.index.HammingIndex` on a Milvus collection. Needs the extra ``milvus``.

    The first ``add`` creates the collection, for the kind of ids that it gets. Search is exact (BIN_FLAT). Milvus
    decides which of several items at the k-th distance are returned; in the answer, equal distances are in insertion
    order. A query returns at most 16,384 items, in ``search`` and in ``radius_search``. Milvus has no transactions:
    ids are checked before a batch is sent, so only one process should write. String ids must not contain control
    characters or, in the embedded engine, single quotes.

    Parameters
    ----------
    uri : a file path (embedded engine: milvus-lite 2.5; 3.x takes no binary vectors) or a server's address.
    collection : letters, digits and underscores.
    n_bits : needed if the collection does not exist yet.
    token : ``"user:password"`` or an access token, for servers that require one.
    model : fingerprint of the model that makes the codes; kept with a new collection, compared with that of an old one.
    any_model : accept a collection that does not say which model made its codes.

    >>> store = Milvus("shop.db", "codes", n_bits=64)  # doctest: +SKIP
    >>> store.search(queries, k=5)  # doctest: +SKIP
    """

    def __init__(
        self,
        uri: str,
        collection: str,
        n_bits: int | None = None,
        *,
        token: str = "",
        model: str | None = None,
        any_model: bool = False,
    ) -> None:
        pymilvus = require("pymilvus", "milvus")
        self.collection, self._where = check_name("collection", collection), f"collection {collection!r}"
        embedded = "://" not in str(uri)
        if embedded:
            require("milvus_lite", "milvus")
        self._refused = _REFUSED_EMBEDDED if embedded else _REFUSED
        self._types = pymilvus.DataType
        connect = partial(pymilvus.MilvusClient, str(uri), token=token)
        self._client = _patiently(connect, str(uri), pymilvus.MilvusException) if embedded else connect()
        try:
            self._agree(self._stored(), n_bits, model, any_model)
            self._width = n_bytes(self.n_bits)
            if self._kind is not None:
                self._client.load_collection(self.collection)
        except BaseException:
            self._client.close()
            raise

    def __len__(self) -> int:
        return 0 if self.id_kind is None else int(self._query("", ["count(*)"])[0]["count(*)"])

    def __iter__(self) -> Iterator[tuple[Id, Codes]]:
        end = 0 if self.id_kind is None else self._next("position")
        for start in range(0, end, _BATCH):
            rows = self._query(f"position >= {start} and position < {start + _BATCH}", ["id", "position", "code"])
            for row in sorted(rows, key=lambda row: int(row["position"])):
                yield row["id"], self._code(row)

    def _find(self, ids: Array) -> dict[Id, Codes]:
        return {row["id"]: self._code(row) for row in self._by_id(ids, ["id", "code"])}

    def add(self, codes: npt.ArrayLike, ids: npt.ArrayLike | None = None) -> Array:
        """Add codes under ids. Everything is checked before anything is sent."""
        packed, checked = self._checked(codes, ids)
        if len(packed) == 0:
            return checked
        self._check_texts(checked)
        if self._kind is None:
            self._create(id_kind(checked))
        self._refuse_known(checked, {row["id"] for row in self._by_id(checked, ["id"])})
        items = enumerate(zip(checked.tolist(), packed, strict=True), start=self._next("position"))
        rows = [{"id": item, "position": place, "code": code.tobytes()} for place, (item, code) in items]
        for start in range(0, len(rows), _BATCH):
            self._client.insert(self.collection, rows[start : start + _BATCH])
        return checked

    def remove(self, ids: npt.ArrayLike) -> None:
        """Remove the codes of ``ids``. An unknown id raises a ``KeyError``, and nothing is removed."""
        checked = check_ids(ids, kind=self.id_kind, unique=True)
        self._check_present(checked, {row["id"] for row in self._by_id(checked, ["id"])})
        for expression in self._expressions(checked):
            self._client.delete(self.collection, filter=expression)

    def search(self, codes: npt.ArrayLike, k: int = 10) -> Neighbours:
        """Return the ``k`` nearest items of each query code; ``k`` is at most 16,384."""
        queries, k = check_codes(codes, n_bits=self.n_bits), min(check_integer("k", k, 1), len(self))
        if k > _MAX_K:
            raise ValueError(f"k={k!r} is more than Milvus returns; at most {_MAX_K}.")
        return self._stacked(self._search(queries, k, {}))

    def radius_search(self, codes: npt.ArrayLike, radius: int) -> list[Neighbours]:
        """Return all items at distance <= ``radius`` of each query code, by (distance, insertion).

        More than Milvus returns (16,384 per query) is an ``OverflowError``: an incomplete answer would look complete.
        """
        queries, radius = check_codes(codes, n_bits=self.n_bits), check_integer("radius", radius, 0)
        n = len(self)
        # Milvus's radius is exclusive.
        found = self._search(queries, min(n, _MAX_K), {"radius": min(radius, self.n_bits) + 1})
        if n > _MAX_K and any(len(row.ids) >= _MAX_K for row in found):
            raise OverflowError(f"radius={radius!r} includes {_MAX_K} items or more; Milvus does not return them all.")
        return found

    def _search(self, queries: Codes, k: int, parameters: dict[str, int]) -> list[Neighbours]:
        if k == 0:
            return [self._neighbours([]) for _ in queries]
        found: list[Neighbours] = []
        options = {"anns_field": "code", "limit": k, "output_fields": ["position"], "consistency_level": "Strong"}
        options["search_params"] = {"metric_type": "HAMMING", "params": parameters}
        block = max(1, min(1000, 2**18 // k))  # limits the n_queries * k answers of one request
        for start in range(0, len(queries), block):
            data = [code.tobytes() for code in queries[start : start + block]]
            for answer in self._client.search(self.collection, data=data, **options):
                hits = sorted(answer, key=lambda hit: (hit["distance"], hit["entity"]["position"]))
                found.append(self._neighbours([(hit["distance"], hit["id"]) for hit in hits]))
        return found

    def _stored(self) -> Stored | None:
        if not self._client.has_collection(self.collection):
            return None
        about = self._client.describe_collection(self.collection)
        try:
            description = json.loads(about["description"])
            n_bits, order = int(description["n_bits"]), description["bit_order"]
            model = check_fingerprint(description.get("model"))
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"the {self._where} exists, but its description is not that of codes.") from None
        if order != BIT_ORDER:
            raise ValueError(f"the {self._where} has bit order {order!r}; only {BIT_ORDER!r} is known.")
        id_type = next(field["type"] for field in about["fields"] if field.get("is_primary"))
        return n_bits, "int64" if id_type == self._types.INT64 else "string", model

    def _create(self, kind: IdKind) -> None:
        description = json.dumps(describe_codes(self.n_bits, self.model))
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False, description=description)
        text = {} if kind == "int64" else {"max_length": _LONGEST_ID}
        schema.add_field("id", self._types.VARCHAR if text else self._types.INT64, is_primary=True, **text)
        schema.add_field("position", self._types.INT64)
        schema.add_field("code", self._types.BINARY_VECTOR, dim=8 * self._width)
        index = self._client.prepare_index_params()
        index.add_index("code", index_type="BIN_FLAT", metric_type="HAMMING")
        self._client.create_collection(self.collection, schema=schema, index_params=index, consistency_level="Strong")
        self._kind = kind

    def _query(self, expression: str, fields: list[str], **limit: int) -> list[Row]:
        options = {"output_fields": fields, "consistency_level": "Strong", **limit}
        return list(self._client.query(self.collection, filter=expression, **options))

    def _by_id(self, ids: Array, fields: list[str]) -> list[Row]:
        if self._kind is None:
            return []
        return [row for expression in self._expressions(ids) for row in self._query(expression, fields)]

    def _next(self, field: str) -> int:
        """Return one more than the largest value of a field, at least 0; by bisection: Milvus has no maximum."""

        def reached(value: int) -> bool:
            return bool(self._query(f"{field} >= {value}", [field], limit=1))

        if not reached(0):
            return 0
        low, high = 0, 1
        while high < 2**63 and reached(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if reached(middle) else (low, middle)
        return high

    def _next_id(self) -> int:
        return self._next("id")

    def _expressions(self, ids: Array) -> Iterator[str]:
        """Filters for ``ids``, one per batch. The embedded engine has no parameters, so texts are JSON literals."""
        self._check_texts(ids)
        for start in range(0, len(ids), _BATCH):
            yield f"id in {json.dumps(ids[start : start + _BATCH].tolist(), ensure_ascii=False)}"

    def _check_texts(self, ids: Array) -> None:
        for item in ids if id_kind(ids) == "string" else ():
            if self._refused.search(item) or len(item.encode()) > _LONGEST_ID:
                raise ValueError(
                    f"ids={item!r} cannot be stored in this Milvus: no control characters, no single quotes in the"
                    f" embedded engine, at most {_LONGEST_ID} bytes."
                )

    def _code(self, row: Row) -> Codes:
        # The embedded engine returns a list with one entry, a server the bytes.
        value = row["code"][0] if isinstance(row["code"], list) else row["code"]
        return np.frombuffer(value, dtype=np.uint8).copy()

    def close(self) -> None:
        """Close the connection. The embedded engine stops with the process."""
        self._client.close()


def _patiently(connect: Callable[..., Any], uri: str, failure: type[Exception]) -> Any:
    """Connect to the embedded engine, a process that starts now: on a busy machine the first attempts may fail."""
    if not Path(uri).absolute().parent.is_dir():
        raise ValueError(f"uri={uri!r}: the folder {str(Path(uri).parent)!r} does not exist.")
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return connect(timeout=_PATIENCE)
        except failure as error:
            if "Open local milvus failed" in str(error):
                # Not tried again: milvus-lite has just removed the lock of the other program.
                raise ConnectionError(f"uri={uri!r} does not open; another program may have it open.") from error
            if "Fail connecting to server" not in str(error):
                raise
            if time.monotonic() >= deadline:
                raise ConnectionError(f"uri={uri!r}: Milvus does not start in {_PATIENCE:g} s ({error}).") from error
        time.sleep(0.25)


STORE = StoreInfo(
    name="milvus",
    description="a Milvus collection, in a file or on a server",
    connect=Milvus,
    extra="milvus",
    prefixes=("http://", "https://"),
    suffixes=(".db",),
    error_packages=("pymilvus", "grpc"),
    transactions=False,
)
