"""The rows that a method learns from: target, privileged and further rows, labels; joined by id if they have ids."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from thpi._types import Array, Matrix
from thpi.pairing import Items, PairingReport, pair, stack
from thpi.tables._choice import Choice, Names, Value, column_of, some
from thpi.tables._tables import TableRows, label_texts, read_labels, read_matrix

_PATIENCE = "10s"  # with a scheduler that does not answer


class Files(NamedTuple):
    """The files of a command that reads rows with their source rows and labels; data and privileged may be several."""

    data: str | Sequence[str]
    privileged: str | Sequence[str] | None = None
    source: str | None = None
    target: str | None = None
    labels: str | None = None

    @property
    def all(self) -> list[str]:
        """Every file there is."""
        return [spec for specs in self if specs is not None for spec in _several(specs)]


class Learning(NamedTuple):
    """What ``fit`` takes, the names of the columns, if they have names, and how the tables were joined, if so.

    ``ids`` are those of the rows of ``X``, and ``target_ids`` those of further target rows; None where there are none.
    ``texts`` has what people read of an item, by its id as a text. ``known`` are all columns of all tables, and
    ``n_first`` of the rows of ``X`` are of the first file of data.
    """

    X: Any
    y: Array | None
    views: dict[str, Any]
    ids: list[Any] | None
    target_ids: list[Any] | None
    joined: PairingReport | None = None
    names: tuple[str, ...] | None = None
    source_names: tuple[str, ...] | None = None
    texts: dict[str, str] = {}
    known: tuple[str, ...] = ()
    n_first: int = 0

    @property
    def pairing(self) -> str | None:
        """How rows became pairs, in words."""
        if self.joined is not None:
            return f"by id: {self.joined}"
        return None if self.views["privileged"] is None else "by position: row i of both is one item"


Four: TypeAlias = "tuple[TableRows, TableRows | None, TableRows | None, TableRows | None]"  # in the order of Files


def read_learning(
    files: Files,
    *,
    id: str | None,
    ignore: Names,
    kept: Names = None,
    text: str | None = None,
    fitted: tuple[int, Names] | None = None,
    argument: str = "DATA",
    known: Sequence[str] | None = (),
    client: object = None,
) -> Learning:
    """Read the files, and join their rows by id if all have ids, else by position.

    ``fitted`` are number and names of the columns of a model, if there is one already. ``kept`` are features that look
    like ids. ``known`` are columns of other tables, which ``ignore`` may name; None if it is not to be checked.
    """
    choice = Choice(argument, "", id, ignore=list(ignore or ()), kept=kept, text=text)
    (T, S, S_U, T_U), n_first = _read(files, choice, fitted, client)
    columns = list(known or ())
    for each in (T, S, S_U, T_U):
        columns += each.columns.all if each is not None and each.columns is not None else ()
    for option, names in (("--ignore", ignore if known is not None else ()), ("--feature", kept)):
        if unknown := [name for name in names or () if name not in columns]:
            there = some(columns) or "those without names"
            raise ValueError(f"{option} {unknown[0]!r}: there is no column {unknown[0]!r}, only {there}.")
    labels: list[Any] | None = T.labels
    if labels is None and files.labels is not None:
        labels = read_labels("--labels", files.labels, argument, T.X.shape[0], T.ids, id)
    rows: Sequence[object] = range(T.X.shape[0]) if T.ids is None else T.ids
    if S is not None and T.ids is not None and S.ids is not None:
        first = set(map(str, T.ids[:n_first]))
        found = _joined(files, argument, (T, S, S_U, T_U), labels)
        n_first = sum(str(name) in first for name in found.ids or ())
    else:
        if S is not None and argument != "DATA":
            raise ValueError(f"{argument} and --privileged need ids, by which queries find their source rows.")
        if S is not None:
            check_positions(argument, T, _named("--privileged", files.privileged), S)
        views = {"privileged": S and S.X, "source": S_U and S_U.X, "target": T_U and T_U.X}
        found = Learning(T.X, _classes(files, labels, rows), views, T.ids, T_U and T_U.ids)
    if fitted is None and found.y is not None and len(set(found.y)) == len(found.y):
        few = f"all {len(found.y)} rows have labels of their own; classes have several rows"
        raise ValueError(f"--labels {files.labels!r}: {few}.")
    texts = {str(name): str(words) for name, words in zip(rows, T.texts or (), strict=False) if words is not None}
    return found._replace(names=T.names, source_names=S and S.names, texts=texts, known=tuple(columns), n_first=n_first)


def read_rows(choice: Choice, client: object = None) -> TableRows:
    """Read a table; of a folder, or on a cluster, only the ids are read into memory."""
    spec, folder = choice.spec, Path(choice.spec).is_dir()
    if client is not None and not (folder or spec.endswith(".parquet")):
        raise choice.error("must be a folder of parquet files or one such file with --scheduler.")
    if client is None and not folder:
        return read_matrix(choice)
    from thpi.rows import Parquet, Rows, dask_parquet

    files = Parquet(spec)
    columns = choice.of(files.names)
    features = list(columns.features)
    rows: Rows = Parquet(spec, features) if client is None else dask_parquet(spec, features)
    others = dict.fromkeys(name for name in (columns.id, columns.labels, columns.text) if name is not None)
    values: dict[str | None, list[Any]] = {name: [] for name in others}
    for path in files.files if others else ():
        table = files.open(path).read(columns=list(others))
        for name in others:
            values[name] += table.column(name).to_pylist()
    # A single column of vectors has no names of features.
    names = None if len(features) == 1 else columns.features
    ids, labels, texts = (values.get(name) for name in (columns.id, columns.labels, columns.text))
    return TableRows(rows, ids, labels, names, columns, texts)


@contextmanager
def cluster(address: str | None) -> Iterator[Any]:
    """Connect to a Dask scheduler, if there is an address; yield its client, or None."""
    if address is None:
        yield None
        return
    from thpi._optional import require

    distributed = require("distributed", "dask")
    # The error reports a lost connection; Dask need not repeat it.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"--scheduler {address!r} does not answer ({error}).") from None
    try:
        if not client.scheduler_info(n_workers=-1)["workers"]:
            raise ValueError(f"--scheduler {address!r} has no workers.")
        yield client
    finally:
        client.close(timeout=2)


def check_width(argument: str, spec: str, values: Matrix, n_columns: int) -> None:
    """Refuse rows that have another number of features than a model."""
    if values.shape[1] != n_columns:
        given = f"{values.shape[1]} columns of features; the model was fitted on {n_columns}"
        raise ValueError(f"{argument}={spec!r} has {given}.")


def _read(files: Files, choice: Choice, fitted: tuple[int, Names] | None, client: object) -> tuple[Four, int]:
    """Read all tables; return also how many rows the first file of data has."""
    specs = _several(files.data)
    parts = []
    for spec in specs:
        labels, features = column_of(spec, files.labels), None if fitted is None else fitted[1]
        parts.append(read_rows(choice._replace(spec=spec, labels=labels, features=features), client))
        if fitted is not None:
            check_width(choice.argument, spec, parts[-1].X, fitted[0])
    T = _stacked(choice.argument, parts)
    S = S_U = T_U = None
    own = column_of(specs[0], choice.id)  # a file of ids is that of DATA
    apart = choice._replace(id=own, needs_id=False, text=None)
    if files.privileged is not None:
        option = apart._replace(argument="--privileged")
        S = _stacked("--privileged", [read_rows(option._replace(spec=spec)) for spec in _several(files.privileged)])
    if files.source is not None:
        alike = apart._replace(features=None if S is None else S.names, exact=True)
        S_U = read_rows(alike._replace(argument="--source", spec=files.source), client)
    if files.target is not None:
        ours = [name for name in (T.columns and T.columns.labels, T.columns and T.columns.text) if name is not None]
        alike = apart._replace(ignore=[*(choice.ignore or ()), *ours], features=T.names, exact=True)
        T_U = read_rows(alike._replace(argument="--target", spec=files.target))
    for name, file, more, other, like in (
        ("--source", files.source, S_U, "--privileged", S),
        ("--target", files.target, T_U, "DATA", T),
    ):
        if more is not None and like is not None and (d := more.X.shape[1]) != (wanted := like.X.shape[1]):
            raise ValueError(f"{name} {file!r} has {d} columns and {other} {wanted}; they must be the same.")
    return (T, S, S_U, T_U), parts[0].X.shape[0]


def _several(specs: str | Sequence[str]) -> Sequence[str]:
    return [specs] if isinstance(specs, str) else specs


def _named(option: str, specs: str | Sequence[str] | None) -> str:
    return f"{option} {', '.join(map(repr, _several(specs or '')))}"


def _stacked(argument: str, parts: list[TableRows]) -> TableRows:
    """Put the rows of several tables below each other; all have ids, or none has."""
    if len(parts) == 1:
        return parts[0]
    named = [part.ids for part in parts if part.ids is not None]
    if named and len(named) < len(parts):
        raise ValueError(f"{argument}: some files have ids and others have none; all need them, or none.")
    ids = [value for each in named for value in each] if named else None
    labels = [value for part in parts for value in part.labels or ()] or None
    return parts[0]._replace(X=reduce(stack, (part.X for part in parts)), ids=ids, labels=labels)


def _joined(files: Files, argument: str, tables: Four, labels: list[Value | None] | None) -> Learning:
    T, S, S_U, T_U = tables
    assert T.ids is not None
    assert S is not None
    if not hasattr(T.X, "__getitem__"):
        raise ValueError("DATA and --privileged have ids, but DATA is not read into memory, and cannot be joined.")
    target = Items(T.X, T.ids, name=argument)
    if T_U is not None and T_U.ids is not None:
        target = Items(stack(T.X, T_U.X), [*T.ids, *T_U.ids], name=f"{argument} and --target {files.target!r}")
    source = None if S_U is None else Items(S_U.X, S_U.ids, name=f"--source {files.source!r}")
    found = pair(target, Items(S.X, S.ids, name=_named("--privileged", files.privileged)), source=source)
    views, report, target_ids = found.views, found.report, found.target_ids
    if T_U is not None and T_U.ids is None:
        views["target"] = T_U.X if found.target is None else stack(found.target, T_U.X)
        report, target_ids = report._replace(n_target=views["target"].shape[0]), None
    if labels is not None:
        by_id = dict(zip(map(str, T.ids), labels, strict=True))
        labels = [by_id.get(str(name)) for name in found.ids]
    ids = found.ids.tolist()
    return Learning(found.X, _classes(files, labels, ids), views, ids, target_ids, report)


def _classes(files: Files, labels: list[Value | None] | None, rows: Sequence[object]) -> Array | None:
    return None if labels is None else label_texts(f"--labels {files.labels!r}", labels, rows)


def check_positions(target_name: str, T: TableRows, source_name: str, S: TableRows) -> None:
    """Refuse pairs by position if one of two tables with names has ids, or if the numbers of rows differ."""
    first, second = (target_name, T.columns), (source_name, S.columns)
    for (name, columns), (other_name, other) in ((first, second), (second, first)):
        if columns is None or other is None or columns.id is None:
            continue
        text = f"{name} has the column of ids {columns.id!r}, but {other_name} has none; --id names one that both have"
        raise ValueError(f"{text}. --ignore {columns.id} pairs rows by position.")
    if (n := T.X.shape[0]) != S.X.shape[0]:
        raise ValueError(
            f"{source_name} has {S.X.shape[0]} rows and {target_name} {n}; row i must be the same item. "
            "Tables with a column of ids in both are joined by it (--id)."
        )
