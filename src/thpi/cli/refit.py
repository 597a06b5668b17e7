"""``thpi refit``: learn anew from old and new rows, and replace the model and all codes of a collection."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from thpi.cli._collections import check_width, ids_like
from thpi.cli._options import TABLES, CollectionFile, Id, Ignore, Json
from thpi.cli._output import Facts, progress_bar, show

if TYPE_CHECKING:
    from thpi.base import BaseHasher
    from thpi.collection import Collection
    from thpi.refit import Refit
    from thpi.tables import Choice, TableRows

_DATA = typer.Argument(metavar="DATA", help=f"Old rows, then new ones: {TABLES}.")
_PRIVILEGED = typer.Option(metavar="FILE", help="Source rows of DATA, by id or in their order; may be repeated.")
_LABELS = typer.Option(metavar="COLUMN|FILE", help="Classes: a column of each DATA, or a file.")
_FORCE = typer.Option("--force", help="Replace model and codes. Without it, only measure.")


def refit(
    collection: CollectionFile,
    data: Annotated[Optional[list[str]], _DATA] = None,
    privileged: Annotated[Optional[list[str]], _PRIVILEGED] = None,
    labels: Annotated[Optional[str], _LABELS] = None,
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
        raise ValueError(
            "DATA: name the old rows and the new ones; a collection does not keep the rows it learned from."
        )
    import thpi
    from thpi.refit import refit_collection
    from thpi.tables import Choice

    with thpi.open(collection) as shop:
        old = shop.estimator()
        names = vars(old).get("feature_names_in_")
        features = None if names is None else [str(name) for name in names]
        with progress_bar("reading"):
            rows = _read(
                shop, old, data, privileged, labels, Choice("DATA", "", id, ignore=ignore or (), features=features)
            )
        with progress_bar(f"fitting {old.method_name} twice"):
            tables = {f"data {number}": Path(spec).name for number, spec in enumerate(data, 1)}
            found = refit_collection(shop, **rows, write=force, about={"tables": tables})
        n = sum(rows[name].shape[0] for name in ("X", "target") if rows.get(name) is not None)
        facts: Facts = {"collection": str(collection), "items": len(shop), "method": old.method_name, "rows": n}
    _report(as_json, facts, found, force)


def _read(
    shop: Collection,
    old: BaseHasher,
    data: list[str],
    privileged: list[str] | None,
    labels: str | None,
    choice: Choice,
) -> dict[str, Any]:
    """Read all tables, the columns as ``choice`` says; return what ``refit_collection`` takes."""
    from thpi.pairing import Items, pair
    from thpi.tables import check_ignored, check_positions, column_of, label_texts, labels_of, read_matrix

    if old.needs_privileged and not privileged:
        raise ValueError(f"--privileged: {old.method_name} learns from pairs; name the source rows of DATA.")
    parts = [read_matrix(choice._replace(spec=spec, labels=column_of(spec, labels))) for spec in data]
    for spec, part in zip(data, parts, strict=True):
        check_width("DATA", spec, part.X, old)
    T, n_old = _stacked("DATA", parts), parts[0].X.shape[0] if len(parts) > 1 else 0
    values = labels_of(T, "DATA", labels, "--labels", choice.id)
    names = range(T.X.shape[0]) if T.ids is None else T.ids
    y = None if values is None else label_texts(f"--labels {labels!r}", values, names)
    ids = None if T.ids is None else ids_like(shop, T.ids)
    if not privileged:
        check_ignored(choice.ignore or (), parts)
        return {"X": T.X, "y": y, "ids": ids, "n_old": n_old}
    source = choice._replace(argument="--privileged", features=None, labels=None, needs_id=False)
    read = [read_matrix(source._replace(spec=spec)) for spec in privileged]
    check_ignored(choice.ignore or (), [*parts, *read])
    S = _stacked("--privileged", read)
    if ids is None or S.ids is None:
        check_positions("DATA", T, "--privileged", S)
        return {"X": T.X, "y": y, "ids": ids, "privileged": S.X, "n_old": n_old}
    rows, source_rows = Items(T.X, list(ids), name="DATA"), Items(S.X, S.ids, name="--privileged")
    joined = pair(rows, source_rows, labels=None if y is None else y.tolist())
    paired = set(joined.ids.tolist())
    n_old = sum(item in paired for item in list(ids)[:n_old])
    found = {"X": joined.X, "y": joined.y, "ids": joined.ids, "target_ids": joined.target_ids, "n_old": n_old}
    return found | joined.views


def _stacked(argument: str, parts: list[TableRows]) -> TableRows:
    """Put the rows of several tables below each other; all have ids, or none has."""
    from thpi.pairing import stack

    named = [part.ids for part in parts if part.ids is not None]
    if named and len(named) < len(parts):
        raise ValueError(f"{argument}: some files have ids and others have none; all need them, or none.")
    ids = [value for each in named for value in each] if named else None
    labels = [value for part in parts for value in part.labels or ()] or None
    return parts[0]._replace(X=reduce(stack, (part.X for part in parts)), ids=ids, labels=labels)


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
