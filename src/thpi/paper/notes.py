"""What was tried where a cell stays far from the published one. Facts of real attempts, kept beside the code."""

from __future__ import annotations

__all__ = ["ATTEMPTS", "FAR_FROM_PUBLISHED"]

FAR_FROM_PUBLISHED = 5.0
"""Points of difference from which a cell counts as far off and the report says what was tried."""

ATTEMPTS: dict[str, tuple[str, ...]] = {}
"""By data set (``"*"``: all of them), what was tried to come closer to the published values, one sentence each."""
