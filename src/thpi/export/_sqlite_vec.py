"""SqliteVec: codes in a table of an SQLite file, for search with sqlite-vec.

The table has the columns ``position`` (order of insertion, primary key), ``id`` (integer or text, unique), ``code``
(a blob, the bytes of :mod:`thpi.codes`) and, if wanted, ``text``. The table ``thpi_codes`` has the description of each
table of codes. ``vec_distance_hamming(vec_bit(code), vec_bit(query))`` is the Hamming distance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from thpi._types import Codes
from thpi.export._files import Id
from thpi.export._store import Store

_ABOUT = "thpi_codes"


class SqliteVec(Store):
    """Codes in a table of an SQLite file, which may hold other tables too. sqlite-vec is needed for search only.

    :meth:`mirror` is one transaction; writers of other processes are waited for, at most a minute.
    """

    error_packages = ("sqlite3",)

    def _connect(self, address: str) -> None:
        if self.table.lower().startswith((_ABOUT, "sqlite_")):
            raise ValueError(f"table={self.table!r} must not begin with {_ABOUT!r} or 'sqlite_', which are taken.")
        import sqlite3

        self._engine = sqlite3.connect(address, timeout=60, isolation_level=None)
        if self._run("PRAGMA application_id") != [(0,)]:  # a collection of thpi, say: it takes no other tables
            raise ValueError(f"address={address!r} is the file of an application; name another one.")

    def _run(self, statement: str, *parameters: Any) -> list[Any]:
        return list(self._engine.execute(statement, parameters))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        finally:
            if self._engine.in_transaction:
                self._run("ROLLBACK")

    def _description(self) -> str | None:
        names = "SELECT lower(name) FROM sqlite_master WHERE lower(name) IN (?, ?)"
        there = {name for (name,) in self._run(names, self.table.lower(), _ABOUT)}
        if self.table.lower() not in there:
            return None
        rows = self._run(f"SELECT about FROM {_ABOUT} WHERE name = ?", self.table) if _ABOUT in there else []
        return str(rows[0][0]) if rows else ""

    def _create(self, about: str) -> None:
        columns = f"id {'INTEGER' if self.kind == 'int64' else 'TEXT'} NOT NULL UNIQUE, code BLOB NOT NULL"
        columns += ", text TEXT" if self.with_texts else ""
        self._run(f'CREATE TABLE "{self.table}" (position INTEGER PRIMARY KEY, {columns})')
        self._run(f"CREATE TABLE IF NOT EXISTS {_ABOUT} (name TEXT PRIMARY KEY COLLATE NOCASE, about TEXT)")
        self._run(f"INSERT OR REPLACE INTO {_ABOUT} VALUES (?, ?)", self.table, about)

    def _drop(self) -> None:
        self._run(f'DROP TABLE "{self.table}"')

    def _insert(self, ids: list[Id], codes: Codes, texts: Sequence[str | None] | None) -> None:
        names, marks = ("id, code, text", "?, ?, ?") if self.with_texts else ("id, code", "?, ?")
        rows = zip(ids, map(bytes, codes), *([] if texts is None else [texts]), strict=True)
        self._engine.executemany(f'INSERT INTO "{self.table}" ({names}) VALUES ({marks})', rows)

    def _delete(self, ids: list[Id]) -> None:
        self._engine.executemany(f'DELETE FROM "{self.table}" WHERE id = ?', ([item] for item in ids))

    def _rows(self) -> Iterator[tuple[Id, bytes, str | None]]:
        text = "text" if self.with_texts else "NULL"
        yield from self._engine.execute(f'SELECT id, code, {text} FROM "{self.table}" ORDER BY position')
