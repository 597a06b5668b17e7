"""Reports as single HTML files that need no network and no script, and figures as small files."""

from __future__ import annotations

import base64
import io
import re
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

import thpi

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["NARROW_STYLE", "STYLE", "figure_bytes", "figure_html", "html_page"]

STYLE = "\n" + files("thpi.report").joinpath("style.css").read_text(encoding="utf-8")
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
