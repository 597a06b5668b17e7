"""``thpi export``: codes or an index into a file or an engine that others use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from thpi.cli._options import CodeBits, Force, Json
from thpi.cli._output import show, spinner, uninterrupted

# typer reads annotations at run time, on Python 3.10 too: Optional as it knows it.
# ruff: noqa: UP045

_FORMATS = ("npy", "parquet", "faiss", "pgvector", "milvus")


def export(
    codes: Annotated[Path, typer.Argument(metavar="CODES|INDEX", help="Codes from thpi encode, or an index.")],
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="File (.npy, .parquet, .faiss), postgresql://..., a Milvus address (http://...) or file (.db).",
        ),
    ],
    table: Annotated[
        str, typer.Option("--table", help="Table (PostgreSQL) or collection (Milvus) that takes the codes.")
    ] = "codes",
    kind: Annotated[
        Optional[str],
        typer.Option(
            "--format",
            autocompletion=lambda: list(_FORMATS),
            help=f"One of {', '.join(_FORMATS)}; where TARGET does not tell.",
        ),
    ] = None,
    append: Annotated[
        bool, typer.Option("--append", help="Add to a table or collection that holds codes already.")
    ] = False,
    token: Annotated[str, typer.Option("--token", envvar="THPI_MILVUS_TOKEN", help="Token of a Milvus server.")] = "",
    bits: CodeBits = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write codes or an index to a file of another format, to PostgreSQL (pgvector) or to Milvus.

    Bytes, width, bit order and ids come out as they went in. A file appears when
    it is complete. Into PostgreSQL all codes go in one transaction; Milvus has no
    transactions, so there an interrupt waits until all are sent. A table or
    collection with codes in it is left alone unless --append is given, and
    nothing is ever deleted from it. Keep passwords out of the command: PostgreSQL
    reads ~/.pgpass and PGPASSWORD.

    \b
    Examples:
      thpi export shop.index shop.parquet
      thpi export codes.npy shop.faiss
      thpi export shop.index postgresql://shop@localhost/shop --table codes
      thpi export shop.index milvus.db --table codes
    """
    from thpi.cli._codes import check_codes_output, read_codes, write_codes

    chosen = _format(target, kind)
    if chosen in ("npy", "parquet", "faiss"):
        output = Path(target)
        check_codes_output("TARGET", output, chosen, force=force, inputs=(codes,))
        read = read_codes("CODES", codes, bits)
        write_codes(chosen, output, read.codes, read.n_bits, read.ids)
        show(as_json, {"target": target, "format": chosen, "codes": len(read.codes), "bits": read.n_bits})
        return
    if force:
        raise ValueError(f"--force replaces files; a table is never emptied. Drop {table!r} yourself, or use --append.")
    read = read_codes("CODES", codes, bits)
    with _engine_errors(chosen), _opened(chosen, target, table, read.n_bits, token) as store:
        if len(store) and not append:
            raise ValueError(f"--table {table!r} holds {len(store)} codes already; --append adds to them.")
        with spinner(f"sending {len(read.codes):,} codes"):
            _send(chosen, store, read)
        total = len(store)
    facts = {"target": _without_password(target), "format": chosen, "table": table, "codes": len(read.codes)}
    show(as_json, facts | {"bits": read.n_bits, "codes_there": total})


def _format(target: str, kind: str | None) -> str:
    from thpi.cli._codes import CODE_FILES

    if kind is not None and kind not in _FORMATS:
        raise ValueError(f"--format {kind!r} must be one of {', '.join(_FORMATS)}.")
    guessed = kind or CODE_FILES.get(Path(target).suffix.lower())
    if guessed is None and target.startswith(("postgresql://", "postgres://")):
        guessed = "pgvector"
    if guessed is None and (target.startswith(("http://", "https://")) or target.endswith(".db")):
        guessed = "milvus"
    if guessed is None:
        raise ValueError(
            f"TARGET={_without_password(target)!r} must end in {', '.join(CODE_FILES)} or .db, or begin with "
            "postgresql:// or http://; else --format says what it is."
        )
    return guessed


def _opened(kind: str, target: str, table: str, n_bits: int, token: str) -> Any:
    from thpi import stores

    if kind == "pgvector":
        return stores.PgVector(target, table, n_bits)
    return stores.Milvus(target, table, n_bits, token=token)


def _send(kind: str, store: Any, read: Any) -> None:
    if kind == "pgvector":
        store.add(read.codes, read.ids)  # one transaction
        return
    # Milvus has no transactions: once it has begun, the addition is finished, and Ctrl-C waits for that.
    with uninterrupted():
        store.add(read.codes, read.ids)


@contextmanager
def _engine_errors(kind: str) -> Iterator[None]:
    """Turn an engine's own error into one line; what else goes wrong stays as it is."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("psycopg", "psycopg_binary", "pymilvus", "grpc"):
            raise
        from thpi.cli._columns import one_line

        raise ValueError(f"{kind} says: {one_line(error)}.") from None


def _without_password(target: str) -> str:
    """Leave the password out of what is printed.

    >>> _without_password("postgresql://shop:secret@localhost/shop")
    'postgresql://shop@localhost/shop'
    """
    import re

    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1@", target)
