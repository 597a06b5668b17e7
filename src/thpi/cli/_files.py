"""Files that the commands write and read again: models, indexes and codes."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from thpi.cli._output import Facts, printable, show

_PATIENCE = 1.0  # seconds; a server that may write keeps its index locked for milliseconds

if TYPE_CHECKING:
    from thpi._types import Matrix
    from thpi.base import BaseHasher
    from thpi.encoder import Coding, Encoder
    from thpi.export import CodeTable
    from thpi.index import HammingIndex


def file_kind(argument: str, path: Path) -> str:
    """Return ``model``, ``index``, the name of a format of codes, or ``parts`` for a folder of codes."""
    from thpi.export import FORMATS

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


def load_side(argument: str, path: Path, side: str) -> tuple[Coding, tuple[str, ...] | None]:
    """Load what codes target rows or, of a two-sided model, source rows; return it and the names of their columns."""
    if side == "target":
        return load_model(argument, path)
    if side != "source":
        raise ValueError(f"--side {side!r} must be target or source.")
    try:
        coder = load_model(argument, path)[0].source_side
    except ValueError as error:
        raise ValueError(f"--side source: {argument}={str(path)!r}: {error}") from None
    names = vars(coder).pop("feature_names_in_", None)
    return coder, None if names is None else tuple(str(name) for name in names)


def load_model(argument: str, path: Path) -> tuple[Encoder | BaseHasher, tuple[str, ...] | None]:
    """Load what codes rows; return it and the names of the columns that it was fitted on, if they had names."""
    from thpi.encoder import load_encoder

    _expect(argument, path, ["model"], "a model is needed here (see thpi fit)")
    check_finished(argument, path)
    hasher = load_encoder(path)
    # Tables are read by these names; the rows are then plain arrays, about which scikit-learn would warn.
    names = hasher.__dict__.pop("feature_names_in_", None)
    return hasher, None if names is None else tuple(str(name) for name in names)


def check_finished(argument: str, path: Path) -> None:
    """Refuse a model that is being replaced together with its index: the two may not belong together."""
    if path.with_name(f"{path.name}.refit").exists():
        text = f"a refit is under way or was interrupted; thpi refit {path} --finish completes it"
        raise ValueError(f"{argument}={str(path)!r}: {text}.")


def check_width(argument: str, spec: str, values: Matrix, hasher: Coding) -> None:
    given, fitted = values.shape[1], hasher.n_features_in_
    if given != fitted:
        raise ValueError(f"{argument}={spec!r} has {given} columns of features; the model was fitted on {fitted}.")


def parameters(hasher: Encoder | BaseHasher) -> Facts:
    """Return the parameters of a method, without those that have options of their own."""
    return {key: value for key, value in hasher.get_params().items() if key not in ("n_bits", "random_state")}


def model_facts(path: Path | None, hasher: Encoder | BaseHasher, rows: Facts, as_json: bool) -> Facts:
    """Describe a model that was fitted on ``rows``; of AutoHasher also what it chose, and why."""
    facts = {
        "model": None if path is None else str(path),
        "method": hasher.method_name,
        **rows,
        "features": hasher.n_features_in_,
    }
    seed = hasher.get_params()["random_state"]
    facts |= {"bits": hasher.n_bits, "seed": seed, "parameters": parameters(hasher) or None}
    facts["fingerprint"] = hasher.fingerprint_
    fitted = vars(hasher)
    if hasher.is_two_sided:
        facts["source_features"] = hasher.source_side.n_features_in_
    if "candidates_json_" not in fitted:
        return facts
    tried = json.loads(fitted["candidates_json_"])
    chosen = next(entry for entry in tried if entry["chosen"])
    gain, (low, high) = fitted["gain_"], fitted["gain_limits_"].tolist()
    from thpi.pairing import UNRELATED_LABELS, label_relation, relation_of

    related, words = relation_of(len(hasher.codes_), fitted["pairs_r2_"])
    doubt = label_relation(fitted["labels_p_"]) if fitted.get("labels_p_", 0.0) > UNRELATED_LABELS else None
    if as_json:
        facts |= {"choice": chosen["name"], "choice_params": chosen["params"], "uses_source": chosen["uses_source"]}
        facts |= {"gain": gain, "gain_interval": [low, high], "pairs_r2": fitted["pairs_r2_"]}
        facts |= {"relation": words, "related": related}
        facts |= {"labels_p": fitted.get("labels_p_"), "label_relation": doubt}
        limits = fitted.get("sides_gain_limits_")
        facts |= {"sides": "two" if hasher.is_two_sided else "one", "sides_gain": fitted.get("sides_gain_")}
        return facts | {"sides_gain_interval": None if limits is None else limits.tolist()}
    facts |= {"chosen": chosen["name"], "chosen_parameters": chosen["params"] or None}
    if any(entry["uses_source"] and entry["score"] is not None for entry in tried):
        facts["source"] = f"{gain:+.1f} ({low:+.1f} to {high:+.1f}) points of MAP on folds of the pairs"
    if "sides_gain_" in fitted:
        low, high = fitted["sides_gain_limits_"].tolist()
        taken = "two" if hasher.is_two_sided else "one"
        facts["sides"] = f"{taken}; two sides {fitted['sides_gain_']:+.1f} ({low:+.1f} to {high:+.1f}) points over one"
    facts |= {"relation" if related else "warning": words}
    return facts if doubt is None else facts | {"labels": doubt}


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
        facts["first_ids"] = ", ".join(printable(str(item)) for item in index.ids[:3].tolist()) + (
            ", ..." if len(index) > 3 else ""
        )
    show(False, facts)
    if report is not None:
        typer.echo(f"\n{report}")


def read_codes(argument: str, path: Path, n_bits: int | None = None) -> CodeTable:
    """Read codes and ids from a file of codes or from an index; only plain arrays need ``n_bits``."""
    from thpi import export

    known = ("index", "parts", *export.FORMATS)
    kind = _expect(argument, path, known, "codes or an index are needed here (see thpi encode)")
    if kind in export.FORMATS:
        try:
            return export.FORMATS[kind].read(path, n_bits)
        except ValueError as error:
            text = str(error).replace("pass n_bits.", "set the number of bits of a code with --bits.")
            raise ValueError(text.replace("n_bits=", "--bits ")) from None
    if kind == "parts":
        table = export.read_parts(path)
    else:
        index = open_index(path)
        table = export.CodeTable(index.codes, index.ids, index.n_bits, index.model)
    if n_bits not in (None, table.n_bits):
        raise ValueError(f"--bits {n_bits} was given, but {str(path)!r} holds codes of {table.n_bits} bits.")
    return table
