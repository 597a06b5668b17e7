"""Does the source help on these pairs, for your meaning of "relevant"? By cross-validation on the pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from thpi._types import Array, Bools, Floats, Ints, MatrixLike, Seed
from thpi.auto import RELEVANCES, AutoHasher, Candidate, Entry, Relevance, Spaces, candidates, find_relevance, relation
from thpi.base import TooManyBitsError, Views, Whole
from thpi.evaluation import PairedDifference, average_precision_among
from thpi.hashers import SourceFeatures
from thpi.kernels.threads import small_products
from thpi.report import Scale, new_axes, render

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVE_FOLDS = 3
CURVE_PAIRS = 2000
"""Folds and most pairs of the learning curve: its fits are many, and it needs its shape, not an interval."""
SHARES = (0.125, 0.25, 0.5, 1.0)
CLEAR = 0.5
"""A difference below half a point of MAP counts as none, however sure it is."""


@dataclass(frozen=True)
class LearningCurve:
    """MAP in percent, mean over folds, at increasing numbers of pairs; None if the data do not allow this many bits.

    With m pairs the source of the other rows is still known: the method gets it as unpaired source. ``no_source`` is a
    method without source on the same m target rows, so its end is that method on all target rows. It gets the same
    share of the ``more`` target rows without source; the method with source gets all of them.
    """

    pairs: tuple[int, ...]
    with_source: tuple[float | None, ...]
    no_source: tuple[float | None, ...]
    more: int = 0

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the last doubling says."""
        found = []
        for values, beginning, more in (
            (self.with_source, f"With the source, training on {self.pairs[-1]:,} pairs", "more pairs"),
            (self.no_source, "Without it, training on as many target rows", "more target rows alone"),
        ):
            if values[-2] is not None and values[-1] is not None:
                points = values[-1] - values[-2]
                compared = f"{abs(points):.1f} points {'lower' if points < 0 else 'higher'}"
                likely = "are likely to help" if points > CLEAR else "are not likely to help much"
                found.append(f"{beginning} scores {compared} than on half: {more} {likely}.")
        return tuple(found)

    @property
    def worth(self) -> str | None:
        """How many pairs do as well as all target rows without source, if fewer do."""
        end = self.no_source[-1]
        enough = [m for m, value in zip(self.pairs, self.with_source, strict=True) if value and end and value >= end]
        if not enough or enough[0] == self.pairs[-1]:
            return None
        beside = f" beside the {self.more:,} rows without one" if self.more else ""
        every = self.pairs[-1] + self.more
        return f"With the source, {enough[0]:,} pairs{beside} are as good as {every:,} target rows without it."

    def draw(self) -> Figure:
        """Draw MAP against the number of pairs, with and without source; needs matplotlib."""
        axis = new_axes(7.5, 3.6)
        for values, colour, marker, label in (
            (self.with_source, "#0072B2", "o", "with source"),
            (self.no_source, "#000000", "x", "no source"),
        ):
            axis.plot(self.pairs, np.array(values, float), color=colour, marker=marker, label=label)
        if self.no_source[-1] is not None:
            label = f"no source, all {self.pairs[-1]:,} rows"
            axis.axhline(self.no_source[-1], color="#000000", linestyle=(0, (4, 2)), linewidth=1, label=label)
        axis.set_xscale("log", base=2)
        axis.set_xticks(self.pairs, [f"{m:,}" for m in self.pairs])
        axis.minorticks_off()
        axis.set(xlabel="pairs (with source) or target rows (without)", ylabel="MAP (%)")
        axis.legend(frameon=False, fontsize=8)
        return axis.figure  # type: ignore[return-value]  # not of a subfigure


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
        return render("diagnosis.html", found=self)

    def _repr_html_(self) -> str:
        scale = Scale(each for answer in self.answers for each in answer.gain[:3])
        return render("notebook/diagnosis.html", found=self, scale=scale)


