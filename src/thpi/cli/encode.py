"""``thpi encode``: codes of the rows of a file, read in portions."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from thpi._optional import require_extra
from thpi.cli._files import check_width, load_side
from thpi.cli._options import DataOrFolder, Force, Json, ModelFile, Scheduler, Side
from thpi.cli._output import Facts, check_output, check_writable, progress_bar, show, uninterrupted

if TYPE_CHECKING:
    from thpi._types import Codes
    from thpi.cli._columns import Value
    from thpi.cli._tables import Table
    from thpi.encoder import Coding

_CODES = typer.Argument(
    metavar="CODES", help="Output; the suffix sets the format (thpi export --formats). A folder if DATA is one."
)
_ID = typer.Option(
    "--id",
    "--ids",
    metavar="COLUMN|FILE",
    help="Ids: a column of DATA, or a file with one id per row. Default: the column called id, else 0, 1, 2, ...",
)


def encode(
    model: ModelFile,
    data: DataOrFolder,
    output: Annotated[Path, _CODES],
    id: Annotated[Optional[str], _ID] = None,
    side: Side = "target",
    scheduler: Scheduler = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write the binary codes of the rows of a file.

    DATA is read in portions, so it may be larger than memory. CODES appears when
    it is complete. If the model was fitted on named columns, they are found by
    name in a csv or parquet file, and other columns are ignored.

    If DATA is a folder of parquet files, CODES is a folder too, with one file
    of codes for each of them. A second run keeps the codes of files that have
    not changed and codes the others. Row numbers that would change are refused;
    --force changes them. With --scheduler the workers of a Dask cluster read
    and write.

    If the model is two-sided, --side source codes the source rows of items, in
    one space with target rows. Both kinds of items can be in one index.

    \b
    Examples:
      thpi encode shop.thpi texts.csv codes.npy --id sku --side source
      thpi encode shop.thpi shop.csv codes.npy --id sku
      thpi encode shop.thpi pictures.npy codes.parquet --id names.txt
      thpi encode big.thpi vectors/ codes/ --scheduler tcp://head:8786
    """
    start = time.perf_counter()
    if Path(data).is_dir():
        facts = _encode_folder(model, side, Path(data), output, id, scheduler, force)
    elif scheduler is not None:
        raise ValueError(f"DATA={data!r} must be a folder of parquet files with --scheduler.")
    else:
        facts = _encode_file(model, side, data, output, id, force)
    seconds = time.perf_counter() - start
    show(as_json, facts | ({"seconds": round(seconds, 3)} if as_json else {"encoded_in": f"{seconds:.2f} s"}))


def _encode_folder(
    model: Path, side: str, data: Path, output: Path, id: str | None, scheduler: str | None, force: bool
) -> Facts:
    from thpi.cli._choice import Choice
    from thpi.cli._views import cluster
    from thpi.export import encode_parts
    from thpi.rows import Parquet

    if output.exists() and not output.is_dir():
        raise ValueError(f"CODES={str(output)!r} is a file; it must be a folder if DATA is one.")
    if not output.parent.is_dir():
        raise ValueError(f"CODES={str(output)!r}: the folder {str(output.parent)!r} does not exist.")
    if output.exists() and output.samefile(data):
        raise ValueError(f"CODES={str(output)!r} is also an input of this command; name another folder.")
    require_extra("parquet" if scheduler is None else "dask")
    check_writable("CODES", output, output if output.exists() else output.parent)
    hasher, features = load_side("MODEL", model, side)
    columns = Choice("DATA", str(data), id, features=features).of(Parquet(data).names)
    bar = progress_bar("encoding", "MofNCompleteColumn", "TimeRemainingColumn")
    run = partial(encode_parts, hasher, data, output, columns=features, ids=columns.id, renumber=force)
    with cluster(scheduler) as client, bar as update:
        report = run(client=client, progress=lambda done, total: update(completed=done, total=total))
    facts = {"codes": str(output), "format": "parts", "parts": report.parts, "kept": report.kept, "rows": report.rows}
    return facts | {"bits": hasher.n_bits, "fingerprint": hasher.fingerprint_, "ids": _ids_text(columns.id)}


def _encode_file(model: Path, side: str, data: str, output: Path, id: str | None, force: bool) -> Facts:
    from thpi.cli._choice import Choice
    from thpi.cli._columns import as_ids, column_of, read_column
    from thpi.cli._tables import open_table
    from thpi.codes import n_bytes
    from thpi.export import FORMATS
    from thpi.pairing import id_names

    kinds = {kind.suffix: kind for kind in FORMATS.values()}
    if output.suffix.lower() not in kinds:
        raise ValueError(f"CODES={str(output)!r} must end in {', '.join(kinds)}: the suffix sets the format.")
    kind = kinds[output.suffix.lower()]
    check_output("CODES", output, force=force, inputs=(model, data), extra=kind.extra)
    hasher, features = load_side("MODEL", model, side)
    key = column_of(data, id)
    # A file of ids is read first, so that errors in it show early.
    named = None if id is None or key is not None else read_column("--id", id)
    table = open_table(Choice("DATA", data, key, features=features))
    if table.whole is not None:  # the number of rows is known
        check_writable("CODES", output, output.parent, table.whole.shape[0] * (8 + n_bytes(hasher.n_bits)))
    codes, found = _codes(hasher, data, table)
    if named is None and table.columns is not None and table.columns.id is not None:
        key, named = table.columns.id, found
    if named is not None:
        if len(named) != len(codes):
            raise ValueError(f"--id {id!r} has {len(named)} ids; DATA has {len(codes)} rows.")
        id_names(f"--id {id or key!r}", named)
    with uninterrupted():
        kind.write(output, codes, hasher.n_bits, None if named is None else as_ids(named), hasher.fingerprint_)
    facts = {"codes": str(output), "format": kind.name, "rows": len(codes), "bits": hasher.n_bits}
    facts |= {"fingerprint": hasher.fingerprint_, "bytes_per_code": codes.shape[1]}
    return facts | {"ids": _ids_text(key or id)}


def _ids_text(column: str | None) -> str:
    return "numbers of the rows" if column is None else column


def _codes(hasher: Coding, data: str, table: Table) -> tuple[Codes, list[Value]]:
    import numpy as np

    codes: list[Codes] = []
    keys: list[Value] = []
    rows = 0
    with progress_bar("encoding", "{task.fields[rows]:,} rows", "TimeRemainingColumn") as update:
        for batch in table.batches:
            check_width("DATA", data, batch.values, hasher)
            codes.append(hasher.transform(batch.values))
            keys += batch.ids or []
            rows += batch.values.shape[0]
            update(rows=rows, total=None if batch.done is None else 1.0, completed=batch.done or 0.0)
    if not codes:
        raise ValueError(f"DATA={data!r} has no rows.")
    return np.concatenate(codes), keys
