"""``thpi refit``: learn anew from old and new rows, and replace a model and its index together."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Optional

import typer

from thpi.cli._files import check_finished, check_width, open_index
from thpi.cli._options import TABLES, AnyModel, Id, Ignore, Json, ModelFile
from thpi.cli._output import Facts, progress_bar, show, uninterrupted

if TYPE_CHECKING:
    from thpi._types import Array, InMemory
    from thpi.base import BaseHasher
    from thpi.refit import Refit
    from thpi.tables import Choice

_DATA = typer.Option("--data", metavar="FILE", help=f"Old rows, then new ones: {TABLES}; repeat it for each file.")
_PRIVILEGED = typer.Option(
    metavar="FILE", help="Source rows of the rows of --data, by id or in their order; may be repeated."
)
_LABELS = typer.Option(metavar="COLUMN|FILE", help="Classes: a column of each --data, or a file with one per row.")
_INDEX = typer.Option(metavar="INDEX", help="Index of the model's codes, to be recoded with it.")
_FORCE = typer.Option("--force", help="Replace the model, and the index. Without it, only measure.")
_FINISH = typer.Option("--finish", help="Finish a replacement that was interrupted, and stop.")


class _Rows(NamedTuple):
    X: InMemory
    n_old: int  # those of the first file
    ids: Any
    views: dict[str, Any]


def refit(
    model: ModelFile,
    data: Annotated[Optional[list[str]], _DATA] = None,
    privileged: Annotated[Optional[list[str]], _PRIVILEGED] = None,
    labels: Annotated[Optional[str], _LABELS] = None,
    id: Id = None,
    index: Annotated[Optional[Path], _INDEX] = None,
    any_model: AnyModel = False,
    ignore: Ignore = None,
    force: Annotated[bool, _FORCE] = False,
    finish: Annotated[bool, _FINISH] = False,
    as_json: Json = False,
) -> None:
    """Learn anew from old and new rows, with the method and parameters of a model.

    It says how many bits of the codes change, and what search gains: some rows
    are held out as queries, and the model is compared with one that learned from
    the rest. They are rows after the first --data file, which neither model has
    seen, if there are 25 or more. Without --force nothing is written.

    With --force the new model takes the place of the old one. With --index the
    index is recoded too: --data must then have the rows of all its items, under
    their ids. The old pair stays until the new one is complete. If the command is
    killed between, the other commands refuse the model until --finish.

    \b
    Examples:
      thpi refit shop.thpi --data shop.csv --data new.csv --id sku
      thpi refit shop.thpi --data shop.csv --data new.csv --id sku \\
          --index shop.index --force
      thpi refit shop.thpi --finish
    """
    if finish:
        from thpi.refit import finish_refit

        with uninterrupted():
            finished = finish_refit(model)
        show(as_json, {"model": str(model), "finished": finished})
        return
    if not data:
        raise ValueError("--data: name the old rows and the new ones; a model does not keep the rows it learned from.")
    check_finished("MODEL", model)
    import thpi
    from thpi.identity import check_same_model
    from thpi.refit import recoded, refit, save_refit
    from thpi.tables import Choice

    old = thpi.load(model)
    names = old.__dict__.pop("feature_names_in_", None)  # tables are read by name; the rows are then plain arrays
    features = None if names is None else [str(name) for name in names]
    with progress_bar("reading"):
        tables = Choice("--data", "", id, ignore=ignore or (), features=features)
        rows = _read(old, data, privileged, labels, tables)
    opened = None if index is None else open_index(index, "a" if force else "r")
    try:
        if opened is not None:
            made_by = (f"--index {str(index)!r}", opened.model), (f"MODEL={str(model)!r}", old.fingerprint_)
            check_same_model(*made_by, any_model=any_model)
            _check_items(opened.ids, rows, index)
        with progress_bar(f"fitting {old.method_name} on {rows.X.shape[0]:,} rows, twice"):
            found = refit(old, rows.X, n_old=rows.n_old, **rows.views)
        if force:
            new = None if opened is None else recoded(opened, found.hasher, rows.X, rows.ids)
            if names is not None:
                found.hasher.feature_names_in_ = names
            with uninterrupted():
                save_refit(model, found.hasher, new, index)
    finally:
        if opened is not None:
            opened.close()
    _report(as_json, model, index, found, rows.X.shape[0], force)


def _read(old: BaseHasher, data: list[str], privileged: list[str] | None, labels: str | None, tables: Choice) -> _Rows:
    """Read all files, the columns as ``tables`` says."""
    from thpi.index._ids import check_ids
    from thpi.tables import as_ids, column_of, label_texts, read_column, read_matrix

    if old.needs_privileged and not privileged:
        raise ValueError(f"--privileged: {old.method_name} learns from pairs; name the source rows of --data.")
    parts = []
    for spec in data:
        parts.append(read_matrix(tables._replace(spec=spec, labels=column_of(spec, labels))))
        check_width("--data", spec, parts[-1].X, old)
    X = _stacked([part.X for part in parts])
    n = X.shape[0]
    named = [part.ids for part in parts if part.ids is not None]
    if named and len(named) < len(parts):
        raise ValueError("--data: some files have ids and others have none; all need them, or none.")
    ids = check_ids(as_ids(list(chain.from_iterable(named))), unique=True) if named else None
    given = [label for part in parts for label in part.labels or ()]
    if labels is not None and not given:
        given = read_column("--labels", labels)
    if labels is not None and len(given) != n:
        raise ValueError(f"--labels {labels!r} has {len(given)} labels; --data has {n} rows.")
    y = None if labels is None else label_texts("--labels", given, range(n))
    S = _read_source(privileged, tables, ids, n) if privileged else None
    return _Rows(X, parts[0].X.shape[0] if len(parts) > 1 else 0, ids, {"y": y, "privileged": S})


def _read_source(privileged: list[str], tables: Choice, ids: Array | None, n: int) -> InMemory:
    """Read the source rows of all rows: by id if both have ids, else by position."""
    from thpi.pairing import id_names
    from thpi.tables import read_matrix

    source = tables._replace(argument="--privileged", features=None, labels=None, needs_id=False)
    parts = [read_matrix(source._replace(spec=spec)) for spec in privileged]
    S = _stacked([part.X for part in parts])
    if ids is None or any(part.ids is None for part in parts):
        if S.shape[0] != n:
            raise ValueError(f"--privileged has {S.shape[0]} rows and --data {n}; row i of both must be one item.")
        return S
    names = id_names("--privileged", [value for part in parts for value in part.ids or ()])
    place = {name: row for row, name in enumerate(names)}
    wanted = id_names("--data", ids.tolist())
    if missing := [name for name in wanted if name not in place]:
        raise ValueError(f"--privileged has no row for {len(missing)} ids of --data, the first is {missing[0]!r}.")
    rows: InMemory = S[[place[name] for name in wanted]]
    return rows


def _stacked(parts: list[InMemory]) -> InMemory:
    import numpy as np

    if any(hasattr(part, "tocsr") for part in parts):
        from scipy import sparse

        stacked: InMemory = sparse.vstack(parts, format="csr")
        return stacked
    return parts[0] if len(parts) == 1 else np.concatenate([np.asarray(part) for part in parts])


def _check_items(items: Any, rows: _Rows, index: Path | None) -> None:
    """Refuse, before the work, an index with items that have no row."""
    import numpy as np

    from thpi.index._ids import IdPositions

    known = IdPositions(np.arange(rows.X.shape[0]) if rows.ids is None else rows.ids)
    missing = items[known.find(items) < 0] if len(items) else items
    if len(missing):
        few = ", ".join(map(str, missing[:3].tolist()))
        hint = "; --id names the column of ids" if rows.ids is None else ""
        raise ValueError(f"--index {str(index)!r} has {len(missing)} items without a row in --data: {few}, ...{hint}.")


def _report(as_json: bool, model: Path, index: Path | None, found: Refit, n_rows: int, written: bool) -> None:
    gain = found.gain
    facts: Facts = {"model": str(model), "method": found.hasher.method_name, "rows": n_rows}
    facts |= {"fingerprint": found.hasher.fingerprint_, "bits": found.hasher.n_bits}
    facts |= {"index": None if index is None else str(index), "written": written}
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
        typer.echo("\n  nothing was written; --force replaces the model" + (", and the index" if index else ""))
