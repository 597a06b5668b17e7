"""Files that the commands write and read again: models, indexes and codes."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from thpi.cli._output import Facts, check_output, show

_PATIENCE = 1.0  # seconds; a server that may write keeps its index locked for milliseconds

if TYPE_CHECKING:
    from thpi._types import Matrix
    from thpi.base import BaseHasher
    from thpi.index import HammingIndex
    from thpi.stores import CodeTable, FileFormat


def file_kind(argument: str, path: Path) -> str:
    """Return ``model``, ``index``, the name of a format of codes, or ``parts`` for a folder of codes."""
    from thpi.stores import FORMATS

    if not path.exists():
        raise ValueError(f"{argument}={str(path)!r} does not exist.")
    if path.is_dir():
        if (path / "parts.json").exists():
            return "parts"
        raise ValueError(f"{argument}={str(path)!r} is a folder, but not one of codes in parts; it must be a file.")
    with open(path, "rb") as file:
        head = file.read(9)
    if head[:8] == b"thpi-idx":
        return "index"
    for name, known in FORMATS.items():
        if head.startswith(known.signatures):
            return name
    if head[8:9] == b"{":
        return "model"
    raise ValueError(f"{argument}={str(path)!r} is not a thpi model, a thpi index, or codes ({', '.join(FORMATS)}).")


def _expect(argument: str, path: Path, kinds: Collection[str], needed: str) -> str:
    kind = file_kind(argument, path)
    if kind not in kinds:
        what = {"index": "an index", "model": "a model"}.get(kind, f"a {kind} file")
        raise ValueError(f"{argument}={str(path)!r} is {what}; {needed}.")
    return kind


def load_model(argument: str, path: Path) -> tuple[BaseHasher, tuple[str, ...] | None]:
    """Load a model; return it and the names of the columns that it was fitted on, if they had names."""
    import thpi

    _expect(argument, path, ["model"], "a model is needed here (see thpi fit)")
    hasher = thpi.load(path)
    # Tables are read by these names; the rows are then plain arrays, about which scikit-learn would warn.
    names = hasher.__dict__.pop("feature_names_in_", None)
    return hasher, None if names is None else tuple(str(name) for name in names)


def check_width(argument: str, spec: str, values: Matrix, hasher: BaseHasher) -> None:
    given, fitted = values.shape[1], hasher.n_features_in_
    if given != fitted:
        raise ValueError(f"{argument}={spec!r} has {given} columns of features; the model was fitted on {fitted}.")


def parameters(hasher: BaseHasher) -> Facts:
    """Return the parameters of a method, without those that have options of their own."""
    return {key: value for key, value in hasher.get_params().items() if key not in ("n_bits", "random_state")}


def model_facts(path: Path | None, hasher: Any, rows: Facts, as_json: bool) -> Facts:
    """Describe a model that was fitted on ``rows``; of AutoHasher also what it chose, and why."""
    facts = {
        "model": None if path is None else str(path),
        "method": type(hasher).__name__,
        **rows,
        "features": hasher.n_features_in_,
    }
    facts |= {"bits": hasher.n_bits, "seed": hasher.random_state, "parameters": parameters(hasher) or None}
    facts["fingerprint"] = hasher.fingerprint_
    if not hasattr(hasher, "choice_"):
        return facts
    low, high = hasher.gain_interval_
    if as_json:
        facts |= {"choice": hasher.choice_, "choice_params": hasher.choice_params_, "uses_source": hasher.uses_source_}
        facts |= {"gain": hasher.gain_, "gain_interval": [low, high], "pairs_r2": hasher.pairs_r2_}
        return facts | {"relation": hasher.relation_, "related": hasher.related_}
    facts |= {"chosen": hasher.choice_, "chosen_parameters": hasher.choice_params_ or None}
    if any(c["uses_source"] and c["score"] is not None for c in hasher.candidates_):
        facts["source"] = f"{hasher.gain_:+.1f} ({low:+.1f} to {high:+.1f}) points of MAP on folds of the pairs"
    return facts | {"relation" if hasher.related_ else "warning": hasher.relation_}


def open_index(path: Path, mode: Literal["r", "a"] = "r") -> HammingIndex:
    from thpi.index import HammingIndex

    _expect("INDEX", path, ["index"], "an index is needed here (see thpi index build)")
    return HammingIndex.open(path, mode, wait=_PATIENCE)


def show_index(as_json: bool, path: Path, index: HammingIndex) -> None:
    report = index.report_
    facts: Facts = {
        "index": str(path),
        "codes": len(index),
        "bits": index.n_bits,
        "ids": index.id_kind,
        "fingerprint": index.model,
        "search": "exact" if index.recall is None else f"recall {index.recall:g}",
        "version": index.version,
        "file_bytes": path.stat().st_size,
    }
    if as_json:
        show(True, facts | {"report": None if report is None else report.to_dict()})
        return
    if len(index):
        facts["first_ids"] = ", ".join(map(str, index.ids[:3].tolist())) + (", ..." if len(index) > 3 else "")
    show(False, facts)
    if report is not None:
        typer.echo(f"\n{report}")


def read_codes(argument: str, path: Path, n_bits: int | None = None) -> CodeTable:
    """Read codes and ids from a file of codes or from an index; only plain arrays need ``n_bits``."""
    from thpi import stores

    known = ("index", "parts", *stores.FORMATS)
    kind = _expect(argument, path, known, "codes or an index are needed here (see thpi encode)")
    if kind in stores.FORMATS:
        try:
            return stores.FORMATS[kind].read(path, n_bits)
        except ValueError as error:
            text = str(error).replace("pass n_bits.", "set the number of bits of a code with --bits.")
            raise ValueError(text.replace("n_bits=", "--bits ")) from None
    if kind == "parts":
        table = stores.read_parts(path)
    else:
        index = open_index(path)
        table = stores.CodeTable(index.codes, index.ids, index.n_bits, index.model)
    if n_bits not in (None, table.n_bits):
        raise ValueError(f"--bits {n_bits} was given, but {str(path)!r} holds codes of {table.n_bits} bits.")
    return table


def check_codes_output(
    argument: str, path: Path, kind: FileFormat, *, force: bool, inputs: tuple[Path | str, ...], n_bytes: int = 0
) -> None:
    for suffix in ("", *kind.beside):  # the file, and those that are written beside it
        output = Path(f"{path}{suffix}")
        check_output(argument, output, force=force, inputs=inputs, extra=kind.extra, n_bytes=n_bytes)
