"""Does the source help, on your own pairs? By cross-validation; see :func:`diagnose`."""

from __future__ import annotations

from thpi.diagnosis._answer import Answer, Diagnosis, described
from thpi.diagnosis._diagnosis import diagnose

__all__ = ["Answer", "Diagnosis", "described", "diagnose"]
