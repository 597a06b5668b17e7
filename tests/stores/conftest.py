"""Real engines, started for the tests and stopped after them.

``THPI_TEST_<STORE>=address`` (``THPI_TEST_MILVUS``, ``THPI_TEST_QDRANT``, ...) lets the suite run on an engine that is
there already; it makes tables of its own.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from thpi.identity import check_same_model
from thpi.index import HammingIndex
from thpi.stores import STORES, StoreInfo


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
    pytest.importorskip("apsw", reason="needs apsw: pip install 'thpi[sqlite-vec]'")
    pytest.importorskip("sqlite_vec", reason="needs sqlite-vec: pip install 'thpi[sqlite-vec]'")
    return str(tmp_path_factory.mktemp("sqlite") / "codes.sqlite")


@pytest.fixture
def lancedb_address(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("lancedb", reason="needs lancedb: pip install 'thpi[lancedb]'")
    return str(tmp_path_factory.mktemp("lance") / "codes.lancedb")


@pytest.fixture
def qdrant_address() -> Iterator[str]:
    """Give a folder for the engine in Python that the client has; in memory, as it waits for the disk at each point."""
    pytest.importorskip("qdrant_client", reason="needs qdrant-client: pip install 'thpi[qdrant]'")
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        yield str(Path(folder) / "codes.qdrant")


@pytest.fixture
def address_of(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Give the address of a store's engine: from the environment, or from the fixture that starts it."""

    def address(store: str) -> str:
        name = store.replace("-", "_")
        return os.environ.get(f"THPI_TEST_{name.upper()}") or str(request.getfixturevalue(f"{name}_address"))

    return address


@pytest.fixture
def toy_store(monkeypatch: pytest.MonkeyPatch) -> StoreInfo:
    """Register a store from outside the package: an index in memory for each address and table."""
    kept: dict[tuple[str, str], HammingIndex] = {}

    def connect(
        address: str, table: str, *, n_bits: int | None, token: str, model: str | None, any_model: bool
    ) -> HammingIndex:
        if (address, table) not in kept and n_bits is None:
            raise ValueError("n_bits is needed.")
        store = kept.setdefault((address, table), HammingIndex(n_bits or 1, model=model))
        check_same_model((table, store.model), ("model", model), any_model=any_model)
        return store

    store = StoreInfo("toy", "an index in memory", connect, prefixes=("toy://",))
    monkeypatch.setitem(STORES, store.name, store)
    return store


@pytest.fixture
def toy_address(toy_store: StoreInfo) -> str:
    return "toy://here"


_names, _run = count(), uuid.uuid4().hex[:8]


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
