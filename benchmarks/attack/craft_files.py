"""Hostile files with right checksums: the structure is taken apart, one part is changed, and all is put together again.

Damage is found by a checksum; malice is not. So each number and text of these files is exchanged for one that no
program would write.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from thpi.collection._file import State
from thpi.collection._file import _digest as _page_digest
from thpi.model_file import _digest

VALUES: list[Any] = [
    *(0, 1, 2, 3, 7, 64, 127, 128, 4096, 65536, 10**6, 2**31 - 1, 2**31, 2**32, 2**40, 2**63 - 1, 2**63, 2**64, 10**40),
    *(-1, -2, -(2**31), -(2**63), 0.5, -0.5, 1e-300, 1e308, float("nan"), float("inf"), -float("inf")),
    *(None, True, False, "", "x", "ivf", "hnsw", "multihash", "exact", "\x1b[2J\r\n", "é" * 300),
    *([], [1, 2], [[]], {}, {"M": 1}, [None] * 3),
]

SCHEMAS = (
    "CREATE TRIGGER t AFTER INSERT ON item BEGIN DELETE FROM page; END",
    "CREATE TRIGGER t BEFORE DELETE ON item BEGIN SELECT load_extension('x'); END",
    "CREATE VIEW v AS SELECT * FROM item",
    "CREATE TABLE more (x)",
    "CREATE INDEX more ON item (hex(code))",
    "CREATE TABLE sqlite_more_ (x)",
    "ALTER TABLE item ADD COLUMN more GENERATED ALWAYS AS (hex(code))",
    "ALTER TABLE item RENAME COLUMN code TO codes",
    "DROP INDEX item_id",
    "DROP TABLE page",
    "DROP TABLE part; CREATE VIEW part AS SELECT 'about' AS name, x'' AS data, '' AS sha256",
    "UPDATE sqlite_master SET sql=replace(sql, 'BLOB', 'TEXT')",
    "UPDATE sqlite_master SET rootpage=(SELECT max(rootpage) FROM sqlite_master)",
    "UPDATE sqlite_master SET rootpage=99999",
    "UPDATE sqlite_master SET type='trigger'",
    "UPDATE sqlite_master SET sql=NULL",
    "DELETE FROM sqlite_master WHERE name='part'",
    "PRAGMA application_id=7",
    "PRAGMA user_version=2",
    "PRAGMA encoding='UTF-16'; VACUUM",
    "PRAGMA journal_mode=WAL",
    "PRAGMA auto_vacuum=2; VACUUM",
    "PRAGMA page_size=512; VACUUM",
)
"""What a collection must not hold, or need not be like."""

BLOBS: list[Any] = [None, 7, 0.5, "text", "", b"", b"\0", bytes(5), bytes(3_000_000), "x" * 3_000_000, b"\xff" * 40]


def craft_index(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Change one part of an index file; return what was changed and the file."""
    length = int.from_bytes(data[40:48], "little")
    header, body = json.loads(data[48 : 48 + length]), bytearray(data[48 + length :])
    what = rng.choice(["header", "body", "length"])
    if what == "header":
        what = f"header {_exchange(header, rng)}"
    elif what == "body":
        at = rng.randrange(len(body))
        body[at : at + 8] = rng.choice([bytes(8), b"\xff" * 8, b"[" * 5000, b'"', b"", rng.randbytes(8)])
        if rng.random() < 0.7:
            header["body"] = len(body)
    text = json.dumps(header).encode()
    claimed = rng.choice([0, 2**16, 2**31, 2**64 - 1]) if what == "length" else len(text)
    rest = claimed.to_bytes(8, "little") + text + bytes(body)
    return what, data[:8] + hashlib.sha256(rest).digest() + rest


