"""``thpi build``: learn, code, and write a collection."""

from __future__ import annotations

import json
import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from thpi.cli import _shared as shared
from thpi.cli._collections import collection_facts, item_details, item_ids
from thpi.cli._shared import Facts, check_output, print_table, progress_bar, report, show

if TYPE_CHECKING:
    from thpi.base import BaseHasher
    from thpi.collection import Collection
    from thpi.tables import Files, Learning


def _parameters(hasher: BaseHasher) -> Facts:
    """Return the parameters of a method, without those that have options of their own."""
    return {key: value for key, value in hasher.get_params().items() if key not in ("n_bits", "random_state")}


def _print_methods(wanted: bool) -> None:
    if not wanted:
        return
    from thpi import HASHERS
    from thpi.registry import needs

    params = {name: sorted(_parameters(method()).items()) for name, method in HASHERS.items()}
    texts = {name: " ".join(f"{key}={value}" for key, value in pairs) or "-" for name, pairs in params.items()}
    rows = [(name, needs(method), texts[name]) for name, method in HASHERS.items()]
    print_table(("method", "needs", "parameters, for --set"), rows, texts=3)
    raise typer.Exit


_DATA = typer.Argument(metavar="DATA", help=f"Target rows: {shared.TABLES}, or a folder.")
_RELEVANCE = typer.Option(
    autocompletion=shared.names_of("thpi", "RELEVANCES"),
    help="What relevant means: target, source, labels or groups. Default: labels if given, else target.",
)
_FEATURE = typer.Option("--feature", metavar="COLUMN", help="Feature that looks like an id; may be repeated.")
_CLUSTER = "Dask scheduler, for instance tcp://host:8786. Its workers read the files, under the same paths."
_SCHEDULER = typer.Option(metavar="ADDRESS", help=_CLUSTER)
_METHOD = typer.Option(
    autocompletion=shared.names_of("thpi", "HASHERS"),
    help="Method. Default: AutoHasher with --privileged or --labels, else ITQ.",
)
_SET = typer.Option("--set", metavar="NAME=VALUE", help="Rare parameter of the method; may be repeated.")
_METHODS = typer.Option("--methods", is_eager=True, callback=_print_methods, help="List methods and parameters.")
_RECALL = typer.Option(metavar="SHARE", help="Allow approximate search with this recall, e.g. 0.99. Default: exact.")
_TITLE = typer.Option(metavar="TEXT", help="Title that people see. Default: the name of the file.")
HELP = """Learn from tables, code their items, and write a collection: one file to search in.

If there are few target rows (DATA), their source rows (--privileged) and
further source rows (--source) can help; they are not needed afterwards.
AutoHasher decides by cross-validation whether the source helps, and uses it
only then. By default, an item is relevant if it is close in target space or,
with --labels, if it has the same class; --relevance changes this.

Tables with a column of ids are joined by it, whatever the order of the rows.
Rows without a partner are further source and target rows. Other files are
joined by position: row i of both is the same item. The items are the rows of
DATA and of --target. Ids must be different. A column of numbers that is
called like an id (sku, ean, no) is not taken as a feature without a word.

With --set sides=auto (or two) items are coded by their source rows, if that
finds more. Searches need target rows only.

Choose an array of an npz file as FILE:NAME. The collection stores column
names. A folder of parquet files may be larger than memory (methods ITQ, LSH
and SpectralHashing; and --source, of which AutoHasher takes a sample).

\b
Examples:
  thpi build shop.thpi pictures.csv --privileged texts.csv --bits 32
  thpi build shop.thpi shop.csv --id sku --labels class --ignore price
  thpi build shop.thpi pictures.npy --privileged texts.npz:same \\
      --source texts.npz:more --bits 64 --relevance groups
  thpi build shop.thpi pictures.npy --method ITQ --set n_init=5 --seed 1
  thpi build big.thpi vectors/ --bits 64 --scheduler tcp://head:8786
  thpi build --methods
"""


def build(
    collection: Annotated[Path, typer.Argument(metavar="COLLECTION", help="File to write, for instance shop.thpi.")],
    data: Annotated[str, _DATA],
    privileged: Annotated[Optional[str], shared.PRIVILEGED] = None,
    source: shared.FurtherSource = None,
    target: shared.FurtherTarget = None,
    labels: shared.Labels = None,
    relevance: Annotated[Optional[str], _RELEVANCE] = None,
    method: Annotated[Optional[str], _METHOD] = None,
    parameter: Annotated[Optional[list[str]], _SET] = None,
    bits: shared.Bits = 32,
    recall: Annotated[Optional[float], _RECALL] = None,
    id: shared.ItemId = None,
    ignore: shared.Ignore = None,
    feature: Annotated[Optional[list[str]], _FEATURE] = None,
    text: shared.Text = None,
    pictures: shared.Pictures = None,
    title: Annotated[Optional[str], _TITLE] = None,
    seed: shared.Seed = 0,
    scheduler: Annotated[Optional[str], _SCHEDULER] = None,
    html: shared.Html = None,
    force: shared.Force = False,
    as_json: shared.Json = False,
    methods: Annotated[bool, _METHODS] = False,
) -> None:
    """Learn from tables, code their items, and write a collection."""
    from thpi.tables import Files, cluster, read_learning

    start = time.perf_counter()
    files = Files(data, privileged, source, target, labels)
    for name, output in (("COLLECTION", collection), ("--html", html)):
        if output is not None:
            check_output(name, output, force=force, inputs=[*files.all, collection if output is html else None])
    if recall is not None and not 0 < recall <= 1:
        raise ValueError(f"--recall {recall:g} must be above 0 and at most 1.")
    hasher = _hasher(method, files, relevance, bits, seed, parameter or [])
    with cluster(scheduler) as client, progress_bar("reading") as update:
        alone = not (hasher.needs_privileged or hasher.uses_source)
        learned = files._replace(privileged=None, source=None) if alone else files
        rows = read_learning(learned, id=id, ignore=ignore, client=client, kept=feature or (), text=text)
        about = {"title": title or collection.stem, "recall": recall, "labels": labels}
        about |= _where_from(files, rows, hasher)
        made = _built(collection, hasher, rows, about, pictures, force, update)
    facts = collection_facts(collection, made, as_json) | {"seconds": round(time.perf_counter() - start, 3)}
    if as_json and rows.joined is not None:
        facts["pairs"] = rows.joined._asdict()
    report(facts, partial(_page, hasher, about, made), html, as_json, lambda: show(False, facts))


