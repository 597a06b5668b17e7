"""The rows that a method learns from: target, privileged and further rows, labels; joined by id if they have ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from thpi._types import Array
from thpi.cli._choice import Choice, Names, some
from thpi.cli._columns import Value, column_of, label_texts
from thpi.cli._tables import TableRows
from thpi.cli._views import labels_of, read_rows
from thpi.pairing import Items, PairingReport, pair, stack


class Files(NamedTuple):
    """The files of a command that learns."""

    data: str
    privileged: str | None = None
    source: str | None = None
    target: str | None = None
    labels: str | None = None


class Learning(NamedTuple):
    """What ``fit`` takes, the names of the columns, if they have names, and how the tables were joined, if so."""

    X: Any
    y: Array | None
    views: dict[str, Any]
    names: tuple[str, ...] | None
    source_names: tuple[str, ...] | None
    joined: PairingReport | None

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
    files: Files, *, id: str | None, ignore: Names, pairs: bool = True, client: object = None
) -> Learning:
    """Read the files; without ``pairs``, not those of the source."""
    if not pairs:
        files = files._replace(privileged=None, source=None)
    tables = _read(files, id, list(ignore or ()), client)
    T, S = tables.data, tables.privileged
    labels = labels_of(T, "DATA", files.labels, "--labels", id)
    if S is not None and T.ids is not None and S.ids is not None:
        return _joined(files, tables, labels)
    if S is not None:
        check_positions("DATA", T, f"--privileged {files.privileged!r}", S)
    rows = range(T.X.shape[0]) if T.ids is None else T.ids
    views = {name: None if rows is None else rows.X for name, rows in tables._asdict().items() if name != "data"}
    return Learning(T.X, _classes(files, labels, rows), views, T.names, None if S is None else S.names, None)


def _read(files: Files, id: str | None, ignore: list[str], client: object) -> _Tables:
    kind = column_of(files.data, files.labels)
    T = read_rows(Choice("DATA", files.data, id, labels=kind, ignore=ignore), client)
    S = S_U = T_U = None
    if files.privileged is not None:
        S = read_rows(Choice("--privileged", files.privileged, id, needs_id=False, ignore=ignore))
    if files.source is not None:
        like = None if S is None else S.names
        choice = Choice("--source", files.source, id, needs_id=False, ignore=ignore, features=like, exact=True)
        S_U = read_rows(choice, client)
    if files.target is not None:
        left_out = [*ignore, *([] if kind is None else [kind])]
        choice = Choice("--target", files.target, id, needs_id=False, ignore=left_out, features=T.names, exact=True)
        T_U = read_rows(choice)
    tables = _Tables(T, S, S_U, T_U)
    check_ignored(ignore, tables)
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
    target = Items(T.X, T.ids, name="DATA")
    if T_U is not None and T_U.ids is not None:
        target = Items(stack(T.X, T_U.X), [*T.ids, *T_U.ids], name=f"DATA and --target {files.target!r}")
    source = None if S_U is None else Items(S_U.X, S_U.ids, name=f"--source {files.source!r}")
    found = pair(target, Items(S.X, S.ids, name=f"--privileged {files.privileged!r}"), source=source)
    views, report = found.views, found.report
    if T_U is not None and T_U.ids is None:
        views["target"] = T_U.X if found.target is None else stack(found.target, T_U.X)
        report = report._replace(n_target=views["target"].shape[0])
    if labels is not None:
        by_id = dict(zip(map(str, T.ids), labels, strict=True))
        labels = [by_id.get(str(name)) for name in found.ids]
    return Learning(found.X, _classes(files, labels, found.ids.tolist()), views, T.names, S.names, report)


def _classes(files: Files, labels: list[Value | None] | None, rows: Sequence[object]) -> Array | None:
    if labels is None:
        return None
    classes = label_texts(f"--labels {files.labels!r}", labels, rows)
    if len(set(classes)) == len(classes):
        raise ValueError(
            f"--labels {files.labels!r}: all {len(classes)} rows have labels of their own; classes have several rows."
        )
    return classes


def check_ignored(ignore: Sequence[str], tables: Iterable[TableRows | None]) -> None:
    """Refuse a column to be ignored that no table has."""
    known = [name for table in tables if table is not None and table.columns is not None for name in table.columns.all]
    for name in ignore:
        if name not in known:
            raise ValueError(
                f"--ignore {name!r}: there is no column {name!r}, only {some(known) or 'those without names'}."
            )


def check_positions(target_name: str, T: TableRows, source_name: str, S: TableRows) -> None:
    """Refuse pairs by position if one of two tables with names has ids, or if the numbers of rows differ."""
    first, second = (target_name, T.columns), (source_name, S.columns)
    for (name, columns), (other_name, other) in ((first, second), (second, first)):
        if columns is None or other is None or columns.id is None:
            continue
        text = f"{name} has the column of ids {columns.id!r}, but {other_name} has none; --id names one that both have"
        if other.id is not None:
            text = f"{name} and {other_name} have ids, but one of them is not read into memory, and cannot be joined"
        raise ValueError(f"{text}. --ignore {columns.id} pairs rows by position.")
    if (n := T.X.shape[0]) != S.X.shape[0]:
        raise ValueError(
            f"{source_name} has {S.X.shape[0]} rows and {target_name} {n}; row i must be the same item. "
            "Tables with a column of ids in both are joined by it (--id)."
        )
