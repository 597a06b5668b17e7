"""Rows that are searched, and what decides which are relevant: labels, or the source rows of the same items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from thpi.cli._collections import check_width
from thpi.encoder import Coding
from thpi.evaluation import Judged
from thpi.pairing import Items, pair
from thpi.tables import (
    Choice,
    Names,
    TableRows,
    Value,
    check_positions,
    column_of,
    label_texts,
    labels_of,
    read_matrix,
)


class Found(NamedTuple):
    """The rows and their ids, if any; the tables they come from; and how many were left out, having no source row."""

    rows: Judged
    ids: Sequence[Value] | None
    tables: tuple[TableRows, ...]
    left_out: int = 0


def read_judged(
    coder: tuple[Coding, Names], argument: str, spec: str, deciding: dict[str, str], id: str | None, ignore: Names
) -> Found:
    """Read a table for a model, with the columns that it was fitted on, if they have names.

    ``deciding`` has the labels or source rows (privileged), if these decide; rows without a source row are left out.
    """
    labels, privileged, ignored = deciding.get("labels"), deciding.get("privileged"), list(ignore or ())
    (hasher, features), kind = coder, column_of(spec, labels)
    T = read_matrix(Choice(argument, spec, id, labels=kind, features=features, ignore=ignored))
    check_width(argument, spec, T.X, hasher)
    values, texts = labels_of(T, argument, labels, "--labels", id), None
    if values is not None:
        texts = label_texts(f"--labels {labels!r}", values, range(len(values)) if T.ids is None else T.ids)
    if privileged is None:
        return Found(Judged(T.X, texts), T.ids, (T,))
    name = f"--privileged {privileged!r}"
    S = read_matrix(Choice("--privileged", privileged, id, needs_id=False, ignore=ignored))
    if T.ids is None or S.ids is None:
        if argument != "DATA":
            raise ValueError(f"{argument}={spec!r} and {name} need ids, by which queries find their source rows.")
        check_positions(argument, T, name, S)
        return Found(Judged(T.X, texts, S.X), T.ids, (T, S))
    target, source = Items(T.X, T.ids, name=argument), Items(S.X, S.ids, name=name)
    joined = pair(target, source, labels=None if texts is None else texts.tolist())
    rows = Judged(joined.X, joined.y, joined.privileged)
    return Found(rows, joined.ids.tolist(), (T, S), joined.report.n_target)


def check_apart(queries: Found, database: Found) -> None:
    """Refuse queries that are rows of the database too: each would find itself."""
    both = set(map(str, queries.ids or ())) & set(map(str, database.ids or ()))
    if both:
        few = ", ".join(sorted(both)[:3])
        raise ValueError(f"--queries: {len(both)} of its ids are in DATA too ({few}); a query must not find itself.")
