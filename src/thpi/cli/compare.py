"""``thpi compare``: which code for the user's own vectors?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from thpi.cli import _shared as shared
from thpi.cli._shared import check_output, percent, print_table, progress_bar, report, say

if TYPE_CHECKING:
    from thpi.comparison import Comparison

_RECALL = typer.Option(metavar="SHARE", help="Target recall: the smallest code that reaches it is named.")
_K = typer.Option("-k", metavar="K", min=1, help="Recall of the K nearest rows.")
_CANDIDATES = typer.Option(
    metavar="N", min=1, help="... among the first N found. Default: K; more if you reorder them."
)
_BYTES = typer.Option("--bytes", metavar="B", min=1, help="Bytes of a code; may be repeated. Default: 4 to 256.")
_METHOD = typer.Option(
    autocompletion=shared.names_of("thpi.comparison", "METHODS"), help="Method; may be repeated. Default: all."
)
_QUERIES = typer.Option(min=2, help="Rows drawn as queries. Default: 500, at most a fifth.")
_UNSEEN = typer.Option("--unseen", help="Learn from one half of the database and search only the other.")


def compare(
    data: shared.Data,
    recall: Annotated[float, _RECALL] = 0.9,
    k: Annotated[int, _K] = 10,
    candidates: Annotated[Optional[int], _CANDIDATES] = None,
    n_bytes: Annotated[Optional[list[int]], _BYTES] = None,
    method: Annotated[Optional[list[str]], _METHOD] = None,
    cosine: Annotated[bool, typer.Option("--cosine", help="Divide every row by its length first.")] = False,
    unseen: Annotated[bool, _UNSEEN] = False,
    n_queries: Annotated[Optional[int], _QUERIES] = None,
    id: shared.Id = None,
    ignore: shared.Ignore = None,
    html: shared.Html = None,
    seed: shared.Seed = 0,
    force: shared.Force = False,
    as_json: shared.Json = False,
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
    report(found.to_dict(), found.to_html, html, as_json, partial(_print, found))


def _print(found: Comparison) -> None:
    from rich.text import Text

    say(f"{found.n_database:,} rows of {found.n_dims:,} dimensions, {found.n_queries:,} other rows as queries")
    cuts = [str(cut).replace(" in ", " in\n") for cut in found.results[0].recalls]
    groups: dict[int, list[list[str | Text]]] = {}
    for result in found.results:
        name = result.name.replace(", asymmetric", " asym").replace(", Hamming", " Hamming")
        title = Text(f"{'*' if result in found.frontier else ' '}{name}", "bold" if result is found.choice else "")
        cells = [f"{result.n_bytes:,}", *map(percent, result.recalls.values()), f"{result.milliseconds:.2f}"]
        groups.setdefault(result.n_bytes, []).append([title, *cells])
    print_table(["recall at", "bytes", *cuts, "ms"], *groups.values())
    say("Percent ± 95 % interval over queries. ms: exhaustive search of a query.")
    say("*: no code of as many bytes or fewer finds more. --html draws them.")
    for text in found.left_out:
        say(f"Left out: {text}.")
    say(f"\n{found.sentence}", "bold green" if found.choice else "bold yellow")
