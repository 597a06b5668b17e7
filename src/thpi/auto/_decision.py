"""Which candidate is taken, given the scores on the folds, and the evidence for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thpi._types import Fitted
from thpi.auto._folds import FoldScores
from thpi.auto._relevance import Candidate, Relevance

Entry = dict[str, Any]
"""One candidate in ``candidates_``: plain values, as JSON has them."""


class Decision(NamedTuple):
    """The chosen candidate, an entry per candidate, and the scores of the best with and without source.

    These scores are those of candidates that other rows have chosen, see :func:`chosen_by_others`; None if there are no
    folds or no candidates with source. ``gain`` is that by the source and its 95 % interval, zeros if it is not known,
    and ``sides_gain`` that of two sides over one by the asymmetric distance, None unless two-sided codes were tried.
    """

    chosen: Candidate
    entries: list[Entry]
    with_source: FoldScores | None = None
    without: FoldScores | None = None
    gain: tuple[float, float, float] = (0.0, 0.0, 0.0)
    sides_gain: tuple[float, float, float] | None = None

    @property
    def fitted(self) -> Fitted:
        """The evidence as fitted attributes."""
        found: Fitted = {"candidates_json_": json.dumps(self.entries)}
        for name, gain in (("gain", self.gain), ("sides_gain", self.sides_gain)):
            if gain is not None:
                found |= {f"{name}_": gain[0], f"{name}_limits_": np.array(gain[1:])}
        return found


def decide(
    candidates: Sequence[Candidate],
    scores: dict[Candidate, FoldScores] | None,
    relevance: Relevance,
    n_standard_errors: float,
    *,
    may_use_source: bool = True,
    trusted: bool = True,
) -> Decision:
    """Choose a candidate; without scores the last, which is ITQ.

    Candidates are in order of preference: of those that are within ``n_standard_errors`` of the best the first is
    taken. That is done for linear hash functions and for kernels. The kernel is chosen if it scores higher.

    Candidates that may not be chosen are evidence all the same. If what decides about relevance, source or labels, is
    not to be ``trusted``, the scores do not count at all.
    """
    if scores is None:
        return Decision(candidates[-1], [_entry(candidate, candidates[-1], None, None) for candidate in candidates])
    n_repeats = max(len(score.precisions) for score in scores.values())
    whole = [c for c in candidates if c in scores and len(scores[c].precisions) == n_repeats]

    def preferred(rivals: list[Candidate]) -> Candidate:
        best = max(rivals, key=lambda c: scores[c].mean)
        for rival in rivals:
            lead, error = scores[best].gain_over(scores[rival])
            if lead <= n_standard_errors * error:
                return rival
        return best

    def taken(rivals: list[Candidate]) -> Candidate:
        kinds = [[c for c in rivals if c.kernel is kernel] for kernel in (False, True)]
        return max((preferred(kind) for kind in kinds if kind), key=lambda c: scores[c].mean)

    alone, users = ([c for c in whole if c.uses_source is used] for used in (False, True))
    without = taken(alone)
    chosen = relevance.default if not trusted else taken(whole) if may_use_source else without
    scored = [c for c in candidates if c in scores]
    # Scores of one repetition cannot be compared with those of all: they come last.
    scored.sort(key=lambda c: (c.uses_source, c not in whole, -scores[c].mean))
    entries = [_entry(c, chosen, scores[c], scores[without]) for c in scored]
    if not users:
        return Decision(chosen, entries)
    best, best_alone = (chosen_by_others([scores[c] for c in group]) for group in (users, alone))
    return Decision(chosen, entries, best, best_alone, best.gain_with_interval(best_alone))


def decide_sides(
    decision: Decision,
    candidates: Sequence[Candidate],
    best: Candidate,
    scores: dict[Candidate, FoldScores] | None,
    *,
    forced: bool,
) -> Decision:
    """Choose between the one-sided choice and the ``best`` of the two-sided ``candidates``; ``scores`` have both.

    A two-sided code asks for the source rows of items. So the interval of its gain has to be above 0, or it is
    ``forced``.
    """
    gain = None if scores is None else scores[best].gain_with_interval(scores[decision.chosen])
    two_sided = forced or (gain is not None and gain[1] > 0)
    chosen = best if two_sided else decision.chosen
    # Two-sided candidates have no score by Hamming distance, as others have.
    entries = [entry | {"chosen": entry["chosen"] and not two_sided} for entry in decision.entries]
    entries += [_entry(candidate, chosen, None, None) for candidate in candidates]
    return decision._replace(chosen=chosen, entries=entries, sides_gain=gain)


def chosen_by_others(candidates: Sequence[FoldScores]) -> FoldScores:
    """Scores of the best of several candidates, each query by the one that other rows have chosen.

    The best of many candidates is partly lucky, so it must not be judged by the queries that made it the best. For the
    queries of a fold the best is chosen by the scores of all rows outside it.
    """
    fold_of = candidates[0].fold_of
    found = np.empty(fold_of.shape)
    for repeat, folds in enumerate(fold_of):
        for fold in np.unique(folds):
            held = folds == fold
            outside = [np.nanmean(scores.precisions[:, ~held]) for scores in candidates]
            found[repeat, held] = candidates[int(np.argmax(outside))].precisions[repeat, held]
    return FoldScores(found, fold_of)


def _entry(candidate: Candidate, chosen: Candidate, score: FoldScores | None, base: FoldScores | None) -> Entry:
    entry: Entry = {
        "name": str(candidate),
        "method": candidate.method.__name__,
        "params": dict(candidate.params),
        "uses_source": candidate.uses_source,
        "kernel": candidate.kernel,
        "chosen": candidate is chosen,
    }
    if score is None or base is None:
        return entry | {"score": None, "scores": [], "gain": None, "gain_low": None, "gain_high": None}
    gain, low, high = score.gain_with_interval(base)
    by_fold = [round(float(value), 4) for value in score.by_fold]
    return entry | {"score": score.mean, "scores": by_fold, "gain": gain, "gain_low": low, "gain_high": high}
