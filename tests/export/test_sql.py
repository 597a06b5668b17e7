"""The queries of ``docs/how-to/stores.md``, each in its engine: they find what brute force finds for the same code."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.stores import sqlite_with_vec
from thpi.codes import hamming_distances, pack
from thpi.export import CodeTable, LanceDB, Milvus, PgVector, SqliteVec, Store, write_parquet

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "stores.md"
MODEL = "c4e8709f0e821f23"


# The code of the page: its bits 0, 2 and 15 are 1.
QUERY = pack(np.isin(np.arange(16), [0, 2, 15])[None])
assert QUERY.tolist() == [[5, 128]]


def blocks(heading: str, kind: str = "sql") -> list[str]:
    section = re.search(rf"^## {heading}\n(.*?)(?=^## )", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert section is not None
    return re.findall(rf"^```{kind}\n(.*?)\n```$", section[1], re.MULTILINE | re.DOTALL)


def nearest(codes: np.ndarray, k: int = 10) -> list[tuple[int, int]]:
    """Brute force: (id, distance) of the nearest, ties in the order of insertion; ids are row numbers."""
    distances = hamming_distances(QUERY, codes)[0]
    rows = np.argsort(distances, kind="stable")[:k]
    return list(zip(rows.tolist(), distances[rows].tolist(), strict=True))


def whole(rows: Any) -> list[tuple[int, int]]:
    return [(int(item), int(distance)) for item, distance in rows]


@pytest.fixture
def codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """Bits that are not alike when reversed in each byte, or byte by byte: every wrong order shows."""
    monkeypatch.chdir(tmp_path)
    codes = pack(np.random.RandomState(0).rand(500, 16) < np.linspace(0.1, 0.9, 16))
    codes[7] = QUERY
    write_parquet("codes.parquet", CodeTable.checked(codes, None, 16, MODEL))
    for reordered in (np.packbits(np.unpackbits(QUERY, bitorder="little")), QUERY[:, ::-1]):
        assert (
            hamming_distances(reordered.reshape(1, 2), codes)[0].tolist() != hamming_distances(QUERY, codes)[0].tolist()
        )
    return codes


def filled(connect: Callable[[str, str], Store], address: str, codes: np.ndarray, table: str = "codes") -> str:
    with connect(address, table) as store:
        store.mirror(CodeTable.checked(codes, None, 16, MODEL))
    return address


@pytest.mark.slow
def test_postgresql(codes: np.ndarray, postgres_dsn: str) -> None:
    import psycopg

    exact, create, approximate = blocks("PostgreSQL")
    filled(PgVector, postgres_dsn, codes)
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        assert whole(connection.execute(exact).fetchall()) == nearest(codes)
        connection.execute(create)
        connection.execute("SET enable_seqscan = off")
        plan = connection.execute(f"EXPLAIN {approximate}").fetchall()
        assert any("codes_code_idx" in line for (line,) in plan)
        true = dict(nearest(codes, 500))
        found = whole(connection.execute(approximate).fetchall())
        assert found == [(item, true[item]) for item, _ in found]
        assert len(found) == 10
        page = PAGE.read_text(encoding="utf-8")
        literal, expression = (re.search(rf"`({part})`", page) for part in ("B'[01]+'", r'"".join.*'))
        assert literal is not None
        assert expression is not None
        assert literal[1] == f"B'{eval(expression[1], {'np': np, 'code': QUERY[0], 'n_bits': 16})}'"
        as_page_warns = connection.execute("SELECT x'0580'::text").fetchone()
        assert as_page_warns == ("0000010110000000",)


def test_sqlite(codes: np.ndarray, sqlite_vec_address: str) -> None:
    exact, create, insert, faster = blocks("SQLite")
    with closing(sqlite_with_vec(filled(SqliteVec, sqlite_vec_address, codes))) as connection:
        assert whole(connection.execute(exact)) == nearest(codes)
        connection.execute(create)
        connection.execute(insert)
        true = dict(nearest(codes, 500))
        found = whole(connection.execute(faster))
        assert [distance for _, distance in found] == [distance for _, distance in nearest(codes)]
        assert found == [(item, true[item]) for item, _ in found]


@pytest.mark.slow
def test_milvus(codes: np.ndarray, milvus_uri: str) -> None:
    (example,) = blocks("Milvus", "py")
    filled(Milvus, milvus_uri, codes, "sql_codes")
    example = example.replace('"http://localhost:19530"', repr(milvus_uri)).replace('"codes"', '"sql_codes"')
    _check_rows(example, codes, "distance")


@pytest.mark.slow
def test_lancedb(codes: np.ndarray, lancedb_address: str) -> None:
    (example,) = blocks("LanceDB", "py")
    filled(LanceDB, lancedb_address, codes)
    _check_rows(example.replace('"shop.lancedb"', repr(lancedb_address)), codes, "_distance")


def _check_rows(example: str, codes: np.ndarray, distance: str) -> None:
    """Which of equal distances are found is up to the engine."""
    namespace: dict[str, Any] = {}
    exec(example, namespace)
    found, true = whole((row["id"], row[distance]) for row in namespace["rows"]), dict(nearest(codes, 500))
    assert sorted(distance for _, distance in found) == [distance for _, distance in nearest(codes)]
    assert found == [(item, true[item]) for item, _ in found]


def test_duckdb(codes: np.ndarray) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
    on_file, model, create, on_table = blocks("DuckDB")
    with duckdb.connect() as connection:
        assert connection.execute(model).fetchall() == [(MODEL,)]
        connection.execute(create)
        for sql in (on_file, on_table):
            assert whole(connection.execute(sql).fetchall()) == nearest(codes)


@pytest.mark.parametrize("n_bits", [1, 7, 12, 100])
def test_duckdb_with_any_width_ids_of_text_and_a_parameter(codes: np.ndarray, n_bits: int) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
    codes = pack(np.random.RandomState(1).rand(300, n_bits) < 0.5)
    write_parquet("codes.parquet", CodeTable.checked(codes, [f"item {i}" for i in range(300)], n_bits))
    distances = hamming_distances(codes[3:4], codes)[0]
    sql = blocks("DuckDB")[0].replace(r"'\x05\x80'", "$query")
    with duckdb.connect() as connection:
        rows = connection.execute(sql, {"query": codes[3].tobytes()}).fetchall()
    assert rows == [(f"item {i}", distances[i]) for i in np.argsort(distances, kind="stable")[:10]]


@pytest.mark.slow
def test_clickhouse(codes: np.ndarray, tmp_path: Path) -> None:
    chdb = pytest.importorskip("chdb.session", reason="needs chdb")
    on_file, create, insert, on_table = blocks("ClickHouse")
    session = chdb.Session(str(tmp_path / "clickhouse"))
    try:
        session.query("CREATE DATABASE shop")
        session.query("USE shop")
        # A session has a folder of its own for files, so the path is made absolute.
        file = f"file('{tmp_path / 'codes.parquet'}')"
        session.query(create)
        session.query(insert.replace("file('codes.parquet')", file))
        for sql in (on_file.replace("file('codes.parquet')", file), on_table):
            assert whole(csv.reader(io.StringIO(str(session.query(sql, "CSV"))))) == nearest(codes)
    finally:
        session.close()
