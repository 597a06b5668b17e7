"""Does the source help on one's own pairs? The answer behind ``thpi diagnose``.

:mod:`diagnosis` asks about one set of pairs, :mod:`answer` holds what it found, and :mod:`diagnosis_page` makes a page
of it.
"""

from thpi.transfer_report.answer import Diagnosis
from thpi.transfer_report.diagnosis import diagnose

__all__ = ["Diagnosis", "diagnose"]
