"""Gain over no source by set, with the control beside it; and MAP against the share of pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from thpi.paper.terminal import RELEVANCE_TITLES
from thpi.transfer_report.lines import (
    ALL_PAIRS,
    ALL_TARGET,
    AUTO,
    AUTO_NO_SOURCE,
    AUTO_TOLD_SOURCE,
    AUTO_UNLABELLED,
    CONTROL,
    KERNEL,
    KERNEL_CONTROL,
    LINES,
    NO_SOURCE,
    TOLD_SOURCE_CONTROL,
    TOLD_SOURCE_NO_SOURCE,
    UNLABELLED_CONTROL,
    UNLABELLED_NO_SOURCE,
)
from thpi.transfer_report.results import Setting, TransferResults
from thpi.transfer_report.settings import SETS
from thpi.transfer_report.tables import Cell, summary_cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_alpha", "draw_gains"]

# Okabe and Ito's colours, as in the figures of the paper.
COLOURS = {
    NO_SOURCE: "#000000",
    ALL_TARGET: "#000000",
    "itq_plus": "#56B4E9",
    "lap_itq_plus": "#D55E00",
    "transfer_itq": "#009E73",
    AUTO: "#0072B2",
    CONTROL: "#999999",
    UNLABELLED_CONTROL: "#c9a24a",
    AUTO_NO_SOURCE: "#CC79A7",
    UNLABELLED_NO_SOURCE: "#9c5b80",
    TOLD_SOURCE_NO_SOURCE: "#d9a8c4",
    AUTO_UNLABELLED: "#E69F00",
    AUTO_TOLD_SOURCE: "#8a6d00",
    TOLD_SOURCE_CONTROL: "#b8ac7a",
    ALL_PAIRS: "#0072B2",
    KERNEL: "#004166",
    KERNEL_CONTROL: "#6f8796",
}
MARKERS = {
    NO_SOURCE: "x",
    ALL_TARGET: "_",
    "itq_plus": "v",
    "lap_itq_plus": "P",
    "transfer_itq": "s",
    AUTO: "o",
    CONTROL: "D",
    UNLABELLED_CONTROL: "^",
    AUTO_NO_SOURCE: "d",
    UNLABELLED_NO_SOURCE: "v",
    TOLD_SOURCE_NO_SOURCE: "<",
    AUTO_UNLABELLED: "^",
    AUTO_TOLD_SOURCE: ">",
    TOLD_SOURCE_CONTROL: ">",
    ALL_PAIRS: "_",
    KERNEL: "h",
    KERNEL_CONTROL: "h",
}
_COLUMNS = 4


def draw_gains(results: TransferResults) -> Figure:
    """One panel a meaning of relevant, a row a set: gain over ITQ on the pairs with its 95 % interval."""
    from matplotlib.figure import Figure as NewFigure

    kinds = [kind for kind in results.settings.relevances if results.sets(kind)]
    names = [name for name in results.settings.sets if any(name in results.sets(kind) for kind in kinds)]
    references = (TOLD_SOURCE_NO_SOURCE, UNLABELLED_NO_SOURCE, AUTO_NO_SOURCE)
    methods = ("lap_itq_plus", "transfer_itq", AUTO_TOLD_SOURCE, AUTO_UNLABELLED, AUTO, KERNEL)
    order = (*references, *methods, CONTROL, UNLABELLED_CONTROL, TOLD_SOURCE_CONTROL, KERNEL_CONTROL)
    lines = [line for line in order if line in results.settings.lines]
    height = 1.8 + 0.11 * len(lines) * len(names)
    figure = NewFigure(figsize=(3.9 * len(kinds) + 1.5, height), layout="constrained")
    axes = figure.subplots(1, len(kinds), squeeze=False, sharey=True)[0]
    for axis, kind in zip(axes, kinds, strict=True):
        cells = {(cell.set, cell.line): cell for cell in summary_cells(results, kind)}
        axis.axvline(0, color="#000000", linewidth=0.8)
        for row, name in enumerate(names):
            if row % 2:
                axis.axhspan(row - 0.5, row + 0.5, color="#f3f3ef", zorder=0)
            for place, line in enumerate(lines):
                cell = cells.get((name, line))
                if cell is not None:
                    _point(axis, cell, row + (place - (len(lines) - 1) / 2) * 0.85 / len(lines), label=row == 0)
        axis.set_title(f"relevant = {RELEVANCE_TITLES[kind]}", fontsize=9)
        axis.set_xlabel("points of MAP over ITQ on the pairs")
        axis.grid(axis="x", alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    shown = [name + ("" if SETS[name].use == "development" else " *") for name in names]
    axes[0].set_yticks(range(len(names)), shown)
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    found = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    star = "   (* confirmation)" if any(shown[i] != names[i] for i in range(len(names))) else ""
    figure.suptitle(f"Gain over ITQ without source, mean over alphas and code lengths{star}", fontsize=10)
    return figure


def _point(axis: Any, cell: Cell, y: float, label: bool) -> None:
    reach = None
    if cell.gain_low is not None and cell.gain_high is not None:
        reach = [[cell.gain - cell.gain_low], [cell.gain_high - cell.gain]]
    axis.errorbar(
        [cell.gain], [y], xerr=reach, fmt=MARKERS[cell.line], color=COLOURS[cell.line], markersize=5, capsize=2,
        linewidth=1.2, markerfacecolor="white" if LINES[cell.line].role == "control" else COLOURS[cell.line],
        label=cell.title if label else None,
    )  # fmt: skip


def draw_alpha(results: TransferResults, relevance: str) -> Figure:
    """MAP against alpha at the middle code length, one panel a set, with both reference lines."""
    from matplotlib.figure import Figure as NewFigure

    bits = results.settings.middle_bits
    names = [name for name in results.sets(relevance) if bits in {at.bits for at in results.complete(name, relevance)}]
    columns = min(_COLUMNS, len(names))
    rows = math.ceil(len(names) / columns)
    figure = NewFigure(figsize=(max(3.3 * columns, 7.0), 2.7 * rows + 1.0), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    axes = [axis for row in grid for axis in row]
    for axis in axes[len(names) :]:
        axis.set_axis_off()
    for axis, name in zip(axes, names, strict=False):
        alphas = [at.alpha for at in results.complete(name, relevance) if at.bits == bits]
        for line in results.columns(relevance):
            if Setting(alphas[0], bits) not in results.settings_of(name, relevance, line):
                continue
            values = [float(results.splits(name, relevance, line, Setting(a, bits)).mean()) for a in alphas]
            role = LINES[line].role
            dashes: Any = (0, (4, 2)) if LINES[line].trained_on == "all" else ":" if role == "control" else "-"
            axis.plot(
                alphas, values, color=COLOURS[line], marker=MARKERS[line], markersize=4, linestyle=dashes,
                linewidth=1.6 if role == "method" else 1.1, label=LINES[line].title,
            )  # fmt: skip
        axis.set_title(name, fontsize=9)
        axis.set_xticks(alphas, [f"{alpha:g}" for alpha in alphas])
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    for row in grid:
        row[0].set_ylabel("MAP (%)")
    for axis in axes[max(0, len(names) - columns) : len(names)]:
        axis.set_xlabel("alpha, share of rows that are pairs")
    found: dict[str, Any] = {}
    for axis in axes[: len(names)]:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    title = f"MAP against the share of pairs, {bits} bits, relevant = {RELEVANCE_TITLES[relevance]}"
    figure.suptitle(title, fontsize=10)
    return figure
