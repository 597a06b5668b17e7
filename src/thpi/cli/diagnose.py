"""``thpi diagnose``: does the source help, on the user's own pairs and for their meaning of relevant?"""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from thpi.cli import _shared as shared
from thpi.cli._shared import check_output, print_table, progress_bar, report, say

if TYPE_CHECKING:
    from thpi.evaluation import Answer, Diagnosis

_RELEVANCE = typer.Option(
    autocompletion=shared.names_of("thpi", "RELEVANCES"),
    help="target, labels, source or groups; may be repeated. Default: target, source and, if given, labels.",
)


def diagnose(
    data: shared.Data,
    privileged: Annotated[str, shared.PRIVILEGED],
    source: shared.FurtherSource = None,
    target: shared.FurtherTarget = None,
    labels: shared.Labels = None,
    relevance: Annotated[Optional[list[str]], _RELEVANCE] = None,
    bits: shared.Bits = 32,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds of the pairs.")] = 3,
    id: shared.Id = None,
    ignore: shared.Ignore = None,
    html: shared.Html = None,
    seed: shared.Seed = 0,
    force: shared.Force = False,
    as_json: shared.Json = False,
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
    from thpi import diagnose as diagnosed
    from thpi.tables import Files, read_learning

    for name in relevance or ():
        shared.meaning_of(name, labels, privileged)
    files = Files(data, privileged, source, target, labels)
    if html is not None:
        check_output("--html", html, force=force, inputs=files.all, extra="plots")
    with progress_bar("reading"):
        rows = read_learning(files, id=id, ignore=ignore)
    kinds = relevance or (["target", "source"] if rows.y is None else ["target", "labels", "source"])
    steps, total = count(), len(kinds) * (folds + 2)
    with progress_bar("diagnosing") as update:
        found = diagnosed(
            rows.X, y=rows.y, **rows.views, relevances=kinds, n_bits=bits, n_folds=folds, random_state=seed,
            on_step=lambda text: update(description=text, completed=next(steps), total=total),
        )  # fmt: skip
    facts = found.to_dict() | {"joined": rows.joined and rows.joined._asdict()}
    report(facts, found.to_html, html, as_json, partial(_print, found, rows.pairing))


def _print(found: Diagnosis, pairing: str | None) -> None:
    colours = {"helps": "green", "hurts": "red"}
    say(f"{found.rows}, {found.n_bits} bits")
    say(f"Paired {pairing}.")
    say(found.relation, "dim" if found.related else "bold red")
    for answer in found.answers:
        say(f"\n{answer.sentence}", f"bold {colours.get(answer.verdict, 'yellow')}")
        # Otherwise figures that differ from those of the answer look like a fault.
        nested = "The answer above is nested cross-validation, so it can be lower than the best row here."
        say(f"Candidates AutoHasher tried. {nested}")
        _print_candidates(answer)
        for sentence in answer.outlook:
            say(sentence, "")


def _print_candidates(answer: Answer) -> None:
    from rich.text import Text

    from thpi.report import described

    rows: list[list[Any]] = []
    for c in answer.candidates:
        cells = ["-", "-", "-"]
        if c["score"] is not None:
            cells = [f"{c['score']:.1f}", f"{c['gain']:+.1f}", f"{c['gain_low']:+.1f} to {c['gain_high']:+.1f}"]
        marks = [mark for mark, holds in (("chosen", c["chosen"]), ("first fold", not c["on_all_folds"])) if holds]
        name = Text(c["name"] + (f" ({', '.join(marks)})" if marks else ""), style="bold" if c["chosen"] else "")
        rows.append([name, described(c["params"]), *cells])
    print_table(("candidate", "parameters", "MAP", "over no source", "interval"), rows, texts=2)
