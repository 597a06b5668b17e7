"""``thpi evaluate``: retrieval quality of the codes of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from thpi.cli._options import Json, ModelFile
from thpi.cli._output import Facts, show, spinner

if TYPE_CHECKING:
    from scipy import sparse

    from thpi._types import Array, Bools, InMemory
    from thpi.base import BaseHasher

_DEFAULT = ("average_precision", "precision@10", "precision@100", "recall@100", "lookup_precision@2")


def _measure_names() -> list[str]:
    from thpi.metrics import MEASURES

    example = {"k": "@10", "radius": "@2", None: ""}
    return [name + example[measure.parameter] for name, measure in MEASURES.items() if measure.scope != "curve"]


class _Rows(NamedTuple):
    """Rows to encode and compare, and their labels, if any."""

    X: InMemory
    labels: Array | None


def evaluate(
    model: ModelFile,
    data: Annotated[str, typer.Argument(metavar="DATA", help="Target rows: npy, npz, csv, tsv or parquet.")],
    queries: Annotated[
        Optional[str],
        typer.Option("--queries", metavar="FILE", help="Query rows, searched in DATA. Default: some rows of DATA."),
    ] = None,
    n_queries: Annotated[
        int, typer.Option("--n-queries", min=1, help="Without --queries: rows of DATA drawn as queries.")
    ] = 200,
    labels: Annotated[
        Optional[str],
        typer.Option("--labels", metavar="COLUMN|FILE", help="Relevant: rows with the label of the query."),
    ] = None,
    query_labels: Annotated[
        Optional[str], typer.Option("--query-labels", metavar="FILE", help="Labels of the rows of --queries.")
    ] = None,
    neighbours: Annotated[
        int, typer.Option("--neighbours", min=1, help="Without --labels: relevant are the N nearest rows.", metavar="N")
    ] = 50,
    radius: Annotated[
        Optional[float],
        typer.Option("--radius", help="Without --labels: relevant are rows nearer than this, instead of --neighbours."),
    ] = None,
    measure: Annotated[
        Optional[list[str]],
        typer.Option("--measure", autocompletion=_measure_names, help="Measure, e.g. precision@10; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the draw of queries.")] = 0,
    as_json: Json = False,
) -> None:
    """Measure how well the codes of a model retrieve.

    Every query is searched among the other rows by Hamming distance. Relevant are
    rows with the same label (--labels), else rows at a small Euclidean distance.
    Use rows that the model was not fitted on, if you have them.

    Items at equal distance count as in random order. Queries without relevant
    rows are left out.

    \b
    Examples:
      thpi evaluate shop.thpi shop.csv --labels class
      thpi evaluate shop.thpi pictures.npy --neighbours 20 --measure ndcg@10
      thpi evaluate shop.thpi old.npy --queries new.npy --labels old.txt \\
          --query-labels new.txt --json
    """
    from thpi.cli._models import load_model
    from thpi.metrics import evaluate as measured

    names = list(measure or _DEFAULT)
    _check_measures(names)
    hasher, features = load_model("MODEL", model)
    with spinner("reading"):
        database = _rows("DATA", data, features, labels, hasher)
        if queries is None:
            if query_labels is not None:
                raise ValueError(f"--query-labels {query_labels!r} needs --queries.")
            asked, database = _drawn(database, n_queries, seed)
        else:
            asked = _rows("--queries", queries, features, query_labels or _column(labels, queries), hasher)
            if (asked.labels is None) != (database.labels is None):
                raise ValueError("--labels and --query-labels: both files need labels, or neither.")
    with spinner(f"measuring {asked.X.shape[0]:,} queries in {database.X.shape[0]:,} rows"):
        relevance, truth = _relevance(asked, database, neighbours, radius)
        values = measured(hasher.transform(asked.X), hasher.transform(database.X), relevance, hasher.n_bits, names)
    facts = {
        "model": str(model),
        "method": type(hasher).__name__,
        "bits": hasher.n_bits,
        "queries": asked.X.shape[0],
        "database": database.X.shape[0],
        "relevant": truth,
    }
    _print(as_json, facts, values)


def _check_measures(names: list[str]) -> None:
    from thpi.metrics import MEASURES, _parse

    for name in names:
        if name.partition("@")[0] not in MEASURES or _parse(name)[0].scope == "curve":
            raise ValueError(f"--measure {name!r} must be one of {', '.join(_measure_names())}.")


def _column(labels: str | None, spec: str) -> str | None:
    """Return ``labels`` if it names a column of the file."""
    from thpi.cli._columns import is_column

    return labels if labels is not None and is_column(spec, labels) else None


def _rows(argument: str, spec: str, features: tuple[str, ...] | None, labels: str | None, hasher: BaseHasher) -> _Rows:
    import numpy as np

    from thpi.cli._columns import read_column
    from thpi.cli._models import check_width
    from thpi.cli._tables import read_matrix

    key = _column(labels, spec)
    X, values, _ = read_matrix(argument, spec, key=key, features=features)
    check_width(argument, spec, X, hasher)
    if labels is not None and key is None:
        values = read_column("--labels", labels)
    if values is not None and len(values) != X.shape[0]:
        raise ValueError(f"labels {labels!r} has {len(values)} labels; {argument}={spec!r} has {X.shape[0]} rows.")
    # As texts, labels from csv files and from arrays of integers are equal.
    return _Rows(X, None if values is None else np.array([str(value) for value in values]))


def _drawn(rows: _Rows, n_queries: int, seed: int) -> tuple[_Rows, _Rows]:
    import numpy as np

    n = rows.X.shape[0]
    if n_queries >= n:
        raise ValueError(f"--n-queries {n_queries} must be less than the rows of DATA, {n}.")
    order = np.random.RandomState(seed).permutation(n)
    parts = np.sort(order[:n_queries]), np.sort(order[n_queries:])
    asked, database = (_Rows(rows.X[part], None if rows.labels is None else rows.labels[part]) for part in parts)
    return asked, database


def _relevance(
    asked: _Rows, database: _Rows, neighbours: int, radius: float | None
) -> tuple[Bools | sparse.csr_array | Callable[[int, int], Bools], str]:
    from thpi.ground_truth import label_relevance_blocks, nearest_relevance, radius_relevance

    if asked.labels is not None and database.labels is not None:
        return label_relevance_blocks(asked.labels, database.labels), "rows with the label of the query"
    if radius is not None:
        if radius <= 0:
            raise ValueError(f"--radius {radius:g} must be above 0.")
        near = radius_relevance(asked.X, database.X, radius, sparse_output=True)
        return near, f"rows nearer than {radius:g} (Euclidean)"
    if neighbours > database.X.shape[0]:
        raise ValueError(f"--neighbours {neighbours} must be at most the rows searched, {database.X.shape[0]}.")
    near = nearest_relevance(asked.X, database.X, neighbours, sparse_output=True)
    return near, f"the {neighbours} nearest rows (Euclidean)"


def _print(as_json: bool, facts: Facts, values: Facts) -> None:
    from thpi.metrics import query_mean

    measures: dict[str, dict[str, float]] = {}
    for name, value in values.items():
        if hasattr(value, "shape") and value.shape:
            mean = query_mean(value)
            measures[name] = {"value": mean.value, "queries": mean.n_queries - mean.n_empty}
        else:
            measures[name] = {"value": float(value), "queries": facts["queries"]}
    if as_json:
        show(True, facts | {"measures": measures})
        return
    show(False, facts)
    from rich.console import Console
    from rich.table import Table

    table = Table()
    table.add_column("measure")
    table.add_column("percent", justify="right")
    table.add_column("queries", justify="right")
    for name, row in measures.items():
        table.add_row(name, f"{100 * row['value']:.2f}", f"{row['queries']:,}")
    typer.echo()
    Console().print(table)
