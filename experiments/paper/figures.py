"""Figures 1 to 3 in the paper's layout: one panel per data set, the published curve behind ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from experiments.harness.figures import DASHED, legend_below, panels
from experiments.harness.protocol import PROTOCOLS
from experiments.paper.compare import PROTOCOL, SIX, cells
from experiments.paper.published import FIGURE2_LAPITQPLUS, FIGURE3_AT_ZERO, FIGURE_BITS, METHOD_TITLES, figure1
from experiments.paper.results import Results
from experiments.paper.runs import MethodRun
from experiments.paper.sets import paper_set
from experiments.paper.settings import METHODS, SWEEP_FIXED, reference_runs, runs_of, sweep_runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


def _panels(results: Results, title: str, y_label: str) -> tuple[Figure, list[Axes]]:
    """A figure with one panel per data set, in rows of three."""
    titles = [paper_set(dataset).title for dataset in results.datasets]
    figure, axes, grid = panels(titles, columns=3, size=(4.2, 3.3), extra=1.1, least=7.5, fontsize=10)
    for row in grid:
        row[0].set_ylabel(y_label)
    figure.suptitle(title, fontsize=11)
    return figure, axes


Curve = Callable[[str, MethodRun], Mapping[Any, "float | None"]]
"""From a data set and a run to a curve."""
Published = Callable[[str, str], Mapping[Any, float]]
"""From a data set of the paper and a method to a curve."""


def _has_published(results: Results, protocol: str) -> bool:
    """Whether the paper shows figures for this protocol and code length."""
    return protocol == PROTOCOL and results.settings.figure_bits == FIGURE_BITS


def _measure(protocol: str) -> str:
    return "MAP (%), pooled area" if PROTOCOLS[protocol].database == "train" else "MAP (%)"


def _line(axis: Axes, x: list[float], y: list[float], run: MethodRun) -> None:
    if run.trained_on == "all" or run.tuned:
        style = DASHED if run.trained_on == "all" else "-."
        axis.plot(x, y, color=COLOURS[run.method], label=run.title, zorder=3, linestyle=style, linewidth=1.2)
        return
    name = METHOD_TITLES[run.method] + (" (no source)" if run.method == "ITQ" else "")
    axis.plot(x, y, color=COLOURS[run.method], marker=MARKERS[run.method], markersize=4, linewidth=1.6, label=name)


def _published_line(axis: Axes, x: list[float], y: list[float], method: str) -> None:
    # Behind ours, paler and dotted.
    axis.plot(
        x, y, color=COLOURS[method], alpha=0.35, linestyle=":", linewidth=2.2, zorder=1,
        marker=MARKERS[method], markersize=3,
    )  # fmt: skip


def _published_key(axis: Axes) -> None:
    axis.plot([], [], color="#555555", alpha=0.5, linestyle=":", linewidth=2.2, label="published (same colour, dotted)")


def _draw_curves(
    results: Results, protocol: str, title: str, label: str, x_label: str, curve: Curve, published: Published
) -> tuple[Figure, list[Axes]]:
    """One panel per data set with a line per run, and the published ones behind them."""
    bits = results.settings.figure_bits
    figure, axes = _panels(results, title, label)
    for axis, dataset in zip(axes, results.datasets, strict=True):
        shown = paper_set(dataset)
        for method in METHODS if _has_published(results, protocol) and shown.beside_published else ():
            known = published(str(shown.published), method)
            if known:
                _published_line(axis, list(known), list(known.values()), method)
        for run in runs_of(dataset, bits):
            points = {x: y for x, y in curve(dataset, run).items() if y is not None}
            if points:
                _line(axis, list(map(float, points)), list(points.values()), run)
        axis.set_xlabel(x_label)
    if _has_published(results, protocol):
        _published_key(axes[0])
    legend_below(figure, axes, columns=5)
    return figure, axes


def draw_figure1(results: Results, protocol: str) -> Figure:
    """MAP against alpha."""
    bits = results.settings.figure_bits
    drawn = results.settings.alphas
    alphas = {name: [a for a in results.alphas(name, protocol) if a in drawn] for name in results.datasets}
    title = f"MAP against alpha, {bits} bits, {PROTOCOLS[protocol].title}"
    figure, axes = _draw_curves(
        results, protocol, title, _measure(protocol), "alpha",
        lambda dataset, run: {a: results.mean(dataset, protocol, a, run) for a in alphas[dataset]},
        lambda name, method: {a: y for (n, a, m), y in figure1().items() if (n, m) == (name, method) and a in drawn},
    )  # fmt: skip
    for axis, ticks in zip(axes, alphas.values(), strict=True):
        axis.set_xticks(ticks)
    return figure


def draw_figure2(results: Results, protocol: str) -> Figure:
    """Precision against the number of retrieved rows."""
    alpha, bits = results.settings.table_alpha, results.settings.figure_bits
    title = f"Precision at K, {bits} bits, alpha {alpha:g}, {PROTOCOLS[protocol].title}"
    return _draw_curves(
        results, protocol, title, "precision (%)", "K",
        lambda dataset, run: results.precision_at(dataset, protocol, alpha, run),
        lambda name, method: FIGURE2_LAPITQPLUS[name] if method == "LapITQPlus" else {},
    )[0]  # fmt: skip


def draw_figure3(results: Results, protocol: str) -> Figure:
    """LapITQ+ against lambda1 and against lambda2, the other being .01; reference lines level across."""
    settings = results.settings
    title = f"LapITQ+ against one parameter, the other {SWEEP_FIXED:g}, {settings.figure_bits} bits, "
    figure, axes = _panels(results, title + PROTOCOLS[protocol].title, _measure(protocol))
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
            shown = paper_set(dataset)
            if shown.beside_published and _has_published(results, protocol):
                at_zero = FIGURE3_AT_ZERO[name][str(shown.published)]
                axis.plot([left], [at_zero], color=colour, alpha=0.4, marker=marker, markersize=9, linestyle="none")
        bits = settings.figure_bits
        for run in (MethodRun("ITQ", bits), *reference_runs(dataset, bits)):
            # Over the splits of the curves, which may be fewer than those of Table 1.
            values = results.splits(dataset, protocol, settings.table_alpha, run)[: settings.n_sweep_splits(dataset)]
            if values.size:
                mean = float(values.mean())
                style = "-" if run.trained_on == "pairs" else DASHED
                label = "ITQ (no source)" if run.trained_on == "pairs" else run.title
                axis.axhline(mean, color=COLOURS[run.method], linestyle=style, linewidth=1, label=label, alpha=0.8)
        axis.set_xscale("log")
        axis.set_xticks([left, *(10.0**e for e in range(-3, 1))], ["0", "0.001", "0.01", "0.1", "1"])
        axis.minorticks_off()
        axis.set_xlabel("lambda1 or lambda2")
    if _has_published(results, protocol):
        axes[0].plot(
            [], [], color="#555555", alpha=0.4, marker="o", markersize=9, linestyle="none", label="published at 0"
        )
    legend_below(figure, axes, columns=5)
    return figure


def draw_overview(results: Results, protocol: str) -> Figure:
    """Published against ours: a dot for each cell of Table 1 and Figure 1, by method."""
    shown = [name for name in results.datasets if paper_set(name).beside_published]
    titles = [paper_set(name).title for name in shown]
    figure, axes, grid = panels(titles, columns=3, size=(4.0, 3.8), extra=0.9, least=7.5, fontsize=9)
    figure.suptitle("Every published cell against ours (MAP in %); on the line they are equal", fontsize=11)
    for axis, dataset in zip(axes, shown, strict=True):
        found = cells(results, dataset)
        for method in SIX:
            mine = [cell for cell in found if cell.method == method]
            style: dict[str, Any] = {"color": COLOURS[method], "marker": MARKERS[method], "markersize": 5}
            x, y = [cell.published for cell in mine], [cell.ours for cell in mine]
            axis.plot(x, y, linestyle="none", label=METHOD_TITLES[method], **style)
        limits = [value for cell in found for value in (cell.published, cell.ours)]
        if limits:
            ends = [min(limits) - 1, max(limits) + 1]
            axis.plot(ends, ends, color="#888888", linewidth=1, zorder=1)
            axis.fill_between(ends, [e - 2 for e in ends], [e + 2 for e in ends], color="#888888", alpha=0.15, lw=0)
        axis.set_xlabel("published")
    for row in grid:
        row[0].set_ylabel("ours")
    legend_below(figure, axes, columns=6)
    return figure


FIGURES: dict[str, Callable[[Results, str], Figure]] = {
    "overview": draw_overview,
    "figure1": draw_figure1,
    "figure2": draw_figure2,
    "figure3": draw_figure3,
}
"""The figures by name."""
