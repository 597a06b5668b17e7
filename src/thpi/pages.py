"""Reports as single HTML files that need no network and no script, and figures as small files."""

from __future__ import annotations

import base64
import io
import re
from html import escape
from typing import TYPE_CHECKING

import thpi

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["NARROW_STYLE", "STYLE", "figure_bytes", "figure_html", "html_page"]

STYLE = """
:root { color-scheme: light dark; --ink: #1c1f24; --paper: #fdfdfb; --faint: #6a6f78; --line: #d9dadd; --soft: #f1f1ec;
  --good: #1a7f4b; --bad: #b3401f; --open: #6a6f78; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e4e0; --paper: #17191c; --faint: #9ba0a8; --line: #363a40;
  --soft: #202327; --good: #5cc592; --bad: #f08a63; --open: #9ba0a8; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; }
h2 { margin-top: 2.6rem; border-top: 1px solid var(--line); padding-top: 1.2rem; }
.lead { font-size: 1.1rem; } .scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem; }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid var(--line); vertical-align: top; }
th:first-child { text-align: left; } thead th { vertical-align: bottom; }
td small, th small { display: block; color: var(--faint); font-weight: 400; white-space: nowrap; }
.reference { background: var(--soft); } .difference.far { color: var(--bad); font-weight: 600; }
.notes { color: var(--faint); font-size: .85rem; }
.claims { list-style: none; padding: 0; } .claims > li { margin: .8rem 0; }
.badge { display: inline-block; border: 1px solid currentcolor; border-radius: 1rem; padding: 0 .6rem;
  font-size: .8rem; }
.confirmed { color: var(--good); } .not-confirmed { color: var(--bad); } .not-testable-here { color: var(--open); }
summary { cursor: pointer; color: var(--faint); }
figure { margin: 1.5rem 0; }
figure img { width: 100%; height: auto; background: #fff; border-radius: .4rem; padding: .4rem; }
figcaption, footer { color: var(--faint); font-size: .9rem; } dt { font-weight: 600; } dd { margin: 0 0 .8rem 0; }
"""
"""One column, light or dark as the reader's system, tables that scroll on a phone."""
NARROW_STYLE = STYLE + "tbody th { white-space: nowrap; } .claims small { color: var(--faint); }"
"""The same, where the first column of a table holds short names."""


def html_page(title: str, body: str, made_by: str, *, style: str = NARROW_STYLE) -> str:
    """Return a whole page around ``body``, which is HTML already; ``made_by`` is the command that wrote it."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title, quote=False)}</title><style>{style}</style></head>\n<body><main>\n{body}\n"
        f"<footer>Made by <code>{escape(made_by)}</code>, thpi {escape(thpi.__version__)}. Not edited by hand.</footer>"
        "</main></body></html>\n"
    )


def figure_html(svg: bytes, caption: str) -> str:
    """Return a figure with the picture inside the page.

    >>> figure_html(b"<svg/>", "a & b").endswith("<figcaption>a &amp; b</figcaption></figure>")
    True
    """
    picture = f'<img alt="{escape(caption)}" src="data:image/svg+xml;base64,{base64.b64encode(svg).decode()}">'
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


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
