"""Everything that is looked at: HTML, all of it from the jinja2 templates in this folder, and figures.

It knows no results, which bring their facts, and may import shared types only; ``report.plot`` is for notebooks.
"""

from __future__ import annotations

from thpi.report._render import (
    NARROW_STYLE,
    STYLE,
    Scale,
    bare,
    described,
    figure_html,
    figure_svg,
    html_page,
    new_axes,
    render,
    retrieved_page,
)

__all__ = [
    "NARROW_STYLE", "STYLE", "Scale", "bare", "described", "figure_html", "figure_svg", "html_page", "new_axes",
    "render", "retrieved_page",
]  # fmt: skip
