"""``thpi evaluate``: how well a model retrieves, for what was meant, beside references."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from thpi.cli import _options as options
from thpi.cli._files import load_model
from thpi.cli._output import Facts, check_output, progress_bar, show, uninterrupted

if TYPE_CHECKING:
    from thpi.auto import Relevance
    from thpi.base import BaseHasher
    from thpi.encoder import Coding, Encoder
    from thpi.evaluation import Assessment, Judged, Measured, Truth
    from thpi.tables import Names, TableRows


def _measure_names() -> list[str]:
    from thpi.evaluation import MEASURES

    example = {"k": "@10", "radius": "@2", None: ""}
    return [name + example[measure.parameter] for name, measure in MEASURES.items() if measure.scope != "curve"]


_QUERIES = typer.Option(metavar="FILE", help="Query rows, searched in DATA. Default: some rows of DATA.")
_N_QUERIES = typer.Option(
    min=1, help="Without --queries: rows of DATA drawn as queries. Default: 200, at most a fifth."
)
_RELEVANCE = typer.Option(
    autocompletion=options.names_of("thpi", "RELEVANCES"),
    help="target, source, labels or groups. Default: labels if given, else that of the model, else target.",
)
_PRIVILEGED = typer.Option(metavar="FILE", help="Source rows, for source and groups: by id, else by position.")
_QUERY_PRIVILEGED = typer.Option(
    metavar="FILE", help="Source rows of --queries. Default: those of --privileged, by id."
)
_LABELS = typer.Option(metavar="COLUMN|FILE", help=f"Relevant are rows with the label of the query: {options.LABELS}")
_QUERY_LABELS = typer.Option(metavar="COLUMN|FILE", help="Labels of --queries. Default: their column of --labels.")
_NEIGHBOURS = typer.Option(
    metavar="N", min=1, help="Relevant are the N nearest rows. Default: 1/30 of them, 5 to 50; of groups 1/10."
)
_RADIUS = typer.Option(help="Relevant are rows nearer than this, instead of --neighbours.")
_K = typer.Option("-k", metavar="K", min=1, help="Rank of precision and recall; may be repeated. Default: 1, 10, 100.")
_MEASURE = typer.Option(autocompletion=_measure_names, help="Further measure, e.g. ndcg@10; may be repeated.")
_PRECISION = typer.Option(metavar="SHARE", help="Find the largest Hamming radius with this precision, e.g. 0.9.")
_OUTPUT = typer.Option(metavar="PLOT", help="Write a plot of recall at k: a png or svg file.")


class _Options(NamedTuple):
    """Where the rows are, and what decides about them."""

    data: str
    queries: str | None
    n_queries: int | None
    relevance: str | None
    privileged: str | None
    query_privileged: str | None
    labels: str | None
    query_labels: str | None
    neighbours: int | None
    radius: float | None
    id: str | None
    ignore: Names
    seed: int


def evaluate(
    model: options.ModelFile,
    data: options.Data,
    queries: Annotated[Optional[str], _QUERIES] = None,
    n_queries: Annotated[Optional[int], _N_QUERIES] = None,
    relevance: Annotated[Optional[str], _RELEVANCE] = None,
    privileged: Annotated[Optional[str], _PRIVILEGED] = None,
    query_privileged: Annotated[Optional[str], _QUERY_PRIVILEGED] = None,
    labels: Annotated[Optional[str], _LABELS] = None,
    query_labels: Annotated[Optional[str], _QUERY_LABELS] = None,
    neighbours: Annotated[Optional[int], _NEIGHBOURS] = None,
    radius: Annotated[Optional[float], _RADIUS] = None,
    k: Annotated[Optional[list[int]], _K] = None,
    measure: Annotated[Optional[list[str]], _MEASURE] = None,
    precision: Annotated[Optional[float], _PRECISION] = None,
    id: options.Id = None,
    ignore: options.Ignore = None,
    output: Annotated[Optional[Path], _OUTPUT] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw of queries.")] = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Measure a model's retrieval quality against ITQ, exact search and random order.

    Every query is searched among the rows of DATA; queries drawn from DATA are
    left out of it. Relevant is what the model was fitted for, or --relevance:
    rows near in target space, near in source space, with the same label, or of
    the same group of the source. Use rows that the model was not fitted on, if
    you have them.

    The codes are searched in both orders, by Hamming distance (model) and by
    asymmetric distance, as thpi search does. The references are ITQ, fitted on
    the rows searched, exact search of the target vectors, and random order. A
    two-sided model codes DATA by its source rows (--privileged).
    Items at equal distance count as in random order. Queries without relevant
    rows are left out of all means.

    --precision is for near duplicates: half of the queries choose the radius, the
    other half measure it.

    \b
    Examples:
      thpi evaluate shop.thpi shop.csv --labels class
      thpi evaluate shop.thpi new.csv --privileged texts.csv --output plot.svg
      thpi evaluate shop.thpi pictures.npy --neighbours 20 -k 5 -k 50
      thpi evaluate shop.thpi old.npy --queries new.npy --labels old.txt \\
          --query-labels new.txt --precision 0.9 --json
    """
    from thpi.evaluation import assess

    where = (data, queries, n_queries, relevance, privileged, query_privileged, labels, query_labels)
    given = _Options(*where, neighbours, radius, id, ignore, seed)
    _check_numbers(measure or [], radius, precision)
    if output is not None:
        _check_plot(output, force, (model, data, queries, privileged, query_privileged, labels, query_labels))
    hasher, features = load_model("MODEL", model)
    meaning = _meaning(hasher, given)
    with progress_bar("reading"):
        asked, database, left_out = _read(hasher, features, meaning, given)
    n, m = asked.X.shape[0], database.X.shape[0]
    if k and max(k) > m:
        raise ValueError(f"-k {max(k)} must be at most the rows searched, {m}.")
    if precision is not None and n < 2:
        raise ValueError(f"--precision {precision:g} needs at least 2 queries: half of them choose, half measure.")
    with progress_bar(f"measuring {n:,} queries in {m:,} rows"):
        truth = _truth(meaning, asked, database, given)
        found = assess(
            hasher, asked.X, database.X, truth.relevant, items=database.source if hasher.is_two_sided else None,
            k=k or None, measures=measure or (),
            curves=output is not None, precision=precision, random_state=seed,
        )  # fmt: skip
    facts: Facts = {"model": str(model), "method": hasher.method_name, "bits": hasher.n_bits}
    facts |= {"queries": n, "database": m, "relevance": meaning.name, "relevant": truth.words}
    facts |= {"rows_without_source": left_out or None, "queries_without_relevant": found.n_empty or None}
    # The answer comes first: if the plot cannot be written, the work was not in vain.
    if as_json:
        show(True, facts | {"rows_without_source": left_out} | found.to_dict())
    else:
        _print(facts, found)
    if output is not None:
        _plot(output, found, as_json)


