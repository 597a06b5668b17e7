"""PgVector: codes in a PostgreSQL table, searched with pgvector (0.7 or later).

The table has the columns ``id`` (bigint or text, primary key), ``position`` (insertion order) and
``code`` (``bit(n)``). Its comment is a JSON object with the fingerprint of the model that made the codes. The leftmost
bit of ``code`` is bit 0 of :mod:`thpi.codes`. ``code <~> query`` is the Hamming distance. Equal distances are ordered
by ``position``, so answers equal those of HammingIndex, ties included.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from thpi._optional import require
from thpi._types import Array, Codes
from thpi.codes import check_codes
from thpi.identity import check_fingerprint
from thpi.index._ids import IdKind, Neighbours, check_ids, check_integer, id_kind
from thpi.stores._store import EngineStore, Id, Stored, StoreInfo, describe_codes

Values: TypeAlias = "tuple[Any, ...]"

_SQL_TYPE = {"int64": "bigint", "string": "text"}
_CREATE = (
    "CREATE TABLE IF NOT EXISTS {table} (id {type} PRIMARY KEY, position bigint GENERATED ALWAYS AS IDENTITY,"
    " code bit({n}) NOT NULL)"
)
_FETCHED = 2000


class PgVector(EngineStore):
    """The calls of :class:`thpi.index.HammingIndex` on a PostgreSQL table. Needs the extra ``pgvector``.

    The first ``add`` creates the table, for the kind of ids that it gets. Search is exact until ``create_index``
    makes an HNSW index. One object is one connection; its calls wait for each other.

    Parameters
    ----------
    dsn : address of the database for libpq: ``"postgresql://user@host/name"`` or ``"host=... dbname=..."``.
    table, schema : the table and its schema.
    n_bits : needed if the table does not exist yet.
    model : fingerprint of the model that makes the codes; kept with a new table, compared with that of an old one.
    any_model : accept a table that does not say which model made its codes.

    >>> store = PgVector("postgresql://localhost/shop", "codes", n_bits=64)  # doctest: +SKIP
    >>> store.search(queries, k=5)  # doctest: +SKIP
    """

    def __init__(
        self,
        dsn: str,
        table: str,
        n_bits: int | None = None,
        *,
        schema: str = "public",
        model: str | None = None,
        any_model: bool = False,
    ) -> None:
        psycopg = require("psycopg", "pgvector")
        self._psycopg, self._sql = psycopg, require("psycopg.sql", "pgvector")
        for name, value in (("table", table), ("schema", schema)):
            # PostgreSQL would truncate a longer name silently, and two tables could become one.
            if not isinstance(value, str) or not 1 <= len(value.encode("utf-8", "replace")) <= 63 or "\0" in value:
                raise ValueError(f"{name}={value!r} must be a name of 1 to 63 bytes without NUL characters.")
        self.table, self.schema, self._where = table, schema, f"table {table!r}"
        self._connection = psycopg.connect(dsn, autocommit=True)
        try:
            self._check_extension()
            self._agree(self._stored(), n_bits, model, any_model)
        except BaseException:
            self._connection.close()
            raise

    def __len__(self) -> int:
        return sum(row[0] for row in self._rows("SELECT count(*) FROM {table}"))

    def __iter__(self) -> Iterator[tuple[Id, Codes]]:
        if self.id_kind is None:
            return
        with self._connection.transaction(), self._connection.cursor("thpi_iteration") as cursor:
            cursor.itersize = _FETCHED
            cursor.execute(self._composed("SELECT id, code::text FROM {table} ORDER BY position"))
            while rows := cursor.fetchmany(_FETCHED):
                yield from self._coded(rows)

    @property
    def id_kind(self) -> IdKind | None:
        if self._kind is None:
            stored = self._stored()
            if stored is not None:  # another process has made the table since
                self._agree(stored, self.n_bits, self.model, any_model=False)
        return self._kind

    def _find(self, ids: Array) -> dict[Id, Codes]:
        return dict(self._coded(self._rows("SELECT id, code::text FROM {table} WHERE id = ANY(%s)", (ids.tolist(),))))

    def _coded(self, rows: list[Values]) -> Iterator[tuple[Id, Codes]]:
        digits = np.frombuffer("".join(bits for _, bits in rows).encode(), dtype=np.uint8).reshape(-1, self.n_bits)
        codes = np.packbits(digits == ord("1"), axis=1, bitorder="little")
        return zip((item for item, _ in rows), codes, strict=True)

    def _bits(self, codes: Codes) -> list[str]:
        """Write each code as a text of 0 and 1, the form of ``bit(n)``; bit 0 comes first."""
        digits = np.unpackbits(codes, axis=1, count=self.n_bits, bitorder="little") + np.uint8(ord("0"))
        text = digits.tobytes().decode()
        return [text[start : start + self.n_bits] for start in range(0, len(text), self.n_bits)]

    def add(self, codes: npt.ArrayLike, ids: npt.ArrayLike | None = None) -> Array:
        """Add codes under ids with one COPY in one transaction: all of them or, if anything is wrong, none.

        Other writers wait while one creates the table or numbers its codes (``ids=None``).
        """
        checked: Array = np.empty(0)
        try:
            with self._connection.transaction(), self._connection.cursor() as cursor:
                self._lock(cursor, shared=ids is not None and self._kind is not None)
                packed, checked = self._checked(codes, ids)
                if len(packed) == 0:
                    return checked
                if id_kind(checked) == "string" and any("\0" in item for item in checked):
                    raise ValueError("ids must not contain NUL characters; PostgreSQL's text cannot hold them.")
                if self._kind is None:
                    self._create(cursor, id_kind(checked))
                with cursor.copy(self._composed("COPY {table} (id, code) FROM STDIN")) as copy:
                    for item, bits in zip(checked.tolist(), self._bits(packed), strict=True):
                        copy.write_row((item, bits))
        except self._psycopg.errors.UniqueViolation:
            known = self._rows("SELECT id FROM {table} WHERE id = ANY(%s)", (checked.tolist(),))
            self._refuse_known(checked, {row[0] for row in known})
            raise
        self._kind = id_kind(checked)
        return checked

    def _lock(self, cursor: Any, *, shared: bool) -> None:
        """Make writers of this table wait for each other until the transaction ends; those that share, do not.

        Neither CREATE IF NOT EXISTS nor the highest number is safe in two transactions at once.
        """
        key = hashlib.sha256(json.dumps(["thpi", self.schema, self.table]).encode()).digest()[:8]
        lock = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        cursor.execute(f"SELECT {lock}(%s)", (int.from_bytes(key, "little", signed=True),))

    def _create(self, cursor: Any, kind: IdKind) -> None:
        cursor.execute(self._composed(_CREATE.replace("{type}", _SQL_TYPE[kind])))
        about = json.dumps(describe_codes(self.n_bits, self.model))
        cursor.execute(self._composed("COMMENT ON TABLE {table} IS {about}", about=about))

    def remove(self, ids: npt.ArrayLike) -> None:
        """Remove the codes of ``ids`` in one transaction. An unknown id raises a ``KeyError``."""
        checked = check_ids(ids, kind=self.id_kind, unique=True)
        with self._connection.transaction():
            gone = self._rows("DELETE FROM {table} WHERE id = ANY(%s) RETURNING id", (checked.tolist(),))
            self._check_present(checked, {row[0] for row in gone})

    def create_index(self, *, m: int = 16, ef_construction: int = 64) -> None:
        """Make an HNSW index (``bit_hamming_ops``): searches become fast and approximate. See ``search``."""
        for name, value, low, high in (("m", m, 2, 100), ("ef_construction", ef_construction, 2 * m, 1000)):
            if not isinstance(value, int) or not low <= value <= high:
                raise ValueError(f"{name}={value!r} must be an integer from {low} to {high}.")
        if self.id_kind is None:
            raise ValueError(f"the table {self.table!r} has no codes yet; add some before indexing them.")
        statement = "CREATE INDEX ON {table} USING hnsw (code bit_hamming_ops) WITH (m = {m}, ef_construction = {ef})"
        self._connection.execute(self._composed(statement, m=m, ef=ef_construction))

    def search(self, codes: npt.ArrayLike, k: int = 10, *, exact: bool = False, ef_search: int = 100) -> Neighbours:
        """Return the ``k`` nearest items of each query code, by (distance, insertion).

        After ``create_index`` PostgreSQL may answer from that index, approximately; ``ef_search`` (1 to 1000) is
        the number of candidates it examines. ``exact=True`` avoids the index.
        """
        queries, k = check_codes(codes, n_bits=self.n_bits), min(check_integer("k", k, 1), 2**62)
        if not isinstance(ef_search, int) or not 1 <= ef_search <= 1000:
            raise ValueError(f"ef_search={ef_search!r} must be an integer from 1 to 1000.")
        # The inner query may use the index, which knows distances only; the outer one orders ties.
        order = ", position" if exact or not self._has_hnsw() else ""
        statement = (
            "SELECT d, id FROM (SELECT code <~> %s::bit({n}) AS d, id, position FROM {table} ORDER BY "
            "code <~> %s::bit({n})" + order + " LIMIT %s) nearest ORDER BY d, position"
        )
        with self._connection.transaction():
            candidates = min(1000, max(ef_search, k))
            settings = {"enable_indexscan": "off" if exact else "on", "hnsw.ef_search": str(candidates)}
            if self._version >= (0, 8):
                # Without it the index stops after ef_search rows, even if k is larger.
                settings["hnsw.iterative_scan"] = "strict_order"
            for setting in settings.items():
                self._connection.execute("SELECT set_config(%s, %s, true)", setting)
            return self._stacked([self._answer(statement, (bits, bits, k)) for bits in self._bits(queries)])

    def radius_search(self, codes: npt.ArrayLike, radius: int) -> list[Neighbours]:
        """Return all items at distance <= ``radius`` of each query code, by (distance, insertion). Always exact."""
        queries, radius = check_codes(codes, n_bits=self.n_bits), min(check_integer("radius", radius, 0), self.n_bits)
        near = "(SELECT code <~> %s::bit({n}) AS d, id, position FROM {table}) near"
        statement = f"SELECT d, id FROM {near} WHERE d <= %s ORDER BY d, position"
        with self._connection.transaction():
            return [self._answer(statement, (bits, radius)) for bits in self._bits(queries)]

    def _answer(self, statement: str, parameters: Values) -> Neighbours:
        return self._neighbours(cast("list[tuple[int, Id]]", self._rows(statement, parameters)))

    def _composed(self, statement: str, *, with_parameters: bool = False, **values: int | str) -> Any:
        # The length of a type, the options of an index and a comment cannot be parameters.
        literals = {name: self._sql.Literal(value) for name, value in {"n": self.n_bits, **values}.items()}
        names = [self.schema, self.table]
        if with_parameters:  # psycopg then looks for placeholders in names too
            names = [name.replace("%", "%%") for name in names]
        return self._sql.SQL(statement).format(table=self._sql.Identifier(*names), **literals)

    def _rows(self, statement: str, parameters: Values = ()) -> list[Values]:
        """Run a statement and return its rows; none if there is no table yet."""
        if self.id_kind is None:
            return []
        composed = self._composed(statement, with_parameters=bool(parameters))
        return list(self._connection.execute(composed, parameters or None).fetchall())

    def _check_extension(self) -> None:
        query = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
        row = self._connection.execute(query).fetchone()
        if row is None:
            with contextlib.suppress(self._psycopg.errors.UniqueViolation):  # another connection was faster
                self._connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            row = self._connection.execute(query).fetchone()
        self._version = tuple(int(part) for part in row[0].split(".")[:2])
        if self._version < (0, 7):
            raise RuntimeError(f"pgvector has version {row[0]}; bit codes need 0.7 or later.")

    def _stored(self) -> Stored | None:
        """Return the width of the codes, the kind of the ids and the model of the table; None if there is no table."""
        rows = self._connection.execute(
            "SELECT attname, format_type(atttypid, atttypmod), obj_description(pg_class.oid, 'pg_class')"
            " FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid"
            " JOIN pg_namespace ON relnamespace = pg_namespace.oid"
            " WHERE nspname = %s AND relname = %s AND attnum > 0 AND NOT attisdropped",
            (self.schema, self.table),
        ).fetchall()
        if not rows:
            return None
        types = {name: sql_type for name, sql_type, _ in rows}
        kinds = {sql_type: kind for kind, sql_type in _SQL_TYPE.items()}
        code_type, id_type = types.get("code", ""), types.get("id")
        if id_type not in kinds or "position" not in types or not code_type.startswith("bit("):
            raise ValueError(f"table={self.table!r} exists, but its columns {types} are not those of a code table.")
        return int(code_type[4:-1]), kinds[id_type], _model(rows[0][2])  # type: ignore[return-value]

    def _has_hnsw(self) -> bool:
        statement = (
            "SELECT 1 FROM pg_index JOIN pg_class ON indexrelid = pg_class.oid JOIN pg_am ON relam = pg_am.oid"
            " WHERE indrelid = to_regclass(%s) AND amname = 'hnsw'"
        )
        name = self._sql.Identifier(self.schema, self.table).as_string(self._connection)
        return self._connection.execute(statement, (name,)).fetchone() is not None

    def _next_id(self) -> int:
        return int(self._rows("SELECT coalesce(max(id), -1) FROM {table}")[0][0]) + 1

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _model(comment: str | None) -> str | None:
    """Read the fingerprint from the comment of a table; other comments are the user's own."""
    try:
        return check_fingerprint(json.loads(comment or "null")["model"])
    except (ValueError, KeyError, TypeError):
        return None


STORE = StoreInfo(
    name="pgvector",
    description="a table of PostgreSQL with pgvector",
    connect=lambda address, table, token, **codes: PgVector(address, table, **codes),
    extra="pgvector",
    prefixes=("postgresql://", "postgres://"),
    error_packages=("psycopg", "psycopg_binary"),
)
