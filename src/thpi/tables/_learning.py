"""The rows that a method learns from: target, privileged and further rows, labels; joined by id if they have ids."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from thpi._types import Array
from thpi.pairing import Items, PairingReport, pair, stack
from thpi.tables._choice import Choice, Names, Value, column_of, some
from thpi.tables._columns import label_texts, read_labels
from thpi.tables._tables import TableRows, read_matrix

_PATIENCE = "10s"  # with a scheduler that does not answer


class Files(NamedTuple):
    """The files of a command that learns."""

    data: str
    privileged: str | None = None
    source: str | None = None
    target: str | None = None
    labels: str | None = None


class Learning(NamedTuple):
    """What ``fit`` takes, the names of the columns, if they have names, and how the tables were joined, if so.

    ``ids`` are those of the rows of ``X``, and ``target_ids`` those of further target rows; None where there are none.
    ``texts`` has what people read of an item, by its id as a text.
    """

    X: Any
    y: Array | None
    views: dict[str, Any]
    names: tuple[str, ...] | None
    source_names: tuple[str, ...] | None
    joined: PairingReport | None
    ids: list[Any] | None = None
    target_ids: list[Any] | None = None
    texts: dict[str, str] = {}

    @property
    def pairing(self) -> str | None:
        """How rows became pairs, in words."""
        if self.joined is not None:
            return f"by id: {self.joined}"
        return None if self.views["privileged"] is None else "by position: row i of both is one item"


class _Tables(NamedTuple):
    data: TableRows
    privileged: TableRows | None
    source: TableRows | None
    target: TableRows | None


def read_learning(
    files: Files,
    *,
    id: str | None,
    ignore: Names,
    pairs: bool = True,
    client: object = None,
    kept: Names = None,
    text: str | None = None,
) -> Learning:
    """Read the files; without ``pairs``, not those of the source. ``kept`` are features that look like ids."""
    if not pairs:
        files = files._replace(privileged=None, source=None)
    tables = _read(files, Choice("", "", id, ignore=list(ignore or ()), kept=kept, text=text), client)
    T, S, _, T_U = tables
    labels = labels_of(T, "DATA", files.labels, "--labels", id)
    if S is not None and T.ids is not None and S.ids is not None:
        found = _joined(files, tables, labels)
    else:
        if S is not None:
            check_positions("DATA", T, f"--privileged {files.privileged!r}", S)
        rows = range(T.X.shape[0]) if T.ids is None else T.ids
        views = {name: None if each is None else each.X for name, each in tables._asdict().items() if name != "data"}
        y = _classes(files, labels, rows)
        found = Learning(T.X, y, views, T.names, None if S is None else S.names, None, T.ids, T_U and T_U.ids)
    named = zip(range(T.X.shape[0]) if T.ids is None else T.ids, T.texts or (), strict=False)
    return found._replace(texts={str(name): str(text) for name, text in named if text is not None})


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


def labels_of(table: TableRows, argument: str, labels: str | None, option: str, id: str | None) -> Any:
    """Return the labels of the rows of a table: from the table itself, or from the file of labels; None without."""
    if labels is None or table.labels is not None:
        return table.labels
    return read_labels(option, labels, argument, table.X.shape[0], table.ids, id)


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


def _read(files: Files, choice: Choice, client: object) -> _Tables:
    kind = column_of(files.data, files.labels)
    T = read_rows(choice._replace(argument="DATA", spec=files.data, labels=kind), client)
    S = S_U = T_U = None
    own = column_of(files.data, choice.id)  # a file of ids is that of DATA
    choice = choice._replace(id=own, needs_id=False, text=None)
    if files.privileged is not None:
        S = read_rows(choice._replace(argument="--privileged", spec=files.privileged))
    if files.source is not None:
        like = None if S is None else S.names
        S_U = read_rows(choice._replace(argument="--source", spec=files.source, features=like, exact=True), client)
    if files.target is not None:
        ours = [name for name in (kind, T.columns and T.columns.text) if name is not None]
        apart = choice._replace(ignore=[*(choice.ignore or ()), *ours], features=T.names, exact=True)
        T_U = read_rows(apart._replace(argument="--target", spec=files.target))
    tables = _Tables(T, S, S_U, T_U)
    check_ignored(choice.ignore or (), tables)
    check_ignored(choice.kept or (), tables, "--feature")
    for option, spec, rows, other, like_rows in (
        ("--source", files.source, S_U, "--privileged", S),
        ("--target", files.target, T_U, "DATA", T),
    ):
        if rows is not None and like_rows is not None and (d := rows.X.shape[1]) != (wanted := like_rows.X.shape[1]):
            raise ValueError(f"{option} {spec!r} has {d} columns and {other} {wanted}; they must be the same.")
    return tables


def _joined(files: Files, tables: _Tables, labels: list[Value | None] | None) -> Learning:
    T, S, S_U, T_U = tables
    assert T.ids is not None
    assert S is not None
    if not hasattr(T.X, "__getitem__"):
        raise ValueError("DATA and --privileged have ids, but DATA is not read into memory, and cannot be joined.")
    target = Items(T.X, T.ids, name="DATA")
    if T_U is not None and T_U.ids is not None:
        target = Items(stack(T.X, T_U.X), [*T.ids, *T_U.ids], name=f"DATA and --target {files.target!r}")
    source = None if S_U is None else Items(S_U.X, S_U.ids, name=f"--source {files.source!r}")
    found = pair(target, Items(S.X, S.ids, name=f"--privileged {files.privileged!r}"), source=source)
    views, report, target_ids = found.views, found.report, found.target_ids
    if T_U is not None and T_U.ids is None:
        views["target"] = T_U.X if found.target is None else stack(found.target, T_U.X)
        report, target_ids = report._replace(n_target=views["target"].shape[0]), None
    if labels is not None:
        by_id = dict(zip(map(str, T.ids), labels, strict=True))
        labels = [by_id.get(str(name)) for name in found.ids]
    ids = found.ids.tolist()
    return Learning(found.X, _classes(files, labels, ids), views, T.names, S.names, report, ids, target_ids)


def _classes(files: Files, labels: list[Value | None] | None, rows: Sequence[object]) -> Array | None:
    if labels is None:
        return None
    classes = label_texts(f"--labels {files.labels!r}", labels, rows)
    if len(set(classes)) == len(classes):
        raise ValueError(
            f"--labels {files.labels!r}: all {len(classes)} rows have labels of their own; classes have several rows."
        )
    return classes


def check_ignored(ignore: Sequence[str], tables: Iterable[TableRows | None], option: str = "--ignore") -> None:
    """Refuse a column to be ignored that no table has."""
    known = [name for table in tables if table is not None and table.columns is not None for name in table.columns.all]
    for name in ignore:
        if name not in known:
            raise ValueError(
                f"{option} {name!r}: there is no column {name!r}, only {some(known) or 'those without names'}."
            )


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
