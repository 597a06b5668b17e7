from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thpi.codes import hamming_distances, pack
from thpi.stores import SqliteVec

apsw = pytest.importorskip("apsw", reason="needs apsw: pip install 'thpi[sqlite-vec]'")
pytest.importorskip("sqlite_vec", reason="needs sqlite-vec: pip install 'thpi[sqlite-vec]'")


def random_codes(n: int, n_bits: int, seed: int = 0) -> np.ndarray:
    return pack(np.random.RandomState(seed).rand(n, n_bits) < 0.5)


def test_table_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "shop.sqlite"
    with SqliteVec(path, "again", 12) as store:
        store.add(pack(np.eye(12, dtype=bool)), [f"{i}" for i in range(12)])
    with SqliteVec(path, "AGAIN") as store:  # names of SQLite have no case
        assert (store.n_bits, store.id_kind, len(store)) == (12, "string", 12)
    with pytest.raises(ValueError, match=r"n_bits=8 .* 12 bits"):
        SqliteVec(path, "again", 8)
    with pytest.raises(ValueError, match="n_bits=None"):
        SqliteVec(path, "not_there")


def test_nothing_is_left_behind_by_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="n_bits=None"):
        SqliteVec(tmp_path / "new.sqlite", "codes")
    with pytest.raises(ValueError, match="the folder .* does not exist"):
        SqliteVec(tmp_path / "none" / "new.sqlite", "codes", 8)
    for name in ("", "a b", "1a", 'x"; drop', "ü", "a" * 256, "sqlite_x", "thpi_codes"):
        with pytest.raises(ValueError, match="table="):
            SqliteVec(tmp_path / "new.sqlite", name, 8)
    assert list(tmp_path.iterdir()) == []


def test_foreign_tables_and_files_are_refused(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "shop.sqlite"))
    connection.execute("CREATE TABLE orders (id, price)")
    with pytest.raises(ValueError, match="table='orders' exists"):
        SqliteVec(tmp_path / "shop.sqlite", "orders", 8)
    with SqliteVec(tmp_path / "shop.sqlite", "codes", 8) as store:
        store.add(random_codes(3, 8))
    with pytest.raises(ValueError, match="table='orders' exists"):
        SqliteVec(tmp_path / "shop.sqlite", "orders", 8)
    assert list(connection.execute("SELECT count(*) FROM orders")) == [(0,)]
    connection.close()
    (tmp_path / "text.sqlite").write_text("not a database, but long enough to look at" * 40)
    with pytest.raises(apsw.NotADBError):
        SqliteVec(tmp_path / "text.sqlite", "codes", 8)


@pytest.mark.parametrize("n_bits", [7, 64])
def test_any_ties_finds_the_same_distances_after_any_changes(tmp_path: Path, n_bits: int) -> None:
    rng = np.random.RandomState(0)
    with SqliteVec(tmp_path / "shop.sqlite", "codes", n_bits) as store:
        for step in range(6):
            store.add(random_codes(700, n_bits, seed=step))
            store.remove(rng.choice([item for item, _ in store], size=150, replace=False))
        items = dict(store)
        assert len(store) == len(items) == 6 * 550
        queries = random_codes(5, n_bits, seed=99)
        true = np.sort(hamming_distances(queries, np.stack(list(items.values()))), axis=1)
        for k in (1, 30, 5000):
            found = store.search(queries, k, any_ties=True)
            np.testing.assert_array_equal(found.distances, true[:, :k])
            for row, query in zip(found.ids, queries, strict=True):
                there = hamming_distances(query[None], store.get_codes(row))[0]
                np.testing.assert_array_equal(there, np.sort(there))
            np.testing.assert_array_equal(store.search(queries, k).distances, true[:, :k])


def test_two_writers_wait_for_each_other(tmp_path: Path) -> None:
    path, failed = tmp_path / "shop.sqlite", []

    def write(_: int) -> None:
        try:
            with SqliteVec(path, "codes", 8) as store:
                for _ in range(20):
                    store.add(np.zeros((5, 1), dtype=np.uint8))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with SqliteVec(path, "codes") as store:
        assert [item for item, _ in store] == list(range(300))


def test_an_addition_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with SqliteVec(tmp_path / "shop.sqlite", "codes", 8) as store:
        with pytest.raises(ValueError, match="ids"):
            store.add(random_codes(2, 8), ["a", "a"])
        assert store.id_kind is None
        store.add(random_codes(2, 8), [5, 6])
        with pytest.raises(ValueError, match="ids=6 is in the table 'codes' already"):
            store.add(random_codes(2, 8), [7, 6])
        assert store.search(random_codes(1, 8), 9, any_ties=True).ids.shape == (1, 2)


def test_sql_of_the_documentation(tmp_path: Path) -> None:
    """What other programs ask, with the table that this store makes."""
    import sqlite_vec

    codes = random_codes(50, 16)
    with SqliteVec(tmp_path / "shop.sqlite", "codes", 16) as store:
        store.add(codes, [f"item {i}" for i in range(50)])
    connection = apsw.Connection(str(tmp_path / "shop.sqlite"))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    statement = (
        "SELECT id, distance FROM codes_vec0 AS nearest JOIN codes USING (position)"
        " WHERE nearest.code MATCH vec_bit(?) AND k = 5 ORDER BY distance"
    )
    rows = list(connection.execute(statement, (codes[7].tobytes(),)))
    assert rows[0] == ("item 7", 0.0)
    assert [distance for _, distance in rows] == np.sort(hamming_distances(codes[7:8], codes)[0])[:5].tolist()
    connection.close()


def test_missing_package_names_the_extra(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "apsw", None)
    with pytest.raises(ImportError, match=r"thpi\[sqlite-vec\]"):
        SqliteVec("x.sqlite", "codes", 8)
