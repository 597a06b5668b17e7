from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import thpi
from thpi.codes import pack
from thpi.export import CodeTable, SqliteVec, write


def items(n: int, n_bits: int, ids: list[str] | None = None, seed: int = 0) -> CodeTable:
    return CodeTable.checked(pack(np.random.RandomState(seed).rand(n, n_bits) < 0.5), ids, n_bits)


def test_names_of_tables_have_no_case(tmp_path: Path) -> None:
    path = str(tmp_path / "shop.sqlite")
    with SqliteVec(path, "again") as store:
        store.mirror(items(12, 12))
    with SqliteVec(path, "AGAIN") as store:
        assert store.about is not None
        assert store.mirror(items(12, 12)) == (0, 0, False)


def test_nothing_is_left_behind_by_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the folder .* does not exist"):
        SqliteVec(str(tmp_path / "none" / "new.sqlite"), "codes")
    for name in ("", "a b", "1a", 'x"; drop', "ü", "a" * 256, "sqlite_x", "thpi_codes"):
        with pytest.raises(ValueError, match="table="):
            SqliteVec(str(tmp_path / "new.sqlite"), name)
    assert list(tmp_path.iterdir()) == []


def test_foreign_tables_and_files_are_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "shop.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE orders (id, price)")
    for _ in range(2):
        with SqliteVec(path, "orders") as store:
            for force in (False, True):
                with pytest.raises(ValueError, match="the table 'orders', which thpi did not make, has no readable"):
                    store.mirror(items(3, 8), force=force)
        with SqliteVec(path, "codes") as store:  # the file now has a table of descriptions
            store.mirror(items(3, 8))
    assert list(connection.execute("SELECT count(price) FROM orders")) == [(0,)]
    connection.close()
    (tmp_path / "text.sqlite").write_text("not a database, but long enough to look at" * 40)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        SqliteVec(str(tmp_path / "text.sqlite"), "codes")


def test_a_collection_takes_no_tables_of_codes(tmp_path: Path) -> None:
    path = tmp_path / "shop.sqlite"
    shop = thpi.build(path, np.random.RandomState(0).standard_normal((30, 8)), bits=8)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="is the file of an application"):
        write(shop, path)
    assert path.read_bytes() == before


def test_writers_wait_for_each_other(tmp_path: Path) -> None:
    path, failed, added = str(tmp_path / "shop.sqlite"), list[Exception](), list[int]()

    def export(_: int) -> None:
        try:
            for _ in range(10):
                with SqliteVec(path, "codes") as store:
                    added.append(store.mirror(items(200, 8)).added)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=export, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert sorted(added) == [0] * 29 + [200]


_EXPORT = """
import sys, numpy as np
from thpi.export import CodeTable, SqliteVec
rng = np.random.RandomState(int(sys.argv[2]))
codes = rng.randint(256, size=(400_000, 8)).astype(np.uint8)
print("begin", flush=True)
with SqliteVec(sys.argv[1], "codes") as store:
    store.mirror(CodeTable.checked(codes, None, 64, sys.argv[2] * 16), force=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("wait", [0.2, 0.6, 1.2])
def test_a_killed_export_leaves_the_table_as_it_was(tmp_path: Path, wait: float) -> None:
    path = tmp_path / "shop.sqlite"
    with SqliteVec(str(path), "codes") as store:
        store.mirror(items(500, 64)._replace(model="0" * 16))
    with subprocess.Popen([sys.executable, "-c", _EXPORT, str(path), "1"], stdout=subprocess.PIPE) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"begin\n"
        time.sleep(wait)
        os.kill(killed.pid, signal.SIGKILL)
    with SqliteVec(str(path), "codes") as store:
        assert store.about is not None
        n = sum(1 for _ in store)
        assert (store.about["model"], n) in {("0" * 16, 500), ("1" * 16, 400_000)}


def test_the_table_is_plain_for_sqlite(tmp_path: Path) -> None:
    table = items(50, 16, [f"item {i}" for i in range(50)])._replace(texts=[f"text {i}" for i in range(50)])
    with SqliteVec(str(tmp_path / "shop.sqlite"), "codes") as store:
        store.mirror(table)
    connection = sqlite3.connect(tmp_path / "shop.sqlite")
    rows = connection.execute("SELECT id, code, text FROM codes ORDER BY position").fetchall()
    assert rows == [(f"item {i}", code.tobytes(), f"text {i}") for i, code in enumerate(table.codes)]
    connection.close()
