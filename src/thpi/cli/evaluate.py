"""``thpi evaluate``: how well the model of a collection retrieves, for what was meant, beside references."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from thpi.cli import _shared as shared
from thpi.cli._shared import Facts, check_output, percent, print_table, progress_bar, report, say, show

if TYPE_CHECKING:
    from thpi.auto import Relevance
    from thpi.encoder import Coding
    from thpi.evaluation import Assessment
    from thpi.tables import Learning, Names


def _measure_names() -> list[str]:
    from thpi.evaluation import MEASURES

    example = {"k": "@10", "radius": "@2", None: ""}
    return [name + example[measure.parameter] for name, measure in MEASURES.items() if measure.scope != "curve"]


_QUERIES = typer.Option(metavar="FILE", help="Query rows, searched in DATA. Default: some rows of DATA.")
_N_QUERIES = typer.Option(
    min=1, help="Without --queries: rows of DATA drawn as queries. Default: 200, at most a fifth."
)
_RELEVANCE = typer.Option(
    autocompletion=shared.names_of("thpi", "RELEVANCES"),
    help="target, source, labels or groups. Default: labels if given, else that of the model, else target.",
)
_NEIGHBOURS = typer.Option(
    metavar="N", min=1, help="Relevant are the N nearest rows. Default: 1/30 of them, 5 to 50; of groups 1/10."
)
_RADIUS = typer.Option(help="Relevant are rows nearer than this, instead of --neighbours.")
_K = typer.Option("-k", metavar="K", min=1, help="Rank of precision and recall; may be repeated. Default: 1, 10, 100.")
_MEASURE = typer.Option(autocompletion=_measure_names, help="Further measure, e.g. ndcg@10; may be repeated.")
_PRECISION = typer.Option(metavar="SHARE", help="Find the largest Hamming radius with this precision, e.g. 0.9.")


def evaluate(
    collection: shared.CollectionFile,
    data: shared.Data,
    queries: Annotated[Optional[str], _QUERIES] = None,
    n_queries: Annotated[Optional[int], _N_QUERIES] = None,
    relevance: Annotated[Optional[str], _RELEVANCE] = None,
    privileged: Annotated[Optional[str], shared.PRIVILEGED] = None,
    labels: shared.Labels = None,
    neighbours: Annotated[Optional[int], _NEIGHBOURS] = None,
    radius: Annotated[Optional[float], _RADIUS] = None,
    k: Annotated[Optional[list[int]], _K] = None,
    measure: Annotated[Optional[list[str]], _MEASURE] = None,
    precision: Annotated[Optional[float], _PRECISION] = None,
    id: shared.Id = None,
    ignore: shared.Ignore = None,
    html: shared.Html = None,
    seed: shared.Seed = 0,
    force: shared.Force = False,
    as_json: shared.Json = False,
) -> None:
    """Measure retrieval quality against ITQ, exact search and random order.

    The rows of DATA are coded by the model of the collection and searched;
    queries drawn from DATA are left out of it. Relevant is what the model was
    built for, or --relevance. Use rows that the model has not learned from, if
    you have them. Labels and source rows are those of --queries, too.

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
        check_output("--html", html, force=force, inputs=(collection, data, queries, privileged, labels), extra="plots")
    facts, found = _found(given)
    report(facts | found.to_dict(), found.to_html, html, as_json, partial(_print, facts, found))


