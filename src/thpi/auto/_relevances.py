"""The meanings of "relevant" by name, and the candidates of each."""

from __future__ import annotations

from thpi.auto._candidate import Candidate
from thpi.auto._meanings import MEANINGS
from thpi.auto._relevance import Relevance

__all__ = ["OFFERED", "RELEVANCES", "candidates", "find_relevance"]

RELEVANCES: dict[str, Relevance] = {relevance.name: relevance for relevance in MEANINGS}
"""Every meaning of "relevant" by its name; adding one is one entry here."""

OFFERED: dict[str, list[Candidate]] = {}
"""Candidates of methods that were registered from outside, by the name of the relevance."""


def find_relevance(name: str) -> Relevance:
    """Look up a meaning of "relevant".

    >>> find_relevance("source").title
    'near in source space'
    >>> find_relevance("colour")
    Traceback (most recent call last):
    ValueError: relevance='colour' must be one of target, source, labels, groups.
    """
    if name not in RELEVANCES:
        raise ValueError(f"relevance={name!r} must be one of {', '.join(RELEVANCES)}.")
    return RELEVANCES[name]


def candidates(
    relevance: Relevance | str, *, has_source: bool = True, has_labels: bool = True
) -> tuple[Candidate, ...]:
    """Candidates for a relevance, plain ITQ first; without source or labels, those that need neither.

    Candidates that start at ITQ come first, the costly ones after them.

    >>> [str(candidate) for candidate in candidates("labels", has_source=False)]
    ['ITQ without source', 'ClassITQ without source', 'ClassITQ without source', 'ClassITQ without source',
     'ITQPlus without source']
    """
    if isinstance(relevance, str):
        relevance = find_relevance(relevance)
    listed = [
        candidate
        for candidate in (*relevance.candidates, *OFFERED.get(relevance.name, ()))
        if (has_source or not candidate.uses_source) and (has_labels or not candidate.method.uses_labels)
    ]
    return tuple(sorted(listed, key=lambda candidate: not candidate.starts_at_itq))
