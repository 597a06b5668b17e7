"""The SQL of ``docs/how-to/stores.md`` on the Parquet file of codes, in DuckDB and in ClickHouse."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest

from thpi.codes import hamming_distances, pack
from thpi.stores import write_parquet

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "stores.md"
MODEL = "c4e8709f0e821f23"


def statements(heading: str) -> list[str]:
    section = re.search(rf"^## {heading}\n(.*?)(?=^## )", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert section is not None
    return re.findall(r"^```sql\n(.*?)\n```$", section[1], re.MULTILINE | re.DOTALL)


def nearest(query: np.ndarray, codes: np.ndarray) -> tuple[list[int], list[int]]:
    distances = hamming_distances(query[None], codes)[0]
    rows = np.argsort(distances, kind="stable")[:10]
    return rows.tolist(), distances[rows].tolist()


@pytest.fixture
def codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    monkeypatch.chdir(tmp_path)
    codes = pack(np.random.RandomState(0).rand(500, 64) < 0.5)
    write_parquet("codes.parquet", codes, 64, model=MODEL)
    return codes


def test_duckdb(codes: np.ndarray) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
    on_file, model, create, on_table = statements("DuckDB")
    with duckdb.connect() as connection:
        assert connection.execute(model).fetchall() == [(MODEL,)]
        connection.execute(create)
        for sql in (on_file, on_table):
            for query in codes[:5]:
                rows = connection.execute(sql, {"query": query.tobytes()}).fetchall()
                assert ([row[0] for row in rows], [row[1] for row in rows]) == nearest(query, codes)


@pytest.mark.parametrize("n_bits", [1, 7, 12, 100])
def test_duckdb_with_any_width_and_ids_of_text(codes: np.ndarray, n_bits: int) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
    codes = pack(np.random.RandomState(1).rand(300, n_bits) < 0.5)
    write_parquet("codes.parquet", codes, n_bits, [f"item {i}" for i in range(300)])
    with duckdb.connect() as connection:
        rows = connection.execute(statements("DuckDB")[0], {"query": codes[3].tobytes()}).fetchall()
    ids, distances = nearest(codes[3], codes)
    assert rows == [(f"item {i}", d) for i, d in zip(ids, distances, strict=True)]


@pytest.mark.slow
def test_clickhouse(codes: np.ndarray, tmp_path: Path) -> None:
    chdb = pytest.importorskip("chdb.session", reason="needs chdb")
    on_file, create, insert, on_table = statements("ClickHouse")
    session = chdb.Session(str(tmp_path / "clickhouse"))
    try:
        session.query("CREATE DATABASE shop")
        session.query("USE shop")
        # A session has a folder of its own for files, so the path is made absolute.
        file = f"file('{tmp_path / 'codes.parquet'}')"
        session.query(create)
        session.query(insert.replace("file('codes.parquet')", file))
        for sql in (on_file.replace("file('codes.parquet')", file), on_table):
            for query in codes[:5]:
                text = session.query(sql, "CSV", params={"query": query.tobytes().hex()})
                rows = [[int(value) for value in row] for row in csv.reader(io.StringIO(str(text)))]
                assert ([row[0] for row in rows], [row[1] for row in rows]) == nearest(query, codes)
    finally:
        session.close()