def _page(hasher: BaseHasher, about: Facts, made: Collection) -> str:
    from thpi.report import NARROW_STYLE, render

    facts = collection_facts(made.path, made, False)
    about = {"title": about["title"], "meaning": about["relevant"], "style": NARROW_STYLE}
    return render("collection.html", hasher=hasher, facts=facts, **about)


def _where_from(files: Files, rows: Learning, hasher: BaseHasher) -> Facts:
    """What the collection remembers of its tables; note rows that nothing is learned from."""
    from thpi import RELEVANCES

    if rows.joined is not None and rows.joined.n_target and not hasher.uses_target:
        unused = f"{rows.joined.n_target:,} target rows without a source are coded, but not learned from"
        typer.echo(f"{unused}: {type(hasher).__name__} learns from pairs only.", err=True)
    meaning = RELEVANCES.get(hasher.get_params().get("relevance", ""))
    tables = {name: Path(file).name for name, file in files._asdict().items() if file is not None}
    return {"tables": tables, "pairs": rows.pairing, "relevant": None if meaning is None else meaning.title}


def _built(
    path: Path, hasher: BaseHasher, rows: Learning, about: Facts, pictures: Path | None, force: bool, update: Any
) -> Collection:
    import thpi
    from thpi.auto import UnrelatedLabelsWarning, UnrelatedPairsWarning

    ids, target_ids = item_ids(rows)
    every = range(rows.X.shape[0]) if ids is None else [*ids, *(() if target_ids is None else target_ids)]
    with warnings.catch_warnings():
        for category in (UnrelatedPairsWarning, UnrelatedLabelsWarning):
            warnings.simplefilter("ignore", category)  # the report has it
        return thpi.build(
            path, rows.X, rows.y, ids=ids, **rows.views, target_ids=target_ids,
            columns=rows.names, source_columns=rows.source_names, hasher=hasher,
            details=item_details(every, rows.texts, pictures), about=about, force=force,
            on_step=lambda text: update(description=text),
        )  # fmt: skip


def _hasher(
    method: str | None, files: Files, relevance: str | None, bits: int, seed: int, settings: list[str]
) -> BaseHasher:
    from thpi import HASHERS

    privileged, labels = files.privileged, files.labels
    if method is None:
        method = "ITQ" if privileged is None and labels is None else "AutoHasher"
    if method not in HASHERS:
        raise ValueError(f"--method {method!r} must be one of {', '.join(HASHERS)}.")
    hasher = HASHERS[method](n_bits=bits, random_state=seed)
    if relevance is not None:
        shared.meaning_of(relevance, labels, privileged)
    chosen = relevance or (None if labels is None else "labels")
    if chosen is not None and "relevance" in _parameters(hasher):
        hasher.set_params(relevance=chosen)
    elif relevance not in (None, "target"):
        auto = "AutoHasher, the default with --privileged or --labels"
        raise ValueError(f"--relevance {relevance} needs {auto}; {method} has one meaning only.")
    if hasher.needs_privileged and privileged is None:
        raise ValueError(f"--method {method} needs --privileged, the source rows of the items of DATA.")
    allowed = sorted(set(_parameters(hasher)) - {"relevance"})
    for text in settings:
        name, equals, value = text.partition("=")
        if name == "relevance":
            raise ValueError(f"--set {text!r}: what relevant means has an option of its own, --relevance {value}.")
        if not equals or name not in allowed:
            auto = " AutoHasher, the default with --privileged or --labels, has it."
            hint = auto if name in _parameters(HASHERS["AutoHasher"]()) and method != "AutoHasher" else ""
            known = ", ".join(allowed) or "none"
            raise ValueError(f"--set {text!r} must be NAME=VALUE with a parameter of {method}: {known}.{hint}")
        hasher.set_params(**{name: _value(value)})
    hasher._validate_params()  # before the data are read
    _note_unused(hasher, files)
    return hasher


def _note_unused(hasher: BaseHasher, files: Files) -> None:
    from thpi import RELEVANCES

    relevance = RELEVANCES.get(hasher.get_params().get("relevance", ""))
    pairs = files.privileged is not None and (hasher.needs_privileged or hasher.uses_source)
    for option, value, used in (
        ("--source", files.source, files.privileged is not None and hasher.uses_source),
        ("--privileged", files.privileged, pairs),
        ("--labels", files.labels, hasher.uses_labels and (relevance is None or relevance.needs_labels)),
    ):
        if value is not None and not used:
            learns = "pairs only" if pairs else "target rows only"
            typer.echo(f"{option} is not used: {type(hasher).__name__} learns from {learns}.", err=True)


def _value(text: str) -> Any:
    """Read a number, true, false or none; otherwise return the text."""
    try:
        return json.loads({"None": "null", "none": "null", "True": "true", "False": "false"}.get(text, text))
    except ValueError:
        return text
