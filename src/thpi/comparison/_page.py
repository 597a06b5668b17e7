"""The plot of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thpi.report import new_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from thpi.comparison._result import Comparison

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31", "#7B4173")
_MARKERS = "os^vD<>Pp"


def draw_frontier(found: Comparison) -> Figure:
    """Recall at the wished cut against bytes a row."""
    axis = new_axes(8.5, 4.6)
    line = [(r.n_bytes, 100 * found.recall(r)) for r in found.frontier]
    axis.plot(*zip(*line, strict=True), color="#bbbbbb", linewidth=6, alpha=0.6, solid_capstyle="round", zorder=0)
    names = list(dict.fromkeys(r.name for r in found.results))
    for number, name in enumerate(names):
        points = [(r.n_bytes, 100 * found.recall(r)) for r in found.results if r.name == name]
        style: Any = {"color": _COLOURS[number % len(_COLOURS)], "marker": _MARKERS[number // 2 % len(_MARKERS)]}
        dash = "--" if name.endswith("Hamming") else "-"
        axis.plot(*zip(*points, strict=True), label=name, linestyle=dash, linewidth=1, markersize=5, **style)
    axis.axhline(100 * found.wished, color="#000000", linestyle=(0, (1, 2)), linewidth=1)
    axis.set_xscale("log", base=2)
    sizes = sorted({r.n_bytes for r in found.results})
    ticks = [2**power for power in range(0, 20) if sizes[0] <= 2**power <= sizes[-1]]
    axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axis.minorticks_off()
    axis.set_xlabel("bytes a row")
    axis.set_ylabel(f"recall at {found.cut} (%)")
    axis.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    return axis.figure  # type: ignore[return-value]  # not of a subfigure
