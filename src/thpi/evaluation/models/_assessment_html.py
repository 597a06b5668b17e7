"""An assessment in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thpi.report import Number, Row, Scale, block, bold, paragraph, percent, signed, table

if TYPE_CHECKING:
    from thpi.evaluation.models._assessment import Assessment


def assessment_html(found: Assessment) -> str:
    """Return the HTML: one row per way to search, and the gain over ITQ."""
    empty = f", {found.n_empty:,} of them without a relevant row" if found.n_empty else ""
    rows = (
        Row((line.words, *(percent(line.measured(name)) for name in found.measures)), name == "model")
        for name, line in found.lines.items()
    )
    gains = {order: (100 * d.mean, 100 * d.low, 100 * d.high) for order, d in found.over_itq.items()}
    scale = Scale(value for gain in gains.values() for value in gain)
    over = (Row((order, Number(signed(*gain)), scale.interval(*gain))) for order, gain in gains.items())
    return block(
        paragraph(bold("Assessment"), f" of codes of {found.n_bits} bits"),
        f"{found.n_queries:,} queries{empty}, {found.n_database:,} rows. Percent, with the 95 % interval over queries.",
        table(("search", *found.measures), rows),
        *([table(("order", "model over ITQ, points of MAP", "95 % interval"), over)] if gains else []),
        *found.notes,
    )
