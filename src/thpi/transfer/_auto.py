"""AutoHasher: no source, or the method that uses it best, by cross-validation on the pairs."""

from __future__ import annotations

import json
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from thpi._checks import some_rows
from thpi.base import BaseHasher, Views
from thpi.hashers._geometry import Array, Geometry
from thpi.hashers._optional_source import OptionalSource, labels_of
from thpi.hashers._transfer_itq import make_geometry, plain_itq
from thpi.kernels._threads import one_blas_thread
from thpi.solvers.moments import EXACT_LIMIT
from thpi.transfer._candidates import RELEVANCES, Candidate, candidates
from thpi.transfer._decision import decide
from thpi.transfer._folds import Folds, relevance_of_pairs
from thpi.transfer._relation import least_r2, pairs_r2
from thpi.transfer._scoring import Space, score_candidates

__all__ = ["AutoHasher"]

_LEAST_PAIRS = 12
_FITS = 900
_MOST_STARTS = 5
# Rows of a fold: more of them cost no fit and make its score less noisy.
_MOST_HELD = 500


class AutoHasher(OptionalSource):
    """Try hashing without a source and with it, and keep what retrieves best in the sense that is meant.

    Candidates are ITQ, learners of target rows and labels alone, and the transfer methods; see
    :func:`thpi.transfer.candidates`. Each is learned on folds of the training pairs and asked to find, with held-out
    rows as queries, what is relevant among the other held-out rows; average precision, expected under ties, is its
    score. A source is used only if one view of the pairs tells something of the other (``pairs_r2_``) and the best
    candidate that uses it gains more than ``gate`` standard errors over the best one that does not; and that one is,
    under target and source relevance, cautious :class:`~thpi.NeighbourHash` without a source ("ITQ near 1"), under
    groups cautious :class:`~thpi.GroupITQ` without a source ("ITQ groups 0.2"), under labels plain ITQ, unless another
    gains as clearly over it. Of several the first in the list is taken that is within half a standard
    error of the best. It is then learned from all pairs, under all meanings but the target's from several random
    starts, of which the one is kept that finds best among the pairs themselves (from one, where an unrelated source
    says what is relevant). The result is one linear hash function; with ``choice_ == "ITQ"`` it is that of
    ``ITQ(n_bits, random_state=...)``. Target rows without a source (``target=`` of ``fit``) take part in learning, at
    most 1,000 of them on the folds, and are never queries; the paper's methods learn from the pairs alone.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code.
    relevance : {"target", "source", "labels", "groups"}, default="target"
        What is relevant to a query: what is near in target space (within the mean distance to 1/30 of the pairs, at
        least 5), what is near in source space (likewise), what has its class or shares a tag (needs ``y``), or what is
        of one group with it, where classes are meant and nobody has named them: near by diffusion over the graph of
        neighbours in the source (likewise, 1/10).
    n_folds : int, default=3
        Folds of the pairs.
    gate : float, default=1.0
        Standard errors by which a gain must exceed half a percent of the score: half as many for the use of the
        source under target relevance, four times as many for methods that do not start at ITQ (the paper's).
    max_pairs : int, default=500
        Pairs of the cross-validation, drawn at random from more: of them all but a fold are learned from at a time. Of
        more pairs up to 500 a fold are held out. The last fit uses all.
    max_unpaired : int, default=3000
        Unpaired source rows that are used, drawn at random from more.
    n_starts : int or None, default=None
        Random starts a fold; None: 1 for more than 450 pairs, up to 5 for fewer, whose scores are noisier.
    n_jobs : int or None, default=None
        Candidates scored at a time (threads); the result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of folds, samples and fits.

    Attributes
    ----------
    choice_ : str
        Name of the chosen candidate; it begins with "ITQ" where no source is used.
    candidates_ : list of dict
        A candidate each: name, method, params, uses_source, score (MAP in points), scores (a fold and start each; one
        alone where a costly method did not lead on the first fold), gain over the best candidate without source,
        gain_low and gain_high (its 95 % interval). A costly method is not listed where a milder setting of it fell
        behind, or where the data do not allow so many bits.
    gain_, gain_interval_ : float, tuple of float
        Gain of the best candidate that uses the source over the best that does not, in points of MAP, with its 95 %
        interval; 0 and (0, 0) where there is no source. For few folds the interval is a guide, not a guarantee.
    pairs_r2_ : float
        Share of one view of the pairs that ridge regression on the other explains, by leave-one-out, the larger of both
        directions; 0 where there is no source. Not above 2 / n: the views know nothing of each other, and the source
        is not used, whatever the folds say. Was row i of both really the same item?
    projection_, mean_, codes_
        The hash function and the codes of the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((300, 5)); X = S[:90] @ rng.standard_normal((5, 12)) + rng.standard_normal((90, 12))
    >>> hasher = AutoHasher(n_bits=8, relevance="source", random_state=0).fit(X, privileged=S[:90], source=S[90:])
    >>> hasher.choice_.startswith("Transfer"), hasher.gain_ > 0
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseHasher._parameter_constraints,
        "relevance": [StrOptions(set(RELEVANCES))],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "gate": [Interval(Real, 0, None, closed="left")],
        "max_pairs": [Interval(Integral, _LEAST_PAIRS, None, closed="left")],
        "max_unpaired": [Interval(Integral, 0, None, closed="left")],
        "n_starts": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
    }

    choice_: str
    candidates_json_: str
    gain_: float
    gain_limits_: Array
    pairs_r2_: float

    def __init__(
        self,
        n_bits: int = 32,
        *,
        relevance: Literal["target", "source", "labels", "groups"] = "target",
        n_folds: int = 3,
        gate: float = 1.0,
        max_pairs: int = 500,
        max_unpaired: int = 3000,
        n_starts: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_bits = n_bits
        self.relevance = relevance
        self.n_folds = n_folds
        self.gate = gate
        self.max_pairs = max_pairs
        self.max_unpaired = max_unpaired
        self.n_starts = n_starts
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def candidates_(self) -> list[dict[str, Any]]:
        """The evidence, best first among those that use no source, then among those that do."""
        if "candidates_json_" not in vars(self):
            raise AttributeError("candidates_ is there after fit.")
        found: list[dict[str, Any]] = json.loads(self.candidates_json_)
        return found

    @property
    def gain_interval_(self) -> tuple[float, float]:
        """The 95 % interval of ``gain_``."""
        if "gain_limits_" not in vars(self):
            raise AttributeError("gain_interval_ is there after fit.")
        return float(self.gain_limits_[0]), float(self.gain_limits_[1])

    def _fit(self, views: Views, rng: np.random.RandomState) -> dict[str, Any]:
        labels = self._checked_labels(views)
        itq = plain_itq(views, self.n_bits, rng)
        geometry, back = make_geometry(views, self.n_bits, rng, self.max_unpaired, itq)
        listed = self._listed(geometry, labels)
        folds = self._folds(geometry, labels, rng) if len(listed) > 1 else None
        linear = Space(geometry, folds, lambda projection: {"projection_": back(projection)})
        with one_blas_thread():  # folds are small: shared out between threads, their products take longer
            spaces = self._spaces(views, linear, rng)
            scores = None if folds is None else score_candidates(spaces, listed, self.n_jobs)
            known = 0.0 if geometry.source is None else max(pairs_r2(space.geometry) for space in spaces.values())
        related = known > least_r2(len(geometry.X))
        chosen, evidence = decide(listed, scores, self.relevance, self.gate, may_use_source=related)
        fitted: dict[str, Any] = evidence | {"choice_": chosen.name, "pairs_r2_": known}
        if chosen.method == "ITQ" and not chosen.kernel and itq is not None:
            return fitted | itq
        if chosen.method not in ("ITQPlus", "LapITQPlus"):
            # Of several starts the best is known only where what is relevant is.
            several = self.relevance == "labels" or (self.relevance != "target" and related)
            return fitted | spaces[chosen.kernel].learned(chosen, labels, several=several)
        if chosen.knows_pairs_alone:
            views = Views(views.X, views.S, views.S_U)
        else:  # ITQ+ without slack, whatever stands for the source
            rows = views.X if views.X_more is None else some_rows(views.all_target, EXACT_LIMIT)
            views = Views(rows, rows)
        found = chosen.make(self.n_bits, random_state=rng)._fit(views, rng)
        kept = {name: found[name] for name in ("projection_", "objective_", "converged_")}
        return fitted | kept | {"mean_": views.mean}

    def _listed(self, geometry: Geometry, labels: Array | None) -> list[Candidate]:
        listed = candidates(self.relevance, self.n_bits, has_source=geometry.source is not None)
        return [candidate for candidate in listed if labels is not None or candidate.method != "ClassITQ"]

    def _spaces(self, views: Views, linear: Space, rng: np.random.RandomState) -> dict[bool, Space]:
        """Where candidates are learned: here in the target rows themselves alone."""
        return {False: linear}

    def _checked_labels(self, views: Views) -> Array | None:
        if self.relevance in ("source", "groups") and views.S is None:
            alone = " GroupITQ keeps groups of the target rows together." if self.relevance == "groups" else ""
            raise ValueError(
                f"relevance={self.relevance!r} needs privileged=..., the source that says what it means.{alone}"
            )
        if self.relevance != "labels":
            return None
        if self._labels is None:
            raise ValueError("relevance='labels' needs y, the classes or tags of the rows of X; got y=None.")
        return labels_of(self._labels, views.X.shape[0])

    def _folds(self, geometry: Geometry, labels: Array | None, rng: np.random.RandomState) -> Folds | None:
        """Folds, each learned from its share of ``max_pairs``; None where pairs are too few to judge by: in some fold
        nothing is relevant to anything."""
        X, source = geometry.X, geometry.source
        n = len(X)
        seed = int(rng.randint(np.iinfo(np.int32).max // 2))
        if n < max(_LEAST_PAIRS, 2 * self.n_folds):
            return None
        kept = np.arange(n)
        most_learned, most_kept = self.max_pairs - self.max_pairs // self.n_folds, self.n_folds * _MOST_HELD
        if n > max(self.max_pairs, most_kept):
            kept = np.sort(rng.choice(n, max(self.max_pairs, most_kept), replace=False))
            X, labels = X[kept], None if labels is None else labels[kept]
            source = None if source is None else source.taken(kept)
        relevant = relevance_of_pairs(self.relevance, X, source, labels)
        n_starts = self.n_starts or min(_MOST_STARTS, max(1, _FITS // len(X)))
        # One kernel for all folds, chosen on all pairs: to choose it in each costs as much as all the rest.
        widths = () if source is None else (geometry.imputation.width,)
        folds = Folds(
            X, source, relevant, labels, more=geometry.real[n:],
            kept=kept, widths=widths, n_bits=self.n_bits, n_folds=self.n_folds, most_learned=most_learned,
            n_starts=n_starts, seed=seed,
        )  # fmt: skip
        return folds if folds.can_judge else None
