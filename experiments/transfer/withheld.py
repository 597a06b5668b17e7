"""AutoHasher with a source at hand and no candidate that uses it."""

from __future__ import annotations

from thpi.hashers._geometry import Array, Geometry
from thpi.transfer import AutoHasher
from thpi.transfer._candidates import Candidate


class WithheldSource(AutoHasher):
    """What AutoHasher does without a source, on the folds and from the starts that it has with one.

    Fitted without a source it would draw others, which on sets with few pairs changes more than any source does: with
    this one, what differs from AutoHasher is due to the candidates that use the source.
    """

    def _listed(self, geometry: Geometry, labels: Array | None) -> list[Candidate]:
        return [candidate for candidate in super()._listed(geometry, labels) if not candidate.uses_source]
