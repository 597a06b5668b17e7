"""``thpi compare``: which code for the user's own vectors?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from thpi.cli import _options as options
from thpi.cli._output import check_output, check_writable, progress_bar, show, uninterrupted

if TYPE_CHECKING:
    from rich.table import Table

    from thpi.comparison import Comparison, Result
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
_PRIVILEGED = typer.Option(metavar="FILE", help="Source rows: AutoHasher also learns for nearness among them.")
_LABELS = typer.Option(metavar="COLUMN|FILE", help=f"AutoHasher also learns for equal labels: {options.LABELS}")
_QUERIES = typer.Option(min=2, help="Rows drawn as queries. Default: 500, at most a fifth.")
_INDEX = typer.Option(
    metavar="SHARE", help="Also search binary codes by an index of this recall, and say what it loses."
)
_HTML = typer.Option("--html", metavar="PAGE.html", help="Write a page with the table and a plot.")
_WRITE = typer.Option(
    metavar="NAME", help="Learn the chosen code from all rows; write NAME.thpi (a model) or NAME.faiss (an index)."
)


def compare(
    data: options.Data,
    recall: Annotated[float, _RECALL] = 0.9,
    k: Annotated[int, _K] = 10,
    candidates: Annotated[Optional[int], _CANDIDATES] = None,
    n_bytes: Annotated[Optional[list[int]], _BYTES] = None,
    method: Annotated[Optional[list[str]], _METHOD] = None,
    privileged: Annotated[Optional[str], _PRIVILEGED] = None,
    labels: Annotated[Optional[str], _LABELS] = None,
    cosine: Annotated[bool, typer.Option("--cosine", help="Divide every row by its length first.")] = False,
    n_queries: Annotated[Optional[int], _QUERIES] = None,
    index_recall: Annotated[Optional[float], _INDEX] = None,
    id: options.Id = None,
    ignore: options.Ignore = None,
    html: Annotated[Optional[Path], _HTML] = None,
    write: Annotated[Optional[Path], _WRITE] = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Compare codes for your vectors at equal bytes, and name the smallest that is good enough.

    Some rows are queries. The others are the database, which all methods learn
    from and code: signs of the dimensions, signs after a random or learned
    rotation, AutoHasher, product, residual and scalar quantisation, RaBitQ, and
    the vectors themselves. True neighbours are the nearest vectors. Search is
    exhaustive: what is lost is lost by the code. --index-recall also measures an
    index.

    \b
    Examples:
      thpi compare vectors.npy --recall 0.9
      thpi compare vectors.npy --recall 0.99 --candidates 100 --html page.html
      thpi compare vectors.npy --bytes 16 --bytes 32 --method ITQ --method OPQ
    """
    from thpi._files import atomic_write
    from thpi.comparison import METHODS
    from thpi.tables import Files, read_learning

    _check_shares(recall=recall, index_recall=index_recall)
    for name in method or ():
        if name not in METHODS:
            raise ValueError(f"--method {name!r} must be one of {', '.join(METHODS)}.")
    files = Files(data, privileged, labels=labels)
    if html is not None:
        check_output("--html", html, force=force, inputs=files, extra="plots")
    if write is not None:
        _check_write(write, force)
    with progress_bar("reading"):
        rows = read_learning(files, id=id, ignore=ignore)
    given = {"privileged": rows.views["privileged"], "labels": rows.y, "cosine": cosine, "random_state": seed}
    sizes = {} if n_bytes is None else {"n_bytes": n_bytes}
    found = _compared(
        rows.X, recall=recall, k=k, candidates=candidates, methods=method, n_queries=n_queries,
        index_recall=index_recall, **sizes, **given,
    )  # fmt: skip
    # The answer comes first: if a file cannot be written, the work was not in vain.
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
    if write is not None:
        _write(write, found, rows.X, given, as_json)


