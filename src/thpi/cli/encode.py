"""``thpi encode``: codes of the rows of a file, read in portions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from thpi.cli._cluster import cluster
from thpi.cli._options import Force, Json, ModelFile, Scheduler
from thpi.cli._output import Facts, show, shown_parts, shown_progress

if TYPE_CHECKING:
    from thpi._types import Codes
    from thpi.base import BaseHasher
    from thpi.cli._columns import Value


def encode(
    model: ModelFile,
    data: Annotated[str, typer.Argument(metavar="DATA", help="Target rows: npy, npz, csv, tsv, parquet, or a folder.")],
    output: Annotated[
        Path,
        typer.Argument(
            metavar="CODES", help="Output; the suffix sets the format (thpi export --formats). A folder if DATA is one."
        ),
    ],
    ids: Annotated[
        Optional[str],
        typer.Option(
            "--ids",
            metavar="COLUMN|FILE",
            help="Ids of the rows: a column of DATA, or a file with one id per row. Default: 0, 1, 2, ...",
        ),
    ] = None,
    scheduler: Scheduler = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write the binary codes of the rows of a file.

    DATA is read in portions, so it may be larger than memory. CODES appears when
    it is complete: if you interrupt the command, there is no file.

    If the model was fitted on named columns, they are found by name in a csv or
    parquet file, and other columns are ignored.

    If DATA is a folder of parquet files, CODES is a folder too, with one file of
    codes for each of them. An interrupted run continues where it stopped. With
    --scheduler the workers of a Dask cluster read and write the files.

    \b
    Examples:
      thpi encode shop.thpi shop.csv codes.npy --ids sku
      thpi encode shop.thpi pictures.npy codes.parquet --ids names.txt
      thpi encode shop.thpi pictures.npz:target codes.faiss --force
      thpi encode big.thpi vectors/ codes/ --scheduler tcp://head:8786
    """
    from thpi.cli._codes import check_codes_output, code_format, write_codes
    from thpi.cli._columns import as_ids, is_column, read_column
    from thpi.cli._models import load_model
    from thpi.index._ids import check_ids, check_unique

    if Path(data).is_dir():
        _encode_parts(model, Path(data), output, ids, scheduler, as_json)
        return
    if scheduler is not None:
        raise ValueError(f"DATA={data!r} must be a folder of parquet files with --scheduler.")
    kind = code_format("CODES", output)
    check_codes_output("CODES", output, kind, force=force, inputs=(model, data))
    start = time.perf_counter()
    hasher, features = load_model("MODEL", model)
    # A file of ids is read first, so that errors in it show early.
    known = None if ids is None or is_column(data, ids) else as_ids(read_column("--ids", ids))
    codes, keys = _encode(hasher, data, features, ids if known is None else None)
    chosen = known if keys is None else as_ids(keys)
    if chosen is not None:
        if len(chosen) != len(codes):
            raise ValueError(f"--ids {ids!r} has {len(chosen)} ids; DATA has {len(codes)} rows.")
        check_unique(check_ids(chosen))
    write_codes(kind, output, codes, hasher.n_bits, chosen)
    facts = {"codes": str(output), "format": kind.name, "rows": len(codes), "bits": hasher.n_bits}
    _show(as_json, facts | {"bytes_per_code": codes.shape[1]}, start)


def _show(as_json: bool, facts: Facts, start: float) -> None:
    seconds = time.perf_counter() - start
    show(as_json, facts | ({"seconds": round(seconds, 3)} if as_json else {"encoded_in": f"{seconds:.2f} s"}))


def _encode_parts(model: Path, data: Path, output: Path, ids: str | None, scheduler: str | None, as_json: bool) -> None:
    from thpi.cli._models import load_model
    from thpi.stores import encode_parts

    if output.exists() and not output.is_dir():
        raise ValueError(f"CODES={str(output)!r} is a file; it must be a folder if DATA is one.")
    if not output.parent.is_dir():
        raise ValueError(f"CODES={str(output)!r}: the folder {str(output.parent)!r} does not exist.")
    if output.exists() and output.samefile(data):
        raise ValueError(f"CODES={str(output)!r} is also an input of this command; name another folder.")
    hasher, features = load_model("MODEL", model)
    start = time.perf_counter()
    with cluster(scheduler) as client, shown_parts("encoding") as progress:
        report = encode_parts(hasher, data, output, columns=features, ids=ids, client=client, progress=progress)
    facts = {"codes": str(output), "format": "parts", "parts": report.parts, "kept": report.kept, "rows": report.rows}
    _show(as_json, facts | {"bits": hasher.n_bits}, start)


def _encode(
    hasher: BaseHasher, data: str, features: tuple[str, ...] | None, key: str | None
) -> tuple[Codes, list[Value] | None]:
    import numpy as np

    from thpi.cli._models import check_width
    from thpi.cli._tables import open_table

    table = open_table("DATA", data, key=key, features=features)
    codes: list[Codes] = []
    keys: list[Value] = []
    for batch in shown_progress("encoding", table.batches):
        check_width("DATA", data, batch.values, hasher)
        codes.append(hasher.transform(batch.values))
        keys += batch.keys or []
    if not codes:
        raise ValueError(f"DATA={data!r} has no rows.")
    return np.concatenate(codes), keys if key is not None else None
