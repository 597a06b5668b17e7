"""Real engines, started for the tests and stopped after them.

``THPI_TEST_<STORE>=address`` (``THPI_TEST_MILVUS``, ...) lets the suite run on an engine that is there already; it
makes tables of its own.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from benchmarks.stores import SEARCHES
from thpi.codes import hamming_distances
from thpi.export import (
    DESTINATIONS,
    CodeTable,
    Destination,
    LanceDB,
    Milvus,
    Mirrored,
    PgVector,
    SqliteVec,
    Store,
)


@pytest.fixture(scope="session")
def milvus_uri() -> Iterator[str]:
    """Give the path of a database file; the embedded engine starts with the first connection."""
    pytest.importorskip("pymilvus", reason="needs pymilvus: pip install 'thpi[milvus]'")
    pytest.importorskip("milvus_lite", reason="needs milvus-lite<3: pip install 'thpi[milvus]'")
    folder = Path(tempfile.mkdtemp(prefix="thpi-milvus-"))
    yield str(folder / "codes.db")
    from milvus_lite.server_manager import server_manager_instance

    server_manager_instance.release_all()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def pgvector_address(postgres_dsn: str) -> str:
    return postgres_dsn


@pytest.fixture(scope="session")
def milvus_address(milvus_uri: str) -> str:
    return milvus_uri


@pytest.fixture
def sqlite_vec_address(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("sqlite_vec", reason="needs sqlite-vec")
    return str(tmp_path_factory.mktemp("sqlite") / "codes.sqlite")


@pytest.fixture
def lancedb_address(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("lancedb", reason="needs lancedb: pip install 'thpi[lancedb]'")
    return str(tmp_path_factory.mktemp("lance") / "codes.lancedb")


@pytest.fixture
def address_of(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Give the address of a store's engine: from the environment, or from the fixture that starts it."""

    def address(store: str) -> str:
        name = store.replace("-", "_")
        return os.environ.get(f"THPI_TEST_{name.upper()}") or str(request.getfixturevalue(f"{name}_address"))

    return address


class ToyStore(Store):
    """A store from outside the package, on an engine that is a dict of dicts, without transactions."""

    kept: ClassVar[dict[tuple[str, str], tuple[str, dict[Any, tuple[bytes, str | None]]]]] = {}

    def _connect(self, address: str) -> None:
        self.key = address, self.table

    def _description(self) -> str | None:
        return self.kept[self.key][0] if self.key in self.kept else None

    def _create(self, about: str) -> None:
        self.kept[self.key] = about, {}

    def _drop(self) -> None:
        del self.kept[self.key]

    def _insert(self, ids: list[Any], codes: np.ndarray, texts: Any) -> None:
        rows = zip(map(bytes, codes), [None] * len(ids) if texts is None else texts, strict=True)
        self.kept[self.key][1].update(zip(ids, rows, strict=True))

    def _delete(self, ids: list[Any]) -> None:
        for item in ids:
            del self.kept[self.key][1][item]

    def _rows(self) -> Iterator[tuple[Any, bytes, str | None]]:
        return ((item, *row) for item, row in list(self.kept[self.key][1].items()))


@contextmanager
def search_toy(address: str, table: str, n_bits: int) -> Iterator[Any]:
    rows = ToyStore.kept[address, table][1]
    codes = np.frombuffer(b"".join(code for code, _ in rows.values()), dtype=np.uint8).reshape(len(rows), -1)

    def search(query: np.ndarray, k: int) -> tuple[list[int], list[Any]]:
        distances = hamming_distances(query[None], codes)[0]
        order = np.argsort(distances, kind="stable")[:k]
        return distances[order].tolist(), [list(rows)[row] for row in order]

    yield search


@pytest.fixture
def toy_store(monkeypatch: pytest.MonkeyPatch) -> Destination:
    """Register a store from outside the package: this entry is all it takes."""
    monkeypatch.setattr(ToyStore, "kept", {})
    entry = Destination.of_store("toy", "a dict in memory", ("toy://",), ToyStore)
    monkeypatch.setitem(DESTINATIONS, entry.name, entry)
    return entry


@pytest.fixture
def toy_address(toy_store: Destination) -> str:
    return "toy://here"


CONNECT: dict[str, Callable[[str, str], Store]] = {
    "pgvector": PgVector,
    "sqlite-vec": SqliteVec,
    "lancedb": LanceDB,
    "milvus": Milvus,
    "toy": ToyStore,
}
_names, _run = itertools.count(), uuid.uuid4().hex[:8]


@dataclass
class Engine:
    """One engine with a table that nothing else uses."""

    name: str
    address: str
    table: str

    @property
    def embedded(self) -> bool:
        return "://" not in self.address

    def open(self) -> Store:
        return CONNECT[self.name](self.address, self.table)

    def mirror(self, items: CodeTable, *, force: bool = False) -> Mirrored:
        with self.open() as store:
            return store.mirror(items, force=force)

    def rows(self) -> list[tuple[Any, bytes, str | None]]:
        with self.open() as store:
            return sorted(store)

    def search(self, query: np.ndarray, k: int, n_bits: int) -> tuple[list[int], list[Any]]:
        """Search as users of the engine do."""
        with (SEARCHES | {"toy": search_toy})[self.name](self.address, self.table, n_bits) as search:
            return search(query, k)


@pytest.fixture(params=[*(pytest.param(name, marks=pytest.mark.slow) for name in CONNECT if name != "toy"), "toy"])
def engine(request: pytest.FixtureRequest, address_of: Callable[[str], str]) -> Engine:
    """Each registered store, and a toy one. A new store needs a fixture ``<name>_address`` that starts its engine."""
    return Engine(request.param, address_of(request.param), f"codes_{next(_names)}_{_run}")
