"""The meanings of "relevant" by name, and the candidates of each.

The candidates and their order were chosen on development data sets (experiments/notes/transfer_methods.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter
from typing import Any

from thpi.auto._relevance import Candidate, Relevance
from thpi.hashers import ITQ, ClassITQ, GroupITQ, NeighbourHash, TransferITQ, TwoSidedITQ


def _alone(method: Any, **params: Any) -> Candidate:
    return Candidate(method, params, uses_source=False)


def _near(start_penalty: float, *, offsets: bool = False, **source: float) -> Candidate:
    """Neighbours of the target, from ITQ or from what the source teaches."""
    params = {"start_penalty": start_penalty, "offsets": offsets}
    return Candidate(NeighbourHash, params | source, uses_source=bool(source))


def _source_neighbours(start_penalty: float, source_features: str, *, offsets: bool = False) -> Candidate:
    params = {"space": "source", "start_penalty": start_penalty, "source_features": source_features}
    return Candidate(NeighbourHash, params | {"source_weight": 8.0, "offsets": offsets})


def _labels(*, pseudo: float | None = None, equal: bool = True, shrinkage: float = 1.0) -> Candidate:
    params = {"label_weight": 64.0, "equal_classes": equal, "shrinkage": shrinkage}
    source = {} if pseudo is None else {"pseudo_label_weight": pseudo}
    return Candidate(ClassITQ, params | source, uses_source=pseudo is not None)


def _kernel(*candidates: Candidate) -> Iterator[Candidate]:
    return (replace(candidate, kernel=True) for candidate in candidates)


def _two_sided(taught: str) -> tuple[Candidate, ...]:
    candidate = Candidate(TwoSidedITQ, {"taught": taught})
    return candidate, *_kernel(candidate)


_ITQ = _alone(ITQ)
_TARGET_NEIGHBOURS = _near(1.0)
_TARGET_GROUPS = _alone(GroupITQ, group_weight=0.2)
_SOURCE_GROUPS = Candidate(GroupITQ, {"group_weight": 32.0})
_DIFFUSION = Candidate(TransferITQ, {"source_features": "diffusion", "source_weight": 64.0})
_METRIC = Candidate(TransferITQ, {"source_features": "rbf", "source_weight": 8.0})

_MEANINGS = (
    Relevance(
        "target",
        "near in target space",
        (
            _near(1.0, offsets=True, source_weight=0.05),
            _near(1.0, offsets=True),
            _near(1.0, source_weight=0.05),
            _TARGET_NEIGHBOURS,
            *_kernel(_near(1.0, offsets=True), _near(1.0, offsets=True, source_weight=0.05)),
        ),
        default=_TARGET_NEIGHBOURS,
        space=attrgetter("target"),
        directions=False,
    ),
    Relevance(
        "source",
        "near in source space",
        (
            # Codes that also keep groups together find more items of the same kind among as many neighbours.
            _source_neighbours(3.0, "mixed"),
            _source_neighbours(1.0, "rbf"),
            _TARGET_NEIGHBOURS,
            *_kernel(
                _source_neighbours(1.0, "rbf", offsets=True),
                _METRIC,
                _source_neighbours(3.0, "mixed"),
                _near(1.0, offsets=True),
            ),
        ),
        default=_TARGET_NEIGHBOURS,
        space=attrgetter("source"),
        needs_source=True,
        two_sided=_two_sided("source"),
    ),
    Relevance(
        "labels",
        "same class, or a shared tag",
        (
            _labels(pseudo=0.1),
            _labels(equal=False),
            _labels(),
            *_kernel(
                _labels(pseudo=0.1),
                _labels(pseudo=0.1, equal=False),
                _labels(shrinkage=0.2, equal=False),
                _labels(shrinkage=0.2),
            ),
        ),
        default=_ITQ,
        two_sided=_two_sided("labels"),
    ),
    Relevance(
        "groups",
        "same group of the source",
        (
            _SOURCE_GROUPS,
            _DIFFUSION,
            _TARGET_GROUPS,
            *_kernel(_SOURCE_GROUPS, _DIFFUSION, _alone(GroupITQ, group_weight=8.0)),
        ),
        default=_TARGET_GROUPS,
        space=attrgetter("groups"),
        # As if there were ten groups.
        share=1 / 10,
        most=None,
        needs_source=True,
        two_sided=_two_sided("groups"),
    ),
)

RELEVANCES: dict[str, Relevance] = {relevance.name: relevance for relevance in _MEANINGS}
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
    """Candidates for a relevance in order of preference, plain ITQ last; without source or labels, those that need
    neither.

    >>> [str(candidate) for candidate in candidates("labels", has_source=False)]
    ['ClassITQ without source', 'ClassITQ without source', 'kernel ClassITQ without source',
     'kernel ClassITQ without source', 'ITQ without source']
    """
    if isinstance(relevance, str):
        relevance = find_relevance(relevance)
    return tuple(
        candidate
        for candidate in (*relevance.candidates, *OFFERED.get(relevance.name, ()), _ITQ)
        if (has_source or not candidate.uses_source) and (has_labels or not candidate.method.uses_labels)
    )
