"""``thpi export``: write a collection to a file, a database, or its hash function to ONNX."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from thpi._optional import require_extra
from thpi._signals import uninterrupted
from thpi.cli._shared import CollectionFile, Json, check_output, progress_bar, show

if TYPE_CHECKING:
    from thpi.export import Destination

_TARGET = typer.Argument(metavar="TARGET", help="File to write, or address of a store; its form decides, see above.")
_SIDE = "Export the hash function of target rows or source rows (source: two-sided models only)."
_FORCE = "Replace a file; remove from a table what the collection has not."


def export(
    collection: CollectionFile,
    target: Annotated[str, _TARGET],
    table: Annotated[Optional[str], typer.Option(help="Table of the store. Default: codes.")] = None,
    texts: Annotated[bool, typer.Option("--texts", help="Write the texts of the items, too.")] = False,
    side: Annotated[Optional[str], typer.Option(metavar="target|source", help=_SIDE)] = None,
    force: Annotated[bool, typer.Option("--force", help=_FORCE)] = False,
    as_json: Json = False,
) -> None:
    """Write a collection to a file or a database for other programs. The form of TARGET decides:

    \b
      codes.npy  codes.parquet  shop.faiss    ids and codes in a file
      model.onnx                              the hash function, for other languages
      postgresql://...                        a table of PostgreSQL with pgvector
      shop.sqlite                             a table for sqlite-vec
      http://...  shop.db                     a Milvus collection, on a server or in a file
      shop.lancedb  s3://...                  a Lance table, in a folder or an object store

    A file appears when it is complete. A table mirrors the collection: export
    again, and items that are missing there are added. Items that the collection
    has not, and codes of another model, are only removed with --force; a table
    that thpi did not make is left alone.

    Keep passwords out of the command: PostgreSQL reads ~/.pgpass and PGPASSWORD,
    and Milvus takes its token from THPI_STORE_TOKEN.

    \b
    Examples:
      thpi export shop.thpi codes.parquet --texts
      thpi export shop.thpi postgresql://shop@localhost/shop
      thpi export shop.thpi model.onnx
    """
    from thpi.collection import open
    from thpi.export import destination_of, write

    kind = destination_of(target)
    given = {"table": table, "texts": texts or None, "side": side}
    options = {name: value for name, value in given.items() if value is not None}
    with open(collection) as shop:
        if kind.is_file:
            check_output("TARGET", Path(target), force=force, inputs=(collection,), extra=kind.extra)
        elif kind.extra is not None:
            require_extra(kind.extra)
        # What is not whole must be finished once it has begun: Ctrl-C waits for it.
        whole = nullcontext() if kind.whole and not kind.is_file else uninterrupted()
        with _engine_errors(kind), progress_bar(f"exporting {len(shop):,} items"), whole:
            facts = write(shop, target, force=force, **options)
    show(as_json, {"target": _without_password(target), "format": kind.name, **facts})


@contextmanager
def _engine_errors(kind: Destination) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in kind.error_packages:
            raise
        raise ValueError(f"{kind.name} says: {' '.join(str(error).split())}.") from None


def _without_password(target: str) -> str:
    """Leave the password out of what is printed.

    >>> _without_password("postgresql://shop:secret@localhost/shop")
    'postgresql://shop@localhost/shop'
    """
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1@", target)
