"""Models for the commands that encode rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from thpi.cli._codes import file_kind
from thpi.cli._output import Facts

if TYPE_CHECKING:
    from thpi._types import Matrix
    from thpi.base import BaseHasher


def load_model(argument: str, path: Path) -> tuple[BaseHasher, tuple[str, ...] | None]:
    """Load a model; return it and the names of the columns that it was fitted on, if they had names."""
    import thpi

    kind = file_kind(argument, path)
    if kind != "model":
        what = "an index" if kind == "index" else f"a {kind} file"
        raise ValueError(f"{argument}={str(path)!r} is {what}; a model is needed here (see thpi fit).")
    hasher = thpi.load(path)
    # Tables are read by these names; the rows are then plain arrays, about which scikit-learn would warn.
    names = hasher.__dict__.pop("feature_names_in_", None)
    return hasher, None if names is None else tuple(str(name) for name in names)


def check_width(argument: str, spec: str, values: Matrix, hasher: BaseHasher) -> None:
    """Refuse rows with another number of columns than the model was fitted on."""
    if values.shape[1] != hasher.n_features_in_:
        raise ValueError(
            f"{argument}={spec!r} has {values.shape[1]} columns of features; "
            f"the model was fitted on {hasher.n_features_in_}."
        )


def choice_facts(hasher: Any, as_json: bool) -> Facts:
    """What AutoHasher chose and why, as values or in words; nothing for methods that choose nothing."""
    if not hasattr(hasher, "choice_"):
        return {}
    low, high = hasher.gain_interval_
    if as_json:
        about = {"choice": hasher.choice_, "choice_params": hasher.choice_params_, "uses_source": hasher.uses_source_}
        return about | {"gain": hasher.gain_, "gain_interval": [low, high], "pairs_r2": hasher.pairs_r2_}
    facts: dict[str, Any] = {"chosen": hasher.choice_, "chosen_parameters": hasher.choice_params_ or None}
    if any(c["uses_source"] and c["score"] is not None for c in hasher.candidates_):
        facts["source"] = f"{hasher.gain_:+.1f} ({low:+.1f} to {high:+.1f}) points of MAP on folds of the pairs"
    return facts
