"""The file of a collection: a SQLite database whose parts carry digests, changed in transactions only.

    part   name, data, sha256       the model, and JSON: what the collection is, what was found when it was built
    item   number, id, code, text, thumbnail, crc       one row per item; number is the order of insertion
    page   page, sha256, offsets, ids, codes            the same ids and codes, packed, so that a search loads them fast

A page holds the items whose numbers, divided by 1,024, are its own number: what is left over (16-bit integers,
little-endian), the ids (a JSON list) and the codes. The part ``state`` has the next number, which no item ever had, and
a digest of the digests of all pages. The checksum ``crc`` is that of text and thumbnail, where there are any.

Nothing that is read is trusted: the schema must be this one, to the letter, and every digest must match. The journal
is deleted with each commit, so a plain copy of the file of an idle collection is whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from thpi._types import Array, Bools, Codes, Ints, PathLike
from thpi.codes import check_codes, n_bytes

APPLICATION_ID, VERSION = 0x74687069, 1  # "thpi"
LENGTH = 1024
"""Numbers of a page."""
_MANY = 500  # values in one statement; SQLite allows 999 in its oldest versions

_SCHEMA = {
    "part": "CREATE TABLE part (name TEXT PRIMARY KEY, data BLOB NOT NULL, sha256 TEXT NOT NULL) WITHOUT ROWID",
    "item": (
        "CREATE TABLE item (number INTEGER PRIMARY KEY, id NOT NULL, code BLOB NOT NULL, "
        "text TEXT, thumbnail BLOB, crc INTEGER)"
    ),
    # The digest comes first: behind the codes it would take as long to read as they do.
    "page": (
        "CREATE TABLE page (page INTEGER PRIMARY KEY, sha256 TEXT NOT NULL, offsets BLOB NOT NULL, "
        "ids TEXT NOT NULL, codes BLOB NOT NULL)"
    ),
}
# Made when a new file has its items: to sort them once takes a third of the time of keeping them sorted.
_INDEX = {"item_id": "CREATE UNIQUE INDEX item_id ON item (id)"}


class CollectionFileError(ValueError):
    """The file is not a complete, unaltered collection."""


class CollectionLockedError(OSError):
    """Another process is changing the collection."""


class Details(NamedTuple):
    """What people see of an item: a text and a small picture (WebP, PNG or JPEG), where there are any."""

    text: str | None = None
    thumbnail: bytes | None = None

    def crc(self, item: int | str) -> int | None:
        """Checksum of what people see of an item; None if that is nothing."""
        if self == Details():
            return None
        text = "" if self.text is None else "t" + self.text
        picture = b"" if self.thumbnail is None else b"p" + self.thumbnail
        return zlib.crc32(picture, zlib.crc32(f"{item!r}\0{text}\0".encode()))


class Page(NamedTuple):
    """Numbers (rising), ids (64-bit integers, or an object array of texts) and codes of some items."""

    numbers: Ints
    ids: Array
    codes: Codes

    def only(self, kept: Bools) -> Page:
        """Return the items that are marked."""
        return Page(self.numbers[kept], self.ids[kept], self.codes[kept])

    def followed_by(self, other: Page) -> Page:
        """Return the items of both."""
        numbers, ids = np.concatenate([self.numbers, other.numbers]), np.concatenate([self.ids, other.ids])
        return Page(numbers, ids, np.vstack([self.codes, other.codes]))


class State:
    """What the part of this name says: the digests of the pages, and the number that the next item gets."""

    def __init__(self, digests: dict[int, str], next: int) -> None:
        self.digests, self.next = digests, next

    @property
    def version(self) -> str:
        """Digest of everything that can be searched."""
        text = "".join(f"{page} {digest}\n" for page, digest in sorted(self.digests.items()))
        return hashlib.sha256(f"{self.next}\n{text}".encode()).hexdigest()


class CollectionFile:
    """A connection to the database. One thread at a time may use it, within :meth:`transaction`."""

    def __init__(self, path: PathLike, *, wait: float = 5.0) -> None:
        if not os.path.isfile(path):
            raise FileNotFoundError(f"{os.fspath(path)!r} does not exist; thpi.build makes a collection.")
        self.path = Path(os.path.realpath(path))
        # Only SQLite opens it: closing another handle would release the locks of all connections of this process.
        self._wait, self._identity = wait, _identity(self.path)
        self._connection = _connect(self.path, wait)
        try:
            with self.transaction():
                self._check_schema()
        except BaseException:
            self.close()
            raise

    @classmethod
    @contextmanager
    def create(cls, path: Path) -> Iterator[CollectionFile]:
        """Fill an empty file, which nobody reads until it is complete."""
        file = cls.__new__(cls)
        file.path, file._wait, file._identity, file._connection = path, 0.0, _identity(path), _connect(path, 0.0)
        about = f"application_id={APPLICATION_ID}", f"user_version={VERSION}"
        with named_errors(path), closing(file):
            # It is synchronised as a whole, and gone if anything fails.
            for setting in ("synchronous=OFF", "journal_mode=OFF", *about):
                file.execute(f"PRAGMA {setting}")
            for statement in (*_SCHEMA.values(), "BEGIN"):
                file.execute(statement)
            yield file
            for statement in (*_INDEX.values(), "COMMIT"):
                file.execute(statement)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def execute(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
        """Run a statement and return its rows."""
        return self._connection.execute(statement, values).fetchall()

    def current(self) -> CollectionFile:
        """Return this connection, or a new one if another file has taken the name since it was opened."""
        return self if _identity(self.path) == self._identity else CollectionFile(self.path, wait=self._wait)

    @property
    def changed_by_others(self) -> int:
        """A number that differs whenever another connection has changed the file."""
        return int(self.execute("PRAGMA data_version")[0][0])

    @contextmanager
    def transaction(self, *, change: bool = False) -> Iterator[None]:
        """See one state of the file throughout, or ``change`` it: all or nothing, and on disk after the block."""
        self._roll_back()  # what Ctrl-C has left open
        try:
            self.execute("BEGIN IMMEDIATE" if change else "BEGIN")
            if change and _identity(self.path) != self._identity:
                raise CollectionLockedError(f"{str(self.path)!r} was replaced just now; try again.")
            yield
            if change:
                self.execute("COMMIT")
        finally:
            self._roll_back()

    def _roll_back(self) -> None:
        """End a transaction that was broken off, unless a full disk has ended it already."""
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _check_schema(self) -> None:
        """Refuse a file of another version, and tables, triggers or views that are not ours."""
        settings = ("application_id", "user_version", "journal_mode")
        kind, version, journal = (self.execute(f"PRAGMA {name}")[0][0] for name in settings)
        if kind != APPLICATION_ID:
            raise CollectionFileError("it is a SQLite database, but not a thpi collection.")
        if version != VERSION:
            raise CollectionFileError(f"it has version {version}; this thpi reads version {VERSION}.")
        if journal != "delete":
            raise CollectionFileError(f"it was set to journal_mode={journal}: a copy is not whole.")
        found = self.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
        if {str(name): sql for name, sql in found} != _SCHEMA | _INDEX:
            raise CollectionFileError("it has other tables than a thpi collection.")

    def read_part(self, name: str) -> bytes:
        """Return a part whose digest matches."""
        found = self.execute("SELECT data, sha256 FROM part WHERE name=?", (name,))
        if not found:
            raise CollectionFileError(f"it has no part {name!r}.")
        ((data, digest),) = found
        if not isinstance(data, bytes) or hashlib.sha256(data).hexdigest() != digest:
            raise CollectionFileError(f"the digest of its part {name!r} does not match.")
        return data

    def read_json(self, name: str) -> dict[str, Any]:
        """Return a part that is JSON."""
        with suppress(UnicodeDecodeError, json.JSONDecodeError, RecursionError):
            if isinstance(found := json.loads(self.read_part(name)), dict):
                return found
        raise CollectionFileError(f"its part {name!r} is not what a collection has.")

    def write_part(self, name: str, data: bytes | dict[str, Any]) -> None:
        """Replace a part: bytes, or what becomes JSON."""
        data = data if isinstance(data, bytes) else json.dumps(data, sort_keys=True, default=_plain).encode()
        # REPLACE takes twice as long: SQLite finds the row twice, and reads the model to compare names with it.
        update = "ON CONFLICT (name) DO UPDATE SET data=excluded.data, sha256=excluded.sha256"
        values = name, data, hashlib.sha256(data).hexdigest()
        self.execute(f"INSERT INTO part VALUES (?, ?, ?) {update}", values)

    def read_state(self) -> State:
        """Return the digests of all pages, which must be those that the last change left."""
        rows = self.execute("SELECT page, sha256 FROM page ORDER BY page")
        known = self.read_json("state")
        state = State({int(page): str(digest) for page, digest in rows}, known.get("next", 0))
        numbered = isinstance(state.next, int) and all(
            0 <= page * LENGTH < state.next < 2**50 for page in state.digests
        )
        if not numbered or known != {"next": state.next, "sha256": state.version}:
            raise CollectionFileError("pages are missing, or from another time.")
        return state

    def _write_state(self, state: State) -> None:
        self.write_part("state", {"next": state.next, "sha256": state.version})

    def read_page(self, number: int, n_bits: int) -> Page:
        """Return a page whose digest matches."""
        found = self.execute("SELECT sha256, offsets, ids, codes FROM page WHERE page=?", (number,))
        if not found:
            raise CollectionFileError(f"it has no page {number}.")
        ((digest, offsets, ids, codes),) = found
        fits = isinstance(offsets, bytes) and isinstance(ids, str) and isinstance(codes, bytes)
        if not fits or _digest(number, offsets, ids, codes) != digest:
            raise CollectionFileError(f"the digest of its page {number} does not match.")
        numbers = number * LENGTH + np.frombuffer(offsets, dtype="<u2").astype(np.int64)
        if (np.diff(numbers, append=(number + 1) * LENGTH) <= 0).any():
            raise CollectionFileError(f"its page {number} has the numbers of other items.")
        try:
            packed = np.frombuffer(codes, dtype=np.uint8).reshape(len(numbers), n_bytes(n_bits))
            known = json.loads(ids)
            if len(known) != len(numbers) or (kinds := set(map(type, known))) not in ({int}, {str}):
                raise ValueError(f"{len(known)} ids of other kinds")
            array = np.array(known, dtype=object if kinds == {str} else np.int64)
            return Page(numbers, array, check_codes(packed, n_bits=n_bits))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise CollectionFileError(f"its page {number} is not one of codes of {n_bits} bits ({error}).") from None

    def _write_page(self, state: State, number: int, page: Page) -> None:
        """Replace a page, and its digest in ``state``; without items, remove it."""
        if not len(page.ids):
            self.execute("DELETE FROM page WHERE page=?", (number,))
            del state.digests[number]
            return
        offsets = (page.numbers - number * LENGTH).astype("<u2")
        parts = offsets.tobytes(), _as_json(page.ids.tolist()), page.codes.tobytes()
        digest = state.digests[number] = _digest(number, *parts)
        self.execute("INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?)", (number, digest, *parts))

    def insert(self, state: State, ids: Array, codes: Codes, details: Sequence[Details] | None, n_bits: int) -> None:
        """Add items under ids that must be new; the caller has checked everything else."""
        first, stop = state.next, state.next + len(ids)
        while state.next < stop:
            number = state.next // LENGTH
            numbers = np.arange(state.next, min(stop, (number + 1) * LENGTH))
            some = slice(state.next - first, state.next - first + len(numbers))
            page = Page(numbers, ids[some], codes[some])
            try:
                self._insert_rows(page, None if details is None else details[some])
            except sqlite3.IntegrityError:
                known = [item for item, old in self.numbers_of(page.ids.tolist()).items() if old < first]
                if not known:
                    raise CollectionFileError("its items are not those of its pages.") from None
                raise ValueError(f"ids={known[0]!r} is in the collection already; remove it first.") from None
            if number in state.digests:
                page = self.read_page(number, n_bits).followed_by(page)
            self._write_page(state, number, page)
            state.next += len(numbers)
        self._write_state(state)

    def _insert_rows(self, page: Page, details: Sequence[Details] | None) -> None:
        ids, width = page.ids.tolist(), page.codes.shape[1]
        texts = _as_json(ids)
        if details is None and "\\u0000" not in texts:  # where SQLite's JSON texts end
            # SQLite takes the items out of the page: a statement per item takes five times as long.
            each = f"SELECT key + ?, value, substr(?, 1 + {width} * key, {width}) FROM json_each(?)"
            values = int(page.numbers[0]), page.codes.tobytes(), texts
            self.execute(f"INSERT INTO item (number, id, code) {each}", values)
        else:
            shown = [Details()] * len(ids) if details is None else details
            rows = zip(page.numbers.tolist(), ids, map(bytes, page.codes), shown, strict=True)
            values_of = ((number, item, code, *about, about.crc(item)) for number, item, code, about in rows)
            self._connection.executemany("INSERT INTO item VALUES (?, ?, ?, ?, ?, ?)", values_of)

    def delete(self, state: State, ids: Array, n_bits: int) -> None:
        """Remove items; an unknown id is a ``KeyError``."""
        found = self.numbers_of(ids.tolist())
        if missing := [item for item in ids.tolist() if item not in found]:
            raise KeyError(missing[0])
        numbers, gone = np.array([*found.values()], dtype=np.int64), set()
        self._connection.executemany("DELETE FROM item WHERE number=?", ((number,) for number in numbers.tolist()))
        for number in np.unique(numbers // LENGTH).tolist():
            page = self.read_page(number, n_bits)
            kept = ~np.isin(page.numbers, numbers)
            gone |= {*page.ids[~kept].tolist()}
            self._write_page(state, number, page.only(kept))
        if gone != {*ids.tolist()}:
            raise CollectionFileError("its items are not those of its pages.")
        self._write_state(state)

    def clear(self, state: State) -> None:
        """Remove all items; the caller adds others."""
        self.execute("DELETE FROM item")
        self.execute("DELETE FROM page")
        state.digests.clear()

    def numbers_of(self, ids: Sequence[int | str]) -> dict[int | str, int]:
        """Return the numbers of the ids that are there."""
        found: dict[int | str, int] = {}
        for start in range(0, len(ids), _MANY):
            some = tuple(ids[start : start + _MANY])
            marks = ",".join("?" * len(some))
            found |= dict(self.execute(f"SELECT id, number FROM item WHERE id IN ({marks})", some))
        return found

    def details_of(self, item: int | str) -> Details:
        """Return text and picture of an item; an unknown id is a ``KeyError``."""
        rows = self.execute("SELECT id, text, thumbnail, crc FROM item WHERE id=?", (item,))
        if not rows:
            raise KeyError(item)
        if rows[0][0] != item:
            raise CollectionFileError(f"its item {item!r} was altered.")
        return _details(*rows[0])

    def all_details(self, ids: Iterable[int | str]) -> Iterator[Details]:
        """Yield text and picture of all items, whose ids these are; an error if one was altered."""
        expected = iter(ids)
        for number in self.read_state().digests:
            span = number * LENGTH, number * LENGTH + LENGTH - 1
            each = "SELECT id, text, thumbnail, crc FROM item WHERE number BETWEEN ? AND ? ORDER BY number"
            for item, *about in self.execute(each, span):
                if item != next(expected, None):
                    raise CollectionFileError(f"its item {item!r} was altered.")
                yield _details(item, *about)
        if (gone := next(expected, None)) is not None:
            raise CollectionFileError(f"its item {gone!r} was altered.")

    def check(self, n_bits: int) -> None:
        """Read everything, and compare every row with its page; an error if they differ, or if one was altered."""
        ((found,),) = self.execute("PRAGMA integrity_check(1)")
        if found != "ok":
            raise CollectionFileError(f"SQLite finds: {found}.")
        for name in ("about", "evidence", "model"):
            self.read_part(name)
        n = 0
        for number in self.read_state().digests:
            page = self.read_page(number, n_bits)
            known = list(zip(page.numbers.tolist(), page.ids.tolist(), map(bytes, page.codes), strict=True))
            span = number * LENGTH, number * LENGTH + LENGTH - 1
            rows = self.execute("SELECT * FROM item WHERE number BETWEEN ? AND ? ORDER BY number", span)
            if [row[:3] for row in rows] != known:
                raise CollectionFileError(f"its items are not those of page {number}.")
            for _, item, _, *about in rows:
                _details(item, *about)
            n += len(rows)
        if self.execute("SELECT count(*) FROM item") != [(n,)]:
            raise CollectionFileError("it has items that no page knows.")


def _details(item: int | str, text: Any, thumbnail: Any, crc: Any) -> Details:
    typed = isinstance(text, (str, type(None))) and isinstance(thumbnail, (bytes, type(None)))
    if not typed or Details(text, thumbnail).crc(item) != crc:
        raise CollectionFileError(f"its item {item!r} was altered.")
    return Details(text, thumbnail)


def _as_json(ids: list[Any]) -> str:
    return json.dumps(ids, ensure_ascii=False, separators=(",", ":"))


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else str(value)


def _digest(number: int, offsets: bytes, ids: str, codes: bytes) -> str:
    """Digest over the number of a page, the lengths of its parts, and the parts."""
    text = ids.encode()
    found = hashlib.sha256(f"{number} {len(offsets)} {len(text)} {len(codes)}\0".encode())
    for part in (offsets, text, codes):
        found.update(part)
    return found.hexdigest()


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Name the file in errors about it, and say in our words what SQLite says of a damaged, locked or full one."""
    name = repr(str(path))
    try:
        yield
    except CollectionFileError as error:
        raise CollectionFileError(f"{name} is not a usable collection: {error}") from None
    except sqlite3.ProgrammingError:  # it was closed
        raise
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text:
            raise CollectionLockedError(f"{name} is being changed by another process.") from None
        if "readonly" in text:
            raise PermissionError(f"{name} must not be written to.") from None
        raise OSError(f"{name}: {text}.") from None
    except sqlite3.DatabaseError as error:
        what = "not a thpi collection" if "not a database" in str(error) else f"damaged: {error}"
        raise CollectionFileError(f"{name} is {what}.") from None


def _identity(path: Path) -> tuple[int, int]:
    about = os.stat(path)
    return about.st_dev, about.st_ino


def _connect(path: Path, wait: float) -> sqlite3.Connection:
    # isolation_level None: transactions begin where this file says, and nowhere else.
    address = f"file:{quote(str(path))}?mode=rw"
    connection = sqlite3.connect(address, wait, isolation_level=None, check_same_thread=False, uri=True)
    try:
        # A crafted schema must not call functions, and cells of a damaged page are not followed out of it.
        for setting in ("trusted_schema=OFF", "cell_size_check=ON", "synchronous=EXTRA"):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection
