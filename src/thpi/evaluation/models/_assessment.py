"""What an assessment found: one line per way to search, with intervals, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thpi._types import Floats, Ints
from thpi.evaluation import Measured, PairedDifference, measured, paired_difference
from thpi.evaluation._radius import RadiusChoice
from thpi.index import Order

_NAMES: dict[Order, str] = {"hamming": "Hamming", "asymmetric": "asymmetric"}


class Line(NamedTuple):
    """One way to search: what it is in words, and its measures by name, one number per query or one for all.

    A query without relevant rows has NaN. ``curve`` is the recall of each query at each of the ranks of the assessment.
    """

    words: str
    values: dict[str, Floats]
    curve: Floats | None = None

    def measured(self, name: str) -> Measured | None:
        """Return a measure; None if this line has it not, as a lookup radius without codes."""
        values = self.values.get(name)
        if values is None:
            return None
        if values.ndim == 0:
            return Measured(float(values), np.nan, np.nan)
        return measured(values)


@dataclass(frozen=True)
class Assessment:
    """Lines by name: ``model``, ``asymmetric``, ``ITQ``, ``ITQ asymmetric``, ``exact``, ``random``.

    ``n_empty`` queries have no relevant row and are left out of all means. ``notes`` say what could not be measured.
    ``ranks`` are those of the curves, if asked for.
    """

    lines: dict[str, Line]
    measures: tuple[str, ...]
    n_bits: int
    n_queries: int
    n_database: int
    n_empty: int
    notes: tuple[str, ...] = ()
    ranks: Ints | None = None
    radius: RadiusChoice | None = None

    @property
    def over_itq(self) -> dict[Order, PairedDifference]:
        """Average precision of the model minus that of ITQ in each order, paired by query; empty without ITQ."""
        if "ITQ" not in self.lines:
            return {}
        pairs: dict[Order, tuple[str, str]] = {
            "hamming": ("model", "ITQ"),
            "asymmetric": ("asymmetric", "ITQ asymmetric"),
        }
        gains: dict[Order, PairedDifference] = {}
        for order, names in pairs.items():
            model, itq = (self.lines[name].values["average_precision"] for name in names)
            kept = ~np.isnan(model)
            gains[order] = paired_difference(model[kept], itq[kept])
        return gains

    @property
    def notices(self) -> Sequence[str]:
        """What there is to say beside the numbers."""
        if not self.over_itq:
            return list(self.notes)
        gains = [
            f"{100 * d.mean:+.1f} ({100 * d.low:+.1f} to {100 * d.high:+.1f}) in {_NAMES[order]} order"
            for order, d in self.over_itq.items()
        ]
        return [f"Model over ITQ, points of MAP: {', '.join(gains)}.", *self.notes]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        lines = {}
        for name, line in self.lines.items():
            found = {measure: line.measured(measure) for measure in self.measures}
            values = {measure: None if value is None else value._asdict() for measure, value in found.items()}
            lines[name] = {"words": line.words, "measures": values}
        return {
            "queries": self.n_queries,
            "queries_without_relevant": self.n_empty,
            "database": self.n_database,
            "bits": self.n_bits,
            "lines": lines,
            "over_itq": {order: gain._asdict() for order, gain in self.over_itq.items()},
            "notes": list(self.notes),
            "radius": None if self.radius is None else self.radius._asdict(),
        }

    def _repr_html_(self) -> str:
        from thpi.evaluation.models._assessment_html import assessment_html

        return assessment_html(self)
