"""Write small files of every format, as its present version writes them, for tests/golden to load for ever.

    python -m tools.make_golden [models] [codes] [index] [collection] [--into tests/golden]

Each format and version has a folder, such as models-1, with ``expected.json`` beside the files: what they give once
they are loaded. A folder that exists is never written again: its files are what users have. After a format got a new
version number, run this once and commit the new folder; the old ones stay.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import sparse

import thpi
from thpi import model_file
from thpi._types import Array, Codes
from thpi.collection import Details
from thpi.collection import _file as collection_format
from thpi.collection import write as write_collection
from thpi.export import CodeTable, write_parquet
from thpi.export import _files as code_format
from thpi.index import HammingIndex
from thpi.index import _snapshot as index_format

N_BITS, N_ROWS, SHAKEN = 10, 8, 1e-3
GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"


class Data(NamedTuple):
    """Pairs, further source rows, labels, and candidates for the rows to code."""

    X: Array
    S: Array
    source: Array
    y: Array
    new: Array
    new_source: Array


def data() -> Data:
    """Draw two views of the same few directions."""
    rng = np.random.RandomState(0)
    latent = rng.standard_normal((640, 5))
    rows = np.round(latent @ rng.standard_normal((5, 12)) + 0.3 * rng.standard_normal((640, 12)), 3)
    texts = np.round(latent @ rng.standard_normal((5, 11)) + 0.3 * rng.standard_normal((640, 11)), 3)
    return Data(rows[:30], texts[:30], texts[30:60], (latent[:30, 0] > 0).astype(int), rows[60:], texts[60:])


def models(from_: Data) -> dict[str, Any]:
    """Fit every registered method, the other kinds of hash function, and what else a file can hold."""
    X, S, source, y, new, _ = from_
    found: dict[str, Any] = {}

    def fit(name: str, method: Any, X: Any, S: Any = S, y: Any = None, **params: Any) -> None:
        found[name] = method(N_BITS, random_state=0, **params).fit(X, y, privileged=S, source=source)

    for name, method in thpi.HASHERS.items():
        fit(name, method, X)
    one = {"relevance": "source", "kernel": False}
    fit("offset", thpi.NeighbourHash, X, offsets=True)
    fit("kernel", thpi.AutoHasher, X, kernel=True, n_repeats=1)
    fit("sparse-kernel", thpi.AutoHasher, sparse.csr_matrix(X * (X > 0.5)), kernel=True, n_repeats=1)
    fit(
        "two-sided",
        thpi.AutoHasher,
        X,
        S=pl.DataFrame(S, schema=[f"tag {i}" for i in range(11)]),
        sides="two",
        n_repeats=1,
        **one,
    )
    fit("labels", thpi.ClassITQ, X, y=y)
    fit("names", thpi.ITQ, pl.DataFrame(X, schema=[f"colour {i}" for i in range(12)]))
    fit("single-precision", thpi.LSH, X.astype(np.float32))
    found["quantiser"] = thpi.ResidualQuantiser(3, n_components=2, random_state=0).fit(new)
    return found


def coded(model: Any, new: Array, new_source: Array) -> dict[str, Codes]:
    """Codes of rows, and of source rows if the model has two sides."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        codes = {"codes": model.transform(new)}
    if getattr(model, "is_two_sided", False):
        codes["source_codes"] = model.transform_source(new_source)
    return codes


def write_models(folder: Path) -> dict[str, Any]:
    """Models, and rows whose codes are the same if they are shaken: no rounding, of any processor, changes a bit."""
    from_ = data()
    found, rng = models(from_), np.random.RandomState(1)
    stays = np.ones(len(from_.new), dtype=bool)
    expected = [coded(model, from_.new, from_.new_source) for model in found.values()]
    for _ in range(20):
        shaken = [rows + SHAKEN * rng.uniform(-1, 1, rows.shape) for rows in (from_.new, from_.new_source)]
        for model, codes in zip(found.values(), expected, strict=True):
            for side, other in coded(model, *shaken).items():
                stays &= (other == codes[side]).all(axis=1)
    kept = np.flatnonzero(stays)[:N_ROWS]
    if len(kept) < N_ROWS:
        raise ValueError(f"only {len(kept)} of {len(stays)} rows have codes that stay; draw more rows.")
    entries = {}
    for (name, model), codes in zip(found.items(), expected, strict=True):
        model.save(folder / f"{name}.thpi")
        entries[f"{name}.thpi"] = {"class": type(model).__name__} | {
            side: [code.tobytes().hex() for code in values[kept]] for side, values in codes.items()
        }
        if hasattr(model, "fingerprint_"):
            entries[f"{name}.thpi"]["fingerprint"] = model.fingerprint_
    return {"rows": from_.new[kept].tolist(), "source_rows": from_.new_source[kept].tolist(), "files": entries}


def some_codes() -> tuple[Codes, list[int], list[str]]:
    """Codes of 10 bits, and numbers and texts as their ids."""
    rng = np.random.RandomState(0)
    packed = rng.randint(256, size=(12, 2)).astype(np.uint8)
    packed[:, 1] &= 0b11
    return packed, [7 * i - 20 for i in range(12)], [f"item {i} \N{SNOWMAN}" for i in range(12)]


def write_code_files(folder: Path) -> dict[str, Any]:
    """Parquet files of codes, with both kinds of ids, with and without a fingerprint."""
    packed, numbers, texts = some_codes()
    tables: tuple[tuple[str, list[int] | list[str], str | None], ...] = (
        ("numbers", numbers, "0123456789abcdef"),
        ("texts", texts, None),
    )
    entries: dict[str, Any] = {}
    for name, ids, model in tables:
        write_parquet(folder / f"{name}.parquet", CodeTable.checked(packed, ids, N_BITS, model))
        codes = [code.tobytes().hex() for code in packed]
        entries[f"{name}.parquet"] = {"n_bits": N_BITS, "ids": ids, "codes": codes, "model": model}
    return {"files": entries}