def diagnose(
    X: MatrixLike,
    privileged: MatrixLike,
    source: MatrixLike | Whole | None = None,
    y: Any = None,
    *,
    target: MatrixLike | Whole | None = None,
    relevances: Sequence[str] | None = None,
    n_bits: int = 32,
    n_folds: int = 3,
    random_state: Seed = None,
    on_step: Callable[[str], None] = lambda text: None,
) -> Diagnosis:
    """Answer whether the source helps, for each meaning of "relevant".

    The gain is that of :class:`thpi.AutoHasher` with the same ``random_state``: its candidates are learned on folds of
    the pairs, and the best with source and the best without are compared on rows that had no part in choosing them.
    Held-out rows are queries among each other, so no row is found whose label was learned from.

    Parameters
    ----------
    X, privileged : the pairs; row i of both is one item.
    source : source rows without target, or None.
    y : labels of the pairs (1-D), or tags (2-D, nonzero where a row has a tag), or None.
    target : target rows without source, or None; all methods use them but the paper's with source.
    relevances : meanings to ask about, by name; None: target, source and, with ``y``, labels.
    n_bits : length of the codes.
    n_folds : folds, as of AutoHasher; at least 2.
    random_state : seed; the same seed gives the same answer.
    on_step : called with a few words as the work goes on.

    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((60, 3)); X = np.hstack([S, rng.standard_normal((60, 5))])
    >>> found = diagnose(X, S, relevances=["source"], n_bits=4, n_folds=2, random_state=0)
    >>> found.answers[0].verdict in ("helps", "hurts", "makes no difference", "not enough data")
    True
    """
    names = _checked_names(relevances, y)
    if privileged is None:
        raise ValueError("privileged=None; diagnose needs the source rows paired with the rows of X.")
    seed = random_state if isinstance(random_state, Integral) else check_random_state(random_state).randint(2**31 - 1)
    hashers = [AutoHasher(n_bits, relevance=name, n_folds=n_folds, random_state=int(seed)) for name in names]
    views = [hasher.check_views(X, y, privileged, source, target) for hasher in hashers]
    n = views[0].X.shape[0]
    if not 2 <= n_folds <= n // 4:
        raise ValueError(f"n_folds={n_folds!r} must be from 2 to a quarter of the {n} pairs.")
    kept = np.sort(np.random.RandomState(int(seed)).permutation(n)[:CURVE_PAIRS])
    with small_products(n):
        found = [_answer(hasher, rows, kept, on_step) for hasher, rows in zip(hashers, views, strict=True)]
    answers, shares, related = zip(*found, strict=True)
    n_source, n_target = (0 if rows is None else rows.shape[0] for rows in (views[0].S_U, views[0].X_more))
    return Diagnosis(n, n_source, n_target, n_bits, n_folds, max(shares), any(related), answers)


def _checked_names(relevances: Sequence[str] | None, y: Any) -> tuple[str, ...]:
    names = tuple(name for name in ("target", "labels", "source") if name != "labels" or y is not None)
    if relevances is not None:
        names = tuple(relevances)
    if not names:
        raise ValueError(f"relevances={relevances!r} must name at least one of {', '.join(RELEVANCES)}.")
    for name in names:
        if find_relevance(name).needs_labels and y is None:
            raise ValueError(f"relevances has {name!r}, which needs y, the labels of the pairs.")
        if not any(candidate.uses_source for candidate in candidates(name)):
            raise ValueError(f"relevances has {name!r}, for which no candidate uses the source.")
    return names


def _answer(hasher: AutoHasher, views: Views, kept: Ints, on_step: Callable[[str], None]) -> tuple[Answer, float, bool]:
    """Return the answer for one relevance, how much of one view the other explains, and whether that is enough."""
    relevance = find_relevance(hasher.relevance)
    seed = int(hasher.random_state)  # type: ignore[arg-type]  # set by diagnose
    on_step(f"{relevance.title}: candidates on folds of the pairs")
    trial = hasher.trial(views, np.random.RandomState(seed))
    decision = hasher.decide(trial)
    on_step(f"{relevance.title}: quality against the number of pairs")
    best, alone = trial.best(uses_source=True), trial.best(uses_source=False)
    # What follows learns from some of these rows: what is known of all of them stays.
    part = clone(hasher).set_params(use_lengths=trial.plan.use_lengths)
    with_source, without = (
        float("nan") if each is None else each.mean for each in (decision.with_source, decision.without)
    )
    answer = Answer(
        relevance=relevance.name,
        title=relevance.title,
        gain=PairedDifference(*decision.gain, n=views.X.shape[0]),
        no_source=without,
        with_source=with_source,
        choice=str(decision.chosen),
        choice_params=dict(decision.chosen.params),
        best_with_source=str(best),
        best_without=str(alone),
        candidates=tuple(_by_score(decision.entries)),
        curve=learning_curve(list(divide(part, views.take(kept), relevance, CURVE_FOLDS)), best, alone, seed),
    )
    return answer, trial.r2, trial.related


