"""``thpi diagnose``: does the source help, on the user's own pairs and for their meaning of relevant?"""

from __future__ import annotations

import re
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from thpi.cli import _options as options
from thpi.cli._output import Facts, check_output, progress_bar, show, write_page

if TYPE_CHECKING:
    from rich.table import Table

    from thpi.evaluation import Answer, Diagnosis

_LABELS = typer.Option(metavar="COLUMN|FILE", help=f"Labels: {options.LABELS}")
_RELEVANCE = typer.Option(
    autocompletion=options.names_of("thpi", "RELEVANCES"),
    help="target, labels, source or groups; may be repeated. Default: target, source and, if given, labels.",
)
_HTML = typer.Option(metavar="PAGE.html", help="Write a page with tables and plots.")


def diagnose(
    data: options.Data,
    privileged: Annotated[str, options.PRIVILEGED],
    source: options.FurtherSource = None,
    target: options.FurtherTarget = None,
    labels: Annotated[Optional[str], _LABELS] = None,
    relevance: Annotated[Optional[list[str]], _RELEVANCE] = None,
    bits: options.Bits = 32,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds of the pairs.")] = 3,
    id: options.Id = None,
    ignore: options.Ignore = None,
    html: Annotated[Optional[Path], _HTML] = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Find out whether the source helps, for your meaning of relevant.

    The answer comes from cross-validation on the pairs: held-out rows are the
    queries, and the best method with source is compared with the best without.
    Relevant may mean near in target space, near in source space, same label, or
    same group of the source (groups), if there are no labels. Tables are joined
    as by thpi build: by id, else by position.

    \b
    Examples:
      thpi diagnose pictures.npy --privileged texts.npz:same \\
          --source texts.npz:more --html page.html
      thpi diagnose pictures.csv --privileged texts.csv --labels kinds.csv:kind
    """
    from thpi.tables import Files, read_learning

    _check_relevance(relevance, labels)
    files = Files(data, privileged, source, target, labels)
    if html is not None:
        check_output("--html", html, force=force, inputs=files, extra="plots")
    with progress_bar("reading"):
        rows = read_learning(files, id=id, ignore=ignore)
    found = _diagnosed({"X": rows.X, "y": rows.y, **rows.views}, relevance, bits, folds, seed)
    # The answer comes first: if the page cannot be written, the work was not in vain.
    if as_json:
        show(True, found.to_dict() | {"joined": rows.joined and rows.joined._asdict()})
    else:
        _print(found, rows.pairing)
    if html is not None:
        write_page(html, found, as_json)


def _check_relevance(relevance: list[str] | None, labels: str | None) -> None:
    from thpi import RELEVANCES

    for name in relevance or ():
        if name not in RELEVANCES:
            raise ValueError(f"--relevance {name!r} must be one of {', '.join(RELEVANCES)}.")
        if RELEVANCES[name].needs_labels and labels is None:
            raise ValueError(f"--relevance {name} needs --labels.")


def _diagnosed(rows: Facts, relevance: list[str] | None, bits: int, folds: int, seed: int) -> Diagnosis:
    from thpi import diagnose as diagnosed

    kinds = relevance or (["target", "source"] if rows["y"] is None else ["target", "labels", "source"])
    steps, total = count(), len(kinds) * (folds + 2)
    run = partial(diagnosed, **rows, relevances=kinds, n_bits=bits, n_folds=folds, random_state=seed)
    with progress_bar("diagnosing") as update:
        return run(on_step=lambda text: update(description=text, completed=next(steps), total=total))


def _print(found: Diagnosis, pairing: str | None) -> None:
    from rich.console import Console
    from rich.text import Text

    console, colours = Console(), {"helps": "green", "hurts": "red"}
    console.print(Text(f"{found.rows}, {found.n_bits} bits", style="dim"))
    console.print(Text(f"Paired {pairing}.", style="dim"))
    console.print(Text(found.relation, style="dim" if found.related else "bold red"))
    for answer in found.answers:
        before, verdict, after = re.split(f"({answer.verdict})", answer.sentence, maxsplit=1, flags=re.IGNORECASE)
        console.print()
        console.print(Text.assemble(before, (verdict, f"bold {colours.get(answer.verdict, 'yellow')}"), after))
        # Otherwise figures that differ from those of the answer look like a fault.
        about = (
            "Candidates AutoHasher tried. The answer above is nested cross-validation, so it can be lower than the "
            "best row here."
        )
        console.print(Text(about, style="dim"))
        console.print(_table(answer))
        for sentence in answer.outlook:
            console.print(Text(sentence))


def _table(answer: Answer) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Column, Table
    from rich.text import Text

    from thpi.report import described

    numbers = [Column(title, justify="right") for title in ("MAP", "over no source", "interval")]
    table = Table("candidate", "parameters", *numbers, box=SIMPLE_HEAD)
    for c in answer.candidates:
        cells = ["-", "-", "-"]
        if c["score"] is not None:
            cells = [f"{c['score']:.1f}", f"{c['gain']:+.1f}", f"{c['gain_low']:+.1f} to {c['gain_high']:+.1f}"]
        marks = [mark for mark, holds in (("chosen", c["chosen"]), ("first fold", not c["on_all_folds"])) if holds]
        name = Text(c["name"] + (f" ({', '.join(marks)})" if marks else ""), style="bold" if c["chosen"] else "")
        table.add_row(name, described(c["params"]), *cells)
    return table
