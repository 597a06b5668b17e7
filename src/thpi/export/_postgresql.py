"""PgVector: codes in a PostgreSQL table, searched with pgvector (0.7 or later).

The table has the columns ``id`` (bigint or text, primary key), ``position`` (order of insertion) and ``code``
(``bit(n)``); its comment is the description of the codes. The leftmost bit of ``code`` is bit 0 of :mod:`thpi.codes`.
``code <~> query`` is the Hamming distance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from thpi._optional import require
from thpi._types import Array, Codes
from thpi.export._engine import EngineStore, Hit, IdKind
from thpi.export._table import Id

_FETCHED = 2000


class PgVector(EngineStore):
    """Codes in a PostgreSQL table. Needs the extra ``pgvector``.

    ``address`` is that of the database for libpq: ``"postgresql://user@host/name"`` or ``"host=... dbname=..."``. The
    table is made in the first schema of the search path. Every call is one transaction; writers of a table wait for
    each other. One object is one connection. See :class:`EngineStore` for the parameters.

    >>> store = PgVector("postgresql://localhost/shop", "codes", n_bits=64)  # doctest: +SKIP
    >>> store.search(queries, k=5)  # doctest: +SKIP
    """

    longest_name = 63  # PostgreSQL would cut a longer name silently, and two tables could become one
    refused = re.compile("\0"), "a NUL character"

    def _connect(self, address: str, token: str) -> None:
        psycopg = require("psycopg", "pgvector")
        self._engine = psycopg.connect(address, autocommit=True)
        installed = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
        if not self._run(installed):
            with suppress(psycopg.errors.UniqueViolation):  # another connection was faster
                self._engine.execute("CREATE EXTENSION IF NOT EXISTS vector")
        ((version,),) = self._run(installed)
        if tuple(int(part) for part in version.split(".")[:2]) < (0, 7):
            raise RuntimeError(f"pgvector has version {version}; bit codes need 0.7 or later.")

    def _run(self, statement: str, parameters: tuple[Any, ...] | None = None) -> list[Any]:
        return list(self._engine.execute(statement, parameters).fetchall())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # Neither CREATE TABLE nor the largest number is safe in two transactions at once.
        with self._engine.transaction():
            self._run("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"thpi {self.table}",))
            yield

    def _description(self) -> str | None:
        # Not to_regclass: it may not see yet what another connection has just made.
        found = "SELECT coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class WHERE relname = %s"
        found += " AND relnamespace = current_schema()::regnamespace"
        return next((text for (text,) in self._run(found, (self.table,))), None)

    def _create(self, kind: IdKind, about: str) -> None:
        id_type = "bigint" if kind == "int64" else "text"
        columns = f"id {id_type} PRIMARY KEY, position bigint GENERATED ALWAYS AS IDENTITY"
        self._engine.execute(f'CREATE TABLE "{self.table}" ({columns}, code bit({self.n_bits}) NOT NULL)')
        self._engine.execute(f"COMMENT ON TABLE \"{self.table}\" IS '{about}'")

    def _insert(self, ids: Array, codes: Codes) -> None:
        with self._engine.cursor() as cursor, cursor.copy(f'COPY "{self.table}" (id, code) FROM STDIN') as copy:
            for row in zip(ids.tolist(), self._bits(codes), strict=True):
                copy.write_row(row)

    def _delete(self, ids: Array) -> None:
        self._engine.execute(f'DELETE FROM "{self.table}" WHERE id = ANY(%s)', (ids.tolist(),))

    def _find(self, ids: Array) -> Iterable[tuple[Id, Codes]]:
        return self._coded(self._run(f'SELECT id, code::text FROM "{self.table}" WHERE id = ANY(%s)', (ids.tolist(),)))

    def _rows(self) -> Iterator[tuple[Id, Codes]]:
        with self._engine.transaction(), self._engine.cursor("thpi_rows") as cursor:
            cursor.execute(f'SELECT id, code::text FROM "{self.table}" ORDER BY position')
            while rows := cursor.fetchmany(_FETCHED):
                yield from self._coded(rows)

    def _nearest(self, queries: Codes, k: int) -> list[list[Hit]]:
        distance = f"code <~> %s::bit({self.n_bits})"
        nearest = f'SELECT {distance} AS d, position, id FROM "{self.table}" ORDER BY d, position LIMIT %s'
        with self._engine.transaction():
            self._engine.execute("SET LOCAL enable_indexscan = off")  # an HNSW index would answer approximately
            return [self._run(nearest, (bits, k)) for bits in self._bits(queries)]

    def _count(self) -> int:
        return int(self._run(f'SELECT count(*) FROM "{self.table}"')[0][0])

    def _largest_id(self) -> int:
        return int(self._run(f'SELECT coalesce(max(id), -1) FROM "{self.table}"')[0][0])

    def _bits(self, codes: Codes) -> list[str]:
        """Write each code as a text of 0 and 1, the form of ``bit(n)``; bit 0 comes first."""
        digits = np.unpackbits(codes, axis=1, count=self.n_bits, bitorder="little") + np.uint8(ord("0"))
        text = digits.tobytes().decode()
        return [text[start : start + self.n_bits] for start in range(0, len(text), self.n_bits)]

    def _coded(self, rows: list[tuple[Id, str]]) -> Iterator[tuple[Id, Codes]]:
        digits = np.frombuffer("".join(bits for _, bits in rows).encode(), dtype=np.uint8).reshape(-1, self.n_bits)
        codes = np.packbits(digits == ord("1"), axis=1, bitorder="little")
        return zip((item for item, _ in rows), codes, strict=True)
