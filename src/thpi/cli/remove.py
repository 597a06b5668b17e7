"""``thpi remove``: remove items from a collection."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from thpi._signals import uninterrupted
from thpi.cli._collections import ids_like
from thpi.cli._shared import CollectionFile, Json, show

_FROM = typer.Option("--from", metavar="FILE", help="File of ids: one per line, or FILE:COLUMN; default: id.")


def remove(
    collection: CollectionFile,
    ids: Annotated[Optional[list[str]], typer.Argument(metavar="ID", help="Ids to remove.")] = None,
    ids_file: Annotated[Optional[str], _FROM] = None,
    as_json: Json = False,
) -> None:
    """Remove items from a collection: all of them or, if one is missing, none.

    \b
    Examples:
      thpi remove shop.thpi A-17 A-18
      thpi remove shop.thpi --from sold.csv:sku
    """
    from thpi.collection import open
    from thpi.tables import read_column

    wanted = [*(ids or []), *([] if ids_file is None else read_column("--from", ids_file))]
    if not wanted:
        raise ValueError("ID: name at least one id, or a file of them with --from.")
    with open(collection) as shop:
        try:
            with uninterrupted():
                shop.remove(ids_like(shop, wanted))
        except (KeyError, ValueError) as error:
            raise ValueError(f"COLLECTION={str(collection)!r}: {error.args[0]}") from None
        facts = {"collection": str(collection), "removed": len(wanted), "items": len(shop), "version": shop.version}
        show(as_json, facts)
