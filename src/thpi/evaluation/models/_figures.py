"""Figures of an assessment and of a diagnosis; they need matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thpi.report import new_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from thpi.evaluation.models._answer import Answer
    from thpi.evaluation.models._assess import Assessment

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
    if found.ranks is None:
        raise ValueError("the assessment has no curves; assess(..., curves=True) computes them.")
    axis = new_axes(7.5, 4.2)
    for name, line in found.lines.items():
        assert line.curve is not None
        colour, style = _STYLES[name]
        axis.plot(found.ranks, 100 * np.nanmean(line.curve, axis=0), color=colour, linestyle=style, label=line.words)
    axis.set(xscale="log", ylim=(0, 102), xlabel=f"first k of {found.n_database:,} rows", ylabel="recall (%)")
    axis.legend(frameon=False, fontsize=8)
    return axis.figure  # type: ignore[return-value]  # not of a subfigure


def draw_curve(answer: Answer) -> Figure:
    """Draw MAP against the number of pairs, with and without source."""
    curve, axis = answer.curve, new_axes(7.5, 3.6)
    for values, colour, marker, label in (
        (curve.with_source, "#0072B2", "o", "with source"),
        (curve.no_source, "#000000", "x", "no source"),
    ):
        known = [(m, value) for m, value in zip(curve.pairs, values, strict=True) if value is not None]
        if known:
            axis.plot(*zip(*known, strict=True), color=colour, marker=marker, label=label)
    end = curve.no_source[-1]
    if end is not None:
        label = f"no source, all {curve.pairs[-1]:,} rows"
        axis.axhline(end, color="#000000", linestyle=(0, (4, 2)), linewidth=1, label=label)
    axis.set_xscale("log", base=2)
    axis.set_xticks(curve.pairs, [f"{m:,}" for m in curve.pairs])
    axis.minorticks_off()
    axis.set(xlabel="pairs (with source) or target rows (without)", ylabel="MAP (%)")
    axis.legend(frameon=False, fontsize=8)
    return axis.figure  # type: ignore[return-value]  # not of a subfigure
