"""Parts of figures that all reports share."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from thpi.report import figure_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASHED = (0, (4, 2))
"""The line style of references that were trained on all target rows."""


def figure_bytes(figure: Figure, form: str) -> bytes:
    """Return a figure as a small file, ``"png"`` or ``"svg"``; the same figure gives the same bytes."""
    if form == "svg":
        return figure_svg(figure)
    from PIL import Image

    buffer, small = io.BytesIO(), io.BytesIO()
    figure.savefig(buffer, format=form, dpi=100, metadata={"Software": None})
    Image.open(buffer).convert("RGB").quantize(96).save(small, format="png", optimize=True)
    return small.getvalue()


def panels(
    titles: Sequence[str], columns: int, size: tuple[float, float], extra: float, least: float, fontsize: int
) -> tuple[Figure, list[Axes], Sequence[Sequence[Axes]]]:
    """Return a figure with one panel per title in rows of ``columns``, its panels, and their grid.

    ``size`` is that of a panel in inches, ``extra`` the height beside the panels and ``least`` the least width.
    """
    # A figure of its own, without pyplot: nothing global is touched and no display is needed.
    from matplotlib.figure import Figure as NewFigure

    across = min(columns, len(titles))
    rows = math.ceil(len(titles) / across)
    figure = NewFigure(figsize=(max(size[0] * across, least), size[1] * rows + extra), layout="constrained")
    grid = figure.subplots(rows, across, squeeze=False)
    axes = [axis for row in grid for axis in row]
    for axis in axes[len(titles) :]:
        axis.set_axis_off()
    for axis, title in zip(axes, titles, strict=False):
        axis.set_title(title, fontsize=fontsize)
        open_axis(axis)
    return figure, axes[: len(titles)], list(grid)


def open_axis(axis: Axes, which: Literal["both", "x", "y"] = "both") -> None:
    """Draw a pale grid and leave two sides open."""
    axis.grid(axis=which, alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)


def legend_below(figure: Figure, axes: Iterable[Axes], columns: int) -> None:
    """Draw one legend for all panels below them, where it covers no data."""
    known: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    found = list(known.values()), list(known)
    figure.legend(*found, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)
