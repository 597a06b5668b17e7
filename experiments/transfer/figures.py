"""Gain over no source by set, with the control beside it; and MAP against the share of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.harness.figures import DASHED, legend_below, open_axis, panels
from experiments.harness.protocol import RELEVANCES
from experiments.transfer.lines import LINES
from experiments.transfer.results import Setting, TransferResults
from experiments.transfer.settings import SETS
from experiments.transfer.tables import Value, summary_values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DRAWN = (
    *("auto_told_source_no_source", "auto_unlabelled_no_source", "auto_no_source"),
    *("lap_itq_plus", "transfer_itq", "auto_told_source", "auto_unlabelled", "auto", "auto_linear"),
    *("auto_shuffled", "auto_unlabelled_shuffled", "auto_told_source_shuffled"),
)
"""Lines in the figure of gains: without source, methods, controls."""


def draw_gains(results: TransferResults) -> Figure:
    """One panel per meaning of relevant, one row per set: gain over ITQ on the pairs with its 95 % interval."""
    from matplotlib.figure import Figure as NewFigure

    kinds = [kind for kind in results.settings.relevances if results.sets(kind)]
    names = [name for name in results.settings.sets if any(name in results.sets(kind) for kind in kinds)]
    lines = [line for line in _DRAWN if line in results.settings.lines]
    height = 1.8 + 0.11 * len(lines) * len(names)
    figure = NewFigure(figsize=(3.9 * len(kinds) + 1.5, height), layout="constrained")
    axes = figure.subplots(1, len(kinds), squeeze=False, sharey=True)[0]
    for axis, kind in zip(axes, kinds, strict=True):
        values = {(value.set, value.line): value for value in summary_values(results, kind)}
        axis.axvline(0, color="#000000", linewidth=0.8)
        for row, name in enumerate(names):
            if row % 2:
                axis.axhspan(row - 0.5, row + 0.5, color="#f3f3ef", zorder=0)
            for place, line in enumerate(lines):
                value = values.get((name, line))
                if value is not None:
                    _point(axis, value, row + (place - (len(lines) - 1) / 2) * 0.85 / len(lines), label=row == 0)
        axis.set_title(f"relevant = {RELEVANCES[kind]}", fontsize=9)
        axis.set_xlabel("points of MAP over ITQ on the pairs")
        open_axis(axis, "x")
    marks = {"confirmation": " *", "further": " **"}
    shown = [name + marks.get(SETS[name].use, "") for name in names]
    axes[0].set_yticks(range(len(names)), shown)
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    legend_below(figure, axes, columns=4)
    said = ", ".join(
        f"{mark.strip()} {use}" for use, mark in marks.items() if use in {SETS[name].use for name in names}
    )
    stars = f"   ({said})" if said else ""
    figure.suptitle(f"Gain over ITQ without source, mean over alphas and code lengths{stars}", fontsize=10)
    return figure


def _point(axis: Any, value: Value, y: float, label: bool) -> None:
    line, reach = LINES[value.line], None
    if value.gain_low is not None and value.gain_high is not None:
        reach = [[value.gain - value.gain_low], [value.gain_high - value.gain]]
    axis.errorbar(
        [value.gain], [y], xerr=reach, fmt=line.marker, color=line.colour, markersize=5, capsize=2, linewidth=1.2,
        markerfacecolor="white" if line.role == "control" else line.colour, label=line.title if label else None,
    )  # fmt: skip


def draw_alpha(results: TransferResults, relevance: str) -> Figure:
    """MAP against alpha at the middle code length, one panel per set, with both reference lines."""
    bits = results.settings.middle_bits
    names = [name for name in results.sets(relevance) if bits in {at.bits for at in results.complete(name, relevance)}]
    figure, axes, grid = panels(names, columns=4, size=(3.3, 2.7), extra=1.0, least=7.0, fontsize=9)
    for axis, name in zip(axes, names, strict=True):
        alphas = [at.alpha for at in results.complete(name, relevance) if at.bits == bits]
        for key in results.columns(relevance):
            if Setting(alphas[0], bits) not in results.settings_of(name, relevance, key):
                continue
            values = [float(results.splits(name, relevance, key, Setting(a, bits)).mean()) for a in alphas]
            line = LINES[key]
            dashes: Any = DASHED if line.trained_on == "all" else ":" if line.role == "control" else "-"
            axis.plot(
                alphas, values, color=line.colour, marker=line.marker, markersize=4, linestyle=dashes,
                linewidth=1.6 if line.role == "method" else 1.1, label=line.title,
            )  # fmt: skip
        axis.set_xticks(alphas, [f"{alpha:g}" for alpha in alphas])
    for row in grid:
        row[0].set_ylabel("MAP (%)")
    for axis in axes[-len(grid[0]) :]:
        axis.set_xlabel("alpha, share of rows that are pairs")
    legend_below(figure, axes, columns=4)
    figure.suptitle(f"MAP against the share of pairs, {bits} bits, relevant = {RELEVANCES[relevance]}", fontsize=10)
    return figure
