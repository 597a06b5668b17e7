"""Everything that is looked at: HTML, all of it from the jinja2 templates in this folder, and figures.

It knows no results, which bring their facts, and may import shared types only; ``report.plot`` is for notebooks.
"""

from __future__ import annotations

from thpi.report._figures import bare, figure_bytes, new_axes
from thpi.report._render import (
    NARROW_STYLE,
    STYLE,
    Scale,
    described,
    figure_html,
    html_page,
    render,
    retrieved_page,
    signed,
)

__all__ = [
    "NARROW_STYLE", "STYLE", "Scale", "bare", "described", "figure_bytes", "figure_html", "html_page", "new_axes",
    "render", "retrieved_page", "signed",
]  # fmt: skip
