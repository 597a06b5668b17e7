"""Plots for notebooks and papers: what was retrieved, precision against recall, and what the source adds.

Every function draws on ``ax``, or on a new figure of pyplot without one, and returns the axes. Nothing is shown, saved,
or changed in matplotlib's settings, so your own style applies. Needs matplotlib: ``pip install "thpi[plots]"``. It may
import all rooms below the commands.
"""

from thpi.report.plot._curves import gains, precision_recall
from thpi.report.plot._retrieved import retrieved

__all__ = ["gains", "precision_recall", "retrieved"]
