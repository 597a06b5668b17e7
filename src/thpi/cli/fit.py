"""``thpi fit``: learn hash functions from files and write a model file."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from thpi.cli import _options as options
from thpi.cli._files import model_facts, parameters
from thpi.cli._output import Facts, check_output, print_table, progress_bar, show, uninterrupted

if TYPE_CHECKING:
    from thpi.base import BaseHasher
    from thpi.cli._learning import Files, Learning

_BLOCKS = " ▁▂▃▄▅▆▇█"


def _print_methods(wanted: bool) -> None:
    if not wanted:
        return
    from thpi import HASHERS
    from thpi.registry import needs

    params = {name: sorted(parameters(method()).items()) for name, method in HASHERS.items()}
    texts = {name: " ".join(f"{key}={value}" for key, value in pairs) or "-" for name, pairs in params.items()}
    rows = [(name, needs(method), texts[name]) for name, method in HASHERS.items()]
    print_table(("method", "needs", "parameters, for --set"), rows)
    raise typer.Exit


_METHOD = typer.Option(
    autocompletion=options.names_of("thpi", "HASHERS"),
    help="Method. Default: AutoHasher with --privileged or --labels, else ITQ.",
)
_LABELS = typer.Option(metavar="COLUMN|FILE", help=f"Classes: {options.LABELS} Relevant then means same class.")
_SET = typer.Option("--set", metavar="NAME=VALUE", help="Parameter of the method; may be repeated.")
_METHODS = typer.Option("--methods", is_eager=True, callback=_print_methods, help="List methods and parameters.")


def fit(
    data: options.DataOrFolder,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file to write, for instance shop.thpi.")],
    method: Annotated[Optional[str], _METHOD] = None,
    bits: options.Bits = 32,
    privileged: Annotated[Optional[str], options.PRIVILEGED] = None,
    source: options.FurtherSource = None,
    target: options.FurtherTarget = None,
    labels: Annotated[Optional[str], _LABELS] = None,
    id: options.Id = None,
    ignore: options.Ignore = None,
    parameter: Annotated[Optional[list[str]], _SET] = None,
    seed: options.Seed = 0,
    scheduler: options.Scheduler = None,
    force: options.Force = False,
    as_json: options.Json = False,
    methods: Annotated[bool, _METHODS] = False,
) -> None:
    """Learn hash functions for the rows of a file and write a model.

    If there are few target rows (DATA), their source rows (--privileged) and
    further source rows (--source) can help; they are not needed afterwards.
    AutoHasher decides by cross-validation whether the source helps, and uses it
    only then. By default, an item is relevant if it is close in target space or,
    with --labels, if it has the same class. Change this with --set
    relevance=source or --set relevance=groups.

    Tables with a column of ids are joined by it, whatever the order of the rows.
    Rows without a partner are further source and target rows. Other files are
    joined by position: row i of both is the same item. Each row needs a label.

    With --set sides=auto (or two) items are coded by their source rows, if that
    finds more: thpi encode --side source. Queries need target rows only.

    Choose an array of an npz file as FILE:NAME. The model stores column names. A
    folder of parquet files may be larger than memory (methods ITQ, LSH and
    SpectralHashing; and --source, of which AutoHasher takes a sample).

    \b
    Examples:
      thpi fit pictures.csv shop.thpi --privileged texts.csv --bits 32
      thpi fit shop.csv shop.thpi --id sku --labels class --ignore price
      thpi fit pictures.npy shop.thpi --privileged texts.npz:same \\
          --source texts.npz:more --bits 64 --labels kinds.txt
      thpi fit pictures.npy shop.thpi --method ITQ --set n_init=5 --seed 1
      thpi fit vectors/ big.thpi --bits 64 --scheduler tcp://head:8786
      thpi fit --methods
    """
    from thpi.cli._learning import Files, read_learning
    from thpi.cli._views import cluster

    files = Files(data, privileged, source, target, labels)
    check_output("MODEL", model, force=force, inputs=files)
    hasher = _hasher(method, files, bits, seed, parameter or [])
    with cluster(scheduler) as client:
        with progress_bar("reading"):
            pairs = hasher.needs_privileged or hasher.uses_source
            rows = read_learning(files, id=id, ignore=ignore, pairs=pairs, client=client)
        seconds = _fit(hasher, rows)
    facts = {"rows": rows.X.shape[0], "pairs": rows.pairing}
    if as_json:
        facts["pairs"] = None if rows.joined is None else rows.joined._asdict()
    try:
        with uninterrupted():
            hasher.save(model)
    except OSError:
        _report(as_json, None, hasher, facts, seconds)  # what was found is worth reading all the same
        raise
    _report(as_json, model, hasher, facts, seconds)


def _fit(hasher: BaseHasher, rows: Learning) -> float:
    """Fit, remember the names of the columns, and return the seconds it took."""
    import numpy as np

    from thpi.auto import UnrelatedLabelsWarning, UnrelatedPairsWarning

    if rows.joined is not None and rows.joined.n_target and not hasher.uses_target:
        unused = f"{rows.joined.n_target:,} target rows without a source are not used"
        typer.echo(f"{unused}: {type(hasher).__name__} learns from pairs only.", err=True)
    start = time.perf_counter()
    bar = progress_bar(f"fitting {type(hasher).__name__} on {rows.X.shape[0]:,} rows")
    with bar, warnings.catch_warnings():
        for category in (UnrelatedPairsWarning, UnrelatedLabelsWarning):
            warnings.simplefilter("ignore", category)  # the report has it
        hasher.fit(rows.X, rows.y, **{name: view for name, view in rows.views.items() if view is not None})
    if rows.names is not None:
        hasher.feature_names_in_ = np.array(rows.names, dtype=object)
    if rows.source_names is not None and hasher.is_two_sided:
        hasher.item_names_ = list(rows.source_names)
    return time.perf_counter() - start


def _hasher(method: str | None, files: Files, bits: int, seed: int, settings: list[str]) -> BaseHasher:
    from thpi import HASHERS

    _, privileged, source, target, labels = files
    if method is None:
        method = "ITQ" if privileged is None and labels is None else "AutoHasher"
    if method not in HASHERS:
        raise ValueError(f"--method {method!r} must be one of {', '.join(HASHERS)}.")
    hasher = HASHERS[method](n_bits=bits, random_state=seed)
    if labels is not None and "relevance" in hasher.get_params():
        hasher.set_params(relevance="labels")
    if hasher.needs_privileged and privileged is None:
        raise ValueError(f"--method {method} needs --privileged, the source rows of the items of DATA.")
    if target is not None and not hasher.uses_target:
        able = ", ".join(name for name, each in HASHERS.items() if each.uses_target)
        also = "" if hasher.needs_privileged else " Rows without a source can be part of DATA."
        raise ValueError(f"--method {method} does not take --target; {able} do.{also}")
    allowed = sorted(parameters(hasher))
    known = ", ".join(allowed) or "no parameters"
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--set {text!r} must be NAME=VALUE; {method} has {known}.")
        if name not in allowed:
            auto = " AutoHasher, the default with --privileged or --labels, has it."
            hint = auto if name in parameters(HASHERS["AutoHasher"]()) else ""
            raise ValueError(f"--set {text!r}: {method} has no parameter {name!r}, only {known}.{hint}")
        hasher.set_params(**{name: _value(value)})
    hasher._validate_params()  # before the data are read
    _note_unused(hasher, privileged, source, labels)
    return hasher


def _note_unused(hasher: BaseHasher, privileged: str | None, source: str | None, labels: str | None) -> None:
    from thpi import RELEVANCES

    relevance = RELEVANCES.get(hasher.get_params().get("relevance", ""))
    labels_used = hasher.uses_labels and (relevance is None or relevance.needs_labels)
    pairs = privileged is not None and (hasher.needs_privileged or hasher.uses_source)
    for option, value, used in (
        ("--source", source, privileged is not None and hasher.uses_source),
        ("--privileged", privileged, pairs),
        ("--labels", labels, labels_used),
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


def _report(as_json: bool, model: Path | None, hasher: BaseHasher, rows: Facts, seconds: float) -> None:
    objective = [float(value) for value in hasher.objective_]
    facts = model_facts(model, hasher, rows, as_json)
    if as_json:
        more = {"objective": objective, "iterations": hasher.n_iter_, "converged": hasher.converged_}
        show(True, facts | more | {"seconds": round(seconds, 3)})
        return
    facts["fitted_in"] = f"{seconds:.2f} s"
    if objective:
        state = "converged" if hasher.converged_ else "stopped at max_iter before converging"
        facts["objective"] = f"{objective[0]:.6g} -> {objective[-1]:.6g} in {len(objective)} iterations, {state}"
    show(False, facts)
    if len(objective) > 1:
        lines = [*_curve(objective), f"objective, iterations 1 to {len(objective)}"]
        typer.echo("\n" + "\n".join(f"  {line}" for line in lines))


def _curve(values: Sequence[float], width: int = 60, height: int = 4) -> list[str]:
    """Draw values from left to right in lines of at most ``width`` columns; each may be several columns wide.

    >>> _curve([4, 2, 1, 0], width=8, height=1)
    ['██▅▅▃▃▁▁']
    """
    n = min(width, len(values))
    # The first and the last value are always among those drawn.
    chosen = [values[round(i * (len(values) - 1) / max(1, n - 1))] for i in range(n) for _ in range(width // n)]
    low, high = min(chosen), max(chosen)
    steps = 8 * height - 1
    levels = [1 + round((value - low) / (high - low) * steps) if high > low else 1 for value in chosen]
    rows = reversed(range(height))
    return ["".join(_BLOCKS[min(8, max(0, level - 8 * row))] for level in levels).rstrip() for row in rows]
