"""Which candidate is taken, given what each scored on the folds, and the evidence for it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from scipy import stats

from thpi.transfer._candidates import Candidate, default_candidate
from thpi.transfer._folds import FoldScores

__all__ = ["decide"]

_CONFIDENCE = 0.95
_SLACK = 0.5
# A fold learns from fewer pairs than the last fit, and a source helps the more the fewer there are: a gain must also
# pass half a percent of the score.
_MARGIN = 0.005
# Methods that do not begin at ITQ's codes differ from it by the luck of their start as well, by about a point of MAP,
# which folds do not show.
_STRANGERS = 4
# Under target relevance a source changes little for better or worse: its mildest use cost more than a point in 2 % of
# the runs on development sets.
_MILD_GATE = 0.5


def decide(
    listed: list[Candidate],
    scores: list[FoldScores | None] | None,
    relevance: str,
    gate: float,
    *,
    may_use_source: bool = True,
) -> tuple[Candidate, dict[str, Any]]:
    """Give the chosen candidate and the evidence, as plain values; without scores the first.

    Candidates that may not be chosen are evidence all the same. Where the source may not be used, and is what says who
    is relevant, nothing that the folds found counts.
    """
    if scores is None:
        entries = [_entry(candidate, None, None) for candidate in listed]
        return listed[0], _evidence(entries, 0.0, (0.0, 0.0))
    score = {c.name: value for c, value in zip(listed, scores, strict=True) if value is not None}
    scored = [c for c in listed if c.name in score]
    n_scores = score[listed[0].name].precisions.size
    whole = [c for c in scored if score[c.name].precisions.size == n_scores]

    def better(old: Candidate, rivals: list[Candidate], asked: float) -> Candidate:
        best = max(rivals, key=lambda c: score[c.name].mean, default=old)
        margin = _MARGIN * score[old.name].mean
        for rival in rivals:  # the mildest one that is not clearly worse than the best
            lead, error = score[best.name].gain_over(score[rival.name])
            gain, doubt = score[rival.name].gain_over(score[old.name])
            doubt *= _STRANGERS if rival.costly else 1
            if lead <= _SLACK * error and gain > asked * doubt + margin:
                return rival
        return old

    first = next(c for c in scored if c.name == default_candidate(relevance))
    without = better(first, [c for c in whole if not c.uses_source and c is not first], gate)
    users = [c for c in whole if c.uses_source]
    if may_use_source:
        chosen = better(without, users, _MILD_GATE * gate if relevance == "target" else gate)
    else:
        chosen = first if relevance in ("source", "groups") else without
    base = score[without.name]
    entries = [_entry(c, score[c.name], base.part_like(score[c.name])) for c in scored]
    whole_names = {c.name for c in whole}
    # Scores of one fold and start are not comparable with those of all: they stand last.
    entries.sort(key=lambda e: (e["uses_source"], e["name"] not in whole_names, -e["score"]))
    if not users:
        return chosen, _evidence(entries, 0.0, (0.0, 0.0))
    best = max((e for e in entries if e["name"] in {c.name for c in users}), key=lambda e: e["score"])
    return chosen, _evidence(entries, best["gain"], (best["gain_low"], best["gain_high"]))


def _entry(candidate: Candidate, score: FoldScores | None, base: FoldScores | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": candidate.name,
        "method": candidate.method,
        "params": dict(candidate.params),
        "uses_source": candidate.uses_source,
    }
    if score is None or base is None:
        return entry | {"score": None, "scores": [], "gain": None, "gain_low": None, "gain_high": None}
    gain, error = score.gain_over(base)
    reach = float(stats.norm.ppf((1 + _CONFIDENCE) / 2)) * error if error > 0 and gain != 0 else 0.0
    by_fold = [round(float(value), 4) for value in score.by_fold]
    return entry | {
        "score": score.mean, "scores": by_fold, "gain": gain, "gain_low": gain - reach, "gain_high": gain + reach,
    }  # fmt: skip


def _evidence(entries: list[dict[str, Any]], gain: float, interval: tuple[float, float]) -> dict[str, Any]:
    return {"candidates_json_": json.dumps(entries), "gain_": gain, "gain_limits_": np.array(interval)}
