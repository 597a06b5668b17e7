"""A fitted AutoHasher in a notebook: what was tried, what was chosen, and what the source adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thpi.auto._relevance import RELEVANCES
from thpi.report import Number, Row, Scale, block, bold, described, number, paragraph, signed, table

if TYPE_CHECKING:
    from thpi.auto._auto import AutoHasher
    from thpi.auto._decision import Entry


def hasher_html(hasher: AutoHasher) -> str:
    """Return the HTML."""
    params = described(hasher.choice_params_)
    # A model file may name a meaning that was registered elsewhere.
    meaning = RELEVANCES[hasher.relevance].title if hasher.relevance in RELEVANCES else hasher.relevance
    sides = ", two-sided" if hasher.is_two_sided else ""
    return block(
        paragraph(bold("AutoHasher"), " chose ", bold(hasher.choice_), f" ({params})" if params else ""),
        f"{hasher.n_bits} bits{sides}, learned from {len(hasher.codes_):,} rows of {hasher.n_features_in_:,} columns. "
        f"Relevant: {meaning}.",
        *([_source(hasher)] if hasher.pairs_r2_ else ["There is no source."]),
        *([] if hasher.related_ else [f"Check the pairs. {hasher.relation_}"]),
        _candidates(hasher.candidates_),
    )


def _source(hasher: AutoHasher) -> str:
    gain = (hasher.gain_, *hasher.gain_interval_)
    if not any(gain):
        return "What the source adds is not known: it was withheld, or there are too few pairs."
    return paragraph(f"The source adds {signed(*gain)} points of MAP. ", Scale(gain).interval(*gain))


def _candidates(entries: list[Entry]) -> str:
    known = [entry for entry in entries if entry["gain"] is not None]
    scale = Scale(entry[limit] for entry in known for limit in ("gain_low", "gain_high"))
    head = ("candidate", "parameters", "MAP", "over the reference", "95 % interval")
    return table(head, (Row(_cells(entry, scale), entry["chosen"]) for entry in entries))


def _cells(entry: Entry, scale: Scale) -> list[str]:
    name = f"{entry['name']}, chosen" if entry["chosen"] else entry["name"]
    cells = [name, described(entry["params"])]
    if entry["gain"] is None:
        return [*cells, "", "", ""]
    gain = entry["gain"], entry["gain_low"], entry["gain_high"]
    if not any(gain):  # it is what the others are compared with
        return [*cells, number(entry["score"], ".1f"), "reference", ""]
    return [*cells, number(entry["score"], ".1f"), Number(signed(*gain)), scale.interval(*gain)]
