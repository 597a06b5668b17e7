"""The file of a collection: a SQLite database whose parts carry digests, changed in transactions only.

    part   name, data, sha256       the model, and JSON: what the collection is, what was found when it was built
    item   number, id, code, text, thumbnail, crc       one row per item; number is the order of insertion
    page   page, sha256, numbers, ids, codes            the same ids and codes, packed, so that a search loads them fast

Nothing that is read is trusted: the schema must be this one, to the letter, and every digest must match. The journal
is deleted with each commit, so a plain copy of the file of an idle collection is whole.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from thpi._types import PathLike

APPLICATION_ID = 0x74687069  # "thpi"
VERSION = 1

_SCHEMA = {
    "part": "CREATE TABLE part (name TEXT PRIMARY KEY, data BLOB NOT NULL, sha256 TEXT NOT NULL) WITHOUT ROWID",
    "item": (
        "CREATE TABLE item (number INTEGER PRIMARY KEY AUTOINCREMENT, id NOT NULL UNIQUE, code BLOB NOT NULL, "
        "text TEXT, thumbnail BLOB, crc INTEGER)"
    ),
    # The digest comes first: behind the codes it would take as long to read as they do.
    "page": (
        "CREATE TABLE page (page INTEGER PRIMARY KEY, sha256 TEXT NOT NULL, numbers BLOB NOT NULL, "
        "ids TEXT NOT NULL, codes BLOB NOT NULL)"
    ),
}


class CollectionFileError(ValueError):
    """The file is not a complete, unaltered collection."""


class CollectionLockedError(OSError):
    """Another process is changing the collection."""


class CollectionFile:
    """A connection to the database. One thread at a time may use it."""

    def __init__(self, path: PathLike, *, wait: float = 5.0) -> None:
        if not os.path.isfile(path):
            raise FileNotFoundError(f"{os.fspath(path)!r} does not exist; thpi.build makes a collection.")
        self.path = Path(os.path.realpath(path))
        with open(self.path, "rb") as file:
            if file.read(16) != b"SQLite format 3\0":
                raise CollectionFileError(f"{os.fspath(path)!r} is not a thpi collection.")
        self._wait, self._identity = wait, _identity(self.path)
        with _errors(self.path):
            self._connection = _connect(self.path, "rw", wait)
        try:
            with self.reading():
                self._check_schema()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: Path) -> CollectionFile:
        """Make an empty database in an empty file."""
        connection = _connect(path, "rw", 0.0)
        try:
            # Until it has its name nobody reads it; it is synchronised as a whole then.
            connection.execute("PRAGMA synchronous=OFF")
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={VERSION}")
            for statement in _SCHEMA.values():
                connection.execute(statement)
        finally:
            connection.close()
        made = cls(path)
        made._connection.execute("PRAGMA synchronous=OFF")
        return made

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def execute(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
        """Run a statement and return its rows."""
        return self._connection.execute(statement, values).fetchall()

    def execute_many(self, statement: str, rows: Iterator[tuple[object, ...]]) -> None:
        """Run a statement for each row of values."""
        self._connection.executemany(statement, rows)

    def current(self) -> CollectionFile:
        """Return this connection, or a new one if another file has taken the name since it was opened."""
        return self if _identity(self.path) == self._identity else CollectionFile(self.path, wait=self._wait)

    @property
    def changed_by_others(self) -> int:
        """A number that differs whenever another connection has changed the file."""
        with _errors(self.path):
            return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See one state of the file throughout, whatever others write."""
        with _errors(self.path):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Change the file: all or nothing, and on disk after the block."""
        with _errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                if _identity(self.path) != self._identity:
                    raise CollectionLockedError(f"{str(self.path)!r} was replaced just now; try again.")
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk may have ended the transaction already
                    self._connection.execute("ROLLBACK")
                raise

    def read_part(self, name: str) -> bytes:
        """Return a part whose digest matches."""
        found = self.execute("SELECT data, sha256 FROM part WHERE name=?", (name,))
        if not found:
            raise CollectionFileError(f"{str(self.path)!r} has no part {name!r}: it was altered.")
        ((data, digest),) = found
        if not isinstance(data, bytes) or hashlib.sha256(data).hexdigest() != digest:
            raise CollectionFileError(f"{str(self.path)!r}: the digest of its part {name!r} does not match.")
        return data

    def write_part(self, name: str, data: bytes) -> None:
        """Replace a part."""
        digest = hashlib.sha256(data).hexdigest()
        self.execute("INSERT OR REPLACE INTO part VALUES (?, ?, ?)", (name, data, digest))

    def _check_schema(self) -> None:
        """Refuse a file of another version, and tables, triggers or views that are not ours."""
        ((kind,), (version,)) = (self.execute(f"PRAGMA {name}")[0] for name in ("application_id", "user_version"))
        if kind != APPLICATION_ID:
            raise CollectionFileError(f"{str(self.path)!r} is a SQLite database, but not a thpi collection.")
        if version != VERSION:
            raise CollectionFileError(f"{str(self.path)!r} has version {version}; this thpi reads version {VERSION}.")
        found = self.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
        if {str(name): sql for name, sql in found} != _SCHEMA:
            raise CollectionFileError(f"{str(self.path)!r} has other tables than a thpi collection.")


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Say in our words what SQLite says of a damaged, locked or full file."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text:
            raise CollectionLockedError(f"{str(path)!r} is being changed by another process.") from None
        if "readonly" in text:
            raise PermissionError(f"{str(path)!r} must not be written to.") from None
        raise OSError(f"{str(path)!r}: {text}.") from None
    except sqlite3.DatabaseError as error:
        raise CollectionFileError(f"{str(path)!r} is damaged: {error}.") from None


def _identity(path: Path) -> tuple[int, int]:
    about = os.stat(path)
    return about.st_dev, about.st_ino


def _connect(path: Path, mode: str, wait: float) -> sqlite3.Connection:
    # isolation_level None: transactions begin where this file says, and nowhere else.
    address = f"file:{quote(str(path))}?mode={mode}"
    connection = sqlite3.connect(address, wait, isolation_level=None, check_same_thread=False, uri=True)
    try:
        # A crafted schema must not call functions, and cells of a damaged page are not followed out of it.
        for setting in ("trusted_schema=OFF", "cell_size_check=ON", "synchronous=EXTRA"):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection
