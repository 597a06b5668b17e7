"""Codes in parts: a folder with one Parquet file of codes for each Parquet file of rows.

Each part is written in one step, so an interrupted run continues where it stopped. The file ``parts.json`` beside them
identifies the model; codes of two models never get into one folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from thpi._files import atomic_write
from thpi._optional import require
from thpi._types import PathLike
from thpi.identity import check_same_model
from thpi.stores._files import read_parquet, write_parquet
from thpi.stores._store import CodeTable

if TYPE_CHECKING:
    from thpi.encoder import Coding

Client: TypeAlias = Any  # distributed.Client, of an optional package without types


class PartsReport(NamedTuple):
    """Number of parts, of parts that were kept from an earlier run, and of rows."""

    parts: int
    kept: int
    rows: int


def encode_parts(
    hasher: Coding,
    rows: PathLike,
    output: PathLike,
    *,
    columns: Sequence[str] | None = None,
    ids: str | None = None,
    client: Client | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PartsReport:
    """Write the codes of each Parquet file of the folder ``rows`` to a file of the same name in ``output``.

    Parameters
    ----------
    hasher : a fitted hasher, or the encoder of one
    rows : folder of Parquet files (or one file)
    output : folder, created if necessary; existing parts with the right number of rows are kept
    columns : columns of features; default: all but ``ids``
    ids : column of ids; by default rows are numbered across all parts, in the order of the file names
    client : ``distributed.Client`` whose workers read and write the parts; they must see both folders
    progress : called with the number of finished parts and of all parts
    """
    from thpi.rows._parquet import parquet_files

    files, folder = parquet_files(rows), Path(output)
    folder.mkdir(exist_ok=True)
    features = list(columns) if columns else None
    _check_manifest(folder, {"model": hasher.fingerprint_, "columns": features, "ids": ids})
    sizes = [_count_rows(file) for file in files]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int).tolist()
    todo = [
        (str(file.resolve()), str((folder / file.name).resolve()), start)
        for file, start, size in zip(files, starts, sizes, strict=True)
        # A part gets its name when it is complete; a different number of rows means different rows.
        if not ((folder / file.name).exists() and _count_rows(folder / file.name) == size)
    ]
    kept = len(files) - len(todo)
    finished = _run(client, hasher._travelling(), todo, partial(_encode_part, columns=features, ids=ids))
    for done, _ in enumerate(chain([None], finished), start=kept):
        if progress is not None:
            progress(done, len(files))
    return PartsReport(len(files), kept, sum(sizes))


def _run(
    client: Client | None, hasher: Coding, todo: list[tuple[str, str, int]], encode: Callable[..., str]
) -> Iterator[str]:
    if client is None:
        yield from (encode(hasher, *part) for part in todo)
        return
    from thpi.rows._dask import cluster_errors

    as_completed = require("distributed", "dask").as_completed
    with cluster_errors():
        model = client.scatter(hasher, broadcast=True)
        for future in as_completed([client.submit(encode, model, *part, pure=False) for part in todo]):
            yield future.result()


def _encode_part(
    hasher: Coding, source: str, target: str, start: int, *, columns: list[str] | None, ids: str | None
) -> str:
    from thpi.rows._parquet import Parquet, record_values

    file = Parquet(source).open(Path(source))
    names = columns or [name for name in file.schema_arrow.names if name != ids]
    missing = [name for name in (*names, *([] if ids is None else [ids])) if name not in file.schema_arrow.names]
    if missing:
        raise ValueError(f"{source!r} has no column {missing[0]!r}.")
    codes, keys = [], []
    for batch in file.iter_batches(max(1, 2**21 // max(1, len(names)))):
        codes.append(hasher.transform(record_values(batch, names, source)))
        if ids is not None:
            keys += batch.column(ids).to_pylist()
    packed = np.concatenate(codes) if codes else hasher.transform(np.zeros((1, hasher.n_features_in_)))[:0]
    chosen = keys if ids is not None else np.arange(start, start + len(packed))
    write_parquet(target, packed, hasher.n_bits, chosen, hasher.fingerprint_)
    return target


def _count_rows(file: Path) -> int:
    from thpi.rows._parquet import Parquet

    return int(Parquet(file).open(file).metadata.num_rows)


def _check_manifest(output: Path, about: dict[str, str | list[str] | None]) -> None:
    path = output / "parts.json"
    if path.exists():
        try:
            before = json.loads(path.read_bytes())
        except ValueError as error:
            raise ValueError(f"{str(path)!r} is not readable ({error}).") from None
        check_same_model((f"the folder of codes {str(output)!r}", before.get("model")), ("MODEL", str(about["model"])))
        for name, value in about.items():
            if before.get(name) != value:
                what = {"columns": "other columns", "ids": "another column of ids"}[name]
                raise ValueError(f"{str(output)!r} holds codes of {what}; name another folder.")
    elif next(output.glob("*.parquet"), None) is not None:
        raise ValueError(f"{str(output)!r} holds Parquet files that are not parts of codes; name another folder.")
    else:
        atomic_write(path, json.dumps(about, indent=1))


def read_parts(folder: PathLike) -> CodeTable:
    """Read all parts of a folder of :func:`encode_parts` as one table."""
    from thpi.rows._parquet import parquet_files

    tables = [read_parquet(file) for file in parquet_files(folder)]
    codes, ids, widths, models = zip(*tables, strict=True)
    if len(set(widths)) > 1:
        raise ValueError(f"{str(folder)!r} holds codes of {sorted(set(widths))} bits; all parts must have the same.")
    for model in models:
        check_same_model((f"the first part of {str(folder)!r}", models[0]), ("another part", model))
    return CodeTable(np.concatenate(codes), np.concatenate(ids), widths[0], models[0])
