"""``thpi compare``: which code for the user's own vectors?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from thpi.cli import _options as options
from thpi.cli._output import check_output, progress_bar, show, uninterrupted

if TYPE_CHECKING:
    from rich.table import Table

    from thpi.comparison import Comparison
    from thpi.evaluation import Measured

_RECALL = typer.Option(metavar="SHARE", help="Target recall: the smallest code that reaches it is named.")
_K = typer.Option("-k", metavar="K", min=1, help="Recall of the K nearest rows.")
_CANDIDATES = typer.Option(
    metavar="N", min=1, help="... among the first N found. Default: K; more if you reorder them."
)
_BYTES = typer.Option("--bytes", metavar="B", min=1, help="Bytes of a code; may be repeated. Default: 4 to 256.")
_METHOD = typer.Option(
    autocompletion=options.names_of("thpi.comparison", "METHODS"), help="Method; may be repeated. Default: all."
)
_QUERIES = typer.Option(min=2, help="Rows drawn as queries. Default: 500, at most a fifth.")
_UNSEEN = typer.Option("--unseen", help="Learn from one half of the database and search only the other.")
_HTML = typer.Option("--html", metavar="PAGE.html", help="Write a page with the table and a plot.")


def compare(
    data: options.Data,
    recall: Annotated[float, _RECALL] = 0.9,
    k: Annotated[int, _K] = 10,
    candidates: Annotated[Optional[int], _CANDIDATES] = None,
    n_bytes: Annotated[Optional[list[int]], _BYTES] = None,
    method: Annotated[Optional[list[str]], _METHOD] = None,
    cosine: Annotated[bool, typer.Option("--cosine", help="Divide every row by its length first.")] = False,
    unseen: Annotated[bool, _UNSEEN] = False,
    n_queries: Annotated[Optional[int], _QUERIES] = None,
    id: options.Id = None,
    ignore: options.Ignore = None,
    html: Annotated[Optional[Path], _HTML] = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Compare codes for your vectors at equal bytes, and name the smallest that is good enough.

    Some rows are queries. The others are the database, which all methods learn
    from and code. True neighbours are the nearest vectors. Search is exhaustive:
    what is lost is lost by the code.

    \b
    Examples:
      thpi compare vectors.npy --recall 0.9
      thpi compare vectors.npy --recall 0.99 --candidates 100 --html page.html
      thpi compare vectors.npy --bytes 16 --bytes 32 --method ITQ --method OPQ
    """
    from thpi._files import atomic_write
    from thpi.comparison import compare as compared
    from thpi.tables import Files, read_learning

    if html is not None:
        check_output("--html", html, force=force, inputs=[data], extra="plots")
    with progress_bar("reading"):
        X = read_learning(Files(data), id=id, ignore=ignore).X
    with progress_bar("comparing") as update:
        found = compared(
            X, recall=recall, k=k, candidates=candidates, n_bytes=n_bytes, methods=method, cosine=cosine,
            unseen=unseen, n_queries=n_queries, random_state=seed, on_step=lambda name: update(description=name),
        )  # fmt: skip
    # The answer comes first: if the page cannot be written, the work was not in vain.
    if as_json:
        show(True, found.to_dict())
    else:
        _print(found)
    if html is not None:
        page = found.to_html()
        with uninterrupted():
            atomic_write(html, page)
        if not as_json:
            typer.echo(f"page: {html}")


def _print(found: Comparison) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    rows = f"{found.n_database:,} rows of {found.n_dims:,} dimensions, {found.n_queries:,} other rows as queries"
    console.print(Text(rows, style="dim"))
    console.print(_table(found))
    notes = ["Percent ± 95 % interval over queries. ms: exhaustive search of a query."]
    notes += ["*: no code of as many bytes or fewer finds more. --html draws them."]
    for note in [*notes, *(f"Left out: {text}." for text in found.left_out)]:
        console.print(Text(note, style="dim"))
    console.print()
    console.print(Text(found.sentence, style="bold green" if found.choice else "bold yellow"))


def _table(found: Comparison) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Column, Table
    from rich.text import Text

    cuts = [str(cut).replace(" in ", " in\n") for cut in found.results[0].recalls]
    numbers = [Column(title, justify="right", no_wrap=True) for title in ("bytes", *cuts, "ms")]
    table = Table(Column("recall at", no_wrap=True), *numbers, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    sizes = [result.n_bytes for result in found.results]
    for result, following in zip(found.results, [*sizes[1:], 0], strict=True):
        name = result.name.replace(", asymmetric", " asym").replace(", Hamming", " Hamming")
        title = Text(f"{'*' if result in found.frontier else ' '}{name}", "bold" if result is found.choice else "")
        cells = [f"{result.n_bytes:,}", *map(_percent, result.recalls.values()), f"{result.milliseconds:.2f}"]
        table.add_row(title, *cells, end_section=result.n_bytes != following)
    return table


def _percent(measured: Measured) -> str:
    reach = max(measured.high - measured.value, measured.value - measured.low)
    mean = f"{100 * measured.value:.1f}"
    return f"{'100' if mean == '100.0' else mean}±{100 * reach:.1f}"
