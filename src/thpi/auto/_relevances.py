"""The meanings of "relevant" by name, and the candidates of each.

The candidates and their order were chosen on development data sets (docs/transfer_methods.md).
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from thpi.auto._relevance import Candidate, Relevance
from thpi.hashers import ITQ, ClassITQ, GroupITQ, ITQPlus, LapITQPlus, NeighbourHash, TransferITQ


def _alone(method: Any, **params: float) -> Candidate:
    return Candidate(method, params, uses_source=False)


def _source_neighbours(start_penalty: float, source_features: str, source_weight: float) -> Candidate:
    params = {"space": "source", "start_penalty": start_penalty, "source_features": source_features}
    return Candidate(NeighbourHash, params | {"source_weight": source_weight})


def _transfer(source_features: str, source_weight: float) -> Candidate:
    return Candidate(TransferITQ, {"source_features": source_features, "source_weight": source_weight})


def _labels(label_weight: float, pseudo_label_weight: float, shrinkage: float = 1.0) -> Candidate:
    weights = {"label_weight": label_weight, "pseudo_label_weight": pseudo_label_weight, "shrinkage": shrinkage}
    return Candidate(ClassITQ, weights)


_ITQ = _alone(ITQ)
_TARGET_NEIGHBOURS = _alone(NeighbourHash, start_penalty=1.0)
_TARGET_GROUPS = _alone(GroupITQ, group_weight=0.2)
_GROUPS = Candidate(GroupITQ, {"group_weight": 32.0})
_IMPUTED = Candidate(TransferITQ, {"source_weight": 0.0})
# ITQ+ without its slack is balanced L1-norm PCA.
_MILD_PAPER = (
    _alone(ITQPlus, lambda1=0.0),
    Candidate(ITQPlus, {"lambda1": 0.01}),
    Candidate(LapITQPlus, {"lambda1": 0.01, "lambda2": 0.05}),
)
_PAPER = (
    *_MILD_PAPER[:2],
    Candidate(ITQPlus, {"lambda1": 0.5}),
    _MILD_PAPER[2],
    Candidate(LapITQPlus, {"lambda1": 0.01, "lambda2": 0.2}),
)

_MEANINGS = (
    Relevance(
        "target",
        "near in target space",
        (
            _ITQ,
            _TARGET_NEIGHBOURS,
            *(_alone(NeighbourHash, start_penalty=penalty) for penalty in (0.3, 0.1)),
            *(Candidate(NeighbourHash, {"start_penalty": penalty}) for penalty in (1.0, 0.3, 0.1)),
            # The other two were never chosen on the development sets, and cost as much as all the rest.
            *_MILD_PAPER,
        ),
        default=_TARGET_NEIGHBOURS,
        space=attrgetter("target"),
        # A source changes little here for better or worse: its mildest use cost more than a point in 2 % of the runs.
        source_errors=0.5,
        kernel=False,
    ),
    Relevance(
        "source",
        "near in source space",
        (
            _ITQ,
            _TARGET_NEIGHBOURS,
            _alone(GroupITQ, group_weight=0.5),
            # First those whose codes also keep groups together: of two candidates that find as many neighbours, they
            # find more items of the same kind.
            _GROUPS,
            _source_neighbours(3.0, "mixed", 8.0),
            _source_neighbours(1.0, "mixed", 8.0),
            _source_neighbours(1.0, "rbf", 8.0),
            _source_neighbours(0.3, "rbf", 8.0),
            _source_neighbours(0.3, "rbf", 0.5),
            _transfer("rbf", 0.5),
            _IMPUTED,
            *_PAPER,
        ),
        default=_TARGET_NEIGHBOURS,
        space=attrgetter("source"),
        needs_source=True,
    ),
    Relevance(
        "labels",
        "same class, or a shared tag",
        (
            _ITQ,
            _alone(ClassITQ, label_weight=4.0),
            _alone(ClassITQ, label_weight=64.0),
            _alone(ClassITQ, label_weight=64.0, shrinkage=0.2),
            _source_neighbours(0.3, "rbf", 0.5),
            _transfer("rbf", 8.0),
            _labels(4.0, 0.1),
            _labels(64.0, 0.0),
            _labels(64.0, 0.1),
            _labels(64.0, 1.0),
            _labels(64.0, 1.0, 0.2),
            *_PAPER,
        ),
        default=_ITQ,
    ),
    Relevance(
        "groups",
        "same group of the source",
        (
            _ITQ,
            _TARGET_GROUPS,
            _alone(GroupITQ, group_weight=8.0),
            _GROUPS,
            _transfer("mixed", 8.0),
            _source_neighbours(1.0, "mixed", 8.0),
            _source_neighbours(0.3, "rbf", 0.5),
            _IMPUTED,
            *_PAPER,
        ),
        default=_TARGET_GROUPS,
        space=attrgetter("groups"),
        # As if there were ten groups.
        share=1 / 10,
        most=None,
        needs_source=True,
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
