"""Filling a template: every text in it is escaped, and what it asks for must be there."""

from __future__ import annotations

import io
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import isfinite
from typing import TYPE_CHECKING, Any

from thpi._types import Array, Ints

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE = "\n" + files("thpi.report").joinpath("templates", "style.css").read_text(encoding="utf-8")
"""One column, light or dark as the reader's system, tables that scroll on a phone."""
NARROW_STYLE = STYLE + "tbody th { white-space: nowrap; } .claims small { color: var(--faint); }"
"""The same, where the first column of a table holds short names."""

_WIDTH, _PAD = 180, 6  # pixels of a drawn interval


def render(template: str, **facts: Any) -> str:
    """Return a template of ``report/templates`` filled with ``facts``.

    Those in ``notebook/`` are for ``_repr_html_``: no scripts, nothing fetched, readable on light and on dark. The
    others are whole pages, and extend ``page.html``.

    >>> render("figure.html", svg=b"<svg/>", caption="a & b").endswith("<figcaption>a &amp; b</figcaption></figure>")
    True
    """
    return _environment().get_template(template).render(facts)


def html_page(title: str, body: str, made_by: str, *, style: str = NARROW_STYLE) -> str:
    """Return a whole page around ``body``, which is HTML already; ``made_by`` is the command that wrote it."""
    return render("page.html", title=title, body=body, made_by=made_by, style=style)


def figure_html(figure: Figure | bytes, caption: str) -> str:
    """Return a figure, or a picture in SVG, inside the page.

    >>> figure_html(b"<svg/>", "a & b").endswith("<figcaption>a &amp; b</figcaption></figure>")
    True
    """
    return render("figure.html", svg=figure if isinstance(figure, bytes) else figure_svg(figure), caption=caption)


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


def figure_svg(figure: Figure) -> bytes:
    """Return a figure of matplotlib as a small SVG; the same figure gives the same bytes."""
    import matplotlib

    buffer = io.BytesIO()
    # Without these settings an SVG contains random ids and the date.
    with matplotlib.rc_context({"svg.hashsalt": "thpi", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", dpi=100, metadata={"Date": None})
    # Coordinates with six decimals make half of the file; a hundredth of a point is invisible.
    return re.sub(
        rb' (?:d|x|y|transform)="[^"]*"', lambda found: re.sub(rb"(\.\d\d)\d+", rb"\1", found[0]), buffer.getvalue()
    )


def retrieved_page(
    title: str,
    lead: str,
    queries: Ints,
    found: Mapping[str, Ints],
    pictures: Sequence[bytes],
    classes: Array,
    made_by: str,
) -> str:
    """Return a page with every query, by class, and the rows ``found`` for it (n_queries x k, by title).

    Items of the class of the query have a green frame. ``pictures`` are WebP files by row. Each is in the page once.
    """
    names = [str(name) for name in classes]
    shown = sorted({int(row) for rows in (queries, *found.values()) for row in rows.ravel()})
    lines = [
        (names[int(query)], int(query), [rows[place].tolist() for rows in found.values()])
        for place, query in enumerate(queries)
    ]
    facts = {"title": title, "lead": lead, "made_by": made_by, "style": STYLE, "heads": list(found), "names": names}
    by_class = sorted(lines, key=lambda line: line[0])
    return render("retrieved.html", lines=by_class, pictures={row: pictures[row] for row in shown}, **facts)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    import thpi

    environment = Environment(
        loader=PackageLoader("thpi.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined, extensions=["jinja2.ext.do"],
    )  # fmt: skip
    environment.globals |= {"version": thpi.__version__, "style": NARROW_STYLE, "Scale": Scale, "figure": figure_html}
    environment.filters |= {
        "base64": lambda data: b64encode(data).decode(),
        "described": described,
        "number": _number,
        "percent": lambda value: None if value is None else [100 * each for each in value],
        "signed": _signed,
    }
    environment.tests["finite"] = isfinite
    return environment


def _markup(text: str) -> Markup:
    from markupsafe import Markup

    return Markup(text)


def _number(value: float, form: str = ",") -> Markup:
    """A number in a format; tables put what is HTML already at the right of their cells."""
    return _markup(f"{value:{form}}")


def _signed(gain: Sequence[float], form: str = ".1f") -> Markup:
    """A difference in words, with its interval if that is known."""
    mean, low, high = (f"{value:+{form}}" for value in gain)
    return _markup(f"{mean} ({low} to {high})" if isfinite(gain[1]) and isfinite(gain[2]) else mean)


def described(params: dict[str, Any]) -> str:
    """Parameters in words.

    >>> described({"start_penalty": 1.0, "space": "source"})
    'start_penalty 1, space source'
    """
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in params.items()
    )


class Scale:
    """One axis for several intervals, so that they can be compared; it contains 0."""

    def __init__(self, values: Iterable[float]) -> None:
        known = [0.0, *(value for value in values if isfinite(value))]
        self.low, self.high = min(known), max(known)

    def place(self, value: float) -> float:
        """Return where a value lies, in pixels.

        >>> scale = Scale([-1.0, 3.0])
        >>> scale.place(-1.0), scale.place(0.0), scale.place(3.0)
        (6.0, 48.0, 174.0)
        """
        return _PAD + (_WIDTH - 2 * _PAD) * (value - self.low) / ((self.high - self.low) or 1.0)

    def interval(self, mean: float, low: float, high: float, form: str = ".1f") -> Markup:
        """Draw an interval, its mean and a line at 0; the point is hollow if 0 is inside.

        Screen readers say the numbers, in the format ``form``.
        """
        limits = [self.place(low), self.place(high)] if isfinite(low) and isfinite(high) else []
        decided, words = low > 0 or high < 0, _signed((mean, low, high), form)
        places = {"at": self.place(mean), "zero": self.place(0.0), "limits": limits, "width": _WIDTH}
        return _markup(render("notebook/interval.html", words=words, decided=decided, **places))
