"""Does the source help, on your own pairs? By cross-validation; see :func:`diagnose`."""

from __future__ import annotations

from thpi._notebook import described
from thpi.diagnosis._answer import Answer, Diagnosis
from thpi.diagnosis._diagnosis import diagnose

__all__ = ["Answer", "Diagnosis", "described", "diagnose"]
