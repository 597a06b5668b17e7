"""Pieces of HTML for notebooks: no scripts, nothing fetched, every text escaped, readable on light and on dark.

Colours are ``currentColor``, the notebook's own, except for one accent that shows on both grounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import isfinite
from typing import Any, NamedTuple

ACCENT = "#2a9d8f"
_WIDTH, _HEIGHT, _PAD = 180, 18, 6
_LINE = "border:0;border-bottom:1px solid rgba(128,128,128,.35)"
_CELL = f"padding:2px 10px;background:none;{_LINE};text-align:"


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


class Number(Html):
    """HTML of a number: at the right of its cell, in one line."""

    __slots__ = ()


class Row(NamedTuple):
    """Cells of a table; ``chosen`` rows stand out."""

    cells: Sequence[Any]
    chosen: bool = False


def html(value: Any) -> str:
    """Escape a value, unless it is :class:`Html`.

    >>> html("a < b"), html(Html("<b>a</b>")), html(None)
    ('a &lt; b', '<b>a</b>', '')
    """
    return value if isinstance(value, Html) else "" if value is None else escape(str(value))


def block(*parts: Any) -> str:
    """Put parts below each other; strings are paragraphs.

    >>> block("a & b")
    '<div style="line-height:1.4"><p style="margin:.3em 0">a &amp; b</p></div>'
    """
    inside = (part if isinstance(part, Html) else f'<p style="margin:.3em 0">{html(part)}</p>' for part in parts)
    return f'<div style="line-height:1.4">{"".join(inside)}</div>'


def paragraph(*parts: Any) -> Html:
    """Return one paragraph of texts and HTML."""
    return Html(f'<p style="margin:.3em 0">{"".join(map(html, parts))}</p>')


def bold(text: Any) -> Html:
    """Return a text in bold."""
    return Html(f"<b>{html(text)}</b>")


def table(head: Sequence[str], rows: Iterable[Row]) -> Html:
    """Return a table; an empty ``head`` is left out."""
    titles = "".join(f'<th style="{_CELL}left">{html(title)}</th>' for title in head)
    body = "".join(_row(row) for row in rows)
    style = "border-collapse:collapse;border:0;margin:.4em 0;font-size:inherit;font-variant-numeric:tabular-nums"
    top = f"<thead><tr>{titles}</tr></thead>" if head else ""
    return Html(f'<div style="overflow-x:auto"><table style="{style}">{top}<tbody>{body}</tbody></table></div>')


def _row(row: Row) -> str:
    weight = ";font-weight:600" if row.chosen else ""
    sides = ("right;white-space:nowrap" if isinstance(cell, Number) else "left;max-width:30em" for cell in row.cells)
    cells = (
        f'<td style="{_CELL}{side}{weight}">{html(cell)}</td>' for side, cell in zip(sides, row.cells, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def number(value: float, form: str) -> Number:
    """Return a number in a format.

    >>> number(1234.5, ",.1f")
    '1,234.5'
    """
    return Number(f"{value:{form}}")


def percent(value: tuple[float, float, float] | None) -> Number:
    """Return a share and its interval in percent; nothing if there is none.

    >>> percent((0.5, 0.25, 0.75))
    '50.0 <small style="display:block;opacity:.7;font-weight:400">25.0 to 75.0</small>'
    """
    if value is None or not isfinite(value[0]):
        return Number("")
    mean, low, high = (f"{100 * each:.1f}" for each in value)
    if not isfinite(value[1]):
        return Number(mean)
    return Number(f'{mean} <small style="display:block;opacity:.7;font-weight:400">{low} to {high}</small>')


class Scale:
    """One axis for several intervals, so that they can be compared; it contains 0."""

    def __init__(self, values: Iterable[float]) -> None:
        known = [0.0, *(value for value in values if isfinite(value))]
        self.low, self.high = min(known), max(known)

    def place(self, value: float) -> float:
        """Return where a value lies, in pixels."""
        width = (self.high - self.low) or 1.0
        return _PAD + (_WIDTH - 2 * _PAD) * (value - self.low) / width

    def interval(self, mean: float, low: float, high: float, form: str = ".1f") -> Html:
        """Draw an interval, its mean and a line at 0; the point is hollow if 0 is inside.

        Screen readers say the numbers, in the format ``form``.

        >>> scale = Scale([-1.0, 3.0])
        >>> scale.place(-1.0), scale.place(0.0), scale.place(3.0)
        (6.0, 48.0, 174.0)
        """
        words = signed(mean, low, high, form)
        at, zero, middle = self.place(mean), self.place(0.0), _HEIGHT / 2
        fill = ACCENT if low > 0 or high < 0 else "none"
        bar = ""
        if isfinite(low) and isfinite(high):
            left, right = self.place(low), self.place(high)
            bar = (
                f'<path d="M{left:.1f} {middle - 4}v8M{left:.1f} {middle}H{right:.1f}M{right:.1f} {middle - 4}v8" '
                f'stroke="{ACCENT}" stroke-width="2" fill="none"/>'
            )
        return Html(
            f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{escape(words)}" '
            'style="vertical-align:middle">'
            f'<path d="M{zero:.1f} 0v{_HEIGHT}" stroke="currentColor" stroke-opacity=".5"/>{bar}'
            f'<circle cx="{at:.1f}" cy="{middle}" r="4" stroke="{ACCENT}" stroke-width="2" fill="{fill}"/></svg>'
        )


def signed(mean: float, low: float, high: float, form: str = ".1f") -> str:
    """Return a difference in words, with its interval if that is known.

    >>> from math import nan
    >>> signed(1.26, -0.5, 3.0), signed(0.0123, nan, nan, ".2g")
    ('+1.3 (-0.5 to +3.0)', '+0.012')
    """
    first, *limits = (f"{value:+{form}}" for value in (mean, low, high))
    return f"{first} ({limits[0]} to {limits[1]})" if isfinite(low) and isfinite(high) else first


def described(params: dict[str, Any]) -> str:
    """Parameters in words.

    >>> described({"start_penalty": 1.0, "space": "source"})
    'start_penalty 1, space source'
    """
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in params.items()
    )
