"""Rows that are searched, and what decides which are relevant: labels, or the source rows of the same items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from thpi._types import Array
from thpi.cli._files import check_width
from thpi.encoder import Coding
from thpi.evaluation import Judged
from thpi.pairing import Items, pair
from thpi.tables import Choice, Names, TableRows, Value, check_positions, column_of, label_texts, labels_of, read_matrix


class Given(NamedTuple):
    """Options of one table: its name on the command line, the file, and where labels and source rows come from.

    ``labels`` and ``privileged`` are the option and its value. Source rows of queries are found ``by_id`` if they are
    those of the database too, and have its columns ``like``.
    """

    argument: str
    spec: str
    labels: tuple[str, str] | None = None
    privileged: tuple[str, str] | None = None
    by_id: bool = False
    like: TableRows | None = None


class Found(NamedTuple):
    """The rows and their ids, if any; the tables they come from; and how many were left out, having no source row."""

    rows: Judged
    ids: Sequence[Value] | None
    target: TableRows
    source: TableRows | None = None
    left_out: int = 0


def read_judged(hasher: Coding, features: Names, given: Given, id: str | None, ignore: Names) -> Found:
    """Read a table for a model that was fitted on ``features``; with source rows, only its rows that have one."""
    option, labels = given.labels or ("", None)
    kind, ignored = column_of(given.spec, labels), list(ignore or ())
    T = read_matrix(Choice(given.argument, given.spec, id, labels=kind, features=features, ignore=ignored))
    check_width(given.argument, given.spec, T.X, hasher)
    values = labels_of(T, given.argument, labels, option, id)
    texts = None
    if values is not None:
        texts = label_texts(f"{option} {labels!r}", values, range(len(values)) if T.ids is None else T.ids)
    if given.privileged is None:
        return Found(Judged(T.X, texts), T.ids, T)
    option, spec = given.privileged
    like = None if given.like is None else given.like.names
    S = read_matrix(Choice(option, spec, id, needs_id=False, ignore=ignored, features=like, exact=True))
    if given.like is not None and (d := S.X.shape[1]) != (wanted := given.like.X.shape[1]):
        raise ValueError(f"{option} {spec!r} has {d} columns and --privileged {wanted}; they must be the same.")
    return _with_source(given, T, texts, f"{option} {spec!r}", S)


def _with_source(given: Given, T: TableRows, labels: Array | None, name: str, S: TableRows) -> Found:
    if T.ids is not None and S.ids is not None:
        classes = None if labels is None else labels.tolist()
        joined = pair(Items(T.X, T.ids, name=given.argument), Items(S.X, S.ids, name=name), labels=classes)
        rows = Judged(joined.X, joined.y, joined.privileged)
        return Found(rows, joined.ids.tolist(), T, S, joined.report.n_target)
    if given.by_id:
        raise ValueError(
            f"{given.argument}={given.spec!r} and {name} have no ids to join them by; "
            "name the source rows of the queries with --query-privileged."
        )
    check_positions(given.argument, T, name, S)
    return Found(Judged(T.X, labels, S.X), T.ids, T, S)


def draw_queries(rows: Judged, n_queries: int | None, seed: int) -> tuple[Judged, Judged]:
    """Draw queries among rows; the database are the others."""
    n = rows.X.shape[0]
    if n < 2:
        raise ValueError(f"DATA has {n} rows to search; at least 2 are needed, one of them a query.")
    count = min(200, max(1, n // 5)) if n_queries is None else n_queries
    if count >= n:
        raise ValueError(f"--n-queries {count} must be less than the rows of DATA, {n}.")
    order = np.random.RandomState(seed).permutation(n)
    return rows.take(np.sort(order[:count])), rows.take(np.sort(order[count:]))


def check_apart(queries: Found, database: Found) -> None:
    """Refuse queries that are rows of the database too: each would find itself."""
    if queries.ids is None or database.ids is None:
        return
    both = set(map(str, queries.ids)) & set(map(str, database.ids))
    if both:
        few = ", ".join(sorted(both)[:3])
        raise ValueError(f"--queries: {len(both)} of its ids are in DATA too ({few}); a query must not find itself.")
