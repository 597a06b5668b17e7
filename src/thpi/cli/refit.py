"""``thpi refit``: learn anew from old and new rows, and replace the model and all codes of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from thpi.cli._collections import item_ids
from thpi.cli._shared import TABLES, CollectionFile, Facts, Id, Ignore, Json, Labels, progress_bar, show

if TYPE_CHECKING:
    from thpi.refit import Refit

_DATA = typer.Argument(metavar="DATA", help=f"Old rows, then new ones: {TABLES}.")
_PRIVILEGED = typer.Option(metavar="FILE", help="Source rows of DATA, by id or in their order; may be repeated.")
_FORCE = typer.Option("--force", help="Replace model and codes. Without it, only measure.")


def refit(
    collection: CollectionFile,
    data: Annotated[Optional[list[str]], _DATA] = None,
    privileged: Annotated[Optional[list[str]], _PRIVILEGED] = None,
    labels: Labels = None,
    id: Id = None,
    ignore: Ignore = None,
    force: Annotated[bool, _FORCE] = False,
    as_json: Json = False,
) -> None:
    """Learn anew from old and new rows, with the method of a collection.

    It says how many bits of the codes change, and what search gains: some rows
    are held out as queries, and the model is compared with one that learned from
    the rest. They are rows after the first DATA, which neither model has seen, if
    there are 25 or more. Without --force nothing is written.

    With --force the new model and new codes of all items take the place of the
    old ones, all at once: DATA must have the rows of all items, under their ids.

    \b
    Examples:
      thpi refit shop.thpi shop.csv new.csv
      thpi refit shop.thpi shop.csv new.csv --privileged texts.csv --force
    """
    if not data:
        raise ValueError("DATA: name the old rows and the new ones; a collection does not keep those it learned from.")
    import thpi
    from thpi.refit import refit_collection
    from thpi.tables import Files, read_learning

    with thpi.open(collection) as shop:
        old = shop.estimator()
        if old.needs_privileged and not privileged:
            raise ValueError(f"--privileged: {old.method_name} learns from pairs; name the source rows of DATA.")
        names = vars(old).get("feature_names_in_")
        with progress_bar("reading"):
            fitted = old.n_features_in_, None if names is None else [str(name) for name in names]
            rows = read_learning(Files(data, privileged or None, labels=labels), id=id, ignore=ignore, fitted=fitted)
        ids, target_ids = item_ids(rows, shop)
        with progress_bar(f"fitting {old.method_name} twice"):
            found = refit_collection(
                shop, rows.X, rows.y, **rows.views, ids=ids, target_ids=target_ids,
                n_old=rows.n_first if len(data) > 1 else 0, write=force,
                about={"tables": {f"data {number}": Path(spec).name for number, spec in enumerate(data, 1)}},
            )  # fmt: skip
        facts: Facts = {"collection": str(collection), "items": len(shop), "method": old.method_name}
        facts["rows"] = sum(part.shape[0] for part in (rows.X, rows.views["target"]) if part is not None)
    _report(as_json, facts, found, force)


def _report(as_json: bool, facts: Facts, found: Refit, written: bool) -> None:
    gain = found.gain
    facts |= {"fingerprint": found.hasher.fingerprint_, "bits": found.hasher.n_bits, "written": written}
    if as_json:
        show(True, facts | {"bits_changed": found.bits_changed, "gain": gain._asdict()})
        return
    facts["bits_changed"] = f"{100 * found.bits_changed:.1f} %"
    facts["measured"] = f"{gain.n_queries:,} queries among {gain.n_database:,} rows; relevant: {gain.relevant}"
    for name, title in (("average_precision", "MAP"), ("recall@10", "recall@10")):
        old, new = 100 * gain.old[name], 100 * gain.new[name]
        facts[title] = f"{old:.1f} -> {new:.1f} ({new - old:+.1f} points)"
    show(False, facts)
    if not written:
        typer.echo("\n  nothing was written; --force replaces the model and all codes")
