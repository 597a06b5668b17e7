from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from thpi.codes import pack
from thpi.export import CodeTable, PgVector

pytestmark = pytest.mark.slow


def items(bits: Any, ids: Any = None, texts: Any = None, model: str | None = None) -> CodeTable:
    return CodeTable.checked(pack(bits), ids, np.shape(bits)[1], model)._replace(texts=texts)


@pytest.mark.parametrize("name", ["select", "CamelCase", "_", "a" * 63])
def test_any_name_is_one_quoted_identifier(postgres_dsn: str, name: str) -> None:
    import psycopg

    with PgVector(postgres_dsn, name) as store:
        store.mirror(items(np.random.RandomState(0).rand(5, 9) < 0.5))
        assert len(list(store)) == 5
    with psycopg.connect(postgres_dsn) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert (name,) in names


@pytest.mark.parametrize("name", ["a" * 64, "a.b", "%s", "{x}"])
def test_other_names_are_refused(postgres_dsn: str, name: str) -> None:
    with pytest.raises(ValueError, match="table="):
        PgVector(postgres_dsn, name)


def test_another_schema_is_named_in_the_address(postgres_dsn: str) -> None:
    import psycopg
    from psycopg.conninfo import make_conninfo

    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("CREATE SCHEMA shop")
    with PgVector(make_conninfo(postgres_dsn, options="-csearch_path=shop,public"), "apart") as store:
        store.mirror(items(np.eye(3, 8, dtype=bool)))
    with psycopg.connect(postgres_dsn) as connection:
        assert connection.execute("SELECT count(*) FROM shop.apart").fetchone() == (3,)


def test_leftmost_bit_is_bit_0(postgres_dsn: str) -> None:
    import psycopg

    with PgVector(postgres_dsn, "order_of_bits") as store:
        store.mirror(items([[1, 0, 0, 0, 0, 0, 0, 0, 1, 0]]))
    with psycopg.connect(postgres_dsn) as connection:
        assert connection.execute("SELECT code::text FROM order_of_bits").fetchone() == ("1000000010",)


def test_four_exports_that_create_one_table_all_succeed(postgres_dsn: str) -> None:
    """Each has the items of the one before and some more: whoever comes first, no item is lost or twice there."""
    for attempt in range(10):
        gate, table = threading.Barrier(4), f"at_once_{attempt}"

        def export(number: int, gate: threading.Barrier = gate, table: str = table) -> int:
            with PgVector(postgres_dsn, table) as store:
                gate.wait()
                return store.mirror(items(np.eye(20, 8, dtype=bool), model="0123456789abcdef")).added

        with ThreadPoolExecutor(4) as pool:
            assert sorted(pool.map(export, range(4))) == [0, 0, 0, 20]
        with PgVector(postgres_dsn, table) as store:
            assert sorted(item for item, _, _ in store) == list(range(20))


def test_four_connections_to_a_new_database_all_succeed(postgres_dsn: str) -> None:
    """The first connection installs the extension."""
    import psycopg
    from psycopg.conninfo import make_conninfo

    for attempt in range(3):
        with psycopg.connect(postgres_dsn, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE new_{attempt} TEMPLATE template0")
        gate = threading.Barrier(4)

        def connect(_: int, dsn: str = make_conninfo(postgres_dsn, dbname=f"new_{attempt}")) -> None:
            gate.wait()  # noqa: B023
            PgVector(dsn, "codes").close()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(connect, range(4)))


def test_foreign_table_is_refused(postgres_dsn: str) -> None:
    import psycopg

    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("CREATE TABLE orders (id bigint, price numeric)")
    with PgVector(postgres_dsn, "orders") as store:
        for force in (False, True):
            with pytest.raises(ValueError, match="the table 'orders', which thpi did not make, has no readable"):
                store.mirror(items(np.eye(3, 8, dtype=bool)), force=force)
    with psycopg.connect(postgres_dsn) as connection:
        assert connection.execute("SELECT count(price) FROM orders").fetchone() == (0,)


def test_an_index_of_the_users_stays_when_items_come_and_go(postgres_dsn: str) -> None:
    import psycopg

    bits = np.random.RandomState(0).rand(300, 64) < 0.5
    with PgVector(postgres_dsn, "with_hnsw") as store:
        store.mirror(items(bits[:200]))
        with psycopg.connect(postgres_dsn) as connection:
            connection.execute("CREATE INDEX ON with_hnsw USING hnsw (code bit_hamming_ops)")
        assert store.mirror(items(bits[100:], np.arange(100, 300)), force=True) == (100, 100, False)
        with psycopg.connect(postgres_dsn) as connection:
            indexes = connection.execute("SELECT indexdef FROM pg_indexes WHERE tablename = 'with_hnsw'").fetchall()
    assert any("hnsw" in definition for (definition,) in indexes)


@pytest.mark.parametrize("wrong", ["id", "text"])
def test_an_export_that_the_engine_refuses_changes_nothing(postgres_dsn: str, wrong: str) -> None:
    """A NUL character, or an id that is longer than a primary key may be, among items that are in order."""
    import psycopg

    too_long = "".join(map(chr, np.random.RandomState(0).randint(33, 126, size=20_000)))
    texts, bits = ["a", "b\0"] if wrong == "text" else None, np.eye(2, 8, dtype=bool)
    bad = items(bits, ["a", too_long if wrong == "id" else "b"], texts)
    with PgVector(postgres_dsn, f"refused_{wrong}") as store:
        with pytest.raises((psycopg.errors.ProgramLimitExceeded, psycopg.DataError)):
            store.mirror(bad)
        assert store.about is None
        store.mirror(items(~bits, model="0123456789abcdef"))
        with pytest.raises((psycopg.errors.ProgramLimitExceeded, psycopg.DataError)):
            store.mirror(bad, force=True)
        assert [code for _, code, _ in store] == [bytes(code) for code in pack(~bits)]


def test_missing_package_names_the_extra(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r"thpi\[pgvector\]"):
        PgVector("", "codes")
