"""PgVector: codes in a PostgreSQL table, for search with pgvector (0.7 or later).

The table has the columns ``id`` (bigint or text, primary key), ``position`` (order of insertion), ``code``
(``bit(n)``) and, if wanted, ``text``; its comment is the description of the codes. The leftmost bit of ``code`` is bit
0 of :mod:`thpi.codes`. ``code <~> query`` is the Hamming distance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from thpi._optional import require
from thpi._types import Codes
from thpi.export._files import Id
from thpi.export._store import Store


class PgVector(Store):
    """Codes in a PostgreSQL table. Needs the extra ``pgvector``.

    ``address`` is that of the database for libpq: ``"postgresql://user@host/name"`` or ``"host=... dbname=..."``. A new
    table is in the first schema of the search path. :meth:`mirror` is one transaction; writers wait for each other.
    """

    extra, error_packages = "pgvector", ("psycopg", "psycopg_binary")
    longest_name = 63  # PostgreSQL would cut a longer name silently, and two tables could become one
    on_disk = False

    def _connect(self, address: str) -> None:
        psycopg = require("psycopg", "pgvector")
        self._engine = psycopg.connect(address, autocommit=True)
        with suppress(psycopg.errors.UniqueViolation):  # another connection was faster
            self._engine.execute("CREATE EXTENSION IF NOT EXISTS vector")
        ((version,),) = self._run("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        if tuple(int(part) for part in version.split(".")[:2]) < (0, 7):
            raise RuntimeError(f"pgvector has version {version}; bit codes need 0.7 or later.")

    def _run(self, statement: str, parameters: tuple[Any, ...] | None = None) -> list[Any]:
        return list(self._engine.execute(statement, parameters).fetchall())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._engine.transaction():  # CREATE TABLE is not safe in two transactions at once
            self._run("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"thpi {self.table}",))
            yield

    def _description(self) -> str | None:
        # Not to_regclass: it may not see yet what another connection has just made.
        found = "SELECT coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class WHERE relname = %s"
        found += " AND relnamespace = current_schema()::regnamespace"
        return next((text for (text,) in self._run(found, (self.table,))), None)

    def _create(self, about: str) -> None:
        columns = f"id {'bigint' if self.kind == 'int64' else 'text'} PRIMARY KEY"
        columns += f", position bigint GENERATED ALWAYS AS IDENTITY, code bit({self.n_bits}) NOT NULL"
        columns += ", text text" if self.with_texts else ""
        self._engine.execute(f'CREATE TABLE "{self.table}" ({columns})')
        self._engine.execute(f"COMMENT ON TABLE \"{self.table}\" IS '{about}'")

    def _drop(self) -> None:
        self._engine.execute(f'DROP TABLE "{self.table}"')

    def _insert(self, ids: list[Id], codes: Codes, texts: Sequence[str | None] | None) -> None:
        digits = np.unpackbits(codes, axis=1, count=self.n_bits, bitorder="little") + np.uint8(ord("0"))
        bits = [row.tobytes().decode() for row in digits]  # the form of bit(n); bit 0 comes first
        names, columns = ("id, code", [ids, bits]) if texts is None else ("id, code, text", [ids, bits, texts])
        with self._engine.cursor() as cursor, cursor.copy(f'COPY "{self.table}" ({names}) FROM STDIN') as copy:
            for row in zip(*columns, strict=True):
                copy.write_row(row)

    def _delete(self, ids: list[Id]) -> None:
        self._engine.execute(f'DELETE FROM "{self.table}" WHERE id = ANY(%s)', (ids,))

    def _rows(self) -> Iterator[tuple[Id, bytes, str | None]]:
        text = "text" if self.with_texts else "NULL"
        with self._engine.cursor("thpi_rows") as cursor:
            cursor.execute(f'SELECT id, code::text, {text} FROM "{self.table}" ORDER BY position')
            while rows := cursor.fetchmany(2000):
                digits = np.frombuffer("".join(row[1] for row in rows).encode(), dtype=np.uint8)
                codes = np.packbits(digits.reshape(-1, self.n_bits) == ord("1"), axis=1, bitorder="little")
                yield from ((item, code.tobytes(), known) for (item, _, known), code in zip(rows, codes, strict=True))
