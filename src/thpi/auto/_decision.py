"""Which candidate is taken, given the scores on the folds, and the evidence for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from thpi._types import Fitted
from thpi.auto._folds import FoldScores
from thpi.auto._relevance import Candidate, Relevance

Entry = dict[str, Any]
"""One candidate in ``candidates_``: plain values, as JSON has them."""

_CONFIDENCE = 0.95
_TIE = 0.5
"""Standard errors within which candidates score about alike."""
# A fold learns from fewer pairs than the last fit, and the fewer pairs there are the more a source helps: a gain must
# also exceed half a percent of the score.
_MARGIN = 0.005
# Methods that do not start at the codes of ITQ also differ from it by the luck of their start, by about a point of MAP,
# which folds do not show.
_OTHER_START = 4


def decide(
    candidates: Sequence[Candidate],
    scores: dict[Candidate, FoldScores] | None,
    relevance: Relevance,
    n_standard_errors: float,
    *,
    may_use_source: bool = True,
) -> tuple[Candidate, Fitted]:
    """Return the chosen candidate and the evidence; without scores the first candidate.

    Candidates that may not be chosen are evidence all the same. If the source may not be used but decides what is
    relevant, the scores do not count at all.
    """
    if scores is None:
        entries = [_entry(candidate, candidates[0], None, None) for candidate in candidates]
        return candidates[0], _evidence(entries, None)
    n_scores = scores[candidates[0]].precisions.size
    whole = [c for c in candidates if c in scores and scores[c].precisions.size == n_scores]

    def better(old: Candidate, rivals: list[Candidate], n_errors: float) -> Candidate:
        best = max(rivals, key=lambda c: scores[c].mean, default=old)
        margin = _MARGIN * scores[old].mean
        for rival in rivals:  # the first that is not clearly worse than the best
            lead, error = scores[best].gain_over(scores[rival])
            gain, doubt = scores[rival].gain_over(scores[old])
            doubt *= 1 if rival.starts_at_itq else _OTHER_START
            if lead <= _TIE * error and gain > n_errors * doubt + margin:
                return rival
        return old

    first = relevance.default
    without = better(first, [c for c in whole if not c.uses_source and c is not first], n_standard_errors)
    users = [c for c in whole if c.uses_source]
    if may_use_source:
        chosen = better(without, users, relevance.source_errors * n_standard_errors)
    else:
        chosen = first if relevance.needs_source else without
    base = scores[without]
    scored = [c for c in candidates if c in scores]
    # Scores of one fold and start cannot be compared with those of all: they come last.
    scored.sort(key=lambda c: (c.uses_source, c not in whole, -scores[c].mean))
    entries = [_entry(c, chosen, scores[c], base.part_like(scores[c])) for c in scored]
    best = next((entry for c, entry in zip(scored, entries, strict=True) if c in users), None)
    return chosen, _evidence(entries, best)


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
    gain, error = score.gain_over(base)
    reach = float(stats.norm.ppf((1 + _CONFIDENCE) / 2)) * error if error > 0 and gain != 0 else 0.0
    return entry | {
        "score": score.mean,
        "scores": [round(float(value), 4) for value in score.by_fold],
        "gain": gain,
        "gain_low": gain - reach,
        "gain_high": gain + reach,
    }


def _evidence(entries: list[Entry], best: Entry | None) -> Fitted:
    """The entries, and the gain of the best candidate that uses the source."""
    gain, low, high = (0.0, 0.0, 0.0) if best is None else (best["gain"], best["gain_low"], best["gain_high"])
    return {"candidates_json_": json.dumps(entries), "gain_": gain, "gain_limits_": np.array((low, high))}
