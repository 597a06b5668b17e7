"""``thpi diagnose``: does the source help, on the user's own pairs and for their meaning of relevant?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from thpi.cli._options import Bits, Force, FurtherSource, FurtherTarget, Ignore, Json, Seed
from thpi.cli._output import Facts, check_output, plain, progress_bar, uninterrupted

if TYPE_CHECKING:
    from rich.table import Table

    from thpi.diagnosis import Answer, Diagnosis


def _relevance_names() -> list[str]:
    from thpi import RELEVANCES

    return list(RELEVANCES)


def diagnose(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Target rows: npy, npz, csv, tsv or parquet.")],
    privileged: Annotated[
        str,
        typer.Option("--privileged", metavar="FILE", help="Source rows; row i is the same item as row i of DATA."),
    ],
    source: FurtherSource = None,
    target: FurtherTarget = None,
    labels: Annotated[
        Optional[str],
        typer.Option("--labels", metavar="COLUMN|FILE", help="Labels of the pairs: a column of DATA, or a file."),
    ] = None,
    relevance: Annotated[
        Optional[list[str]],
        typer.Option(
            "--relevance",
            autocompletion=_relevance_names,
            help="target, labels, source or groups; may be repeated. Default: target, source and, if given, labels.",
        ),
    ] = None,
    bits: Bits = 32,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Number of folds of the pairs.")] = 5,
    ignore: Ignore = None,
    output: Annotated[
        Optional[Path], typer.Option("--output", metavar="PAGE.html", help="Write a page with tables and plots.")
    ] = None,
    seed: Seed = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Find out whether the source helps, for your meaning of relevant.

    The answer comes from cross-validation on the pairs: held-out rows are the
    queries, and the best method with source is compared with the best without.
    Relevant may mean near in target space, near in source space, same label, or
    same group of the source (groups), if there are no labels.

    \b
    Examples:
      thpi diagnose pictures.npy --privileged texts.npz:same \\
          --source texts.npz:more --output page.html
      thpi diagnose shop.csv --privileged texts.npy --labels class --ignore sku
    """
    _check_relevances(relevance or [], labels)
    if output is not None:
        check_output("--output", output, force=force, inputs=(data, privileged, source, target, labels))
    rows = _read(data, privileged, source, target, labels, ignore or [])
    found = _diagnosed(rows, relevance, bits, folds, seed)
    if output is not None:
        from thpi._files import atomic_write

        page = found.to_html()
        with uninterrupted():
            atomic_write(output, page)
    if as_json:
        import json

        typer.echo(json.dumps(plain(found.to_dict()), allow_nan=False))
        return
    _print(found)
    if output is not None:
        typer.echo(f"page: {output}")


def _check_relevances(relevances: list[str], labels: str | None) -> None:
    if not relevances:
        return
    from thpi import RELEVANCES

    for name in relevances:
        if name not in RELEVANCES:
            raise ValueError(f"--relevance {name!r} must be one of {', '.join(RELEVANCES)}.")
        if RELEVANCES[name].needs_labels and labels is None:
            raise ValueError(f"--relevance {name} needs --labels.")


def _read(
    data: str, privileged: str, source: str | None, target: str | None, labels: str | None, ignore: list[str]
) -> Facts:
    """Read the rows, by the names of the function's arguments."""
    import numpy as np

    from thpi.cli._columns import is_column, read_column
    from thpi.cli._output import spinner
    from thpi.cli._tables import read_matrix

    key = labels if labels is not None and is_column(data, labels) else None
    with spinner("reading"):
        X, keys, names = read_matrix("DATA", data, key=key, ignore=ignore)
        S = read_matrix("--privileged", privileged)[0]
        S_U = None if source is None else read_matrix("--source", source)[0]
        X_more = None if target is None else read_matrix("--target", target, features=names)[0]
        values = keys if key is not None or labels is None else read_column("--labels", labels)
    if S.shape[0] != X.shape[0]:
        raise ValueError(
            f"--privileged {privileged!r} has {S.shape[0]} rows and DATA {X.shape[0]}; row i must be the same item."
        )
    if values is not None and len(values) != X.shape[0]:
        raise ValueError(f"--labels {labels!r} has {len(values)} values and DATA {X.shape[0]} rows.")
    y = None if values is None else np.array([str(value) for value in values])
    return {"X": X, "privileged": S, "source": S_U, "target": X_more, "y": y}


def _diagnosed(rows: Facts, relevance: list[str] | None, bits: int, folds: int, seed: int) -> Diagnosis:
    from itertools import count

    from rich.progress import TimeElapsedColumn

    from thpi import diagnose as diagnosed

    kinds = relevance or (["target", "source"] if rows["y"] is None else ["target", "labels", "source"])
    steps, total = count(), len(kinds) * (folds + 2)
    with progress_bar("diagnosing", TimeElapsedColumn()) as update:

        def step(text: str) -> None:
            update(description=text, completed=next(steps), total=total)

        return diagnosed(**rows, relevances=kinds, n_bits=bits, n_folds=folds, random_state=seed, on_step=step)


def _print(found: Diagnosis) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    colours = {"helps": "green", "hurts": "red"}
    console.print(Text(f"{found.rows}, {found.n_bits} bits", style="dim"))
    console.print(Text(found.relation, style="dim" if found.related else "bold red"))
    for answer in found.answers:
        before, after = answer.sentence.split(answer.verdict, 1)
        console.print()
        console.print(Text.assemble(before, (answer.verdict, f"bold {colours.get(answer.verdict, 'yellow')}"), after))
        # Otherwise figures that differ from those of the answer look like a fault.
        console.print(Text("What AutoHasher tried; its folds search among other rows than the answer:", style="dim"))
        console.print(_table(answer))
        for sentence in answer.outlook:
            console.print(Text(sentence))


def _table(answer: Answer) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from thpi.diagnosis import described

    table = Table("candidate", "parameters", box=SIMPLE_HEAD)
    for title in ("MAP", "over no source", "interval"):
        table.add_column(title, justify="right")
    for c in answer.candidates:
        known = c["score"] is not None
        numbers = (
            (f"{c['score']:.1f}", f"{c['gain']:+.1f}", f"{c['gain_low']:+.1f} to {c['gain_high']:+.1f}")
            if known
            else ("-", "-", "-")
        )
        marks = [mark for mark, holds in (("chosen", c["chosen"]), ("first fold", not c["on_all_folds"])) if holds]
        name = Text(c["name"] + (f" ({', '.join(marks)})" if marks else ""), style="bold" if c["chosen"] else "")
        table.add_row(name, described(c["params"]), *numbers)
    return table
