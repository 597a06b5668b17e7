"""What a diagnosis found, in numbers and in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from thpi.evaluation import PairedDifference
from thpi.transfer_report.learning_curve import LearningCurve

__all__ = ["MEANINGS", "Answer", "Diagnosis"]

CLEAR = 0.5
"""A difference below half a point of MAP is called none, however sure it is."""

MEANINGS = {
    "target": "near in target space",
    "labels": "same label",
    "source": "near in source space",
    "groups": "of one group of the source",
}


@dataclass(frozen=True)
class Answer:
    """What was found for one meaning of relevant; MAP and differences in percent.

    ``gain`` compares, on rows held out, the best method with source against the best without, each chosen on the
    other rows. Its interval of 95 % is 1.96 standard errors, of queries or of folds, whichever are larger.
    ``candidates`` are those of AutoHasher on all pairs, best first; ``best_with_source`` and ``best_without`` are those
    of the curve.
    """

    relevance: str
    gain: PairedDifference
    no_source: float
    with_source: float
    choice: str
    best_with_source: str
    best_without: str
    candidates: tuple[dict[str, Any], ...]
    curve: LearningCurve

    @property
    def verdict(self) -> str:
        """``"helps"``, ``"hurts"`` or ``"makes no difference"``."""
        if self.gain.low > 0 and self.gain.mean >= CLEAR:
            return "helps"
        if self.gain.high < 0 and self.gain.mean <= -CLEAR:
            return "hurts"
        return "makes no difference"

    @property
    def sentence(self) -> str:
        """The answer in words."""
        wide = self.verdict == "makes no difference" and max(-self.gain.low, self.gain.high) > 2 * CLEAR
        doubt = " The interval is wide: on so few pairs no more can be said." if wide else ""
        return (
            f"The source {self.verdict} where relevant means {MEANINGS[self.relevance]}: {self.gain.mean:+.1f} points "
            f"of MAP ({self.gain.low:+.1f} to {self.gain.high:+.1f}), {self.with_source:.1f} with it and "
            f"{self.no_source:.1f} without.{doubt}"
        )

    @property
    def outlook(self) -> tuple[str, ...]:
        """What the curve says, in words."""
        worth = self.curve.worth if self.verdict == "helps" else None
        return self.curve.sentences if worth is None else (*self.curve.sentences, worth)


@dataclass(frozen=True)
class Diagnosis:
    """The answers, one a meaning of relevant, and what they were found on.

    ``pairs_r2`` is :attr:`thpi.AutoHasher.pairs_r2_` of all pairs, and ``related`` says whether it is enough.
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
        """What the answers were found on, in words."""
        more = f", {self.n_target:,} target rows without source" if self.n_target else ""
        return f"{self.n_pairs:,} pairs, {self.n_source:,} source rows without target{more}"

    @property
    def relation(self) -> str:
        """What the two views of the pairs know of each other, in words."""
        if self.related:
            return f"One view of the pairs tells {100 * self.pairs_r2:.1f} % of the other (ridge, leave-one-out)."
        return (
            f"Neither view of the {self.n_pairs:,} pairs tells anything of the other (ridge, leave-one-out): they are "
            "too few to show it, or row i of both is not the same item. AutoHasher leaves such a source alone, "
            "whatever the candidates below seem to gain."
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, for JSON."""
        answers = [
            {**asdict(a), "gain": a.gain._asdict(), "verdict": a.verdict, "sentence": a.sentence} for a in self.answers
        ]
        return {**asdict(self), "relation": self.relation, "answers": answers}

    def to_html(self) -> str:
        """Give a page that needs no network and no script."""
        from thpi.transfer_report.diagnosis_page import diagnosis_page

        return diagnosis_page(self)
