"""Qdrant: codes in a Qdrant collection, as vectors of +1 and -1.

Qdrant has no binary vectors. A code of b bits becomes the vector v with v_j = +1 for a one and -1 for a zero, compared
by the dot product: <u, v> = b - 2 d, where d is the Hamming distance. All of these are small integers, so the
distances are exact. A point's payload has the ``id`` and the ``position`` (insertion order). The point's own id, which
must not be any text, is a UUID made of the sha256 of the id. The collection's metadata has the width in bits, the bit
order, the kind of the ids and the fingerprint of the model.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thpi._optional import require
from thpi._types import Array, Codes
from thpi.codes import n_bytes, pack
from thpi.identity import check_fingerprint
from thpi.index._ids import IdKind, check_ids, id_kind
from thpi.stores._store import BIT_ORDER, Id, Stored, StoreInfo, check_name, describe_codes
from thpi.stores._ties import Found, TieStore

_BATCH = 1_000
_KINDS: dict[str, IdKind] = {"int64": "int64", "string": "string"}


class Qdrant(TieStore):
    """The calls of :class:`thpi.index.HammingIndex` on a Qdrant collection. Needs the extra ``qdrant``.

    The first ``add`` creates the collection, for the kind of ids that it gets. Search is exact (``exact=True``), ties
    included. Qdrant has no transactions: ids are checked before a batch is sent, so only one process should write.

    Parameters
    ----------
    uri : the address of a server (1.16 or later), or a folder for the client's own engine, slow but good for trials.
    collection : letters, digits and underscores.
    n_bits : needed if the collection does not exist yet.
    token : the API key, for servers that require one.
    model : fingerprint of the model that makes the codes; kept with a new collection, compared with that of an old one.
    any_model : accept a collection that does not say which model made its codes.

    >>> store = Qdrant("http://localhost:6333", "codes", n_bits=64)  # doctest: +SKIP
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
        qdrant = require("qdrant_client", "qdrant")
        self._models = qdrant.models
        self.collection, self._where = check_name("collection", collection), f"collection {collection!r}"
        self._client: Any = None
        self._folder: Path | None = None
        if "://" in str(uri):
            self._client = qdrant.QdrantClient(url=str(uri), api_key=token or None)
        else:
            folder = Path(uri).absolute()
            if folder.exists() and not folder.is_dir():
                raise ValueError(f"uri={str(uri)!r} is a file; it must be a folder, or the address of a server.")
            if not folder.exists():  # nothing is left behind if n_bits is missing
                self._agree(None, n_bits, model, any_model)
            self._client, self._folder = _open_folder(qdrant, folder), folder
        try:
            self._agree(self._stored(), n_bits, model, any_model)
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return 0 if self._kind is None else int(self._client.count(self.collection, exact=True).count)

    def __iter__(self) -> Iterator[tuple[Id, Codes]]:
        start = 0
        while self._kind is not None:
            points = self._by("position", "asc", _BATCH, start_from=start, with_vectors=True)
            for point in points:
                yield point.payload["id"], self._code(point)
            if len(points) < _BATCH:
                return
            start = points[-1].payload["position"] + 1

    def _by(self, key: str, direction: str, limit: int, start_from: int | None = None, **more: bool) -> list[Any]:
        order = self._models.OrderBy(key=key, direction=direction, start_from=start_from)
        return list(self._client.scroll(self.collection, limit=limit, order_by=order, with_payload=True, **more)[0])

    def _code(self, point: Any) -> Codes:
        return np.asarray(pack(np.asarray(point.vector)[None] > 0)[0])

    def _find(self, ids: Array) -> dict[Id, Codes]:
        found: dict[Id, Codes] = {}
        for start in range(0, len(ids) if self._kind is not None else 0, _BATCH):
            names = [_point(item) for item in ids[start : start + _BATCH].tolist()]
            points = self._client.retrieve(self.collection, ids=names, with_payload=True, with_vectors=True)
            found.update({point.payload["id"]: self._code(point) for point in points})
        return found

    def add(self, codes: npt.ArrayLike, ids: npt.ArrayLike | None = None) -> Array:
        """Add codes under ids. Everything is checked before anything is sent."""
        packed, checked = self._checked(codes, ids)
        if len(packed) == 0:
            return checked
        self._refuse_known(checked, self._find(checked))
        if self._kind is None:
            self._create(id_kind(checked))
        first = self._after("position")
        for start in range(0, len(packed), _BATCH):
            items = checked[start : start + _BATCH].tolist()
            places = range(first + start, first + start + len(items))
            points = self._models.Batch(
                ids=[_point(item) for item in items],
                vectors=self._vectors(packed[start : start + _BATCH]),
                payloads=[{"id": item, "position": place} for item, place in zip(items, places, strict=True)],
            )
            self._client.upsert(self.collection, points=points, wait=True)
        return checked

    def _vectors(self, codes: Codes) -> list[list[float]]:
        bits = np.unpackbits(codes, axis=1, count=self.n_bits, bitorder="little")
        return list((2.0 * bits - 1.0).tolist())

    def _create(self, kind: IdKind) -> None:
        vectors = self._models.VectorParams(size=self.n_bits, distance=self._models.Distance.DOT)
        about = describe_codes(self.n_bits, self.model, ids=kind)
        self._client.create_collection(self.collection, vectors_config=vectors, metadata={"thpi": about})
        self._kind = kind
        if self._folder is None:  # a server orders by a field only if it has an index
            for field in ["position"] + (["id"] if kind == "int64" else []):
                integer = self._models.PayloadSchemaType.INTEGER
                self._client.create_payload_index(self.collection, field, integer, wait=True)

    def _after(self, key: str) -> int:
        last = self._by(key, "desc", 1)
        return int(last[0].payload[key]) + 1 if last else 0

    def _next_id(self) -> int:
        return self._after("id")

    def remove(self, ids: npt.ArrayLike) -> None:
        """Remove the codes of ``ids``. An unknown id raises a ``KeyError``, and nothing is removed."""
        checked = check_ids(ids, kind=self.id_kind, unique=True)
        self._check_present(checked, self._find(checked))
        if len(checked):
            names = self._models.PointIdsList(points=[_point(item) for item in checked.tolist()])
            self._client.delete(self.collection, points_selector=names, wait=True)

    def _near(self, query: Codes, limit: int | None, radius: int | None) -> list[Found]:
        options: dict[str, Any] = {"limit": limit or len(self), "with_payload": True}
        if radius is not None:
            options["score_threshold"] = self.n_bits - 2 * radius - 1  # between two scores, which differ by 2
        if self._folder is None:
            options["search_params"] = self._models.SearchParams(exact=True)
        points = self._client.query_points(self.collection, query=self._vectors(query[None])[0], **options).points
        distances = (round((self.n_bits - point.score) / 2) for point in points)
        return [(d, p.payload["position"], p.payload["id"]) for d, p in zip(distances, points, strict=True)]

    def _stored(self) -> Stored | None:
        if not self._client.collection_exists(self.collection):
            return None
        metadata = self._client.get_collection(self.collection).config.metadata
        try:
            about = (metadata or {})["thpi"]
            n_bits, order, kind = int(about["n_bits"]), about["bit_order"], _KINDS[about["ids"]]
            model = check_fingerprint(about.get("model"))
            n_bytes(n_bits)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"the {self._where} exists, but its metadata is not that of codes.") from None
        if order != BIT_ORDER:
            raise ValueError(f"the {self._where} has bit order {order!r}; only {BIT_ORDER!r} is known.")
        return n_bits, kind, model

    def close(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        if client is not None and self._folder is not None:
            _close_folder(self._folder)
        elif client is not None:
            client.close()


def _point(item: Id) -> str:
    return str(uuid.UUID(bytes=hashlib.sha256(str(item).encode()).digest()[:16], version=5))


# The client's own engine locks its folder: all stores of a process that use one share a client.
_folders: dict[Path, tuple[Any, int]] = {}


def _open_folder(qdrant: Any, folder: Path) -> Any:
    client, users = _folders.get(folder, (None, 0))
    if client is None:
        try:
            client = qdrant.QdrantClient(path=str(folder))
        except RuntimeError as error:
            raise ConnectionError(f"uri={str(folder)!r} does not open; another program has it open.") from error
    _folders[folder] = client, users + 1
    return client


def _close_folder(folder: Path) -> None:
    client, users = _folders.pop(folder)
    if users > 1:
        _folders[folder] = client, users - 1
    else:
        client.close()


STORE = StoreInfo(
    name="qdrant",
    description="a Qdrant collection; for a server, set --format",
    connect=Qdrant,
    extra="qdrant",
    suffixes=(".qdrant",),
    error_packages=("qdrant_client", "httpx", "httpcore", "grpc"),
    transactions=False,
)
