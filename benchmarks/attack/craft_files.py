"""Hostile files with right checksums: the structure is taken apart, one part is changed, and all is put together again.

Damage is found by a checksum; malice is not. So each number and text of these files is exchanged for one that no
program would write.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import random
import struct
from typing import Any

import numpy as np

from thpi.index._format import MAGIC, Record, _ids_bytes, parse, record_bytes, slot_bytes
from thpi.model_file import _digest

VALUES: list[Any] = [
    *(0, 1, 2, 3, 7, 64, 127, 128, 4096, 65536, 10**6, 2**31 - 1, 2**31, 2**32, 2**40, 2**63 - 1, 2**63, 2**64, 10**40),
    *(-1, -2, -(2**31), -(2**63), 0.5, -0.5, 1e-300, 1e308, float("nan"), float("inf"), -float("inf")),
    *(None, True, False, "", "x", "ivf", "hnsw", "multihash", "exact", "\x1b[2J\r\n", "é" * 300),
    *([], [1, 2], [[]], {}, {"M": 1}, [None] * 3),
]

REPORTS = {
    "ivf": {"nlist": 8, "nprobe": 2},
    "hnsw": {"M": 16, "efConstruction": 40, "efSearch": 16},
    "multihash": {"nhash": 2, "b": 4, "nflip": 1},
}


def craft_index(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Change one part of an index file, which gets a random result of tuning; return what was changed and the file."""
    contents = parse(io.BytesIO(data))
    kind = rng.choice(list(REPORTS))
    row = {"recall": 1.0, "milliseconds": 0.1, "build_seconds": 0.1, "note": ""}
    rows = [{"kind": "exact", "parameters": {}, **row}, {"kind": kind, "parameters": dict(REPORTS[kind]), **row}]
    report = {"kind": kind, "target": 0.9, "reached": 1.0, "k": 10, "n": len(contents.codes), "kinds": rows}
    header: dict[str, Any] = {**contents.header, "recall": 0.9, "report": report}
    codes, ids, records = contents.codes.copy(), contents.ids.copy(), list(contents.records)
    what = rng.choice(["header", "header", "header", "tuning", "tuning", "tuning", "codes", "ids", "records", "bytes"])
    if what == "header":
        what = f"header {_exchange(header, rng)}"
    elif what == "tuning":
        what = f"tuning {_exchange(report, rng)}"
    elif what == "codes":
        codes = rng.choice([codes[:-1], codes[:, :-1], codes | np.uint8(255), np.repeat(codes, 2, axis=0)])
    elif what == "ids":
        ids = rng.choice([ids[:-1], ids[:1].repeat(len(ids)), ids[::-1], np.concatenate([ids, ids])])
    elif what == "records":
        wrong = Record(rng.choice("arx"), rng.choice([ids[:2], ids[:0], ids + ids]), codes[: rng.randrange(3)])
        records.insert(rng.randrange(len(records) + 1), wrong)
    id_bytes = bytearray(_ids_bytes(ids))
    if what == "bytes":
        at = rng.choice([0, 1, 5, 9, rng.randrange(len(id_bytes))])
        id_bytes[at : at + 8] = rng.choice([2**64 - 1, 2**63, 2**40, 0, rng.randrange(2**64)]).to_bytes(8, "little")
        id_bytes = id_bytes[: -rng.randrange(1, len(id_bytes))] if rng.random() < 0.3 else id_bytes
    text, body = json.dumps(header, sort_keys=True).encode(), codes.tobytes() + bytes(id_bytes)
    checked = struct.pack("<QQ", len(text), len(body)) + text + body
    digest = latest = hashlib.sha256(checked).digest()
    for record in records:
        part, latest = record_bytes(record, latest)
        checked += part
    slot = slot_bytes(digest, len(records), 136 + len(checked))
    return what, MAGIC + slot + slot + digest + checked


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
