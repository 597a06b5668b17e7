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
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from thpi.codes import hamming_distances
from thpi.export import STORES, EngineStore, StoreInfo, settle_ties
from thpi.index import HammingIndex


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
    pytest.importorskip("sqlite_vec", reason="needs sqlite-vec: pip install 'thpi[sqlite-vec]'")
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


class ToyStore(EngineStore):
    """A store from outside the package, on an engine that is a dict of dicts and orders equal distances badly."""

    kept: ClassVar[dict[tuple[str, str], tuple[str, dict[Any, np.ndarray]]]] = {}

    def _connect(self, address: str, token: str) -> None:
        self.key = address, self.table

    def _description(self) -> str | None:
        return self.kept[self.key][0] if self.key in self.kept else None

    def _create(self, kind: str, about: str) -> None:
        self.kept[self.key] = about, {}

    @property
    def items(self) -> dict[Any, np.ndarray]:
        return self.kept[self.key][1]

    def _insert(self, ids: np.ndarray, codes: np.ndarray) -> None:
        self.items.update(zip(ids.tolist(), codes, strict=True))

    def _delete(self, ids: np.ndarray) -> None:
        for item in ids.tolist():
            del self.items[item]

    def _find(self, ids: np.ndarray) -> list[tuple[Any, np.ndarray]]:
        return [(item, self.items[item]) for item in ids.tolist() if item in self.items]

    def _nearest(self, queries: np.ndarray, k: int) -> list[list[tuple[float, int, Any]]]:
        return settle_ties(self._near, queries, min(k, len(self.items)))

    def _near(self, queries: np.ndarray, limit: int | None, radius: int | None) -> list[Any]:
        codes = np.array(list(self.items.values()), dtype=np.uint8).reshape(-1, queries.shape[1])
        distances = hamming_distances(queries, codes)
        found = [sorted(zip(row.tolist(), itertools.count(), self.items, strict=False)) for row in distances]
        worst_first = [sorted(hits, key=lambda hit: (hit[0], -hit[1])) for hits in found]
        return [[hit for hit in hits if radius is None or hit[0] <= radius][:limit] for hits in worst_first]

    def _rows(self) -> Iterator[tuple[Any, np.ndarray]]:
        return iter(list(self.items.items()))

    def _count(self) -> int:
        return len(self.items)

    def _largest_id(self) -> int:
        return max(self.items, default=-1)


@pytest.fixture
def toy_store(monkeypatch: pytest.MonkeyPatch) -> StoreInfo:
    """Register a store from outside the package."""
    monkeypatch.setattr(ToyStore, "kept", {})
    store = StoreInfo("toy", "a dict in memory", ToyStore, prefixes=("toy://",))
    monkeypatch.setitem(STORES, store.name, store)
    return store


@pytest.fixture
def toy_address(toy_store: StoreInfo) -> str:
    return "toy://here"


_names, _run = itertools.count(), uuid.uuid4().hex[:8]


@pytest.fixture(params=["index", *(pytest.param(name, marks=pytest.mark.slow) for name in STORES), "toy"])
def make_store(request: pytest.FixtureRequest, address_of: Callable[[str], str]) -> Iterator[Callable[..., Any]]:
    """Give a function that makes an empty store of a width: an index, each registered store, and a toy one.

    A new store needs a fixture ``<name>_address`` that starts its engine (``-`` in the name becomes ``_``).
    """
    opened: list[Any] = []

    def make(n_bits: int, table: str | None = None, model: str | None = None, any_model: bool = False) -> Any:
        if request.param == "index":
            return HammingIndex(n_bits, model=model)
        name = f"{table or f'codes_{next(_names)}'}_{_run}".replace("-", "_")
        address = address_of(request.param)
        connect = STORES[request.param].connect
        opened.append(connect(address, name, n_bits=n_bits, token="", model=model, any_model=any_model))
        return opened[-1]

    make.engine = request.param  # type: ignore[attr-defined]
    make.embedded = f"THPI_TEST_{request.param.upper()}" not in os.environ  # type: ignore[attr-defined]
    yield make
    for store in opened:
        store.close()
