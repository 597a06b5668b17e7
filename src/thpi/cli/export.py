"""``thpi export``: write codes, an index or a hash function to a file or a store that other programs use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from thpi._optional import require_extra
from thpi.cli._files import file_kind, load_side, read_codes
from thpi.cli._options import AnyModel, CodeBits, Force, Json, Side, names_of
from thpi.cli._output import check_output, print_table, progress_bar, show, uninterrupted

if TYPE_CHECKING:
    from thpi.export import FileFormat, StoreInfo


def _print_formats(wanted: bool) -> None:
    if not wanted:
        return
    from thpi.export import FORMATS, STORES, FileFormat

    rows = []
    kinds: list[FileFormat | StoreInfo] = [*FORMATS.values(), *STORES.values()]
    for kind in kinds:
        prefixes, suffixes = ((), (kind.suffix,)) if isinstance(kind, FileFormat) else (kind.prefixes, kind.suffixes)
        where = ", ".join([f"{prefix}..." for prefix in prefixes] + [f"*{end}" for end in suffixes])
        needs = "-" if kind.extra is None else f'pip install "thpi\\[{kind.extra}]"'
        rows.append((kind.name, where, kind.description, needs))
    rows.append(("onnx", "*.onnx", "the hash function of a model, for other languages", 'pip install "thpi\\[onnx]"'))
    print_table(("format", "TARGET", "writes", "needs"), rows)
    raise typer.Exit


_TARGET = typer.Argument(metavar="TARGET", help="File to write, or address of a store; see --formats.")
_FORMAT = typer.Option(
    "--format",
    autocompletion=names_of("thpi.export", "FORMATS", "STORES"),
    help="Format or store, if TARGET does not show it.",
)
_FORMATS = typer.Option("--formats", is_eager=True, callback=_print_formats, help="List formats and stores.")


def export(
    codes: Annotated[Path, typer.Argument(metavar="FILE", help="Codes from thpi encode, an index, or a model.")],
    target: Annotated[str, _TARGET],
    table: Annotated[str, typer.Option(help="Table or collection of the store.")] = "codes",
    kind: Annotated[Optional[str], _FORMAT] = None,
    append: Annotated[bool, typer.Option("--append", help="Add to a table that already holds codes.")] = False,
    token: Annotated[str, typer.Option(envvar="THPI_STORE_TOKEN", help="Token of a Milvus server.")] = "",
    side: Side = "target",
    any_model: AnyModel = False,
    bits: CodeBits = None,
    force: Force = False,
    as_json: Json = False,
    formats: Annotated[bool, _FORMATS] = False,
) -> None:
    """Write codes or an index to a file of another format or to a database; a model to ONNX.

    Bytes, width, bit order, ids and the fingerprint of the model stay the same. A
    file appears when it is complete. PostgreSQL, SQLite and LanceDB receive all
    codes in one transaction; Milvus has none, so an interrupt waits until all
    codes are sent. A table or collection that holds codes is left alone
    unless --append is given, and nothing is ever deleted from it. Keep passwords
    out of the command: PostgreSQL reads ~/.pgpass and PGPASSWORD.

    A model is written as ONNX: its hash function, from rows of float32 to packed
    codes, for phones and other languages. If onnxruntime is installed, its codes
    of 1,000 random rows are compared with those of the model before. Each side of
    a two-sided model is a file of its own (--side).

    \b
    Examples:
      thpi export shop.index shop.parquet
      thpi export codes.npy shop.faiss
      thpi export shop.index postgresql://shop@localhost/shop --table codes
      thpi export shop.index milvus.db --table codes
      thpi export shop.index shop.sqlite --table codes
      thpi export shop.index http://localhost:19530 --table codes
      thpi export shop.thpi shop.onnx
      thpi export --formats
    """
    if Path(target).suffix.lower() == ".onnx" or kind == "onnx":
        _to_onnx(codes, side, Path(target), force, as_json)
        return
    if side != "target":
        raise ValueError("--side is for models, which are written to *.onnx; codes are those of one side already.")
    from thpi.export import FileFormat

    chosen = _format(target, kind)
    if isinstance(chosen, FileFormat):
        _to_file(codes, Path(target), chosen, bits, force, as_json)
    elif force:
        raise ValueError(f"--force replaces files; a table is never emptied. Drop {table!r} yourself, or use --append.")
    else:
        _to_store(codes, target, chosen, bits, as_json, append, table=table, token=token, any_model=any_model)


def _to_file(codes: Path, target: Path, chosen: FileFormat, bits: int | None, force: bool, as_json: bool) -> None:
    size = codes.stat().st_size if codes.is_file() else 0
    check_output("TARGET", target, force=force, inputs=(codes,), extra=chosen.extra, n_bytes=size // 4)
    read = read_codes("FILE", codes, bits)
    with uninterrupted():
        chosen.write(target, read.codes, read.n_bits, read.ids, read.model)
    facts = {"target": str(target), "format": chosen.name, "codes": len(read.codes), "bits": read.n_bits}
    show(as_json, facts)


def _to_store(
    codes: Path,
    target: str,
    chosen: StoreInfo,
    bits: int | None,
    as_json: bool,
    append: bool,
    *,
    table: str,
    token: str,
    any_model: bool,
) -> None:
    from thpi.identity import check_same_model

    if chosen.extra is not None:
        require_extra(chosen.extra)
    read = read_codes("FILE", codes, bits)
    about = {"n_bits": read.n_bits, "token": token, "model": read.model, "any_model": any_model}
    with _engine_errors(chosen), closing(chosen.connect(target, table, **about)) as store:
        if len(store) and not append:
            raise ValueError(f"--table {table!r} holds {len(store)} codes already; --append adds to them.")
        made_by = (f"--table {table!r}", store.model), (f"CODES={str(codes)!r}", read.model)
        check_same_model(*made_by, any_model=any_model)
        # Without transactions an addition that has begun must be finished: Ctrl-C waits for it.
        whole = nullcontext() if chosen.transactions else uninterrupted()
        with progress_bar(f"sending {len(read.codes):,} codes"), whole:
            store.add(read.codes, read.ids)
        total = len(store)
    facts = {"target": _without_password(target), "format": chosen.name, "table": table, "codes": len(read.codes)}
    show(as_json, facts | {"bits": read.n_bits, "codes_there": total})


def _to_onnx(model: Path, side: str, target: Path, force: bool, as_json: bool) -> None:
    check_output("TARGET", target, force=force, inputs=(model,), extra="onnx")
    if (given := file_kind("FILE", model)) != "model":
        raise ValueError(f"FILE={str(model)!r} is of the kind {given!r}; ONNX is for the hash function of a model.")
    from thpi.onnx_file import write_onnx

    coder, _ = load_side("FILE", model, side)
    with uninterrupted():
        checked = write_onnx(coder, target)
    facts = {"target": str(target), "format": "onnx", "method": coder.method_name, "bits": coder.n_bits}
    if as_json:
        show(True, facts | {"checked": None if checked is None else checked._asdict()})
        return
    text = "no: onnxruntime is not installed"
    if checked is not None:
        differ = f"{checked.at_zero} of {checked.bits:,} bits at zero differ"
        same = differ if checked.at_zero else "all bits as thpi"
        text = f"{checked.rows:,} rows with onnxruntime, {same}"
    show(False, facts | {"checked": text})


def _format(target: str, name: str | None) -> FileFormat | StoreInfo:
    from thpi.export import FORMATS, STORES

    known: dict[str, FileFormat | StoreInfo] = {**FORMATS, **STORES}
    if name is not None:
        if name not in known:
            raise ValueError(f"--format {name!r} must be one of {', '.join(known)} or onnx.")
        return known[name]
    for file in FORMATS.values():
        if Path(target).suffix.lower() == file.suffix:
            return file
    for store in STORES.values():
        if store.accepts(target):
            return store
    ends = [file.suffix for file in FORMATS.values()] + [end for store in STORES.values() for end in store.suffixes]
    starts = [prefix for store in STORES.values() for prefix in store.prefixes]
    raise ValueError(
        f"TARGET={_without_password(target)!r} must end in {', '.join(ends[:-1])} or {ends[-1]}, or begin with "
        f"{', '.join(starts[:-1])} or {starts[-1]}; otherwise set --format."
    )


@contextmanager
def _engine_errors(store: StoreInfo) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in store.error_packages:
            raise
        from thpi.tables import one_line

        raise ValueError(f"{store.name} says: {one_line(error)}.") from None


def _without_password(target: str) -> str:
    """Leave the password out of what is printed.

    >>> _without_password("postgresql://shop:secret@localhost/shop")
    'postgresql://shop@localhost/shop'
    """
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1@", target)