def _check_numbers(measures: list[str], radius: float | None, precision: float | None) -> None:
    from thpi.evaluation import MEASURES, parse_measure

    for name in measures:
        if name.partition("@")[0] not in MEASURES or parse_measure(name)[0].scope == "curve":
            raise ValueError(f"--measure {name!r} must be one of {', '.join(_measure_names())}.")
    if radius is not None and not 0 < radius < float("inf"):
        raise ValueError(f"--radius {radius:g} must be above 0.")
    if precision is not None and not 0 < precision <= 1:
        raise ValueError(f"--precision {precision:g} must be above 0 and at most 1.")


def _check_plot(output: Path, force: bool, files: Sequence[Path | str | None]) -> None:
    if output.suffix.lower() not in (".png", ".svg"):
        raise ValueError(f"--output={str(output)!r} must end in .png or .svg.")
    check_output("--output", output, force=force, inputs=files, extra="plots")


def _meaning(hasher: Encoder | BaseHasher, given: _Options) -> Relevance:
    """Find out what relevant means, and whether all that it needs was given; note what it does not need."""
    from thpi import RELEVANCES

    fitted = hasher.get_params().get("relevance")
    name = given.relevance or ("labels" if given.labels is not None else fitted or "target")
    if name not in RELEVANCES:
        raise ValueError(f"--relevance {name!r} must be one of {', '.join(RELEVANCES)}.")
    meaning = RELEVANCES[name]
    for option, value, needed in (
        ("--labels", given.labels, meaning.needs_labels),
        ("--privileged", given.privileged, meaning.needs_source),
    ):
        if needed and value is None:
            why = f"--relevance {name}" if given.relevance else f"the model was fitted for relevance={name}, which"
            other = "" if given.relevance else "; --relevance target measures nearness in target space instead"
            raise ValueError(f"{why} needs {option}{other}.")
        if value is not None and not needed:
            typer.echo(f"{option} is not used: relevant means {meaning.title}.", err=True)
    if given.queries is None:
        for option, value in (
            ("--query-labels", given.query_labels),
            ("--query-privileged", given.query_privileged),
        ):
            if value is not None:
                raise ValueError(f"{option} {value!r} needs --queries.")
    elif given.n_queries is not None:
        raise ValueError(f"--n-queries {given.n_queries} draws rows of DATA; it cannot be used with --queries.")
    if meaning.needs_labels and (given.neighbours is not None or given.radius is not None):
        option = "--neighbours" if given.neighbours is not None else "--radius"
        raise ValueError(f"{option} cannot be used with --relevance {name}: labels decide what is relevant.")
    return meaning


