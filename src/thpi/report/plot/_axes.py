"""Axes to draw on: the caller's, or those of a new figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thpi._optional import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_or_new(ax: Axes | None, **figure: Any) -> Axes:
    """Return ``ax``, or the axes of a new figure with these options; notebooks show figures of pyplot at once."""
    if ax is not None:
        return ax
    new: Axes = require("matplotlib.pyplot", "plots").subplots(**figure)[1]
    return new


def bare(ax: Axes) -> None:
    """Leave only a light grid and the lines of the axes."""
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
