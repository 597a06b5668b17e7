"""``thpi evaluate``: how well the model of a collection retrieves, for what was meant, beside references."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from thpi.cli import _options as options
from thpi.cli._collections import coder_of
from thpi.cli._output import Facts, check_output, progress_bar, show, write_page

if TYPE_CHECKING:
    from thpi.auto import Relevance
    from thpi.cli._judged import Found
    from thpi.encoder import Coding
    from thpi.evaluation import Assessment, Measured
    from thpi.tables import Names


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
_PRIVILEGED = typer.Option(metavar="FILE", help="Source rows, of --queries too: by id, else by position.")
_LABELS = typer.Option(metavar="COLUMN|FILE", help=f"Labels, of --queries too: {options.LABELS}")
_NEIGHBOURS = typer.Option(
    metavar="N", min=1, help="Relevant are the N nearest rows. Default: 1/30 of them, 5 to 50; of groups 1/10."
)
_RADIUS = typer.Option(help="Relevant are rows nearer than this, instead of --neighbours.")
_K = typer.Option("-k", metavar="K", min=1, help="Rank of precision and recall; may be repeated. Default: 1, 10, 100.")
_MEASURE = typer.Option(autocompletion=_measure_names, help="Further measure, e.g. ndcg@10; may be repeated.")
_PRECISION = typer.Option(metavar="SHARE", help="Find the largest Hamming radius with this precision, e.g. 0.9.")
_HTML = typer.Option(metavar="PAGE.html", help="Write a page with the table and a plot of recall.")


def evaluate(
    collection: options.CollectionFile,
    data: options.Data,
    queries: Annotated[Optional[str], _QUERIES] = None,
    n_queries: Annotated[Optional[int], _N_QUERIES] = None,
    relevance: Annotated[Optional[str], _RELEVANCE] = None,
    privileged: Annotated[Optional[str], _PRIVILEGED] = None,
    labels: Annotated[Optional[str], _LABELS] = None,
    neighbours: Annotated[Optional[int], _NEIGHBOURS] = None,
    radius: Annotated[Optional[float], _RADIUS] = None,
    k: Annotated[Optional[list[int]], _K] = None,
    measure: Annotated[Optional[list[str]], _MEASURE] = None,
    precision: Annotated[Optional[float], _PRECISION] = None,
    id: options.Id = None,
    ignore: options.Ignore = None,
    html: Annotated[Optional[Path], _HTML] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw of queries.")] = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Measure retrieval quality against ITQ, exact search and random order.

    The rows of DATA are coded by the model of the collection and searched;
    queries drawn from DATA are left out of it. Relevant is what the model was
    built for, or --relevance. Use rows that the model has not learned from, if
    you have them.

    The codes are searched by Hamming distance (model) and by asymmetric distance,
    as thpi search does. The references are ITQ, fitted on the rows searched,
    exact search of the target vectors, and random order. A two-sided model codes
    DATA by its source rows (--privileged). Items at equal distance count as in
    random order. Queries without relevant rows are left out of all means.

    --precision is for near duplicates: half of the queries choose the radius, the
    other half measure it.

    \b
    Examples:
      thpi evaluate shop.thpi new.csv --labels class
      thpi evaluate shop.thpi new.csv --privileged texts.csv --html page.html
      thpi evaluate shop.thpi old.csv --queries new.csv --labels class \\
          --precision 0.9 --json
    """
    given = dict(locals())
    if html is not None:
        files = (collection, data, queries, privileged, labels)
        check_output("--html", html, force=force, inputs=files, extra="plots")
    facts, found = _found(given)
    # The answer comes first: if the page cannot be written, the work was not in vain.
    if as_json:
        show(True, facts | found.to_dict())
    else:
        _print(facts, found)
    if html is not None:
        write_page(html, found, as_json)


def _found(given: dict[str, Any]) -> tuple[Facts, Assessment]:
    import thpi

    with thpi.open(given["collection"]) as shop:
        meaning = _checked(shop.hasher, given)
        with progress_bar("reading"):
            database, asked = _read(coder_of(shop), given)
        rows = database.rows
        options = {name: given[name] for name in ("n_queries", "neighbours", "radius", "precision")}
        options |= {"k": given["k"] or None, "measures": given["measure"] or (), "curves": given["html"] is not None}
        with progress_bar(f"measuring in {rows.X.shape[0]:,} rows"):
            found = shop.evaluate(
                rows.X, rows.labels, privileged=rows.source, queries=asked and asked.rows, relevance=meaning.name,
                random_state=given["seed"], **options,
            )  # fmt: skip
        left_out = database.left_out + (0 if asked is None else asked.left_out)
        facts = {"collection": str(shop.path), "method": shop.hasher.method_name, "rows_without_source": left_out}
    return facts, found


def _checked(hasher: Coding, given: dict[str, Any]) -> Relevance:
    """Refuse what does not fit together before anything is read; note what is not needed; return the meaning."""
    from thpi.evaluation import meaning_of, parse_measure

    for name in given["measure"] or ():
        parse_measure(name)
    meaning = meaning_of(hasher, given["relevance"], has_labels=given["labels"] is not None)
    for name, needed, useful in (
        ("labels", meaning.needs_labels, meaning.needs_labels),
        ("privileged", meaning.needs_source, meaning.needs_source or hasher.is_two_sided),
    ):
        if needed and given[name] is None:
            if given["relevance"]:
                raise ValueError(f"--relevance {meaning.name} needs --{name}.")
            why = f"the model was fitted for relevance={meaning.name}, which needs --{name}"
            raise ValueError(f"{why}; --relevance target measures nearness in target space instead.")
        if given[name] is not None and not useful:
            typer.echo(f"--{name} is not used: relevant means {meaning.title}.", err=True)
            given[name] = None
    if given["queries"] is not None and given["n_queries"] is not None:
        raise ValueError(f"--n-queries {given['n_queries']} draws rows of DATA; it cannot be used with --queries.")
    for name in ("neighbours", "radius"):
        if meaning.needs_labels and given[name] is not None:
            raise ValueError(
                f"--{name} cannot be used with --relevance {meaning.name}: labels decide what is relevant."
            )
    return meaning


def _read(coder: tuple[Coding, Names], given: dict[str, Any]) -> tuple[Found, Found | None]:
    """Return the database, and the queries if they have a table of their own."""
    from thpi.cli._judged import check_apart, read_judged
    from thpi.tables import check_ignored

    deciding = {name: given[name] for name in ("labels", "privileged") if given[name] is not None}
    apart = deciding, given["id"], given["ignore"]
    database, asked = read_judged(coder, "DATA", given["data"], *apart), None
    tables = database.tables
    if given["queries"] is not None:
        asked = read_judged(coder, "--queries", given["queries"], *apart)
        tables += asked.tables
        check_apart(asked, database)
    check_ignored(given["ignore"] or (), tables)
    return database, asked


def _print(facts: Facts, found: Assessment) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    facts |= {"bits": found.n_bits, "queries": found.n_queries, "database": found.n_database}
    facts |= {"relevance": found.relevance, "relevant": found.relevant}
    facts |= {"queries_without_relevant": found.n_empty or None}
    show(False, facts | {"rows_without_source": facts["rows_without_source"] or None})
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
