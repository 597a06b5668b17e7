"""Everything that is looked at: pages of HTML, what notebooks show, and figures.

All HTML comes from the jinja2 templates in ``report/templates``, which :func:`render` fills. It knows no results: those
bring their facts. It imports no other room; ``report.plot`` draws for notebooks and papers.
"""

from __future__ import annotations

from thpi.report._figures import bare, figure_bytes, new_axes
from thpi.report._render import NARROW_STYLE, STYLE, Scale, described, figure_html, html_page, render, signed
from thpi.report._retrieved import retrieved_page

__all__ = [
    "NARROW_STYLE",
    "STYLE",
    "Scale",
    "bare",
    "described",
    "figure_bytes",
    "figure_html",
    "html_page",
    "new_axes",
    "render",
    "retrieved_page",
    "signed",
]