def write_indexes(folder: Path) -> dict[str, Any]:
    """Indexes with both kinds of ids, empty, changed, and approximate."""
    packed, numbers, texts = some_codes()
    kinds: tuple[tuple[str, list[int] | list[str], dict[str, Any]], ...] = (
        ("numbers", numbers, {"model": "0123456789abcdef"}),
        ("texts", texts, {}),
        ("changed", numbers, {}),
        ("approximate", numbers, {"recall": 0.9, "random_state": 3}),
        ("empty", [], {}),
    )
    for name, ids, options in kinds:
        index = HammingIndex(N_BITS, **options)
        index.add(packed[: len(ids)], ids=ids)
        if name == "changed":
            index.remove(numbers[2:5])
            index.add(packed[3:4], ids=[1000])
        index.save(folder / f"{name}.index")
    return {"files": {path.name: searched(path) for path in sorted(folder.glob("*.index"))}}


def write_collections(folder: Path) -> dict[str, Any]:
    """Collections with both kinds of ids, with something to show, changed, and empty."""
    from_ = data()
    hasher = thpi.LSH(N_BITS, random_state=0).fit(from_.X)
    kinds: dict[str, list[Any]] = {
        "numbers": [7 * i - 20 for i in range(30)],
        "texts": [f"item {i} \N{SNOWMAN}" for i in range(30)],
    }
    for name, ids in kinds.items():
        shown = {
            ids[1]: Details("cap \N{SNOWMAN}"),
            ids[2]: Details(None, b"\x89PNG"),
            ids[3]: Details("both", b"RIFF"),
        }
        write_collection(folder / f"{name}.thpi", hasher, hasher.codes_, ids, about={"title": name}, details=shown)
    with thpi.open(folder / "texts.thpi") as shop:
        shop.remove([ids[5], ids[29]])
        shop.add(from_.new[:2], ["new", ids[5]], details=[Details("new"), Details()])
    write_collection(folder / "empty.thpi", hasher, hasher.codes_[:0], [], about={"title": "empty", "recall": 0.9})
    return {"rows": from_.new[:4].tolist(), "files": {path.name: held(path) for path in sorted(folder.glob("*.thpi"))}}


def held(path: Path) -> dict[str, Any]:
    """What a collection holds, and what it finds."""
    with thpi.open(path) as shop:
        shop.check()
        found: dict[str, Any] = {"about": dict(shop.about), "evidence": shop.evidence, "version": shop.version}
        del found["about"]["thpi"]  # the version of the writer
        found |= {"ids": shop.ids.tolist(), "codes": [code.tobytes().hex() for code in shop.index.codes]}
        shown = {str(item): shop.details(item) for item in shop.ids.tolist()}
        found["details"] = {
            item: [text, thumbnail and thumbnail.hex()]
            for item, (text, thumbnail) in shown.items()
            if text or thumbnail
        }
        near = shop.search_codes(shop.index.codes[:2], 4)
        return found | {"near": near.ids.tolist(), "distances": near.distances.tolist()}


def searched(path: Path) -> dict[str, Any]:
    """What an index file holds, and what it finds for its first codes and for projections near them."""
    packed, _, _ = some_codes()
    index = HammingIndex.open(path)
    found = {"n_bits": index.n_bits, "recall": index.recall, "model": index.model, "ids": index.ids.tolist()}
    found["codes"] = [code.tobytes().hex() for code in index.codes]
    if len(index):
        queries = np.where(thpi.codes.unpack_signs(packed[:3], N_BITS) > 0, 1.0, -1.0) * np.arange(1, N_BITS + 1)
        found["searches"] = []
        for key, values in (("codes", packed[:3]), ("projections", queries)):
            near = index.search(values, k=4)
            answer = {"distances": near.distances.tolist(), "ids": near.ids.tolist()}
            found["searches"].append({key: values.tolist(), **answer})
    return found


KINDS: dict[str, tuple[int, Callable[[Path], dict[str, Any]]]] = {
    "models": (model_file.VERSION, write_models),
    "codes": (code_format.VERSION, write_code_files),
    "index": (index_format.VERSION, write_indexes),
    "collection": (collection_format.VERSION, write_collections),
}
"""The formats: present version, and what writes files of it."""


def folder_of(kind: str, into: Path = GOLDEN) -> Path:
    """Folder of the present version of a format."""
    return into / f"{kind}-{KINDS[kind][0]}"


def write(kind: str, into: Path) -> Path:
    """Write the folder of the present version; refuse to if there is one."""
    folder = folder_of(kind, into)
    if folder.exists():
        raise FileExistsError(f"{folder} exists. What a version wrote stays; raise the version number of the format.")
    folder.mkdir(parents=True)
    expected = json.dumps(KINDS[kind][1](folder), indent=1, ensure_ascii=False)
    (folder / "expected.json").write_text(expected + "\n", encoding="utf-8")
    return folder


def main() -> None:
    """Write the folders that are asked for; without arguments those that are missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], default=[])
    parser.add_argument("--into", type=Path, default=GOLDEN)
    options = parser.parse_args()
    for kind in options.kinds or [kind for kind in KINDS if not folder_of(kind, options.into).exists()]:
        print(write(kind, options.into))


if __name__ == "__main__":
    main()
