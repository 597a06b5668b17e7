"""A diagnosis in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thpi.report import Number, Row, Scale, block, bold, number, paragraph, signed, table

if TYPE_CHECKING:
    from thpi.evaluation.models._answer import Answer, Diagnosis


def diagnosis_html(found: Diagnosis) -> str:
    """Return the HTML: one row per meaning of relevant; the page has the rest (``to_html``)."""
    scale = Scale(value for answer in found.answers for value in answer.gain[:3])
    head = ("relevant", "the source", "MAP without", "with it", "gain", "95 % interval", "AutoHasher chooses")
    check = [] if found.related else [bold("Check the pairs. ")]
    return block(
        paragraph(bold("Does the source help?"), f" {found.rows}, codes of {found.n_bits} bits."),
        paragraph(*check, found.relation),
        table(head, (Row(_cells(answer, scale), answer.verdict == "helps") for answer in found.answers)),
        "MAP and gain in points, by cross-validation on the pairs. to_html() has the candidates and learning curves.",
    )


def _cells(answer: Answer, scale: Scale) -> list[str]:
    gain = answer.gain[:3]
    numbers = number(answer.no_source, ".1f"), number(answer.with_source, ".1f"), Number(signed(*gain))
    return [answer.title, answer.verdict, *numbers, scale.interval(*gain), answer.choice]