def _read(hasher: Coding, features: Names, meaning: Relevance, given: _Options) -> tuple[Judged, Judged, int]:
    """Return queries, database, and the number of rows that were left out because they have no source row."""
    from thpi.cli._judged import Given, check_apart, draw_queries, read_judged
    from thpi.tables import column_of

    labels = ("--labels", given.labels) if meaning.needs_labels and given.labels is not None else None
    source = ("--privileged", given.privileged) if meaning.needs_source and given.privileged is not None else None
    found = read_judged(hasher, features, Given("DATA", given.data, labels, source), given.id, given.ignore)
    tables = [found.target, found.source]
    if given.queries is None:
        _check_ignored(given, meaning, tables)
        asked, database = draw_queries(found.rows, given.n_queries, given.seed)
        return asked, database, found.left_out
    query_labels = given.query_labels or column_of(given.queries, given.labels)
    if labels is not None:
        if query_labels is None:
            raise ValueError(f"--labels {given.labels!r}: --queries need labels too; name them with --query-labels.")
        labels = ("--query-labels", query_labels)
    by_id = given.query_privileged is None
    if source is not None and given.query_privileged is not None:
        source = ("--query-privileged", given.query_privileged)
    table = Given("--queries", given.queries, labels, source, by_id, found.source)
    queries = read_judged(hasher, features, table, given.id, given.ignore)
    _check_ignored(given, meaning, [*tables, queries.target, queries.source])
    check_apart(queries, found)
    return queries.rows, found.rows, queries.left_out + found.left_out


def _check_ignored(given: _Options, meaning: Relevance, tables: list[TableRows | None]) -> None:
    from thpi.tables import check_ignored

    if given.privileged is None or meaning.needs_source:  # else the column may be one of a table that was not read
        check_ignored(given.ignore or (), tables)


def _truth(meaning: Relevance, asked: Judged, database: Judged, given: _Options) -> Truth:
    from thpi.evaluation import find_truth

    m, near, radius = database.X.shape[0], given.neighbours, given.radius
    if meaning.needs_labels and asked.labels is not None and database.labels is not None:
        if not set(asked.labels) & set(database.labels):
            few = ", ".join(map(repr, asked.labels[:3].tolist()))
            raise ValueError(f"--labels: no row of DATA has the label of any query ({few}), so nothing is relevant.")
    elif radius is None and near is not None and near > m:
        raise ValueError(f"--neighbours {near} must be at most the rows searched, {m}.")
    truth = find_truth(meaning, asked, database, neighbours=near, radius=radius, random_state=given.seed)
    if radius is not None and truth.relevant.sum() == 0:  # type: ignore[union-attr]  # a sparse matrix
        raise ValueError(f"--radius {radius:g}: no row of DATA is that near to any query, so nothing is relevant.")
    return truth


def _print(facts: Facts, found: Assessment) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    show(False, facts)
    console = Console()
    # As narrow as a terminal of 80 columns.
    short = [name.replace(" ", "\n").replace("asymmetric", "asymm.") for name in found.lines]
    titles = [Column(name, justify="right", no_wrap=True) for name in short]
    table = Table(Column("percent", overflow="fold"), *titles, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in found.measures:
        cells = [_percent(line.measured(name)) for line in found.lines.values()]
        table.add_row("MAP" if name == "average_precision" else name, *cells)
    console.print(table)
    width = max(map(len, found.lines))
    for name, line in found.lines.items():
        console.print(Text(f"{name:{width}}  {line.words}", style="dim"))
    console.print(Text("±: 95 % interval over queries. It does not cover other fits or other databases.", style="dim"))
    for notice in [*found.notices, *([] if found.radius is None else [str(found.radius)])]:
        console.print()
        console.print(Text(notice))


def _percent(measured: Measured | None) -> str:
    # A line may lack a measure, and a measure may have no value: the precision within a radius with nothing in it.
    if measured is None or not isfinite(measured.value):
        return "-"
    reach = max(measured.high - measured.value, measured.value - measured.low)
    return f"{100 * measured.value:.1f}" + (f"±{100 * reach:.1f}" if isfinite(reach) else "")


def _plot(output: Path, found: Assessment, as_json: bool) -> None:
    from thpi._files import atomic_write
    from thpi.evaluation import draw_recall
    from thpi.report import figure_bytes

    picture = figure_bytes(draw_recall(found), output.suffix.lower()[1:])
    with uninterrupted():
        atomic_write(output, picture)
    if not as_json:
        typer.echo(f"\nplot: {output}")
