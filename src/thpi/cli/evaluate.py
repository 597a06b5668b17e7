"""``thpi evaluate``: retrieval quality of the codes of a model."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from thpi.cli._files import check_width, load_model
from thpi.cli._options import LABELS, Data, Id, Json, ModelFile
from thpi.cli._output import Facts, print_table, progress_bar, show

if TYPE_CHECKING:
    from scipy import sparse

    from thpi._types import Bools
    from thpi.cli._views import Labelled
    from thpi.encoder import Coding

_DEFAULT = ("average_precision", "precision@10", "precision@100", "recall@100", "lookup_precision@2")


def _measure_names() -> list[str]:
    from thpi.metrics import MEASURES

    example = {"k": "@10", "radius": "@2", None: ""}
    return [name + example[measure.parameter] for name, measure in MEASURES.items() if measure.scope != "curve"]


_QUERIES = typer.Option(metavar="FILE", help="Query rows, searched in DATA. Default: some rows of DATA.")
_LABELS = typer.Option(metavar="COLUMN|FILE", help=f"Relevant are rows with the label of the query: {LABELS}")
_QUERY_LABELS = typer.Option(metavar="COLUMN|FILE", help="Labels of --queries. Default: their column of --labels.")
_NEIGHBOURS = typer.Option(metavar="N", min=1, help="Without --labels: relevant are the N nearest rows.")
_RADIUS = typer.Option(help="Without --labels: relevant are rows nearer than this, instead of --neighbours.")
_MEASURE = typer.Option(autocompletion=_measure_names, help="Measure, e.g. precision@10; may be repeated.")


def evaluate(
    model: ModelFile,
    data: Data,
    queries: Annotated[Optional[str], _QUERIES] = None,
    n_queries: Annotated[int, typer.Option(min=1, help="Without --queries: rows of DATA drawn as queries.")] = 200,
    labels: Annotated[Optional[str], _LABELS] = None,
    query_labels: Annotated[Optional[str], _QUERY_LABELS] = None,
    neighbours: Annotated[int, _NEIGHBOURS] = 50,
    radius: Annotated[Optional[float], _RADIUS] = None,
    measure: Annotated[Optional[list[str]], _MEASURE] = None,
    id: Id = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw of queries.")] = 0,
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
    from thpi import metrics
    from thpi.cli._columns import column_of

    names = list(measure or _DEFAULT)
    for name in names:
        if name.partition("@")[0] not in metrics.MEASURES or metrics._parse(name)[0].scope == "curve":
            raise ValueError(f"--measure {name!r} must be one of {', '.join(_measure_names())}.")
    hasher, features = load_model("MODEL", model)
    with progress_bar("reading"):
        database = _read(hasher, "DATA", data, features, labels, id)
        if queries is None:
            if query_labels is not None:
                raise ValueError(f"--query-labels {query_labels!r} needs --queries.")
            asked, database = _drawn(database, n_queries, seed)
        else:
            asked = _read(hasher, "--queries", queries, features, query_labels or column_of(queries, labels), id)
    n, m = asked.X.shape[0], database.X.shape[0]
    with progress_bar(f"measuring {n:,} queries in {m:,} rows"):
        relevance, truth = _relevance(asked, database, neighbours, radius)
        codes = hasher.transform(asked.X), hasher.transform(database.X)
        values = metrics.evaluate(*codes, relevance, hasher.n_bits, names)
    facts = {"model": str(model), "method": hasher.method_name, "bits": hasher.n_bits}
    _print(as_json, facts | {"queries": n, "database": m, "relevant": truth}, values)


def _read(
    hasher: Coding,
    argument: str,
    spec: str,
    features: tuple[str, ...] | None,
    labels: str | None,
    id: str | None,
) -> Labelled:
    from thpi.cli._views import read_labelled

    option = "--labels" if argument == "DATA" else "--query-labels"
    rows = read_labelled(argument, spec, labels, option, features, id)
    check_width(argument, spec, rows.X, hasher)
    return rows


def _drawn(rows: Labelled, n_queries: int, seed: int) -> tuple[Labelled, Labelled]:
    import numpy as np

    from thpi.cli._views import Labelled

    n = rows.X.shape[0]
    if n_queries >= n:
        raise ValueError(f"--n-queries {n_queries} must be less than the rows of DATA, {n}.")
    order = np.random.RandomState(seed).permutation(n)
    parts = np.sort(order[:n_queries]), np.sort(order[n_queries:])
    asked, database = (Labelled(rows.X[part], None if rows.labels is None else rows.labels[part]) for part in parts)
    return asked, database


def _relevance(
    asked: Labelled, database: Labelled, neighbours: int, radius: float | None
) -> tuple[Bools | sparse.csr_array | Callable[[int, int], Bools], str]:
    from thpi.ground_truth import label_relevance_blocks, nearest_relevance, radius_relevance

    if (asked.labels is None) != (database.labels is None):
        raise ValueError("--labels and --query-labels: both files need labels, or neither.")
    if asked.labels is not None and database.labels is not None:
        if not set(asked.labels) & set(database.labels):
            few = ", ".join(map(repr, asked.labels[:3].tolist()))
            raise ValueError(f"--labels: no row of DATA has the label of any query ({few}), so nothing is relevant.")
        return label_relevance_blocks(asked.labels, database.labels), "rows with the label of the query"
    if radius is not None:
        if radius <= 0:
            raise ValueError(f"--radius {radius:g} must be above 0.")
        near = radius_relevance(asked.X, database.X, radius, sparse_output=True)
        if near.sum() == 0:
            raise ValueError(f"--radius {radius:g}: no row of DATA is that near to any query, so nothing is relevant.")
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
    typer.echo()
    # A measure may have no value, as the precision within a radius in which there is nothing.
    percent = {name: f"{100 * v:.2f}" if isfinite(v := row["value"]) else "-" for name, row in measures.items()}
    rows = [(name, percent[name], f"{row['queries']:,}") for name, row in measures.items()]
    print_table(("measure", "percent", "queries"), rows, numbers=("percent", "queries"))
