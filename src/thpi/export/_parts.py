"""Codes in parts: a folder with one Parquet file of codes for each Parquet file of rows.

Each part is written in one step, so an interrupted run continues where it stopped. A part carries the sha256 of its
rows' file, the fingerprint of the model and the number of its first row; it is kept only if all three are still right.
The file ``parts.json`` beside the parts identifies the model; codes of two models never get into one folder. Parts are
in this room, not with the rows, because they are the Parquet files of codes that this room writes and reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from thpi._files import atomic_write, sha256_of
from thpi._types import PathLike
from thpi.export._files import read_parquet, write_parquet
from thpi.export._table import CodeTable
from thpi.identity import check_same_model

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
    renumber: bool = False,
) -> PartsReport:
    """Write the codes of each Parquet file of the folder ``rows`` to a file of the same name in ``output``.

    Parameters
    ----------
    hasher : a fitted hasher, or the encoder of one
    rows : folder of Parquet files (or one file)
    output : folder, created if necessary; parts of an earlier run are kept if their rows have not changed since
    columns : columns of features; default: all but ``ids``
    ids : column of ids; by default rows are numbered across all parts, in the order of the file names
    client : ``distributed.Client`` whose workers read and write the parts; they must see both folders
    progress : called with the number of finished parts and of all parts
    renumber : give rows of earlier parts new numbers, if files before them were added or have changed their length;
        by default that is an error, because the old numbers may be in use elsewhere
    """
    from thpi.rows import Parquet

    files, folder = Parquet(rows).files, Path(output)
    folder.mkdir(exist_ok=True)
    features = list(columns) if columns else None
    _check_manifest(folder, {"model": hasher.fingerprint_, "columns": features, "ids": ids, "side": hasher.side})
    sizes = [int(_opened(file).metadata.num_rows) for file in files]
    starts = [0] * len(files) if ids is not None else np.cumsum([0, *sizes[:-1]]).tolist()
    _check_parts(folder, dict(zip((file.name for file in files), starts, strict=True)), renumber)
    todo = [
        (str(file.resolve()), str((folder / file.name).resolve()), start)
        for file, start in zip(files, starts, strict=True)
    ]
    kept = 0
    if progress is not None:
        progress(0, len(files))
    encode = partial(_encode_part, columns=features, ids=ids)
    for done, was_there in enumerate(_run(client, hasher._travelling(), todo, encode), start=1):
        kept += was_there
        if progress is not None:
            progress(done, len(files))
    return PartsReport(len(files), kept, sum(sizes))


def _run(
    client: Client | None, hasher: Coding, todo: list[tuple[str, str, int]], encode: Callable[..., bool]
) -> Iterator[bool]:
    if client is None:
        yield from (encode(hasher, *part) for part in todo)
        return
    from thpi.rows import cluster_errors, cluster_results

    ready = 0
    with cluster_errors(lambda: f"{ready} or more of the {len(todo)} parts are written and are kept"):
        # The model is the result of a task: other than data that was sent to workers, it is not lost with them.
        model = client.submit(_same, hasher, pure=False)
        for was_there in cluster_results(client, [client.submit(encode, model, *part, pure=False) for part in todo]):
            ready += 1
            yield was_there


def _same(hasher: Coding) -> Coding:
    return hasher


def _encode_part(
    hasher: Coding, source: str, target: str, start: int, *, columns: list[str] | None, ids: str | None
) -> bool:
    """Write one part, unless it is there already; return whether it was."""
    from thpi.rows import Parquet, record_values

    with open(source, "rb") as reading:  # opened once: the codes are of the rows that the digest is of
        stamp: dict[str, int | str] = {"rows_sha256": sha256_of(reading), "first_row": start}
        about = _about(Path(target)) if Path(target).exists() else {}
        if about.get("model") == hasher.fingerprint_ and stamp.items() <= about.items():
            return True
        file = Parquet(source).open(Path(source), reading)
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
    write_parquet(target, packed, hasher.n_bits, chosen, hasher.fingerprint_, stamp)
    return False


def _opened(file: Path) -> Any:
    from thpi.rows import Parquet

    return Parquet(file).open(file)


def _about(part: Path) -> dict[str, Any]:
    """Return what a part says about itself; nothing if it is not one."""
    try:
        about = json.loads((_opened(part).schema_arrow.metadata or {})[b"thpi"])
    except (KeyError, ValueError):
        return {}
    return about if isinstance(about, dict) else {}


def _check_parts(folder: Path, starts: dict[str, int], renumber: bool) -> None:
    """Refuse parts without rows, and new numbers for rows of the others, before anything is written."""
    for part in sorted(folder.glob("*.parquet")):
        if part.name not in starts:
            raise ValueError(f"{str(part)!r} has codes of rows that are gone; delete it, or name another folder.")
        first = _about(part).get("first_row")
        if first not in (None, starts[part.name]) and not renumber:
            raise ValueError(
                f"the rows of {part.name!r} are numbered from {first} in {str(folder)!r}, and would now be from "
                f"{starts[part.name]}: a file before it is new, or longer or shorter than it was. Name a column of ids "
                "(--id), or another folder, or number them anew with --force (in Python renumber=True)."
            )


def _manifest(folder: Path) -> dict[str, Any] | None:
    path = folder / "parts.json"
    try:
        about = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ValueError(f"{str(path)!r} is not readable ({error}).") from None
    if not isinstance(about, dict):
        raise ValueError(f"{str(path)!r} is not readable (no JSON object).")
    return about


def _check_manifest(output: Path, about: dict[str, str | list[str] | None]) -> None:
    before = _manifest(output)
    if before is not None:
        check_same_model((f"the folder of codes {str(output)!r}", before.get("model")), ("MODEL", str(about["model"])))
        for name, value in about.items():
            if before.get(name, "target" if name == "side" else None) != value:
                what = {"columns": "other columns", "ids": "another column of ids", "side": "the other side"}[name]
                raise ValueError(f"{str(output)!r} holds codes of {what}; name another folder.")
    elif next(output.glob("*.parquet"), None) is not None:
        raise ValueError(f"{str(output)!r} holds Parquet files that are not parts of codes; name another folder.")
    else:
        atomic_write(output / "parts.json", json.dumps(about, indent=1))


def read_parts(folder: PathLike) -> CodeTable:
    """Read all parts of a folder of :func:`encode_parts` as one table."""
    from thpi.rows import Parquet

    tables = [read_parquet(file) for file in Parquet(folder).files]
    codes, ids, widths, models = zip(*tables, strict=True)
    if len(set(widths)) > 1:
        raise ValueError(f"{str(folder)!r} holds codes of {sorted(set(widths))} bits; all parts must have the same.")
    for model in models:
        check_same_model((f"the first part of {str(folder)!r}", models[0]), ("another part", model))
    keys, about = np.concatenate(ids), _manifest(Path(folder))
    if about is not None and about.get("ids") is None and not np.array_equal(keys, np.arange(len(keys))):
        raise ValueError(f"the rows in {str(folder)!r} are not numbered 0, 1, 2, ...: thpi encode has not finished it.")
    return CodeTable.checked(np.concatenate(codes), keys, widths[0], models[0])