def _by_score(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Candidates for the table, best first; those that were scored on the first fold only come last."""
    most = max(len(entry["scores"]) for entry in entries)
    shown = [entry | {"on_all_folds": len(entry["scores"]) == most} for entry in entries]
    return sorted(shown, key=lambda e: (not e["on_all_folds"], 0.0 if e["score"] is None else -e["score"]))


class Fold(NamedTuple):
    """One division and its ground truth, which all methods share.

    For source nearness the source of the held-out rows decides what is relevant; no method sees it.
    """

    hasher: AutoHasher
    training: Views
    queries: Any
    relevant: Bools

    def precisions(self, rows: Views, candidate: Candidate) -> Floats | None:
        """Average precision in percent of each query, by a candidate learned from some rows as ``fit`` learns it.

        NaN if nothing is relevant to the query; None if the rows do not allow this many bits.
        """
        try:
            trial = self.hasher.trial(rows, check_random_state(self.hasher.random_state), scored=False)
            learned = copy(self.hasher).set_fitted(trial.views, trial.learn(candidate))
        except TooManyBitsError:
            return None
        return 100 * average_precision_among(learned.transform(self.queries), self.relevant, learned.n_bits)


def divide(hasher: AutoHasher, views: Views, relevance: Relevance, n_folds: int) -> Iterator[Fold]:
    """Return the folds; they are the same for every relevance."""
    seed = int(hasher.random_state)  # type: ignore[arg-type]  # set by diagnose
    n = views.X.shape[0]

    # The groups are those of the graph over all source rows.
    def groups() -> Array:
        return SourceFeatures(views, np.random.RandomState(seed), hasher.max_unpaired).diffusion[:n]

    relevant = relevance.of_pairs(Spaces(views.X, views.y, views.S, groups))
    for train, held in KFold(n_folds, shuffle=True, random_state=seed).split(np.arange(n)):
        yield Fold(hasher, views.take(train), views.X[held], relevant[np.ix_(held, held)])


def learning_curve(folds: Sequence[Fold], with_source: Candidate, no_source: Candidate, seed: int) -> LearningCurve:
    """Fit both candidates on growing parts of the training rows of every fold."""
    n, more = min(fold.training.X.shape[0] for fold in folds), folds[0].training.X_more
    counts = tuple(sorted({max(2, round(share * n)) for share in SHARES}))
    rng = np.random.RandomState(seed)
    orders = [rng.permutation(fold.training.X.shape[0])[:n] for fold in folds]
    n_more = 0 if more is None else more.shape[0]
    order_of_more = rng.permutation(n_more)
    curves: dict[Candidate, list[float | None]] = {with_source: [], no_source: []}
    for m in counts:
        for candidate, curve in curves.items():
            values = []
            for fold, order in zip(folds, orders, strict=True):
                few = fold.training.take(np.sort(order[:m])).with_source(fold.training.S[np.sort(order[m:])])
                if candidate is no_source and more is not None:
                    some = more[np.sort(order_of_more[: round(m / n * n_more)])]
                    few = Views(few.X, few.S, few.S_U, some, few.y)
                values.append(fold.precisions(few, candidate))
            known = [value for value in values if value is not None]
            curve.append(float(np.nanmean(np.concatenate(known))) if len(known) == len(values) else None)
    return LearningCurve(counts, tuple(curves[with_source]), tuple(curves[no_source]), n_more)
