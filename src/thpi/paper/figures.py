"""Figures 1 to 3 in the paper's layout: one panel a data set, the published curve behind ours."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from thpi.evaluation import PROTOCOLS, MethodRun
from thpi.paper.experiments import METHODS, SWEEP_FIXED, reference_runs, sweep_runs
from thpi.paper.published import FIGURE2_LAPITQPLUS, FIGURE3_AT_ZERO, METHOD_TITLES, figure1, published_for, table1
from thpi.paper.results import Results
from thpi.paper.tables import run_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "draw_figure1", "draw_figure2", "draw_figure3", "figure_bytes"]

# Okabe and Ito's colours, told apart by most colour-blind readers; the paper's two methods get the strongest.
COLOURS = {
    "LSH": "#999999",
    "DSH": "#E69F00",
    "CCAITQ": "#009E73",
    "CVH": "#56B4E9",
    "ITQPlus": "#0072B2",
    "LapITQPlus": "#D55E00",
    "ITQ": "#000000",
    "SpectralHashing": "#CC79A7",
}
MARKERS = dict(zip(METHODS, "v^sDoPxd", strict=True))
_COLUMNS = 3


def _panels(results: Results, title: str, y_label: str) -> tuple[Figure, list[Axes]]:
    """A figure with one panel a data set, in rows of three."""
    from matplotlib.figure import Figure as NewFigure

    n = len(results.datasets)
    columns = min(_COLUMNS, n)
    rows = math.ceil(n / columns)
    # A figure of its own, without pyplot: nothing global is touched and no display is needed.
    figure = NewFigure(figsize=(max(4.2 * columns, 7.5), 3.3 * rows + 1.1), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    axes = [axis for row in grid for axis in row]
    for axis in axes[n:]:
        axis.set_axis_off()
    for axis, dataset in zip(axes, results.datasets, strict=False):
        against = published_for(dataset)
        beside = "" if against is None or against.same else f" (stands in for {against.name})"
        axis.set_title(dataset + beside, fontsize=10)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    for row in grid:
        row[0].set_ylabel(y_label)
    figure.suptitle(title, fontsize=11)
    return figure, axes[:n]


def _legend(figure: Figure, axes: Iterable[Axes]) -> None:
    # Below the panels, where it covers no data.
    known: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    figure.legend(list(known.values()), list(known), loc="outside lower center", ncols=5, fontsize=8, frameon=False)


def _line(axis: Axes, x: list[float], y: list[float], run: MethodRun, label: str | None = None) -> None:
    if run.trained_on == "all":
        axis.plot(
            x, y, color=COLOURS[run.method], label=label or run_title(run), zorder=3,
            linestyle=(0, (4, 2)), linewidth=1.2,
        )  # fmt: skip
        return
    name = label or (METHOD_TITLES[run.method] + (" (no source)" if run.method == "ITQ" else ""))
    axis.plot(x, y, color=COLOURS[run.method], marker=MARKERS[run.method], markersize=4, linewidth=1.6, label=name)


def _published_line(axis: Axes, x: list[float], y: list[float], method: str) -> None:
    # Behind ours, paler and dotted.
    axis.plot(
        x, y, color=COLOURS[method], alpha=0.35, linestyle=":", linewidth=2.2, zorder=1,
        marker=MARKERS[method], markersize=3,
    )  # fmt: skip


def _published_key(axis: Axes) -> None:
    axis.plot([], [], color="#555555", alpha=0.5, linestyle=":", linewidth=2.2, label="published (same colour, dotted)")


def draw_figure1(results: Results, protocol: str) -> Figure:
    """MAP against alpha."""
    bits = results.settings.figure_bits
    measure = "MAP (%), pooled area" if PROTOCOLS[protocol].database == "train" else "MAP (%)"
    figure, axes = _panels(results, f"MAP against alpha, {bits} bits, {PROTOCOLS[protocol].title}", measure)
    for axis, dataset in zip(axes, results.datasets, strict=True):
        alphas = [a for a in results.alphas(dataset, protocol) if a in results.settings.alphas]
        against = published_for(dataset)
        for method in METHODS:
            if protocol == "authors" and against and bits == 32:
                known = {
                    a: figure1()[against.name, a, method] for a in alphas if (against.name, a, method) in figure1()
                }
                if known:
                    _published_line(axis, list(known), list(known.values()), method)
        for run in (*(MethodRun(method, bits) for method in METHODS), *reference_runs(dataset, bits)):
            means = {a: results.mean(dataset, protocol, a, run) for a in alphas}
            shown = {a: value for a, value in means.items() if value is not None}
            if shown:
                _line(axis, list(shown), list(shown.values()), run)
        axis.set_xlabel("alpha")
        axis.set_xticks(alphas)
    if protocol == "authors" and bits == 32:
        _published_key(axes[0])
    _legend(figure, axes)
    return figure


def draw_figure2(results: Results, protocol: str) -> Figure:
    """Precision against the number of retrieved rows."""
    settings = results.settings
    title = f"Precision at K, {settings.figure_bits} bits, alpha {settings.table_alpha:g}, {PROTOCOLS[protocol].title}"
    figure, axes = _panels(results, title, "precision (%)")
    for axis, dataset in zip(axes, results.datasets, strict=True):
        against = published_for(dataset)
        if protocol == "authors" and against and settings.figure_bits == 32:
            points = FIGURE2_LAPITQPLUS[against.name]
            _published_line(axis, list(points), list(points.values()), "LapITQPlus")
        bits = settings.figure_bits
        for run in (*(MethodRun(method, bits) for method in METHODS), *reference_runs(dataset, bits)):
            curve = results.precision_at(dataset, protocol, settings.table_alpha, run)
            if curve:
                _line(axis, list(map(float, curve)), list(curve.values()), run)
        axis.set_xlabel("K")
    if protocol == "authors" and settings.figure_bits == 32:
        _published_key(axes[0])
    _legend(figure, axes)
    return figure


def draw_figure3(results: Results, protocol: str) -> Figure:
    """LapITQ+ against lambda1 and against lambda2, the other being .01; reference lines level across."""
    settings = results.settings
    title = f"LapITQ+ against one parameter, the other {SWEEP_FIXED:g}, {settings.figure_bits} bits, "
    measure = "MAP (%), pooled area" if PROTOCOLS[protocol].database == "train" else "MAP (%)"
    figure, axes = _panels(results, title + PROTOCOLS[protocol].title, measure)
    positive = [value for value in settings.grid if value > 0]
    left = min(positive) / 5  # where the log axis shows 0
    for axis, dataset in zip(axes, results.datasets, strict=True):
        for (name, runs), colour, marker in zip(
            sweep_runs(settings).items(), (COLOURS["LapITQPlus"], COLOURS["ITQPlus"]), "Po", strict=True
        ):
            points = {}
            for value, run in zip(settings.grid, runs, strict=True):
                mean = results.mean(dataset, protocol, settings.table_alpha, run)
                if mean is not None:
                    points[value or left] = mean
            axis.plot(list(points), list(points.values()), color=colour, marker=marker, markersize=4, label=name)
            against = published_for(dataset)
            if protocol == "authors" and against and settings.figure_bits == 32:
                known = {left: FIGURE3_AT_ZERO[name][against.name]}
                known[SWEEP_FIXED] = table1()[against.name, 32, "LapITQPlus"]
                axis.plot([left], [known[left]], color=colour, alpha=0.4, marker=marker, markersize=9, linestyle="none")
        bits = settings.figure_bits
        for run in (MethodRun("ITQ", bits), *reference_runs(dataset, bits)):
            mean = results.mean(dataset, protocol, settings.table_alpha, run)
            if mean is not None:
                style = "-" if run.trained_on == "pairs" else (0, (4, 2))
                label = "ITQ (no source)" if run.trained_on == "pairs" else run_title(run)
                axis.axhline(mean, color=COLOURS[run.method], linestyle=style, linewidth=1, label=label, alpha=0.8)
        axis.set_xscale("log")
        axis.set_xticks([left, *(10.0**e for e in range(-3, 1))], ["0", "0.001", "0.01", "0.1", "1"])
        axis.minorticks_off()
        axis.set_xlabel("lambda1 or lambda2")
    if protocol == "authors" and settings.figure_bits == 32:
        axes[0].plot(
            [], [], color="#555555", alpha=0.4, marker="o", markersize=9, linestyle="none", label="published at 0"
        )
    _legend(figure, axes)
    return figure


FIGURES: dict[str, Callable[[Results, str], Figure]] = {
    "figure1": draw_figure1,
    "figure2": draw_figure2,
    "figure3": draw_figure3,
}
"""The figures by name."""


def figure_bytes(figure: Figure, form: str) -> bytes:
    """Give the file of a figure, ``"png"`` or ``"svg"``; the same figure gives the same bytes."""
    import matplotlib
    from PIL import Image

    buffer = io.BytesIO()
    # Ids in an SVG are random and dates are written unless told otherwise.
    with matplotlib.rc_context({"svg.hashsalt": "thpi", "svg.fonttype": "none"}):
        figure.savefig(buffer, format=form, dpi=100, metadata={"Date": None} if form == "svg" else {"Software": None})
    if form == "svg":
        # Coordinates with six decimals make half of the file; a hundredth of a point cannot be seen.
        return re.sub(rb' (?:d|x|y|transform)="[^"]*"', _shorter, buffer.getvalue())
    picture = Image.open(buffer).convert("RGB").quantize(96)
    small = io.BytesIO()
    picture.save(small, format="png", optimize=True)
    return small.getvalue()


def _shorter(attribute: re.Match[bytes]) -> bytes:
    return re.sub(rb"(\.\d\d)\d+", rb"\1", attribute.group())
