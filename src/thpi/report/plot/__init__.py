"""Plots for notebooks and papers: what was retrieved, precision against recall, and what the source adds.

Every function draws on ``ax``, or on a new figure of pyplot without one, and returns the axes. Nothing is shown, saved,
or changed in matplotlib's settings, so your own style applies. Needs matplotlib: ``pip install "thpi[plots]"``.
"""

from thpi.report.plot._gains import gains
from thpi.report.plot._precision_recall import precision_recall
from thpi.report.plot._retrieved import retrieved

__all__ = ["gains", "precision_recall", "retrieved"]
