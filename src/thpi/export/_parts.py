"""Codes in parts: a folder with one Parquet file of codes for each Parquet file of rows.

Each part is written in one step, so an interrupted run continues where it stopped. A part carries the sha256 of its
rows' file, the fingerprint of the model and the columns; it is kept only if all are still right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from thpi._files import sha256_of
from thpi._optional import require
from thpi._types import PathLike
from thpi.export._files import CodeTable, read_description, write_parquet
from thpi.identity import check_same_model
from thpi.rows import Parquet, cluster_errors, record_values

if TYPE_CHECKING:
    from thpi.encoder import Coding

Client: TypeAlias = Any  # distributed.Client, of an optional package without types


class PartsReport(NamedTuple):
    """The files of codes in the order of those of rows, and how many were kept from an earlier run."""

    files: list[Path]
    kept: int


def encode_parts(
    hasher: Coding,
    rows: PathLike,
    output: PathLike,
    *,
    ids: str,
    columns: Sequence[str] | None = None,
    client: Client | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PartsReport:
    """Write the codes of each Parquet file of the folder ``rows`` to a file of the same name in ``output``.

    :func:`read_parquet` reads a part, and ``add_codes`` of a collection takes its codes and ids.

    Parameters
    ----------
    hasher : a fitted hasher, or the encoder of one
    rows : folder of Parquet files (or one file)
    output : folder, created if necessary; parts of an earlier run are kept if their rows have not changed since
    ids : column of ids
    columns : columns of features; default: all but ``ids``
    client : ``distributed.Client`` whose workers read and write the parts; they must see both folders
    progress : called with the number of finished parts and of all parts
    """
    files, folder = Parquet(rows).files, Path(output)
    folder.mkdir(exist_ok=True)
    _check_parts(folder, {file.name for file in files}, hasher)
    todo = [(str(file.resolve()), str((folder / file.name).resolve())) for file in files]
    encode = partial(_encode_part, ids=ids, columns=None if columns is None else list(columns))
    kept, tell = 0, progress or (lambda done, total: None)
    tell(0, len(files))
    for done, was_there in enumerate(_run(client, hasher.light(), todo, encode), start=1):
        kept += was_there
        tell(done, len(files))
    return PartsReport([folder / file.name for file in files], kept)


def _run(
    client: Client | None, hasher: Coding, todo: list[tuple[str, str]], encode: Callable[..., bool]
) -> Iterator[bool]:
    if client is None:
        yield from (encode(hasher, *part) for part in todo)
        return
    as_completed = require("distributed", "dask").as_completed
    with cluster_errors():
        # The model is the result of a task: other than data that was sent to workers, it is not lost with them.
        model = client.submit(copy, hasher, pure=False)
        futures = [client.submit(encode, model, *part, pure=False) for part in todo]
        for future in as_completed(futures):
            yield future.result()


def _encode_part(hasher: Coding, source: str, target: str, *, ids: str, columns: list[str] | None) -> bool:
    """Write one part, unless it is there already; return whether it was."""
    import pyarrow.parquet as pq

    with open(source, "rb") as reading:  # opened once: the codes are of the rows that the digest is of
        stamp = {"rows_sha256": sha256_of(reading), "id_column": ids, "columns": json.dumps(columns)}
        about = _about(Path(target)) if Path(target).exists() else {}
        if about.get("model") == hasher.fingerprint_ and stamp.items() <= about.items():
            return True
        file = pq.ParquetFile(reading)
        names = columns or [name for name in file.schema_arrow.names if name != ids]
        if missing := [name for name in (*names, ids) if name not in file.schema_arrow.names]:
            raise ValueError(f"{source!r} has no column {missing[0]!r}.")
        codes, keys = [hasher.transform(np.zeros((1, hasher.n_features_in_)))[:0]], list[Any]()
        for batch in file.iter_batches(max(1, 2**21 // max(1, len(names)))):
            codes.append(hasher.transform(record_values(batch, names, source)))
            keys += batch.column(ids).to_pylist()
    table = CodeTable.checked(np.concatenate(codes), keys, hasher.n_bits, hasher.fingerprint_)
    write_parquet(target, table, **stamp)
    return False


def _about(part: Path) -> dict[str, Any]:
    """Return what a part says about itself; nothing if it is not one."""
    try:
        return read_description((Parquet(part).open(part).schema_arrow.metadata or {})[b"thpi"], str(part))
    except (KeyError, ValueError):
        return {}


def _check_parts(folder: Path, names: set[str], hasher: Coding) -> None:
    """Refuse files that are no parts, parts of another model and parts without rows, before anything is written."""
    for part in sorted(folder.glob("*.parquet")):
        about = _about(part)
        if "rows_sha256" not in about:
            raise ValueError(f"{str(part)!r} is not a part of codes; name another folder.")
        check_same_model((f"the part {str(part)!r}", about.get("model")), ("hasher", hasher.fingerprint_))
        if part.name not in names:
            raise ValueError(f"{str(part)!r} has codes of rows that are gone; delete it, or name another folder.")
