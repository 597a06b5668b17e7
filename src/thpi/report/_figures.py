"""Figures of matplotlib as small files, and inside pages."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def new_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure, apart from pyplot; needs matplotlib."""
    from matplotlib.figure import Figure

    axes = Figure(figsize=(width, height), layout="constrained").subplots()
    bare(axes)
    return axes


def bare(axes: Axes) -> None:
    """Leave only a light grid and the lines of the axes."""
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def figure_bytes(figure: Figure, form: str) -> bytes:
    """Return a figure as a file, ``"png"`` or ``"svg"``; the same figure gives the same bytes."""
    import matplotlib
    from PIL import Image

    buffer = io.BytesIO()
    # Without these settings an SVG contains random ids and the date.
    with matplotlib.rc_context({"svg.hashsalt": "thpi", "svg.fonttype": "none"}):
        figure.savefig(buffer, format=form, dpi=100, metadata={"Date": None} if form == "svg" else {"Software": None})
    if form == "svg":
        # Coordinates with six decimals make half of the file; a hundredth of a point is invisible.
        return re.sub(rb' (?:d|x|y|transform)="[^"]*"', _shorter, buffer.getvalue())
    small = io.BytesIO()
    Image.open(buffer).convert("RGB").quantize(96).save(small, format="png", optimize=True)
    return small.getvalue()


def _shorter(attribute: re.Match[bytes]) -> bytes:
    return re.sub(rb"(\.\d\d)\d+", rb"\1", attribute.group())
