from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from thpi.codes import pack
from thpi.export import PgVector
from thpi.index import HammingIndex

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["select", "CamelCase", "_", "a" * 63])
def test_any_name_is_one_quoted_identifier(postgres_dsn: str, name: str) -> None:
    import psycopg

    with PgVector(postgres_dsn, name, 9) as store:
        codes = pack(np.random.RandomState(0).rand(5, 9) < 0.5)
        store.add(codes)
        assert len(store) == 5
        np.testing.assert_array_equal(store.search(codes, 1).distances, 0)
    with psycopg.connect(postgres_dsn) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert (name,) in names


@pytest.mark.parametrize("name", ["", "a" * 64, "ü", "nul\0", 'x"; DROP TABLE students; --', "a.b", "%s", "{x}"])
def test_other_names_are_refused(postgres_dsn: str, name: str) -> None:
    with pytest.raises(ValueError, match="table="):
        PgVector(postgres_dsn, name, 8)


def test_another_schema_is_named_in_the_address(postgres_dsn: str) -> None:
    import psycopg
    from psycopg.conninfo import make_conninfo

    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("CREATE SCHEMA shop")
    with PgVector(make_conninfo(postgres_dsn, options="-csearch_path=shop,public"), "apart", 8) as store:
        store.add(pack(np.eye(3, 8, dtype=bool)))
        assert len(store) == 3
    with psycopg.connect(postgres_dsn) as connection:
        assert connection.execute("SELECT count(*) FROM shop.apart").fetchone() == (3,)


def test_leftmost_bit_is_bit_0(postgres_dsn: str) -> None:
    import psycopg

    with PgVector(postgres_dsn, "order_of_bits", 10) as store:
        store.add(pack([[1, 0, 0, 0, 0, 0, 0, 0, 1, 0]]))
    with psycopg.connect(postgres_dsn) as connection:
        assert connection.execute("SELECT code::text FROM order_of_bits").fetchone() == ("1000000010",)


def _add_at_once(stores: list[PgVector], ids: Callable[[int], list[int] | None]) -> None:
    """Let all stores add three codes at the same moment, each in a thread; raise what one of them raises."""
    gate = threading.Barrier(len(stores))

    def add(number: int) -> None:
        gate.wait()
        stores[number].add(pack(np.eye(3, 8, dtype=bool)), ids(number))

    with ThreadPoolExecutor(len(stores)) as pool:
        list(pool.map(add, range(len(stores))))


@pytest.mark.parametrize("numbered", [True, False])
def test_four_writers_that_create_one_table_all_succeed(postgres_dsn: str, numbered: bool) -> None:
    for attempt in range(15):
        table = f"at_once_{numbered}_{attempt}"
        stores = [PgVector(postgres_dsn, table, 8, model="0123456789abcdef") for _ in range(4)]
        try:
            _add_at_once(stores, lambda i: None if numbered else [100 * i, 100 * i + 1, 100 * i + 2])
            # Below the largest id, so that those who number on from it are not in the way.
            _add_at_once(stores, lambda i: None if numbered or i % 2 else [100 * i + 10 + j for j in range(3)])
            found = sorted(item for item, _ in stores[0])
            assert len(found) == len(set(found)) == 24
            assert not numbered or found == list(range(24))
            with PgVector(postgres_dsn, table) as store:
                assert store.model == "0123456789abcdef"
        finally:
            for store in stores:
                store.close()


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
            PgVector(dsn, "codes", 8).close()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(connect, range(4)))


def test_an_id_that_is_there_is_still_refused(postgres_dsn: str) -> None:
    with PgVector(postgres_dsn, "twice", 8) as store:
        store.add(np.zeros((1, 1), dtype=np.uint8), [7])
        with pytest.raises(ValueError, match="ids=7 is in the table 'twice' already"):
            store.add(np.zeros((2, 1), dtype=np.uint8), [8, 7])
        assert len(store) == 1


def test_table_is_found_again(postgres_dsn: str) -> None:
    with PgVector(postgres_dsn, "again", 12) as store:
        store.add(pack(np.eye(12, dtype=bool)), [f"{i}" for i in range(12)])
    with PgVector(postgres_dsn, "again") as store:
        assert (store.n_bits, store.id_kind, len(store)) == (12, "string", 12)
    with pytest.raises(ValueError, match=r"n_bits=8 .* 12 bits"):
        PgVector(postgres_dsn, "again", 8)
    with pytest.raises(ValueError, match="n_bits=None"):
        PgVector(postgres_dsn, "not_there")


def test_foreign_table_is_refused(postgres_dsn: str) -> None:
    import psycopg

    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("CREATE TABLE orders (id bigint, price numeric)")
    with pytest.raises(ValueError, match="the table 'orders' has no readable description of codes"):
        PgVector(postgres_dsn, "orders", 8)


def test_an_hnsw_index_does_not_make_the_search_approximate(postgres_dsn: str) -> None:
    import psycopg

    rng = np.random.RandomState(0)
    centres = rng.rand(50, 64) < 0.5
    codes = pack(centres[rng.randint(50, size=3000)] ^ (rng.rand(3000, 64) < 0.1))
    index = HammingIndex(64)
    index.add(codes)
    with PgVector(postgres_dsn, "with_hnsw", 64) as store:
        store.add(codes)
        with psycopg.connect(postgres_dsn) as connection:
            connection.execute("CREATE INDEX ON with_hnsw USING hnsw (code bit_hamming_ops)")
            # Alone, the planner would take it, and answer with at most hnsw.ef_search rows.
            nearest = "SELECT id FROM with_hnsw ORDER BY code <~> %s::bit(64) LIMIT 200"
            found = connection.execute(nearest, ("01" * 32,)).fetchall()
            assert len(found) < 200
        for k in (1, 10, 200):
            np.testing.assert_array_equal(store.search(codes[:50], k).ids, index.search(codes[:50], k).ids)


def test_text_that_postgres_cannot_hold_is_refused(postgres_dsn: str) -> None:
    with PgVector(postgres_dsn, "texts", 8) as store:
        with pytest.raises(ValueError, match="NUL"):
            store.add(np.zeros((1, 1), dtype=np.uint8), ["a\0"])
        assert store.id_kind is None


def test_an_addition_that_the_engine_refuses_leaves_no_table(postgres_dsn: str) -> None:
    """The text is longer than a primary key may be; the table was made just before, in the same transaction."""
    import psycopg

    too_long = "".join(map(chr, np.random.RandomState(0).randint(33, 126, size=20_000)))
    with PgVector(postgres_dsn, "refused", 8) as store:
        with pytest.raises(psycopg.errors.ProgramLimitExceeded):
            store.add(np.zeros((2, 1), dtype=np.uint8), ["a", too_long])
        assert (store.id_kind, len(store)) == (None, 0)
        assert store.add(np.zeros((2, 1), dtype=np.uint8)).tolist() == [0, 1]


def test_missing_package_names_the_extra(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r"thpi\[pgvector\]"):
        PgVector("", "codes", 8)
