"""Everything that is looked at: pages of HTML, what notebooks show, and figures.

It knows no results: those bring their values. ``report.plot`` draws for notebooks and papers.
"""

from __future__ import annotations

from thpi.report._notebook import (
    Html,
    Number,
    Row,
    Scale,
    block,
    bold,
    described,
    html,
    number,
    paragraph,
    percent,
    signed,
    table,
)
from thpi.report._pages import NARROW_STYLE, STYLE, figure_bytes, figure_html, html_page
from thpi.report._retrieved_page import retrieved_page

__all__ = [
    "NARROW_STYLE",
    "STYLE",
    "Html",
    "Number",
    "Row",
    "Scale",
    "block",
    "bold",
    "described",
    "figure_bytes",
    "figure_html",
    "html",
    "html_page",
    "number",
    "paragraph",
    "percent",
    "retrieved_page",
    "signed",
    "table",
]
