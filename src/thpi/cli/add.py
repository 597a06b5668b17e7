"""``thpi add``: code further items and add them to a collection."""

from __future__ import annotations

from typing import Annotated

import typer

from thpi._signals import uninterrupted
from thpi.cli import _shared as shared
from thpi.cli._collections import coder_of, ids_like, item_details
from thpi.cli._shared import progress_bar, show

_SIDE = "target or source: the rows of DATA are source rows (two-sided models only)."


def add(
    collection: shared.CollectionFile,
    data: shared.Data,
    id: shared.ItemId = None,
    ignore: shared.Ignore = None,
    text: shared.Text = None,
    pictures: shared.Pictures = None,
    side: Annotated[str, typer.Option(metavar="SIDE", help=_SIDE)] = "target",
    as_json: shared.Json = False,
) -> None:
    """Code the rows of a file with the model of a collection, and add them: all, or none.

    Nothing is learned. If the collection has column names, columns are found by
    name and others are ignored. An id that exists already is an error. Rows
    without ids are numbered on. DATA is read in portions. The items are on disk
    when the command returns; others may search and change the collection
    meanwhile.

    \b
    Examples:
      thpi add shop.thpi more.csv --id sku
      thpi add shop.thpi more.npy
      thpi add shop.thpi texts.csv --side source
    """
    import numpy as np

    from thpi.collection import open
    from thpi.tables import Choice, check_width, open_table

    with open(collection) as shop:
        coder, features = coder_of(shop, side)
        table = open_table(Choice("DATA", data, id, ignore=ignore or (), features=features, text=text))
        codes, names, texts = [], [], []
        with progress_bar("coding") as update:
            for batch in table.batches:
                check_width("DATA", data, batch.values, coder.n_features_in_)
                codes.append(coder.transform(batch.values))
                names += batch.ids or []
                texts += batch.texts or []
                update(description=f"{sum(map(len, codes)):,} rows coded", total=1.0, completed=batch.done or 0.0)
        if not codes:
            raise ValueError(f"DATA={data!r} has no rows.")
        ids = ids_like(shop, names) if names else None
        if ids is None and (texts or pictures is not None):
            raise ValueError("--text and --pictures need a column of ids (--id).")
        shown = {str(name): text for name, text in zip(names, texts, strict=False) if text is not None}
        details = item_details(names if ids is None else ids, shown, pictures)
        try:
            with uninterrupted():
                added = shop.add_codes(
                    np.concatenate(codes), ids, details=None if details is None else list(details.values())
                )
        except ValueError as error:
            raise ValueError(f"COLLECTION={str(collection)!r}: {error}") from None
        show(as_json, {"collection": str(collection), "added": len(added), "items": len(shop), "version": shop.version})
