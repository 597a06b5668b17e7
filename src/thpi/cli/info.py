"""``thpi info``: what a model, an index or a file of codes holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from thpi.cli._files import check_width, file_kind, load_model, model_facts, open_index, read_codes, show_index
from thpi.cli._options import TABLES, Id, Ignore, Json
from thpi.cli._output import show

_DRIFT = typer.Option("--drift", metavar="DATA", help=f"New rows to compare with those learned from: {TABLES}.")


def info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Model, index, or codes.")],
    new_rows: Annotated[Optional[str], _DRIFT] = None,
    id: Id = None,
    ignore: Ignore = None,
    as_json: Json = False,
) -> None:
    """Describe a file: a model, an index, or codes.

    The whole file is read and checked, so this also shows whether it is intact.

    With --drift, new rows are compared with those that the model learned from:
    the share of ones of each bit, and the mean of its projection. Drift is
    reported when a bit changes significantly (1 % level, corrected for all bits)
    and by at least 0.1 standard deviations or 5 percentage points. Then thpi
    refit may help.

    \b
    Examples:
      thpi info shop.thpi
      thpi info shop.index --json
      thpi info codes.npy
      thpi info shop.thpi --drift new.csv --id sku
    """
    if new_rows is not None:
        _drift(file, new_rows, id, ignore, as_json)
        return
    kind = file_kind("FILE", file)
    if kind == "model":
        hasher, names = load_model("FILE", file)
        n = len(hasher.codes_)
        fitted_on = n if as_json else f"{n:,} rows" if n else "rows on a cluster"
        facts = model_facts(file, hasher, {"fitted_on": fitted_on}, as_json) | {"iterations": hasher.n_iter_ or None}
        facts |= {"converged": hasher.converged_, "file_bytes": file.stat().st_size}
        if as_json:
            facts |= {"objective": hasher.objective_, "columns": names}
        elif names is not None:
            facts["columns"] = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        show(as_json, facts)
    elif kind == "index":
        show_index(as_json, file, open_index(file))
    else:
        table = read_codes("FILE", file)
        facts = {"codes": str(file), "format": kind, "rows": len(table.codes), "bits": table.n_bits}
        facts["fingerprint"] = table.model
        size = None if kind == "parts" else file.stat().st_size
        show(as_json, facts | {"bytes_per_code": table.codes.shape[1], "file_bytes": size})


def _drift(file: Path, new_rows: str, id: str | None, ignore: list[str] | None, as_json: bool) -> None:
    from thpi.cli._choice import Choice
    from thpi.cli._tables import read_matrix
    from thpi.drift import drift

    coder, names = load_model("FILE", file)
    X = read_matrix(Choice("--drift", new_rows, id, ignore=ignore or (), features=names)).X
    check_width("--drift", new_rows, X, coder)
    found = drift(coder, X)
    facts = {"model": str(file), "new_rows": found.n_rows, "measured_rows": found.n_trained, "drifted": found.drifted}
    if as_json:
        bits = {"share_change": found.share_change, "shift": found.shift, "spread": found.spread}
        show(True, facts | {"p_value": found.p_value, **bits})
    else:
        show(False, facts | {"answer": str(found)})
