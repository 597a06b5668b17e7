"""``thpi info``: what a model, an index or a file of codes holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thpi.cli._files import file_kind, load_model, model_facts, open_index, read_codes, show_index
from thpi.cli._options import Json
from thpi.cli._output import show


def info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Model, index, or codes.")], as_json: Json = False
) -> None:
    """Describe a file: a model, an index, or codes.

    The whole file is read and checked, so this also shows whether it is intact.

    \b
    Examples:
      thpi info shop.thpi
      thpi info shop.index --json
      thpi info codes.npy
    """
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
