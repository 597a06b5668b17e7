"""Rows of two tables joined by id: which of them are pairs, and which have no partner.

``fit`` takes pairs by position. Tables rarely have their rows in the same order, nor for the same items; :func:`pair`
makes of them what ``fit`` and :func:`thpi.diagnose` take.
"""

from __future__ import annotations

from thpi.pairing._frames import Items, align, check_index, stack
from thpi.pairing._ids import check_labels, default_id, id_names
from thpi.pairing._pair import Paired, PairingReport, pair
from thpi.pairing._relation import (
    UNRELATED_LABELS,
    UnrelatedLabelsWarning,
    UnrelatedPairsWarning,
    label_relation,
    relation,
    relation_of,
)

__all__ = [
    "Items",
    "Paired",
    "PairingReport",
    "UNRELATED_LABELS",
    "UnrelatedLabelsWarning",
    "UnrelatedPairsWarning",
    "align",
    "check_index",
    "check_labels",
    "default_id",
    "id_names",
    "label_relation",
    "pair",
    "relation",
    "relation_of",
    "stack",
]
