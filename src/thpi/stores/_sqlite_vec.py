"""SqliteVec: codes in a table of an SQLite file, searched with sqlite-vec.

The table has the columns ``position`` (insertion order, primary key), ``id`` (integer or text, unique) and ``code`` (a
blob, the bytes of :mod:`thpi.codes`). Beside it, ``<table>_vec0`` is a virtual table of sqlite-vec with the columns
``position`` and ``code`` (``bit[8 * bytes]``); it answers ``code MATCH vec_bit(query) AND k = 10`` fastest. The table
``thpi_codes`` has a JSON object for each table of codes, with the width in bits, the bit order, the kind of the ids and
the fingerprint of the model.

The driver is apsw, which has an SQLite of its own: the ``sqlite3`` of many Pythons cannot load extensions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from thpi._optional import require
from thpi._types import Array, Codes, PathLike
from thpi.codes import check_codes, n_bytes
from thpi.identity import check_fingerprint
from thpi.index._ids import IdKind, Neighbours, check_ids, check_integer, id_kind
from thpi.stores._store import BIT_ORDER, EngineStore, Id, Stored, StoreInfo, check_name, describe_codes

Values: TypeAlias = "tuple[Any, ...]"

_ABOUT = "thpi_codes"
_SQL_TYPE = {"int64": "INTEGER", "string": "TEXT"}
_PATIENCE = 60_000  # milliseconds to wait for another writer
_FETCHED = 2000
_MAX_K = 4096  # of sqlite-vec's virtual tables
_DISTANCE = "vec_distance_hamming(vec_bit(code), vec_bit(?))"


class SqliteVec(EngineStore):
    """The calls of :class:`thpi.index.HammingIndex` on a table of an SQLite file. Needs the extra ``sqlite-vec``.

    The first ``add`` creates the table, for the kind of ids that it gets. Search is exact, ties included. Every call is
    one transaction; writers of other processes are waited for, at most a minute. One object is for one thread.

    Parameters
    ----------
    path : the SQLite file; it may hold other tables too.
    table : letters, digits and underscores.
    n_bits : needed if the table does not exist yet.
    model : fingerprint of the model that makes the codes; kept with a new table, compared with that of an old one.
    any_model : accept a table that does not say which model made its codes.

    >>> store = SqliteVec("shop.sqlite", "codes", n_bits=64)  # doctest: +SKIP
    >>> store.search(queries, k=5)  # doctest: +SKIP
    """

    def __init__(
        self,
        path: PathLike,
        table: str,
        n_bits: int | None = None,
        *,
        model: str | None = None,
        any_model: bool = False,
    ) -> None:
        apsw, extension = require("apsw", "sqlite-vec"), require("sqlite_vec", "sqlite-vec")
        self.table, self._where = check_name("table", table), f"table {table!r}"
        if table.lower().startswith((_ABOUT, "sqlite_")):
            raise ValueError(f"table={table!r} must not begin with {_ABOUT!r} or 'sqlite_': these names are taken.")
        file = Path(path)
        if not file.absolute().parent.is_dir():
            raise ValueError(f"path={str(file)!r}: the folder {str(file.parent)!r} does not exist.")
        if not file.exists():  # nothing is left behind if n_bits is missing
            self._agree(None, n_bits, model, any_model)
        self._connection = apsw.Connection(str(file))
        try:
            self._connection.set_busy_timeout(_PATIENCE)
            self._connection.enable_load_extension(True)
            self._connection.load_extension(extension.loadable_path())
            self._connection.enable_load_extension(False)
            with self._transaction("DEFERRED"):
                self._agree(self._stored(), n_bits, model, any_model)
        except BaseException:
            self._connection.close()
            raise

    def __len__(self) -> int:
        return sum(row[0] for row in self._rows("SELECT count(*) FROM {table}"))

    def __iter__(self) -> Iterator[tuple[Id, Codes]]:
        statement, position = "SELECT position, id, code FROM {table} WHERE position > ? ORDER BY 1 LIMIT ?", 0
        while rows := self._rows(statement, (position, _FETCHED)):
            position = rows[-1][0]
            yield from self._coded(row[1:] for row in rows)

    @property
    def id_kind(self) -> IdKind | None:
        if self._kind is None:
            stored = self._stored()
            if stored is not None:  # another connection has made the table since
                self._agree(stored, self.n_bits, self.model, any_model=False)
        return self._kind

    def _find(self, ids: Array) -> dict[Id, Codes]:
        if self.id_kind is None:
            return {}
        statement = self._named("SELECT id, code FROM {table} WHERE id = ?")
        return dict(self._coded(self._connection.executemany(statement, ([item] for item in ids.tolist()))))

    def _coded(self, rows: Iterator[Values]) -> Iterator[tuple[Id, Codes]]:
        return ((item, np.frombuffer(code, dtype=np.uint8).copy()) for item, code in rows)

    def add(self, codes: npt.ArrayLike, ids: npt.ArrayLike | None = None) -> Array:
        """Add codes under ids in one transaction: all of them or, if anything is wrong, none."""
        before = self._kind
        try:
            with self._transaction("IMMEDIATE"):
                packed, checked = self._checked(codes, ids)
                if len(packed) == 0:
                    return checked
                if self._kind is None:
                    self._create(id_kind(checked))
                self._refuse_known(checked, self._find(checked))
                first = self._rows("SELECT coalesce(max(position), 0) FROM {table}")[0][0] + 1
                items = [code.tobytes() for code in packed]
                rows = zip(range(first, first + len(items)), checked.tolist(), items, strict=True)
                self._connection.executemany(self._named("INSERT INTO {table} VALUES (?, ?, ?)"), rows)
                statement = self._named("INSERT INTO {vec0} (position, code) VALUES (?, vec_bit(?))")
                self._connection.executemany(statement, enumerate(items, start=first))
        except BaseException:
            self._kind = before
            raise
        return checked

    def _create(self, kind: IdKind) -> None:
        # The columns of a virtual table cannot be bound; both numbers come from n_bits.
        columns = f"position INTEGER PRIMARY KEY, id {_SQL_TYPE[kind]} NOT NULL UNIQUE, code BLOB NOT NULL"
        self._connection.execute(self._named(f"CREATE TABLE {{table}} ({columns})"))
        code = f"code bit[{8 * n_bytes(self.n_bits)}]"
        self._connection.execute(
            self._named(f"CREATE VIRTUAL TABLE {{vec0}} USING vec0(position INTEGER PRIMARY KEY, {code})")
        )
        about = json.dumps(describe_codes(self.n_bits, self.model, ids=kind))
        self._connection.execute(
            f"CREATE TABLE IF NOT EXISTS {_ABOUT} (name TEXT PRIMARY KEY COLLATE NOCASE, about TEXT)"
        )
        self._connection.execute(f"INSERT INTO {_ABOUT} VALUES (?, ?)", (self.table, about))
        self._kind = kind

    def remove(self, ids: npt.ArrayLike) -> None:
        """Remove the codes of ``ids`` in one transaction. An unknown id raises a ``KeyError``."""
        with self._transaction("IMMEDIATE"):
            checked = check_ids(ids, kind=self.id_kind, unique=True)
            self._check_present(checked, self._find(checked))
            if len(checked) == 0:
                return
            gone = self._named("DELETE FROM {table} WHERE id = ? RETURNING position")
            positions = list(self._connection.executemany(gone, ([item] for item in checked.tolist())))
            self._connection.executemany(self._named("DELETE FROM {vec0} WHERE position = ?"), positions)

    def search(self, codes: npt.ArrayLike, k: int = 10, *, any_ties: bool = False) -> Neighbours:
        """Return the ``k`` nearest items of each query code, by (distance, insertion).

        With ``any_ties`` sqlite-vec decides which of several items at the k-th distance are returned; for k up to 4096.
        That is faster for small k.
        """
        queries, k = check_codes(codes, n_bits=self.n_bits), min(check_integer("k", k, 1), 2**62)
        statement = f"SELECT {_DISTANCE} AS d, id FROM {{table}} ORDER BY d, position LIMIT ?"
        if any_ties and k <= _MAX_K:
            statement = (
                "WITH nearest AS MATERIALIZED"
                " (SELECT distance, position FROM {vec0} WHERE code MATCH vec_bit(?) AND k = ?)"
                " SELECT distance, id FROM nearest JOIN {table} USING (position) ORDER BY distance, position"
            )
        with self._transaction("DEFERRED"):
            return self._stacked([self._neighbours(self._rows(statement, (code.tobytes(), k))) for code in queries])

    def radius_search(self, codes: npt.ArrayLike, radius: int) -> list[Neighbours]:
        """Return all items at distance <= ``radius`` of each query code, by (distance, insertion)."""
        queries, radius = check_codes(codes, n_bits=self.n_bits), min(check_integer("radius", radius, 0), self.n_bits)
        near = f"(SELECT {_DISTANCE} AS d, id, position FROM {{table}})"
        statement = f"SELECT d, id FROM {near} WHERE d <= ? ORDER BY d, position"
        with self._transaction("DEFERRED"):
            return [self._neighbours(self._rows(statement, (code.tobytes(), radius))) for code in queries]

    def _named(self, statement: str) -> str:
        return statement.format(table=f'"{self.table}"', vec0=f'"{self.table}_vec0"')

    def _rows(self, statement: str, parameters: Values = ()) -> list[Values]:
        """Run a statement and return its rows; none if there is no table yet."""
        return [] if self.id_kind is None else list(self._connection.execute(self._named(statement), parameters))

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
        self._connection.execute(f"BEGIN {kind}")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _stored(self) -> Stored | None:
        names = "SELECT lower(name) FROM sqlite_master WHERE lower(name) IN (?, ?)"
        there = {name for (name,) in self._connection.execute(names, (self.table.lower(), _ABOUT))}
        if self.table.lower() not in there:
            return None
        select = f"SELECT about FROM {_ABOUT} WHERE name = ?"
        rows = list(self._connection.execute(select, (self.table,))) if _ABOUT in there else []
        try:
            about = json.loads(rows[0][0])
            n_bits, order, kind = int(about["n_bits"]), about["bit_order"], about["ids"]
            model = check_fingerprint(about.get("model"))
        except (ValueError, KeyError, TypeError, IndexError):
            raise ValueError(f"table={self.table!r} exists, but it is not a table of codes.") from None
        if order != BIT_ORDER or kind not in _SQL_TYPE:
            raise ValueError(f"the {self._where} has bit order {order!r} and ids {kind!r}; these are not known.")
        return n_bits, kind, model

    def _next_id(self) -> int:
        return int(self._rows("SELECT coalesce(max(id), -1) FROM {table}")[0][0]) + 1

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


STORE = StoreInfo(
    name="sqlite-vec",
    description="a table of an SQLite file with sqlite-vec",
    connect=lambda address, table, token, **codes: SqliteVec(address, table, **codes),
    extra="sqlite-vec",
    suffixes=(".sqlite", ".sqlite3"),
    error_packages=("apsw",),
)
