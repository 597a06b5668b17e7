"""What a fitted method found out while it learned, as JSON has it."""

from __future__ import annotations

from typing import Any

from thpi.auto import AutoHasher
from thpi.base import BaseHasher


def evidence_of(hasher: BaseHasher) -> dict[str, Any]:
    """Return what AutoHasher found: its choice, the gain by the source with its interval, all candidates.

    Of another method there is only its name, and whether it converged.
    """
    facts: dict[str, Any] = {"method": hasher.method_name, "rows": len(hasher.codes_)}
    facts |= {"iterations": int(hasher.n_iter_), "converged": bool(hasher.converged_)}
    if not isinstance(hasher, AutoHasher):
        return facts
    facts |= {"relevance": hasher.relevance, "choice": hasher.choice_, "choice_params": dict(hasher.choice_params_)}
    facts |= {"uses_source": hasher.uses_source_, "gain": hasher.gain_, "gain_interval": list(hasher.gain_interval_)}
    facts |= {"candidates": hasher.candidates_, "pairs_r2": hasher.pairs_r2_, "relation": hasher.relation_}
    facts |= {"related": hasher.related_, "labels_p": hasher.labels_p_, "sides": hasher.sides_}
    if "sides_gain_" in vars(hasher):
        facts |= {"sides_gain": hasher.sides_gain_, "sides_gain_interval": list(hasher.sides_gain_interval_)}
    return facts
