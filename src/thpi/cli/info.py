"""``thpi info``: what a collection holds, and where it came from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from thpi.cli._collections import coder_of, collection_facts
from thpi.cli._shared import TABLES, CollectionFile, Id, Ignore, Json, progress_bar, show

if TYPE_CHECKING:
    from thpi.collection import Collection

_DRIFT = typer.Option("--drift", metavar="DATA", help=f"New rows to compare with those learned from: {TABLES}.")


def info(
    collection: CollectionFile,
    new_rows: Annotated[Optional[str], _DRIFT] = None,
    id: Id = None,
    ignore: Ignore = None,
    as_json: Json = False,
) -> None:
    """Describe a collection, and check all of it.

    The whole file is read and every digest compared, so this also shows whether
    it is intact. With --json the evidence is complete: all that was tried.

    With --drift, new rows are compared with those that the model learned from:
    the share of ones of each bit, and the mean of its projection. Drift is
    reported when a bit changes significantly (1 % level, corrected for all bits)
    and by at least 0.1 standard deviations or 5 percentage points. Then thpi
    refit may help.

    \b
    Examples:
      thpi info shop.thpi
      thpi info shop.thpi --json
      thpi info shop.thpi --drift new.csv --id sku
    """
    from thpi.collection import open

    with open(collection) as shop:
        if new_rows is not None:
            _drift(collection, shop, new_rows, id, ignore, as_json)
            return
        with progress_bar("checking"):
            shop.check()
        coder, names = coder_of(shop)
        facts = collection_facts(collection, shop, as_json)
        columns: Any = names
        if names is not None and not as_json:
            columns = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        facts |= {"features": coder.n_features_in_, "columns": columns, "made_by": f"thpi {shop.about.get('thpi')}"}
        show(as_json, facts | {"file_bytes": shop.path.stat().st_size, "intact": True})


def _drift(
    path: Path, shop: Collection, new_rows: str, id: str | None, ignore: list[str] | None, as_json: bool
) -> None:
    from thpi.drift import drift
    from thpi.tables import Choice, check_width, read_matrix

    coder, names = coder_of(shop)
    X = read_matrix(Choice("--drift", new_rows, id, ignore=ignore or (), features=names)).X
    check_width("--drift", new_rows, X, coder.n_features_in_)
    found = drift(coder, X)
    facts = {"collection": str(path), "new_rows": found.n_rows, "measured_rows": found.n_trained}
    facts |= {"drifted": found.drifted}
    bits = {"share_change": found.share_change, "shift": found.shift, "spread": found.spread}
    show(as_json, facts | ({"p_value": found.p_value, **bits} if as_json else {"answer": str(found)}))
