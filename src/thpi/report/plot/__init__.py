"""Plots for notebooks and papers, each on ``ax`` or on a new figure of pyplot, with matplotlib's settings as they are.

They need matplotlib (``pip install "thpi[plots]"``), and may import what has results: auto, evaluation and encoder.
"""

from thpi.report.plot._curves import gains, precision_recall
from thpi.report.plot._retrieved import retrieved

__all__ = ["gains", "precision_recall", "retrieved"]
