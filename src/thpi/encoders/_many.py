"""Many pictures become vectors on all cores; what was done is kept in a file, so that an interrupted run goes on."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np

from thpi._types import Array, Ints
from thpi.encoders._files import Picture
from thpi.encoders._own import PictureEncoder
from thpi.encoders._picture import PictureError, read_picture, thumbnail


class Encoded(NamedTuple):
    """Vectors of the pictures that could be read, their places among those given, thumbnails, and what is broken."""

    X: Array
    kept: Ints
    thumbnails: list[bytes]
    broken: list[tuple[str, str]]


class _Done(NamedTuple):
    digest: bytes
    vector: Array
    thumbnail: bytes


def encode_pictures(
    pictures: Sequence[Picture],
    encoder: PictureEncoder,
    *,
    store: Path | None = None,
    n_jobs: int | None = None,
    max_broken: float = 0.1,
    on_done: Callable[[int], None] = lambda n: None,
) -> Encoded:
    """Encode pictures, ``n_jobs`` at a time (default: as many as there are cores).

    A broken picture is left out and listed. If more than ``max_broken`` of them are, that is a ``ValueError``: then
    something else is wrong. ``store`` is a file that keeps what was done until the caller deletes it; a further run
    with the same encoder takes it from there, and equal files are encoded once. ``on_done`` is called after each
    picture with the number done.
    """
    X = np.empty((len(pictures), encoder.n_features), dtype=np.float32)
    kept: list[int] = []
    thumbnails: list[bytes] = []
    broken: list[tuple[str, str]] = []
    with closing(_Store(store, encoder)) as known:
        for at, found in enumerate(_in_order(pictures, encoder, known, n_jobs or os.cpu_count() or 1)):
            if isinstance(found, PictureError):
                broken.append((pictures[at].name, str(found)))
            else:
                X[len(kept)] = found.vector
                kept.append(at)
                thumbnails.append(found.thumbnail)
            on_done(at + 1)
    if len(broken) > max_broken * len(pictures):
        name, reason = broken[0]
        raise ValueError(f"{len(broken)} of {len(pictures)} pictures cannot be used; the first is {name!r}: {reason}.")
    return Encoded(X[: len(kept)], np.array(kept, dtype=np.int64), thumbnails, broken)


def _in_order(
    pictures: Sequence[Picture], encoder: PictureEncoder, known: _Store, n_jobs: int
) -> Iterator[_Done | PictureError]:
    """Yield what becomes of each picture; a few are under way at a time, so memory does not grow with their number."""
    waiting: deque[Future[_Done | PictureError]] = deque()
    running: dict[bytes, Future[_Done | PictureError]] = {}

    def start(picture: Picture) -> Future[_Done | PictureError]:
        try:
            data = picture.read()
        except PictureError as error:
            failed: Future[_Done | PictureError] = Future()
            failed.set_result(error)
            return failed
        digest = hashlib.sha256(data).digest()
        if (done := known.find(digest)) is not None:
            ready: Future[_Done | PictureError] = Future()
            ready.set_result(done)
            return ready
        if digest not in running:  # else the same picture is under way
            running[digest] = pool.submit(_encode, encoder, digest, data)
        return running[digest]

    pool = ThreadPoolExecutor(n_jobs)
    try:
        for picture in pictures:
            waiting.append(start(picture))
            if len(waiting) > 2 * n_jobs:
                yield _taken(waiting, running, known)
        while waiting:
            yield _taken(waiting, running, known)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _taken(
    waiting: deque[Future[_Done | PictureError]], running: dict[bytes, Future[_Done | PictureError]], known: _Store
) -> _Done | PictureError:
    found = waiting.popleft().result()
    if isinstance(found, _Done) and running.pop(found.digest, None) is not None:
        known.keep(found)
    return found


def _encode(encoder: PictureEncoder, digest: bytes, data: bytes) -> _Done | PictureError:
    try:
        return _Done(digest, encoder.vector(data), thumbnail(read_picture(data, least=256)))
    except PictureError as error:
        return error


class _Store:
    """Vectors and thumbnails by the digest of the picture file, in a SQLite database; one thread uses it."""

    def __init__(self, path: Path | None, encoder: PictureEncoder) -> None:
        self._database = sqlite3.connect(":memory:" if path is None else path, isolation_level=None)
        try:
            # Every picture is a transaction: a killed process loses what was under way. A crash of the whole machine
            # may lose more, which costs time and nothing else.
            self._database.execute("PRAGMA synchronous=OFF")
            self._database.execute("PRAGMA journal_mode=TRUNCATE")
            self._database.execute("CREATE TABLE IF NOT EXISTS encoder (name TEXT, digest TEXT)")
            about = (encoder.name, encoder.digest or "")
            if self._database.execute("SELECT * FROM encoder").fetchall() != [about]:
                self._database.execute("DROP TABLE IF EXISTS done")
                self._database.execute("DELETE FROM encoder")
                self._database.execute("INSERT INTO encoder VALUES (?, ?)", about)
            columns = "digest BLOB PRIMARY KEY, vector BLOB, thumbnail BLOB, crc BLOB"
            self._database.execute(f"CREATE TABLE IF NOT EXISTS done ({columns}) WITHOUT ROWID")
        except sqlite3.DatabaseError as error:
            self._database.close()
            raise ValueError(f"{str(path)!r} is damaged ({error}); delete it to encode all pictures anew.") from None

    def find(self, digest: bytes) -> _Done | None:
        """Return what was kept of a picture, if it is whole."""
        row = self._database.execute("SELECT vector, thumbnail, crc FROM done WHERE digest=?", (digest,)).fetchone()
        if row is None or hashlib.sha256(row[0] + row[1]).digest() != row[2]:
            return None
        return _Done(digest, np.frombuffer(row[0], dtype="<f4").astype(np.float32), row[1])

    def keep(self, done: _Done) -> None:
        """Keep what became of a picture."""
        vector = done.vector.astype("<f4").tobytes()
        row = (done.digest, vector, done.thumbnail, hashlib.sha256(vector + done.thumbnail).digest())
        self._database.execute("INSERT OR REPLACE INTO done VALUES (?, ?, ?, ?)", row)

    def close(self) -> None:
        """Close the file."""
        self._database.close()
