"""``thpi info``: what a model, an index or a file of codes holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thpi.cli._options import Json
from thpi.cli._output import Facts, show


def info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Model, index, or codes.")],
    as_json: Json = False,
) -> None:
    """Describe a file: a model, an index, or codes.

    The whole file is read and checked, so this also shows whether it is intact.

    \b
    Examples:
      thpi info shop.thpi
      thpi info shop.index --json
      thpi info codes.npy
    """
    from thpi.cli._codes import file_kind, read_codes

    kind = file_kind("FILE", file)
    if kind == "model":
        _show_model(as_json, file)
    elif kind == "index":
        from thpi.cli._indexes import show_index
        from thpi.index import HammingIndex

        show_index(as_json, file, HammingIndex.open(file))
    else:
        table = read_codes("FILE", file)
        facts = {"codes": str(file), "format": kind, "rows": len(table.codes), "bits": table.n_bits}
        size = None if kind == "parts" else file.stat().st_size
        show(as_json, facts | {"bytes_per_code": table.codes.shape[1], "file_bytes": size})


def _show_model(as_json: bool, path: Path) -> None:
    from thpi.cli._models import choice_facts, load_model

    hasher, names = load_model("FILE", path)
    params = {key: value for key, value in hasher.get_params().items() if key not in ("n_bits", "random_state")}
    facts: Facts = {
        "model": str(path),
        "method": type(hasher).__name__,
        "bits": hasher.n_bits,
        "features": hasher.n_features_in_,
        "fitted_on": f"{len(hasher.codes_):,} rows" if len(hasher.codes_) else "rows on a cluster",
        "seed": hasher.random_state,
        "parameters": params or None,
        **choice_facts(hasher, as_json),
        "iterations": hasher.n_iter_ or None,
        "converged": hasher.converged_,
        "file_bytes": path.stat().st_size,
    }
    if as_json:
        shown = facts | {"fitted_on": len(hasher.codes_), "objective": hasher.objective_, "columns": names}
        show(True, shown)
        return
    if names is not None:
        facts["columns"] = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    show(False, facts)
