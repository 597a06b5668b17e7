"""SqliteVec: codes in a table of an SQLite file, searched with sqlite-vec.

The table has the columns ``position`` (order of insertion, primary key), ``id`` (integer or text, unique) and ``code``
(a blob, the bytes of :mod:`thpi.codes`). The table ``thpi_codes`` has the description of each table of codes.
``vec_distance_hamming(vec_bit(code), vec_bit(query))`` is the Hamming distance.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from thpi._optional import require
from thpi._types import Array, Codes
from thpi.export._engine import EngineStore, Hit, IdKind
from thpi.export._table import Id

_ABOUT = "thpi_codes"
_PATIENCE = 60  # seconds to wait for another writer
_FETCHED = 2000


class SqliteVec(EngineStore):
    """Codes in a table of an SQLite file. Needs the extra ``sqlite-vec``.

    ``address`` is the file, which may hold other tables too. Every call is one transaction; writers of other processes
    are waited for, at most a minute. One object is for one thread. See :class:`EngineStore` for the parameters.

    >>> store = SqliteVec("shop.sqlite", "codes", n_bits=64)  # doctest: +SKIP
    >>> store.search(queries, k=5)  # doctest: +SKIP
    """

    on_disk = True

    def _connect(self, address: str, token: str) -> None:
        if self.table.lower().startswith((_ABOUT, "sqlite_")):
            raise ValueError(
                f"table={self.table!r} must not begin with {_ABOUT!r} or 'sqlite_': these names are taken."
            )
        extension = require("sqlite_vec", "sqlite-vec")
        if hasattr(sqlite3.Connection, "enable_load_extension"):
            self._engine = sqlite3.connect(address, timeout=_PATIENCE, isolation_level=None)
        else:  # many Pythons are built without it; apsw has an SQLite of its own
            self._engine = require("apsw", "sqlite-vec").Connection(address)
            self._engine.set_busy_timeout(1000 * _PATIENCE)
        self._engine.enable_load_extension(True)
        self._engine.load_extension(extension.loadable_path())
        self._engine.enable_load_extension(False)

    def _run(self, statement: str, *parameters: Any) -> list[Any]:
        return list(self._engine.execute(statement, parameters))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            if self._engine.in_transaction:
                self._run("ROLLBACK")
            raise

    def _description(self) -> str | None:
        names = "SELECT lower(name) FROM sqlite_master WHERE lower(name) IN (?, ?)"
        there = {name for (name,) in self._run(names, self.table.lower(), _ABOUT)}
        if self.table.lower() not in there:
            return None
        rows = self._run(f"SELECT about FROM {_ABOUT} WHERE name = ?", self.table) if _ABOUT in there else []
        return str(rows[0][0]) if rows else ""

    def _create(self, kind: IdKind, about: str) -> None:
        id_type = "INTEGER" if kind == "int64" else "TEXT"
        columns = f"position INTEGER PRIMARY KEY, id {id_type} NOT NULL UNIQUE, code BLOB NOT NULL"
        self._run(f'CREATE TABLE "{self.table}" ({columns})')
        self._run(f"CREATE TABLE IF NOT EXISTS {_ABOUT} (name TEXT PRIMARY KEY COLLATE NOCASE, about TEXT)")
        self._run(f"INSERT OR REPLACE INTO {_ABOUT} VALUES (?, ?)", self.table, about)

    def _insert(self, ids: Array, codes: Codes) -> None:
        rows = zip(ids.tolist(), (code.tobytes() for code in codes), strict=True)
        self._engine.executemany(f'INSERT INTO "{self.table}" (id, code) VALUES (?, ?)', rows)

    def _delete(self, ids: Array) -> None:
        self._engine.executemany(f'DELETE FROM "{self.table}" WHERE id = ?', ([item] for item in ids.tolist()))

    def _find(self, ids: Array) -> Iterable[tuple[Id, Codes]]:
        marks = ", ".join("?" * len(ids))
        return _coded(self._run(f'SELECT 0, id, code FROM "{self.table}" WHERE id IN ({marks})', *ids.tolist()))

    def _rows(self) -> Iterator[tuple[Id, Codes]]:
        statement = f'SELECT position, id, code FROM "{self.table}" WHERE position > ? ORDER BY position LIMIT ?'
        position = -1
        while rows := self._run(statement, position, _FETCHED):
            position = rows[-1][0]
            yield from _coded(rows)

    def _nearest(self, queries: Codes, k: int) -> list[list[Hit]]:
        distance = "vec_distance_hamming(vec_bit(code), vec_bit(?))"
        nearest = f'SELECT {distance} AS d, position, id FROM "{self.table}" ORDER BY d, position LIMIT ?'
        return [self._run(nearest, query.tobytes(), k) for query in queries]

    def _count(self) -> int:
        return int(self._run(f'SELECT count(*) FROM "{self.table}"')[0][0])

    def _largest_id(self) -> int:
        return int(self._run(f'SELECT coalesce(max(id), -1) FROM "{self.table}"')[0][0])


def _coded(rows: list[tuple[int, Id, bytes]]) -> Iterator[tuple[Id, Codes]]:
    return ((item, np.frombuffer(code, dtype=np.uint8).copy()) for _, item, code in rows)
