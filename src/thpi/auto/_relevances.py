"""The meanings of "relevant" by name, and the candidates of each.

The candidates and their order were chosen on development data sets (experiments/notes/transfer_methods.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter
from typing import Any

from thpi.auto._relevance import ITQ_ALONE, RELEVANCES, Candidate, Relevance
from thpi.hashers import ClassITQ, GroupITQ, NeighbourHash, TransferITQ, TwoSidedITQ


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


_TARGET_NEIGHBOURS = _near(1.0)
_TARGET_GROUPS = _alone(GroupITQ, group_weight=0.2)
_SOURCE_GROUPS = Candidate(GroupITQ, {"group_weight": 32.0})
_DIFFUSION = Candidate(TransferITQ, {"source_features": "diffusion", "source_weight": 64.0})
_METRIC = Candidate(TransferITQ, {"source_features": "rbf", "source_weight": 8.0})

MEANINGS = (
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
        default=ITQ_ALONE,
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

RELEVANCES.update((meaning.name, meaning) for meaning in MEANINGS)
