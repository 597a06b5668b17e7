from __future__ import annotations

import sqlite3
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thpi.codes import pack
from thpi.export import SqliteVec

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
    connection = sqlite3.connect(tmp_path / "shop.sqlite")
    connection.execute("CREATE TABLE orders (id, price)")
    with pytest.raises(ValueError, match="the table 'orders' has no readable description of codes"):
        SqliteVec(tmp_path / "shop.sqlite", "orders", 8)
    with SqliteVec(tmp_path / "shop.sqlite", "codes", 8) as store:
        store.add(random_codes(3, 8))
    with pytest.raises(ValueError, match="the table 'orders' has no readable description of codes"):
        SqliteVec(tmp_path / "shop.sqlite", "orders", 8)
    assert list(connection.execute("SELECT count(*) FROM orders")) == [(0,)]
    connection.close()
    (tmp_path / "text.sqlite").write_text("not a database, but long enough to look at" * 40)
    with pytest.raises(Exception, match="not a database"):  # of sqlite3 or of apsw
        SqliteVec(tmp_path / "text.sqlite", "codes", 8)


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
        assert store.search(random_codes(1, 8), 9).ids.shape == (1, 2)


def test_the_table_is_plain_for_sqlite(tmp_path: Path) -> None:
    codes = random_codes(50, 16)
    with SqliteVec(tmp_path / "shop.sqlite", "codes", 16) as store:
        store.add(codes, [f"item {i}" for i in range(50)])
    connection = sqlite3.connect(tmp_path / "shop.sqlite")
    rows = connection.execute("SELECT id, code FROM codes ORDER BY position").fetchall()
    assert rows == [(f"item {i}", code.tobytes()) for i, code in enumerate(codes)]
    connection.close()


def test_missing_package_names_the_extra(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)
    with pytest.raises(ImportError, match=r"thpi\[sqlite-vec\]"):
        SqliteVec("x.sqlite", "codes", 8)
