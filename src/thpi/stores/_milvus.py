"""Milvus: codes in a Milvus collection, on one machine or on a cluster.

The collection has the fields ``id`` (INT64 or VARCHAR, primary key), ``position`` (numbers the items as they come)
and ``code`` (BINARY_VECTOR, the bytes of :mod:`thpi.codes`; Milvus wants whole bytes, and the padding is zero). The
width in bits and the bit order stand in the collection's description.

A file path as uri is the embedded engine (milvus-lite 2.5; 3.x takes no binary vectors), an address such as
``http://host:19530`` a server. Both are asked with strong consistency: what was added is found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from thpi._optional import require
from thpi.codes import Codes, check_codes, n_bytes
from thpi.index._ids import IdKind, check_ids, check_unique, id_kind
from thpi.index._neighbours import Neighbours, check_k, check_radius

__all__ = ["Milvus"]

# Milvus's own limit on the answers to one query.
_MAX_K = 16_384
_BATCH = 5_000
_LONGEST_ID = 65_535
# Milvus's filters read the escapes of control characters in a way of their own.
_REFUSED = re.compile(r"[\x00-\x1f\x7f]")
# The embedded engine pastes ids into its own SQL when it deletes: a quote there fails, or deletes other rows.
_REFUSED_EMBEDDED = re.compile(r"[\x00-\x1f\x7f']")


class Milvus:
    """The calls of :class:`thpi.index.HammingIndex` on a Milvus collection. Needs the extra ``milvus``.

    The collection is made by the first ``add``, for ids of the kind that it brings. Search is exact (BIN_FLAT).
    Items as near as the k-th compete for the last places in Milvus's order; in the answer, equal distances are
    ordered by insertion. At most 16,384 items a query, in ``search`` and in ``radius_search``. Milvus has no
    transactions: that an id is new, or there, is checked before a batch is sent, so let one process write. String
    ids have no control characters, and in the embedded engine no single quotes: it cannot delete those.

    Parameters
    ----------
    uri : str
        A file path (embedded engine) or a server's address.
    collection : str
        Letters, digits and underscores.
    n_bits : int, optional
        Needed where the collection does not exist yet.
    token : str
        ``"user:password"`` or an access token, for servers that ask for one.

    Examples
    --------
    >>> store = Milvus("shop.db", "codes", n_bits=64)  # doctest: +SKIP
    >>> store.add(codes, ids=[7, 8])  # doctest: +SKIP
    >>> store.search(queries, k=5)  # doctest: +SKIP
    """

    def __init__(self, uri: str, collection: str, n_bits: int | None = None, *, token: str = "") -> None:
        pymilvus = require("pymilvus", "milvus")
        if not isinstance(collection, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,254}", collection):
            raise ValueError(f"collection={collection!r} must be letters, digits and underscores, not a digit first.")
        embedded = "://" not in str(uri)
        if embedded:
            require("milvus_lite", "milvus")
        self._refused = _REFUSED_EMBEDDED if embedded else _REFUSED
        self.collection = collection
        self._types = pymilvus.DataType
        # The embedded engine is a process that is started now; on a busy machine that takes more than the usual 10 s.
        self._client = pymilvus.MilvusClient(str(uri), token=token, timeout=60 if embedded else None)
        try:
            stored = self._stored()
            if stored is None and n_bits is None:
                raise ValueError(f"n_bits=None: the collection {collection!r} does not exist yet, so n_bits is needed.")
            if stored is not None and n_bits not in (None, stored[0]):
                raise ValueError(f"n_bits={n_bits!r} was given, but {collection!r} holds codes of {stored[0]} bits.")
            self.n_bits: int = int(stored[0] if stored is not None else n_bits)  # type: ignore[arg-type]
            self._width = n_bytes(self.n_bits)
            self._kind: IdKind | None = None if stored is None else stored[1]
            if self._kind is not None:
                self._client.load_collection(self.collection)
        except BaseException:
            self._client.close()
            raise

    # ------------------------------------------------------------------ what it holds

    def __len__(self) -> int:
        return 0 if self.id_kind is None else int(self._query("", ["count(*)"])[0]["count(*)"])

    def __iter__(self) -> Iterator[tuple[Any, Codes]]:
        """Give (id, code) in insertion order, read in portions."""
        end = 0 if self.id_kind is None else self._next("position")
        for start in range(0, end, _BATCH):
            rows = self._query(f"position >= {start} and position < {start + _BATCH}", ["id", "position", "code"])
            for row in sorted(rows, key=lambda row: int(row["position"])):
                yield row["id"], self._code(row)

    @property
    def id_kind(self) -> IdKind | None:
        """``"int64"`` or ``"string"``, None while there is no collection."""
        return self._kind

    def get_codes(self, ids: Any) -> Codes:
        """Give the codes of ``ids``; an id that is not there is a ``KeyError`` that names it."""
        checked = check_ids(ids, kind=self.id_kind)
        found = {row["id"]: self._code(row) for row in self._by_id(checked, ["id", "code"])}
        self._check_there(checked, found)
        codes = [found[item] for item in checked.tolist()]
        return np.stack(codes) if codes else np.empty((0, self._width), dtype=np.uint8)

    # ------------------------------------------------------------------ changes

    def add(self, codes: npt.ArrayLike, ids: Any = None) -> npt.NDArray[Any]:
        """Add codes under ids. All is checked before anything is sent."""
        packed = check_codes(codes, n_bits=self.n_bits)
        checked = self._new_ids(len(packed)) if ids is None else check_ids(ids, length=len(packed), kind=self.id_kind)
        check_unique(checked)
        if len(packed) == 0:
            return checked
        self._check_texts(checked)
        if self._kind is None:
            self._create(id_kind(checked))
        known = {row["id"] for row in self._by_id(checked, ["id"])}
        if known:
            first = next(item for item in checked.tolist() if item in known)
            raise ValueError(f"ids={first!r} is in the collection already; remove it first.")
        position = self._next("position")
        rows = [
            {"id": item, "position": position + i, "code": code.tobytes()}
            for i, (item, code) in enumerate(zip(checked.tolist(), packed, strict=True))
        ]
        for start in range(0, len(rows), _BATCH):
            self._client.insert(self.collection, rows[start : start + _BATCH])
        return checked

    def remove(self, ids: Any) -> None:
        """Remove the codes of ``ids``. An id that is not there is a ``KeyError``, and nothing is removed."""
        checked = check_ids(ids, kind=self.id_kind)
        check_unique(checked)
        self._check_there(checked, {row["id"] for row in self._by_id(checked, ["id"])})
        for expression in self._expressions(checked):
            self._client.delete(self.collection, filter=expression)

    # ------------------------------------------------------------------ search

    def search(self, codes: npt.ArrayLike, k: int = 10) -> Neighbours:
        """Give the ``k`` nearest items of each query code; ``k`` is at most 16,384."""
        queries, k = check_codes(codes, n_bits=self.n_bits), check_k(k)
        k = min(k, len(self))
        if k > _MAX_K:
            raise ValueError(f"k={k!r} is more than Milvus answers; at most {_MAX_K}.")
        found = self._search(queries, k, {}) if k else [_neighbours([], self._kind) for _ in queries]
        width = min((len(row.ids) for row in found), default=0)
        ids = np.empty((len(queries), width), dtype=object if self._kind == "string" else np.int64)
        distances = np.empty((len(queries), width), dtype=np.int32)
        for i, row in enumerate(found):
            distances[i], ids[i] = row.distances[:width], row.ids[:width]
        return Neighbours(distances, ids)

    def radius_search(self, codes: npt.ArrayLike, radius: int) -> list[Neighbours]:
        """Give all items at distance <= ``radius`` of each query code, by (distance, insertion).

        More than Milvus answers (16,384 a query) is an ``OverflowError``: part of an answer would look like all.
        """
        queries, radius = check_codes(codes, n_bits=self.n_bits), check_radius(radius)
        n = len(self)
        if n == 0:
            return [_neighbours([], self._kind) for _ in queries]
        # Milvus's radius is exclusive.
        found = self._search(queries, min(n, _MAX_K), {"radius": min(radius, self.n_bits) + 1})
        if n > _MAX_K and any(len(row.ids) >= _MAX_K for row in found):
            raise OverflowError(f"radius={radius!r} takes in {_MAX_K} items or more; Milvus does not give them all.")
        return found

    def _search(self, queries: Codes, k: int, parameters: dict[str, Any]) -> list[Neighbours]:
        found: list[Neighbours] = []
        # One request holds n_queries * k answers; keep that in bounds.
        block = max(1, min(1000, 2**18 // k))
        for start in range(0, len(queries), block):
            answers = self._client.search(
                self.collection,
                data=[code.tobytes() for code in queries[start : start + block]],
                anns_field="code",
                limit=k,
                search_params={"metric_type": "HAMMING", "params": parameters},
                output_fields=["position"],
                consistency_level="Strong",
            )
            found += [_neighbours(list(answer), self._kind) for answer in answers]
        return found

    # ------------------------------------------------------------------ collection

    def _stored(self) -> tuple[int, IdKind] | None:
        if not self._client.has_collection(self.collection):
            return None
        about = self._client.describe_collection(self.collection)
        try:
            description = json.loads(about["description"])
            n_bits, order = int(description["n_bits"]), description["bit_order"]
        except (ValueError, KeyError, TypeError):
            raise ValueError(
                f"collection={self.collection!r} exists, but its description is not that of codes."
            ) from None
        if order != "little":
            raise ValueError(f"collection={self.collection!r} has bit order {order!r}; only 'little' is known.")
        id_type = next(field["type"] for field in about["fields"] if field.get("is_primary"))
        return n_bits, "int64" if id_type == self._types.INT64 else "string"

    def _create(self, kind: IdKind) -> None:
        description = json.dumps({"format": "thpi-codes", "version": 1, "n_bits": self.n_bits, "bit_order": "little"})
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False, description=description)
        if kind == "int64":
            schema.add_field("id", self._types.INT64, is_primary=True)
        else:
            schema.add_field("id", self._types.VARCHAR, is_primary=True, max_length=_LONGEST_ID)
        schema.add_field("position", self._types.INT64)
        schema.add_field("code", self._types.BINARY_VECTOR, dim=8 * self._width)
        index = self._client.prepare_index_params()
        index.add_index("code", index_type="BIN_FLAT", metric_type="HAMMING")
        self._client.create_collection(self.collection, schema=schema, index_params=index, consistency_level="Strong")
        self._kind = kind

    def _query(self, expression: str, fields: list[str]) -> list[dict[str, Any]]:
        return list(
            self._client.query(self.collection, filter=expression, output_fields=fields, consistency_level="Strong")
        )

    def _by_id(self, ids: npt.NDArray[Any], fields: list[str]) -> list[dict[str, Any]]:
        if self._kind is None:
            return []
        return [row for expression in self._expressions(ids) for row in self._query(expression, fields)]

    def _next(self, field: str) -> int:
        """One more than the largest value of a field, at least 0; by bisection, for Milvus has no maximum."""
        if not self._any_from(field, 0):
            return 0
        low, high = 0, 1
        while high < 2**63 and self._any_from(field, high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._any_from(field, middle) else (low, middle)
        return high

    def _any_from(self, field: str, value: int) -> bool:
        rows = self._client.query(
            self.collection,
            filter=f"{field} >= {value}",
            output_fields=[field],
            limit=1,
            consistency_level="Strong",
        )
        return bool(len(rows))

    def _new_ids(self, n: int) -> npt.NDArray[Any]:
        if self._kind == "string":
            raise ValueError("ids=None numbers the codes, but the ids stored here are strings; pass ids.")
        first = 0 if self._kind is None else self._next("id")
        if first + n - 1 > np.iinfo(np.int64).max:
            raise ValueError(f"ids=None would number on from {first}, beyond 64 bits; pass ids.")
        return np.arange(first, first + n, dtype=np.int64)

    def _expressions(self, ids: npt.NDArray[Any]) -> Iterator[str]:
        """Filters for ``ids``, a batch each. The embedded engine knows no parameters, so texts are JSON literals."""
        self._check_texts(ids)
        for start in range(0, len(ids), _BATCH):
            yield f"id in {json.dumps(ids[start : start + _BATCH].tolist(), ensure_ascii=False)}"

    def _check_texts(self, ids: npt.NDArray[Any]) -> None:
        if len(ids) == 0 or id_kind(ids) == "int64":
            return
        for item in ids:
            if self._refused.search(item) or len(item.encode()) > _LONGEST_ID:
                raise ValueError(
                    f"ids={item!r} cannot be kept in this Milvus: no control characters, no single quotes in the"
                    f" embedded engine, at most {_LONGEST_ID} bytes."
                )

    def _check_there(self, ids: npt.NDArray[Any], found: Any) -> None:
        for item in ids.tolist():
            if item not in found:
                raise KeyError(f"ids={item!r} is not in the collection {self.collection!r}.")

    def _code(self, row: dict[str, Any]) -> Codes:
        # The embedded engine gives a list with one entry, a server the bytes.
        value = row["code"][0] if isinstance(row["code"], list) else row["code"]
        return np.frombuffer(value, dtype=np.uint8).copy()

    def close(self) -> None:
        """Close the connection. The embedded engine stops with the process."""
        self._client.close()

    def __enter__(self) -> Milvus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _neighbours(hits: list[Any], kind: IdKind | None) -> Neighbours:
    ordered = sorted(hits, key=lambda hit: (hit["distance"], hit["entity"]["position"]))
    ids = np.empty(len(ordered), dtype=object if kind == "string" else np.int64)
    ids[:] = [hit["id"] for hit in ordered]
    return Neighbours(np.array([round(hit["distance"]) for hit in ordered], dtype=np.int32), ids)
