"""Scores of all candidates on the folds, each in the space where it is learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from thpi.base import TooManyBitsError
from thpi.hashers._geometry import Array, Geometry
from thpi.transfer._candidates import Candidate
from thpi.transfer._folds import Folds, FoldScores, learn

__all__ = ["Space", "score_candidates"]


class Space(NamedTuple):
    """Coordinates of the pairs, their folds (None: too few pairs), and how a projection of them becomes a hasher's."""

    geometry: Geometry
    folds: Folds | None
    back: Callable[[Array], dict[str, Any]]

    def learned(self, chosen: Candidate, labels: Array | None, several: bool) -> dict[str, Any]:
        """Learn from all pairs; for target relevance from one start, that of ITQ, to which it is worth to stay near."""
        if self.folds is None:
            return self.back(learn(chosen, self.geometry, labels))
        return self.back(self.folds.last_fit(chosen, self.geometry, labels, several=several))


def score_candidates(spaces: dict[bool, Space], listed: list[Candidate], n_jobs: int | None) -> list[FoldScores | None]:
    """Scores of all candidates; costly ones that do not lead on the first fold have those of that fold alone, and
    those that were not tried, or cannot give so many bits, have none."""
    cheap = [candidate for candidate in listed if not candidate.costly]

    def score(candidate: Candidate) -> FoldScores:
        folds = spaces[candidate.kernel].folds
        assert folds is not None
        return folds.score(candidate)

    if n_jobs in (None, 1):
        scores = [score(candidate) for candidate in cheap]
    else:
        from joblib import Parallel, delayed

        scores = Parallel(n_jobs, prefer="threads")(delayed(score)(candidate) for candidate in cheap)
    folds = spaces[False].folds
    assert folds is not None
    return [*scores, *_races(folds, listed[len(cheap) :], max(scores, key=lambda score: score.mean))]


def _races(folds: Folds, costly: list[Candidate], best: FoldScores) -> Iterator[FoldScores | None]:
    """A costly candidate goes on after the first fold if it leads there; where one falls behind, those of its
    method that come later, with more weight on the same terms, are not tried."""
    behind: set[str] = set()
    for candidate in costly:
        try:
            if candidate.method in behind:
                yield None
                continue
            first = folds.score(candidate, n_folds=1)
        except TooManyBitsError:
            yield None
            continue
        gain, error = first.gain_over(best.part_like(first))
        if gain < -error and candidate.uses_source:
            behind.add(candidate.method)
        yield folds.score(candidate) if gain > error else first
