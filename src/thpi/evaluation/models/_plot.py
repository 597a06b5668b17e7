"""Recall of all lines of an assessment, as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from thpi.evaluation.models._assessment import Assessment

_STYLES = {
    "model": ("#0072B2", "-"),
    "asymmetric": ("#0072B2", "--"),
    "ITQ": ("#D55E00", "-"),
    "ITQ asymmetric": ("#D55E00", "--"),
    "exact": ("#000000", "-"),
    "random": ("#999999", ":"),
}


def draw_recall(found: Assessment) -> Figure:
    """Draw the mean recall among the first k rows against k, one curve per line; needs matplotlib.

    The assessment must have been made with ``curves=True``.
    """
    from matplotlib.figure import Figure as NewFigure

    if found.ranks is None:
        raise ValueError("the assessment has no curves; assess(..., curves=True) computes them.")
    figure = NewFigure(figsize=(7.5, 4.2), layout="constrained")
    axis = figure.subplots()
    for name, line in found.lines.items():
        assert line.curve is not None
        colour, style = _STYLES[name]
        axis.plot(found.ranks, 100 * np.nanmean(line.curve, axis=0), color=colour, linestyle=style, label=line.words)
    axis.set_xscale("log")
    axis.set_ylim(0, 102)
    axis.set_xlabel(f"first k of {found.n_database:,} rows")
    axis.set_ylabel("recall (%)")
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
    return figure
