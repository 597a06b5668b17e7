"""``thpi fit``: learn hash functions from files and write a model file."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from thpi.cli._cluster import cluster
from thpi.cli._options import Bits, Force, FurtherSource, FurtherTarget, Ignore, Json, Scheduler, Seed
from thpi.cli._output import Facts, check_output, note, show, spinner, uninterrupted

if TYPE_CHECKING:
    from thpi._types import Matrix
    from thpi.base import BaseHasher
    from thpi.cli._columns import Value


def _method_names() -> list[str]:
    from thpi import HASHERS

    return list(HASHERS)


def _print_methods(wanted: bool) -> None:
    """List the methods of the registry with their inputs and parameters."""
    if not wanted:
        return
    from rich.console import Console
    from rich.table import Table

    from thpi import HASHERS
    from thpi.registry import needs

    table = Table("method", "needs", "parameters, for --set")
    for name, method in HASHERS.items():
        params = {key: value for key, value in method().get_params().items() if key not in ("n_bits", "random_state")}
        table.add_row(name, needs(method), " ".join(f"{key}={value}" for key, value in sorted(params.items())) or "-")
    Console().print(table)
    raise typer.Exit


def fit(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Target rows: npy, npz, csv, tsv, parquet, or a folder.")],
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file to write, for instance shop.thpi.")],
    method: Annotated[
        Optional[str],
        typer.Option(
            "--method",
            autocompletion=_method_names,
            help="Method. Default: AutoHasher with --privileged or --labels, else ITQ.",
        ),
    ] = None,
    bits: Bits = 32,
    privileged: Annotated[
        Optional[str],
        typer.Option("--privileged", metavar="FILE", help="Source rows; row i is the same item as row i of DATA."),
    ] = None,
    source: FurtherSource = None,
    target: FurtherTarget = None,
    labels: Annotated[
        Optional[str],
        typer.Option(
            "--labels",
            metavar="FILE",
            help="Classes of DATA: a 1-D array, FILE:COLUMN, or one line per row. Relevant then means same class.",
        ),
    ] = None,
    ignore: Ignore = None,
    parameter: Annotated[
        Optional[list[str]],
        typer.Option("--set", metavar="NAME=VALUE", help="Parameter of the method; may be repeated."),
    ] = None,
    seed: Seed = 0,
    scheduler: Scheduler = None,
    force: Force = False,
    as_json: Json = False,
    methods: Annotated[
        bool, typer.Option("--methods", is_eager=True, callback=_print_methods, help="List methods and parameters.")
    ] = False,
) -> None:
    """Learn hash functions for the rows of a file and write a model.

    DATA holds the target rows, one row per item. Their source rows (--privileged)
    and further source rows without a target row (--source) help if there are few
    target rows; they are not needed afterwards. Target rows whose source is not
    known go into a file of their own (--target).

    AutoHasher decides by cross-validation whether the source helps, and uses it
    only then. Relevant means near in target space, with --labels same class; set
    another meaning with --set relevance=source or groups.

    In an npz file with several arrays choose one as FILE:NAME. A csv file may
    begin with a line of column names; the model stores them, and the other
    commands then find the columns by name.

    A folder of parquet files is read in portions, several times, so it may be
    larger than memory (methods ITQ, LSH, SpectralHashing; and --source, of which
    AutoHasher takes a sample). With --scheduler the workers of a Dask cluster
    read it.

    \b
    Examples:
      thpi fit shop.csv shop.thpi --ignore sku --ignore class
      thpi fit pictures.npy shop.thpi --privileged texts.npz:same \\
          --source texts.npz:more --bits 64
      thpi fit pictures.npy shop.thpi --privileged texts.npy \\
          --set relevance=source
      thpi fit pictures.npy shop.thpi --method ITQ --set n_init=5 --seed 1
      thpi fit vectors/ big.thpi --bits 64 --scheduler tcp://head:8786
      thpi fit pictures.npy shop.thpi --privileged texts.npy --labels kinds.txt
      thpi fit --methods
    """
    check_output("MODEL", model, force=force, inputs=(data, privileged, source, target))
    hasher = _hasher(method, privileged, source, target, labels, bits, seed, parameter or [])
    with cluster(scheduler) as client:
        X, S, S_U, names = _read(data, privileged, source, ignore or [], client)
        more = {} if target is None else {"target": _more(target, X, names)}
        n_rows = X.shape[0]
        y = None if labels is None else _labels(labels, n_rows)
        start = time.perf_counter()
        with spinner(f"fitting {type(hasher).__name__} on {n_rows:,} rows"):
            hasher.fit(X, y, privileged=S, source=S_U, **more)
        seconds = time.perf_counter() - start
    if names is not None:
        import numpy as np

        hasher.feature_names_in_ = np.array(names, dtype=object)
    with uninterrupted():
        hasher.save(model)
    _report(as_json, model, hasher, (n_rows, hasher.n_features_in_), seconds)


def _hasher(
    method: str | None,
    privileged: str | None,
    source: str | None,
    target: str | None,
    labels: str | None,
    bits: int,
    seed: int,
    parameters: list[str],
) -> BaseHasher:
    from thpi import HASHERS, RELEVANCES

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
    if source is not None and not (hasher.uses_source and privileged is not None):
        note(f"--source is not used: {method} learns from " + ("pairs only." if privileged else "target rows only."))
    if privileged is not None and not (hasher.needs_privileged or hasher.uses_source):
        note(f"--privileged is not used: {method} learns from target rows only.")
    allowed = sorted(set(hasher.get_params()) - {"n_bits", "random_state"})
    for text in parameters:
        name, equals, value = text.partition("=")
        if not equals or name not in allowed:
            raise ValueError(
                f"--set {text!r} must be NAME=VALUE; {method} has {', '.join(allowed) or 'no parameters'}."
            )
        hasher.set_params(**{name: _value(value)})
    hasher._validate_params()  # before the data are read
    relevance = RELEVANCES.get(hasher.get_params().get("relevance", ""))
    if labels is not None and not (hasher.uses_labels and (relevance is None or relevance.needs_labels)):
        note(f"--labels is not used: {method} learns from " + ("pairs only." if privileged else "target rows only."))
    return hasher


def _value(text: str) -> Any:
    """Read a number, true, false or none; otherwise return the text."""
    try:
        return json.loads({"None": "null", "none": "null", "True": "true", "False": "false"}.get(text, text))
    except ValueError:
        return text


def _read(
    data: str, privileged: str | None, source: str | None, ignore: list[str], client: object
) -> tuple[Matrix, Matrix | None, Matrix | None, tuple[str, ...] | None]:
    with spinner("reading"):
        X, names = _rows("DATA", data, ignore, client)
        S = None if privileged is None else _rows("--privileged", privileged, [], None)[0]
        S_U = None if source is None else _rows("--source", source, [], client)[0]
    if S is not None and S.shape[0] != X.shape[0]:
        raise ValueError(
            f"--privileged {privileged!r} has {S.shape[0]} rows and DATA {X.shape[0]}; row i must be the same item."
        )
    if S is not None and S_U is not None and S.shape[1] != S_U.shape[1]:
        raise ValueError(
            f"--source {source!r} has {S_U.shape[1]} columns and --privileged {S.shape[1]}; they must be the same."
        )
    return X, S, S_U, names


def _more(target: str, X: Matrix, names: tuple[str, ...] | None) -> Matrix:
    """Read target rows without a source, by the names of the columns, if they have names."""
    from thpi.cli._tables import read_matrix
    from thpi.rows import Parquet

    columns = None if names is None else list(names)
    folder = Path(target).is_dir()
    found = Parquet(target, columns) if folder else read_matrix("--target", target, features=names)[0]
    if found.shape[1] != X.shape[1]:
        raise ValueError(
            f"--target {target!r} has {found.shape[1]} columns and DATA {X.shape[1]}; they must be the same."
        )
    return found


def _labels(spec: str, n_rows: int) -> list[Value]:
    from thpi.cli._columns import read_column

    values = read_column("--labels", spec)
    if len(values) != n_rows:
        raise ValueError(f"--labels {spec!r} has {len(values)} labels; DATA has {n_rows} rows.")
    return values


def _rows(argument: str, spec: str, ignore: list[str], client: object) -> tuple[Matrix, tuple[str, ...] | None]:
    """Return a matrix, or rows that are not in memory if ``spec`` is a folder or a cluster reads them."""
    from thpi.cli._tables import read_matrix

    if client is not None and not (Path(spec).is_dir() or spec.endswith(".parquet")):
        raise ValueError(f"{argument}={spec!r} must be a folder of parquet files or one such file with --scheduler.")
    if client is None and not Path(spec).is_dir():
        X, _, names = read_matrix(argument, spec, ignore=ignore)
        return X, names
    from thpi.rows import Parquet, dask_parquet

    found = Parquet(spec).names
    wrong = [name for name in ignore if name not in found]
    if wrong:
        raise ValueError(f"{argument}={spec!r} has no column {wrong[0]!r}.")
    columns = [name for name in found if name not in ignore]
    # A single column of vectors has no names of features.
    names = None if len(columns) == 1 else tuple(columns)
    if client is None:
        return Parquet(spec, columns), names
    return dask_parquet(spec, columns), names


def _report(as_json: bool, model: Path, hasher: Any, shape: tuple[int, int], seconds: float) -> None:
    from thpi.cli._curve import curve
    from thpi.cli._models import choice_facts

    objective = [float(value) for value in hasher.objective_]
    params = {key: value for key, value in hasher.get_params().items() if key not in ("n_bits", "random_state")}
    facts: Facts = {
        "model": str(model),
        "method": type(hasher).__name__,
        "rows": shape[0],
        "features": shape[1],
        "bits": hasher.n_bits,
        "seed": hasher.random_state,
        "parameters": params or None,
        **choice_facts(hasher, as_json),
    }
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
        typer.echo()
        for line in curve(objective):
            typer.echo(f"  {line}")
        typer.echo(f"  objective, iterations 1 to {len(objective)}")
