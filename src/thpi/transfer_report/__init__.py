"""Does the source help? The benchmark ``thpi transfer``, and the same question on one's own pairs, ``thpi diagnose``.

:mod:`lines` names what is compared, :mod:`settings` the data sets and the grid, :mod:`bench` fits and measures on one
split, :mod:`task` keeps what comes out (:func:`thpi.evaluation.run_all` runs many), :mod:`results` gathers,
:mod:`tables`, :mod:`targets`, :mod:`merit` and :mod:`figures` present, and :mod:`output` writes. :mod:`diagnosis` asks
about one set of pairs, :mod:`answer` holds what it found, and :mod:`diagnosis_page` makes a page of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thpi.transfer_report.answer import Diagnosis
    from thpi.transfer_report.diagnosis import diagnose

__all__ = ["Diagnosis", "diagnose"]


def __getattr__(name: str) -> Any:
    # The benchmark does not need what the diagnosis imports, and the other way round.
    if name not in __all__:
        raise AttributeError(f"module 'thpi.transfer_report' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("thpi.transfer_report.diagnosis"), name)