def _found(given: dict[str, Any]) -> tuple[Facts, Assessment]:
    import thpi
    from thpi.cli._collections import coder_of
    from thpi.evaluation import Judged

    with thpi.open(given["collection"]) as shop:
        meaning = _checked(shop.hasher, given)
        with progress_bar("reading"):
            tables = _read(coder_of(shop), given)
        rows, *asked = (Judged(table.X, table.y, table.views["privileged"]) for table in tables)
        options = {name: given[name] for name in ("n_queries", "neighbours", "radius", "precision")}
        options |= {"k": given["k"] or None, "measures": given["measure"] or (), "curves": given["html"] is not None}
        with progress_bar(f"measuring in {rows.X.shape[0]:,} rows"):
            found = shop.evaluate(
                rows.X, rows.labels, privileged=rows.source, queries=asked[0] if asked else None,
                relevance=meaning.name, random_state=given["seed"], **options,
            )  # fmt: skip
        left_out = sum(table.joined.n_target for table in tables if table.joined is not None)
        facts = {"collection": str(shop.path), "method": shop.hasher.method_name, "rows_without_source": left_out}
    return facts, found


def _checked(hasher: Coding, given: dict[str, Any]) -> Relevance:
    """Refuse what does not fit together before anything is read; note what is not needed; return the meaning."""
    from thpi.evaluation import meaning_of, parse_measure

    for name in given["measure"] or ():
        parse_measure(name)
    if given["relevance"] is not None:
        shared.meaning_of(given["relevance"], given["labels"], given["privileged"])
    meaning = meaning_of(hasher, given["relevance"], has_labels=given["labels"] is not None)
    for name, needed, useful in (
        ("labels", meaning.needs_labels, meaning.needs_labels),
        ("privileged", meaning.needs_source, meaning.needs_source or hasher.is_two_sided),
    ):
        if needed and given[name] is None:
            why = f"the model was fitted for relevance={meaning.name}, which needs --{name}"
            raise ValueError(f"{why}; --relevance target measures nearness in target space instead.")
        if given[name] is not None and not useful:
            typer.echo(f"--{name} is not used: relevant means {meaning.title}.", err=True)
            given[name] = None
    for name in ("neighbours", "radius"):
        if meaning.needs_labels and given[name] is not None:
            why = f"with --relevance {meaning.name}: labels decide what is relevant"
            raise ValueError(f"--{name} cannot be used {why}.")
    return meaning


def _read(coder: tuple[Coding, Names], given: dict[str, Any]) -> list[Learning]:
    """Return the database and, if they have a table of their own, the queries, which must not be in the database."""
    from thpi.tables import Files, read_learning

    files = Files(given["data"], given["privileged"], labels=given["labels"])
    fitted = coder[0].n_features_in_, coder[1]
    read = partial(read_learning, id=given["id"], ignore=given["ignore"], fitted=fitted)
    if given["queries"] is None:
        return [read(files)]
    asked = read(files._replace(data=given["queries"]), argument="--queries", known=None)
    database = read(files, known=asked.known)
    if both := set(map(str, asked.ids or ())) & set(map(str, database.ids or ())):
        few = ", ".join(sorted(both)[:3])
        raise ValueError(f"--queries: {len(both)} of its ids are in DATA too ({few}); a query must not find itself.")
    return [database, asked]


def _print(facts: Facts, found: Assessment) -> None:
    facts |= {"bits": found.n_bits, "queries": found.n_queries, "database": found.n_database}
    facts |= {"relevance": found.relevance, "relevant": found.relevant}
    facts |= {"queries_without_relevant": found.n_empty or None}
    show(False, facts | {"rows_without_source": facts["rows_without_source"] or None})
    # As narrow as a terminal of 80 columns.
    short = [name.replace(" ", "\n").replace("asymmetric", "asymm.") for name in found.lines]
    titles, lines = {"average_precision": "MAP"}, found.lines.values()
    rows = [[titles.get(name, name), *(percent(line.measured(name)) for line in lines)] for name in found.measures]
    print_table(["percent", *short], rows)
    width = max(map(len, found.lines))
    for name, line in found.lines.items():
        say(f"{name:{width}}  {line.words}")
    say("±: 95 % interval over queries. It does not cover other fits or other databases.")
    for notice in [*found.notices, *([] if found.radius is None else [str(found.radius)])]:
        say(f"\n{notice}", "")