def _check_shares(**shares: float | None) -> None:
    for name, share in shares.items():
        if share is not None and not 0 < share <= 1:
            raise ValueError(f"--{name.replace('_', '-')} {share:g} must be above 0 and at most 1.")


def _check_write(write: Path, force: bool) -> None:
    if not write.parent.is_dir():
        raise ValueError(f"--write={str(write)!r}: the folder {str(write.parent)!r} does not exist.")
    for suffix in (".thpi", ".faiss"):
        check_output("--write", write.with_name(write.name + suffix), force=force)
    check_writable("--write", write, write.parent)


def _compared(X: Any, **given: Any) -> Comparison:
    from thpi.comparison import compare as compared

    with progress_bar("comparing") as update:
        return compared(X, on_step=lambda text: update(description=text), **given)


def _write(write: Path, found: Comparison, X: Any, given: dict[str, Any], as_json: bool) -> None:
    from thpi.comparison import write_code

    best = found.choice or found.frontier[-1]
    with progress_bar(f"learning {best.method} from all rows"), uninterrupted():
        file = write_code(write, X, best.method, best.n_bytes, **given)
    if not as_json:
        typer.echo(f"{best.method}, {best.n_bytes} bytes, learned from all rows: {file}")


def _print(found: Comparison) -> None:
    from rich.console import Console
    from rich.text import Text

    from thpi.cli._frontier import draw_points

    console = Console()
    rows = f"{found.n_database:,} rows of {found.n_dims:,} dimensions, {found.n_queries:,} other rows as queries"
    console.print(Text(rows, style="dim"))
    console.print(_table(found))
    notes = ["Percent ± 95 % interval over queries. ms: exhaustive search of a query. *: frontier."]
    notes += [f"Left out: {text}." for text in found.left_out]
    for note in notes:
        console.print(Text(note, style="dim"))
    console.print()
    console.print(Text(f"recall at {found.cut}, in percent"))
    points: dict[str, list[tuple[int, float]]] = {}
    for result in sorted(found.results, key=lambda r: r not in found.frontier):
        points.setdefault(result.name, []).append((result.n_bytes, 100 * found.recall(result)))
    for line in draw_points(points, 100 * found.wished):
        console.print(Text(line), no_wrap=True, crop=False)
    console.print()
    console.print(Text(found.sentence, style="bold green" if found.choice else "bold yellow"))


def _table(found: Comparison) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Column, Table
    from rich.text import Text

    cuts = list(found.results[0].recalls)
    index = any(result.index_loss is not None for result in found.results)
    meaning = [] if found.meaning is None else [found.meaning]
    recalls = [str(cut).replace(" in ", " in\n") for cut in cuts]
    titles = ["bytes", *recalls, *meaning, "ms", *(["index\nloss"] if index else [])]
    numbers = [Column(title, justify="right", no_wrap=True) for title in titles]
    table = Table(Column("recall at", no_wrap=True), *numbers, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    last = None
    for result in found.results:
        if last is not None and result.n_bytes != last:
            table.add_section()
        last = result.n_bytes
        mark = "*" if result in found.frontier else " "
        style = "bold" if result is found.choice else ""
        table.add_row(Text(f"{mark}{_short(result)}", style=style), *_cells(result, bool(meaning), index))
    return table


def _short(result: Result) -> str:
    return result.name.replace(", asymmetric", " asym").replace(", Hamming", " Hamming")


def _cells(result: Result, with_meaning: bool, with_index: bool) -> list[str]:
    measures = [*result.recalls.values(), *([result.relevance] if with_meaning else [])]
    cells = [f"{result.n_bytes:,}", *map(_percent, measures), f"{result.milliseconds:.2f}"]
    return [*cells, _percent(result.index_loss)] if with_index else cells


def _percent(measured: Measured | None) -> str:
    if measured is None:
        return ""
    reach = max(measured.high - measured.value, measured.value - measured.low)
    mean = f"{100 * measured.value:.1f}"
    return f"{'100' if mean == '100.0' else mean}±{100 * reach:.1f}"
