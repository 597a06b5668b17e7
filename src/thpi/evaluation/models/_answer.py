"""What a diagnosis found, in numbers and in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from thpi.auto import Entry, relation
from thpi.evaluation import PairedDifference
from thpi.evaluation.models._learning_curve import LearningCurve

CLEAR = 0.5
"""A difference below half a point of MAP counts as none, however sure it is."""


@dataclass(frozen=True)
class Answer:
    """The answer for one meaning of "relevant"; MAP and differences in percent.

    ``gain`` compares the best method with source and the best without, each chosen on the training rows, on rows held
    out. Its 95 % interval is 1.96 standard errors, of queries or of folds, whichever are larger. ``choice`` and
    ``candidates``, best first, are those of AutoHasher on all pairs; ``best_with_source`` and ``best_without`` are the
    methods of the curve.
    """

    relevance: str
    title: str
    gain: PairedDifference
    no_source: float
    with_source: float
    choice: str
    choice_params: dict[str, Any]
    best_with_source: str
    best_without: str
    candidates: tuple[Entry, ...]
    curve: LearningCurve

    @property
    def verdict(self) -> str:
        """``"helps"``, ``"hurts"``, ``"makes no difference"`` or ``"not enough data"``."""
        if self.gain.low > 0 and self.gain.mean >= CLEAR:
            return "helps"
        if self.gain.high < 0 and self.gain.mean <= -CLEAR:
            return "hurts"
        return "not enough data" if max(-self.gain.low, self.gain.high) > 2 * CLEAR else "makes no difference"

    @property
    def sentence(self) -> str:
        """The answer in words."""
        gain, interval = f"{self.gain.mean:+.1f} points of MAP", f"{self.gain.low:+.1f} to {self.gain.high:+.1f}"
        meaning = f"if relevant means {self.title}"
        both = f"{self.with_source:.1f} with it and {self.no_source:.1f} without."
        if self.verdict == "not enough data":
            doubt = f"Not enough data to tell whether the source helps {meaning}"
            return f"{doubt}: estimated gain {gain}, 95 % interval {interval}; {both}"
        return f"The source {self.verdict} {meaning}: {gain} ({interval}), {both}"

    @property
    def outlook(self) -> tuple[str, ...]:
        """What the curve says, in words."""
        worth = self.curve.worth if self.verdict == "helps" else None
        return self.curve.sentences if worth is None else (*self.curve.sentences, worth)


@dataclass(frozen=True)
class Diagnosis:
    """The answers, one per meaning of "relevant", and the rows they are based on.

    ``pairs_r2`` is :attr:`thpi.AutoHasher.pairs_r2_` of all pairs, and ``related`` whether it is enough.
    """

    n_pairs: int
    n_source: int
    n_target: int
    n_bits: int
    n_folds: int
    pairs_r2: float
    related: bool
    answers: tuple[Answer, ...]

    @property
    def rows(self) -> str:
        """The rows that the answers are based on, in words."""
        more = f", {self.n_target:,} target rows without source" if self.n_target else ""
        return f"{self.n_pairs:,} pairs, {self.n_source:,} source rows without target{more}"

    @property
    def relation(self) -> str:
        """How closely the two views of the pairs are related, in words."""
        return relation(self.n_pairs, self.pairs_r2)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        answers = [
            {**asdict(a), "gain": a.gain._asdict(), "verdict": a.verdict, "sentence": a.sentence} for a in self.answers
        ]
        return {**asdict(self), "relation": self.relation, "answers": answers}

    def to_html(self) -> str:
        """Return a page that needs no network and no script."""
        from thpi.evaluation.models._figures import draw_curve
        from thpi.report import render

        return render("diagnosis.html", found=self, draw_curve=draw_curve)

    def _repr_html_(self) -> str:
        from thpi.report import Scale, render

        scale = Scale(each for answer in self.answers for each in answer.gain[:3])
        return render("notebook/diagnosis.html", found=self, scale=scale)
