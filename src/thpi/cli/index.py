"""``thpi index``: build, change and describe index files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from thpi.cli._files import open_index, read_codes, show_index
from thpi.cli._options import AnyModel, CodeBits, Force, IndexFile, Json
from thpi.cli._output import check_output, check_writable, progress_bar, show, uninterrupted

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Build, change and describe an index of codes.")

_RECALL = typer.Option(help="Allow approximate search with this recall, e.g. 0.99.")
_RENUMBER = typer.Option("--renumber", help="Continue numbering from the largest id, instead of their own ids.")
_FROM = typer.Option("--from", metavar="FILE", help="File of ids: one per line, or FILE:COLUMN; default: id.")
CodesFile = Annotated[Path, typer.Argument(metavar="CODES", help="Codes, from thpi encode.")]


@app.command()
def build(
    codes: CodesFile,
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="Index file to write, for instance shop.index.")],
    recall: Annotated[Optional[float], _RECALL] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="With --recall: number of neighbours it is tuned for.")] = 10,
    bits: CodeBits = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write an index of the codes of a file.

    Search is exact. With --recall the approximate kinds of faiss are measured on
    these codes, and the fastest one that reaches the recall is used; if none is
    faster, search stays exact. The table shows the measurements.

    \b
    Examples:
      thpi index build codes.npy shop.index
      thpi index build codes.npy shop.index --recall 0.99 -k 100
    """
    from thpi.index import HammingIndex

    check_output("INDEX", index, force=force, inputs=(codes,))
    table = read_codes("CODES", codes, bits)
    check_writable("INDEX", index, index.parent, table.codes.nbytes)
    built = HammingIndex(table.n_bits, recall, model=table.model)
    built.add(table.codes, table.ids)
    if recall is not None and recall < 1 and len(built):
        with progress_bar(f"trying kinds of search on {len(built):,} codes"):
            built.tune(k)
    with uninterrupted():
        built.save(index)
    show_index(as_json, index, built)


@app.command()
def add(
    index: IndexFile,
    codes: CodesFile,
    renumber: Annotated[bool, _RENUMBER] = False,
    any_model: AnyModel = False,
    bits: CodeBits = None,
    as_json: Json = False,
) -> None:
    """Add the codes of a file to an index: all of them or, if an id exists already, none.

    They must be codes of the model that made those of the index. The codes are on
    disk when the command returns. Only one command at a time can change an index;
    searches continue.

    \b
    Examples:
      thpi index add shop.index new-codes.npy
      thpi index add shop.index new-codes.npy --renumber
    """
    from thpi.identity import check_same_model

    table = read_codes("CODES", codes, bits)
    with open_index(index, "a") as opened:
        if table.n_bits != opened.n_bits:
            raise ValueError(f"CODES={str(codes)!r} has codes of {table.n_bits} bits, INDEX of {opened.n_bits}.")
        made_by = (f"INDEX={str(index)!r}", opened.model), (f"CODES={str(codes)!r}", table.model)
        check_same_model(*made_by, any_model=any_model)
        try:
            with uninterrupted():
                opened.add(table.codes, None if renumber else table.ids)
        except ValueError as error:
            hint = " (or --renumber)" if "already" in str(error) else ""
            raise ValueError(f"INDEX={str(index)!r}: {str(error).rstrip('.')}{hint}.") from None
        show(as_json, {"index": str(index), "added": len(table.codes), "codes": len(opened), "version": opened.version})


@app.command()
def remove(
    index: IndexFile,
    ids: Annotated[Optional[list[str]], typer.Argument(metavar="ID", help="Ids to remove.")] = None,
    ids_file: Annotated[Optional[str], _FROM] = None,
    compact: Annotated[bool, typer.Option("--compact", help="Rewrite the file without the removed codes.")] = False,
    as_json: Json = False,
) -> None:
    """Remove ids from an index: all of them or, if one is missing, none.

    \b
    Examples:
      thpi index remove shop.index 17 42
      thpi index remove shop.index --from sold.csv:sku --compact
    """
    from thpi.cli._columns import as_ids, read_column

    wanted = [*(ids or []), *([] if ids_file is None else read_column("--from", ids_file))]
    if not wanted:
        raise ValueError("ID: name at least one id, or a file of them with --from.")
    with open_index(index, "a") as opened:
        chosen = [str(value) for value in wanted] if opened.id_kind == "string" else as_ids(wanted)
        try:
            with uninterrupted():
                opened.remove(chosen)
                if compact:
                    opened.save()
        except (KeyError, ValueError) as error:
            raise ValueError(f"INDEX={str(index)!r}: {error.args[0]}") from None
        show(as_json, {"index": str(index), "removed": len(wanted), "codes": len(opened), "version": opened.version})


@app.command()
def info(index: IndexFile, as_json: Json = False) -> None:
    """Describe an index.

    \b
    Example:
      thpi index info shop.index
    """
    show_index(as_json, index, open_index(index))
