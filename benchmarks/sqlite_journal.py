"""Would SQLite keep an index file better than the format of ``thpi.index``?

    python -m benchmarks.sqlite_journal [--codes 1000000] [--repeats 60] [--kills 40] [--flips 300] [--seed 0]

Three ways to keep codes of 64 bits and integer ids, side by side in one run:

own       the present file: a snapshot with a checksum, then one record per change, chained by digests
journal   the same snapshot and records as blobs of one SQLite table, written ahead (WAL), on disk at each commit
rows      a SQLite table with one row per item and the ids as its unique key, written ahead, on disk at each commit

Measured is the file alone: what is acknowledged is on disk, and opening gives arrays of all codes and ids. The faults
are real ones: processes ended by SIGKILL, bits flipped, and files copied while a writer lives.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks._table import lined_up, seconds
from thpi._types import Array, Codes
from thpi.index._file import IndexFile
from thpi.index._format import Header, IndexFileError, Record, parse

WIDTH = 8
HEADER = Header(thpi="", n_bits=8 * WIDTH, recall=None, random_state=0, report=None, model=None)
BLOB = 2**26  # SQLite holds at most 10^9 bytes in one blob


class Kept(Protocol):
    """An open file."""

    def add(self, codes: Codes, ids: Array) -> None: ...
    def close(self) -> None: ...


class Own:
    """The file of ``HammingIndex``."""

    def __init__(self, file: IndexFile) -> None:
        self.file = file

    @staticmethod
    def save(path: Path, codes: Codes, ids: Array) -> Own:
        return Own(IndexFile.replace(path, HEADER, codes, ids, owned=False))

    @staticmethod
    def read(path: Path) -> tuple[Codes, Array]:
        with open(path, "rb") as file:
            contents = parse(file)
        return _joined([(contents.codes, contents.ids), *((record.codes, record.ids) for record in contents.records)])

    @staticmethod
    def open(path: Path) -> Own:
        return Own(IndexFile.open(path)[0])

    def add(self, codes: Codes, ids: Array) -> None:
        self.file.append(Record("a", ids, codes))

    def close(self) -> None:
        self.file.close()


class Journal:
    """Snapshot and records as blobs in SQLite."""

    schema = "CREATE TABLE changes (number INTEGER PRIMARY KEY, ids BLOB NOT NULL, codes BLOB NOT NULL)"

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database

    @classmethod
    def open(cls, path: Path) -> Any:
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        return cls(database)

    @classmethod
    def save(cls, path: Path, codes: Codes, ids: Array) -> Any:
        """Write a new file under another name, and rename it, as a snapshot must replace the old one whole."""
        new = path.with_name(f"{path.name}.new")
        _remove(new)
        kept = cls.open(new)
        kept.database.execute(cls.schema)
        for start in range(0, max(1, len(codes)), BLOB // WIDTH):
            kept.add(codes[start : start + BLOB // WIDTH], ids[start : start + BLOB // WIDTH])
        kept.close()  # moves what was written ahead into the file
        os.replace(new, path)
        return cls.open(path)

    @classmethod
    def read(cls, path: Path) -> tuple[Codes, Array]:
        database = cls.open(path).database
        rows = database.execute("SELECT codes, ids FROM changes ORDER BY number").fetchall()
        database.close()
        return _joined(
            [(np.frombuffer(codes, np.uint8).reshape(-1, WIDTH), np.frombuffer(ids, "<i8")) for codes, ids in rows]
        )

    def add(self, codes: Codes, ids: Array) -> None:
        self.database.execute(
            "INSERT INTO changes (ids, codes) VALUES (?, ?)", (ids.astype("<i8").tobytes(), codes.tobytes())
        )

    def close(self) -> None:
        self.database.close()


class Rows(Journal):
    """One row per item in SQLite."""

    schema = "CREATE TABLE items (position INTEGER PRIMARY KEY, id INTEGER NOT NULL UNIQUE, code BLOB NOT NULL)"

    @classmethod
    def read(cls, path: Path) -> tuple[Codes, Array]:
        database = cls.open(path).database
        rows = database.execute("SELECT code, id FROM items ORDER BY position").fetchall()
        database.close()
        codes = np.frombuffer(b"".join(code for code, _ in rows), np.uint8).reshape(-1, WIDTH)
        return codes, np.array([item for _, item in rows], dtype=np.int64)

    def add(self, codes: Codes, ids: Array) -> None:
        data = codes.tobytes()
        values = ((item, data[WIDTH * at : WIDTH * at + WIDTH]) for at, item in enumerate(ids.tolist()))
        self.database.execute("BEGIN IMMEDIATE")
        try:
            self.database.executemany("INSERT INTO items (id, code) VALUES (?, ?)", values)
            self.database.execute("COMMIT")
        except BaseException:
            self.database.execute("ROLLBACK")
            raise


WAYS: dict[str, Any] = {"own": Own, "journal": Journal, "rows": Rows}


def _joined(parts: list[tuple[Codes, Array]]) -> tuple[Codes, Array]:
    return np.concatenate([codes for codes, _ in parts]), np.concatenate([ids for _, ids in parts])


def _remove(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def _size(path: Path) -> int:
    return sum(file.stat().st_size for end in ("", "-wal") if (file := Path(f"{path}{end}")).exists())


def codes_of(ids: Array) -> Codes:
    """Return the code that belongs to each id, so that a code under a wrong id is seen."""
    mixed = (ids.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed.view(np.uint8).reshape(-1, WIDTH)


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = call()
    return time.perf_counter() - start, answer


def speeds(folder: Path, n: int, repeats: int) -> list[list[str]]:
    """Times of each call, the ways in turn, and sizes."""
    ids = np.arange(n)
    codes = codes_of(ids)
    rows: dict[str, dict[str, list[float]]] = {}

    def note(what: str, way: str, value: float) -> None:
        rows.setdefault(what, {}).setdefault(way, []).append(value)

    for _ in range(3):
        for way, kind in WAYS.items():
            taken, kept = _timed(lambda: kind.save(folder / way, codes, ids))  # noqa: B023
            note(f"save {n:,} codes", way, taken)
            kept.close()
            taken, (found, _) = _timed(lambda: kind.read(folder / way))  # noqa: B023
            assert len(found) == n
            note(f"open {n:,} codes", way, taken)
    sizes = {way: _size(folder / way) for way in WAYS}
    opened = {way: kind.open(folder / way) for way, kind in WAYS.items()}
    os.sync()  # or the first to wait for the disk would wait for what the others have left
    at = n
    for length in (1, 100, 10_000):
        for turn in range(repeats):
            new = np.arange(at, at + length)
            at += length
            codes = codes_of(new)
            for way in sorted(WAYS, key=lambda way: (list(WAYS).index(way) + turn) % len(WAYS)):
                taken, _ = _timed(lambda: opened[way].add(codes, new))  # noqa: B023
                note(f"add {length:,}", way, taken)
    for kept in opened.values():
        kept.close()
    for way, kind in WAYS.items():
        note("open with the additions", way, _timed(lambda: kind.read(folder / way))[0])  # noqa: B023
    table = [[what, *(seconds(statistics.median(rows[what][way])) for way in WAYS)] for what in rows]
    table.append([f"size of {n:,} codes", *(f"{size / n:.1f} bytes a code" for size in sizes.values())])
    return table


def _write_until_killed(kind: Any, path: Path, pipe: int, seed: int) -> None:
    rng = random.Random(seed)
    at = len(kind.read(path)[1])
    kept = kind.open(path)
    while True:
        length = rng.choice([1, 1, 10, 2000])
        ids = np.arange(at, at + length)
        kept.add(codes_of(ids), ids)
        at += length
        os.write(pipe, f"{at}\n".encode())


def kills(folder: Path, way: str, n: int, seed: int) -> str:
    """Kill a writer of one file again and again; count what was acknowledged and is not there, and broken files."""
    rng, kind, path = random.Random(seed), WAYS[way], folder / f"{way}-killed"
    kind.save(path, codes_of(np.arange(1000)), np.arange(1000)).close()
    acknowledged, lost, broken = 1000, 0, 0
    for _ in range(n):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                _write_until_killed(kind, path, writing, rng.randrange(2**30))
            os._exit(1)
        os.close(writing)
        time.sleep(0.1 + 0.3 * rng.random())
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with open(reading, "rb") as lines:
            told = [int(line) for line in lines if line.endswith(b"\n")]
        acknowledged = max([acknowledged, *told])
        try:
            codes, ids = kind.read(path)
        except (IndexFileError, sqlite3.Error):
            broken += 1
            continue
        right = np.array_equal(ids, np.arange(len(ids))) and np.array_equal(codes, codes_of(ids))
        broken += not right
        lost += max(0, acknowledged - len(ids))
        acknowledged = max(acknowledged, len(ids))
    return f"{lost} of {acknowledged - 1000:,} lost, {broken} broken"


def flips(folder: Path, way: str, n: int, seed: int) -> str:
    """Flip one bit of a file; count clear errors, right answers, and wrong ones that nobody notices."""
    rng, kind, path = random.Random(seed), WAYS[way], folder / f"{way}-flipped"
    ids = np.arange(2000)
    kept = kind.save(path, codes_of(ids[:1000]), ids[:1000])
    kept.add(codes_of(ids[1000:]), ids[1000:])
    kept.close()
    whole = path.read_bytes()
    counts = {"refused": 0, "right": 0, "wrong": 0}
    for _ in range(n):
        _remove(path)
        changed = bytearray(whole)
        changed[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        try:
            codes, found = kind.read(path)
        except (IndexFileError, sqlite3.Error, ValueError, TypeError):
            counts["refused"] += 1
            continue
        same = np.array_equal(found, ids) and np.array_equal(codes, codes_of(ids))
        counts["right" if same else "wrong"] += 1
    return ", ".join(f"{number} {what}" for what, number in counts.items())


def copied(folder: Path, way: str) -> str:
    """Copy the file, as a backup would, while a writer has it open; count the acknowledged items in the copy."""
    kind, path = WAYS[way], folder / f"{way}-copied"
    kept = kind.save(path, codes_of(np.arange(1000)), np.arange(1000))
    for at in range(1000, 1100):
        kept.add(codes_of(np.array([at])), np.array([at]))
    shutil.copyfile(path, folder / "copy")
    kept.close()
    found = len(kind.read(folder / "copy")[1])
    _remove(folder / "copy")
    return f"{1100 - found} of 100 lost"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("codes", 1_000_000), ("repeats", 60), ("kills", 40), ("flips", 300), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", type=Path, help="where to write; default: a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        table = speeds(folder, options.codes, options.repeats)
        faults: dict[str, Callable[[str], str]] = {
            f"{options.kills} SIGKILLs": lambda way: kills(folder, way, options.kills, options.seed),
            f"{options.flips} flipped bits": lambda way: flips(folder, way, options.flips, options.seed),
            "copy of an open file": lambda way: copied(folder, way),
        }
        table += [[what, *map(measure, WAYS)] for what, measure in faults.items()]
    print(f"SQLite {sqlite3.sqlite_version}, Python {sys.version.split()[0]}")
    print(lined_up(["what", *WAYS], table))


if __name__ == "__main__":
    main()