def craft_collection(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Change one part of a collection, and every digest with it; return what was changed and the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crafted"
        path.write_bytes(data)
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("PRAGMA writable_schema=ON")
            what = rng.choice([_craft_part, _craft_page, _craft_item, _craft_schema])(database, rng)
            with suppress(sqlite3.Error):  # there are no pages any more
                _renew_digests(database, rng)
        return what, path.read_bytes()


def _craft_part(database: sqlite3.Connection, rng: random.Random) -> str:
    name = rng.choice(["about", "about", "evidence", "state", "model"])
    ((data,),) = database.execute("SELECT data FROM part WHERE name=?", (name,))
    if name == "model":
        what, data = craft_model(data, rng)
    else:
        tree = json.loads(data)
        what = _exchange(tree, rng)
        data = rng.choice([json.dumps(tree).encode()] * 9 + [rng.choice(BLOBS), b"[" * 100_000, b"[]", b"7"])
    database.execute("INSERT OR IGNORE INTO part VALUES (?, ?, ?)", (name, b"", ""))
    with suppress(sqlite3.IntegrityError):
        database.execute("UPDATE part SET data=? WHERE name=?", (data, name))
    return f"{name} {what}"


def _craft_page(database: sqlite3.Connection, rng: random.Random) -> str:
    column = rng.choice(["page", "offsets", "ids", "codes"])
    if column == "page":
        value: Any = rng.choice([-1, 1, 5, 2**40, 2**63 - 1, -(2**63)])
    elif column == "ids":
        texts = [
            "{}",
            "7",
            "[",
            "[[1]]",
            "[1,1]",
            '["a",1]',
            f"[{10**30}]",
            "[1.5]",
            "[" * 100_000,
            '["\\ud800"]',
            "[true]",
        ]
        value = rng.choice([*BLOBS, *texts])
    else:
        value = rng.choice([*BLOBS, rng.randbytes(52), bytes(26), bytes(78), b"\xff\xff" * 26])
    with suppress(sqlite3.Error):
        database.execute(f"UPDATE page SET {column}=? WHERE page=(SELECT min(page) FROM page)", (value,))
    return f"page {column}={str(value)[:20]!r}"


def _craft_item(database: sqlite3.Connection, rng: random.Random) -> str:
    column = rng.choice(["number", "id", "code", "text", "thumbnail", "crc"])
    value = rng.choice([*BLOBS, *(value for value in VALUES if _fits(value))])
    large = isinstance(value, (bytes, str)) and len(value) > 1000
    where = "number=3" if large else rng.choice(["number=3", "number<9", "1"])
    with suppress(sqlite3.Error, OverflowError):
        database.execute(f"UPDATE OR IGNORE item SET {column}=? WHERE {where}", (value,))
    return f"item {column}={str(value)[:20]!r} where {where}"


def _craft_schema(database: sqlite3.Connection, rng: random.Random) -> str:
    statement = rng.choice(SCHEMAS)
    with suppress(sqlite3.Error):
        database.executescript(statement)
    return statement


def _fits(value: Any) -> bool:
    """Whether SQLite can hold it."""
    return isinstance(value, str) or (isinstance(value, int) and -(2**63) <= value < 2**63)


def _renew_digests(database: sqlite3.Connection, rng: random.Random) -> None:
    for number, *parts in database.execute("SELECT page, offsets, ids, codes FROM page").fetchall():
        with suppress(TypeError, AttributeError):  # of another type
            database.execute("UPDATE page SET sha256=? WHERE page=?", (_page_digest(number, *parts), number))
    if rng.random() < 0.9:
        digests = dict(database.execute("SELECT page, sha256 FROM page ORDER BY page"))
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            ((state,),) = database.execute("SELECT data FROM part WHERE name='state'")
            following = json.loads(state)["next"]
            state = {"next": following, "sha256": State(digests, following).version}
            database.execute("UPDATE part SET data=? WHERE name='state'", (json.dumps(state, sort_keys=True).encode(),))
    for name, data in database.execute("SELECT name, data FROM part").fetchall():
        if isinstance(data, bytes):
            database.execute("UPDATE part SET sha256=? WHERE name=?", (hashlib.sha256(data).hexdigest(), name))


def craft_model(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Change one part of a model file; return what was changed and the file."""
    from safetensors.numpy import load, save

    length = int.from_bytes(data[:8], "little")
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["thpi"])
    arrays = load(data)
    header.pop("sha256")
    if rng.random() < 0.5:
        what = f"header {_exchange(header, rng)}"
    else:
        name = rng.choice(list(arrays))
        what, arrays[name] = _change_array(arrays[name].copy(), rng)
        what = f"{name} {what}"
    header["sha256"] = _digest(header, arrays)
    return what, save(arrays, metadata={"thpi": json.dumps(header, sort_keys=True)})


def _change_array(array: np.ndarray, rng: random.Random) -> tuple[str, np.ndarray]:
    what = rng.choice(["value", "value", "type", "shape", "empty"])
    if what == "value" and array.size:
        values = [np.nan, np.inf, -np.inf, 1e308] if array.dtype.kind == "f" else [-1, 2**31 - 1, 10**6, 0]
        array.reshape(-1)[rng.randrange(array.size)] = np.array(rng.choice(values)).astype(array.dtype)
    elif what == "type":
        array = array.astype(rng.choice([np.float32, np.int8, np.bool_, np.uint64, np.float64]))
    elif what == "shape":
        array = rng.choice([array[:-1], array[None], array.reshape(-1), np.concatenate([array, array])])
    elif what == "empty":
        array = array[:0]
    return what, np.ascontiguousarray(array)


def _exchange(tree: Any, rng: random.Random) -> str:
    """Exchange one value somewhere in nested lists and mappings, or leave one out; return its name."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            places.append((node, key))
            if isinstance(value, (dict, list)):
                walk(value)

    walk(tree)
    node, key = rng.choice(places)
    if rng.random() < 0.1:
        del node[key]
        return f"without {key}"
    node[key] = copy.deepcopy(rng.choice(VALUES))
    return f"{key}={str(node[key])[:30]!r}"
