"""Rows that are searched, and what decides which are relevant: labels, or the source rows of the same items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from thpi.cli._choice import Choice, Names
from thpi.cli._columns import Value, column_of, label_texts
from thpi.cli._learning import check_positions
from thpi.cli._tables import TableRows, read_matrix
from thpi.cli._views import labels_of
from thpi.encoder import Coding
from thpi.evaluation import Judged
from thpi.pairing import Items, pair


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


def read_judged(hasher: Coding, given: Given, id: str | None, ignore: Names) -> Found:
    """Read a table for a model; with source rows, only its rows that have one."""
    (option, labels), ignored = given.labels or ("", None), list(ignore or ())
    names = vars(hasher).get("feature_names_in_")
    features = None if names is None else [str(name) for name in names]
    kind = column_of(given.spec, labels)
    T = read_matrix(Choice(given.argument, given.spec, id, labels=kind, features=features, ignore=ignored))
    if (d := T.X.shape[1]) != hasher.n_features_in_:
        wanted = f"the model was fitted on {hasher.n_features_in_}"
        raise ValueError(f"{given.argument}={given.spec!r} has {d} columns of features; {wanted}.")
    values, texts = labels_of(T, given.argument, labels, option, id), None
    if values is not None:
        texts = label_texts(f"{option} {labels!r}", values, range(len(values)) if T.ids is None else T.ids)
    if given.privileged is None:
        return Found(Judged(T.X, texts), T.ids, T)
    option, spec = given.privileged
    like = None if given.like is None else given.like.names
    S = read_matrix(Choice(option, spec, id, needs_id=False, ignore=ignored, features=like, exact=True))
    if given.like is not None and (d := S.X.shape[1]) != (wide := given.like.X.shape[1]):
        raise ValueError(f"{option} {spec!r} has {d} columns and --privileged {wide}; they must be the same.")
    if T.ids is not None and S.ids is not None:
        target, source = Items(T.X, T.ids, name=given.argument), Items(S.X, S.ids, name=f"{option} {spec!r}")
        joined = pair(target, source, labels=None if texts is None else texts.tolist())
        rows = Judged(joined.X, joined.y, joined.privileged)
        return Found(rows, joined.ids.tolist(), T, S, joined.report.n_target)
    if given.by_id:
        raise ValueError(
            f"{given.argument}={given.spec!r} and {option} {spec!r} have no ids to join them by; "
            "name the source rows of the queries with --query-privileged."
        )
    check_positions(given.argument, T, f"{option} {spec!r}", S)
    return Found(Judged(T.X, texts, S.X), T.ids, T, S)


def check_apart(queries: Found, database: Found) -> None:
    """Refuse queries that are rows of the database too: each would find itself."""
    both = set(map(str, queries.ids or ())) & set(map(str, database.ids or ()))
    if both:
        few = ", ".join(sorted(both)[:3])
        raise ValueError(f"--queries: {len(both)} of its ids are in DATA too ({few}); a query must not find itself.")
