"""Rows of two tables joined by id: which of them are pairs, and which have no partner.

``fit`` takes pairs by position. Tables rarely have their rows in the same order, nor for the same items; :func:`pair`
makes of them what ``fit`` and :func:`thpi.diagnose` take. It imports shared types only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thpi.pairing._ids import check_labels, default_id, id_names, is_blank

if TYPE_CHECKING:
    from thpi.pairing._frames import Items, align, check_index, stack
    from thpi.pairing._pair import Paired, PairingReport, pair
    from thpi.pairing._relation import (
        UNRELATED_LABELS,
        UnrelatedLabelsWarning,
        UnrelatedPairsWarning,
        label_relation,
        relation,
        relation_of,
    )

_HOMES = {
    "_frames": ("Items", "align", "check_index", "stack"),
    "_pair": ("Paired", "PairingReport", "pair"),
    "_relation": (
        *("UNRELATED_LABELS", "UnrelatedLabelsWarning", "UnrelatedPairsWarning"),
        *("label_relation", "relation", "relation_of"),
    ),
}

__all__ = ["Items", "Paired", "PairingReport", "UNRELATED_LABELS", "UnrelatedLabelsWarning", "UnrelatedPairsWarning"]
__all__ += ["align", "check_index", "check_labels", "default_id", "id_names", "is_blank", "label_relation", "pair"]
__all__ += ["relation", "relation_of", "stack"]


def __getattr__(name: str) -> Any:
    # Who only reads a table needs no numpy for its ids.
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"thpi.pairing.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
