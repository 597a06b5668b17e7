"""AutoHasher: no source, or the method that uses it best, by cross-validation on the pairs."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from thpi._params import count, parameter, weight
from thpi._types import Array, Fitted
from thpi.auto._decision import Entry, decide
from thpi.auto._relevance import Candidate, Relevance
from thpi.auto._relevances import candidates, find_relevance
from thpi.auto._trial import LEAST_PAIRS, Plan, Trial
from thpi.base import BaseHasher, Views
from thpi.pairing._relation import UnrelatedPairsWarning, relation, relation_of


@dataclass(eq=False, repr=False, kw_only=True)
class AutoHasher(BaseHasher):
    """Try hashing with and without the source, and keep what retrieves best for your meaning of "relevant".

    Candidates are ITQ, learners of target rows and labels alone, and the methods that use the source; see
    :func:`thpi.auto.candidates`. Each is learned on folds of the training pairs. Held-out rows are then queries, and
    the score is their average precision, expected under ties, among the other held-out rows.

    The source is used only if the two views of the pairs have something to do with each other (``pairs_r2_``) and the
    best candidate with source gains more than ``n_standard_errors`` over the best one without. The latter is the
    default of the relevance (cautious :class:`~thpi.NeighbourHash` for neighbours, cautious :class:`~thpi.GroupITQ` for
    groups, ITQ for labels) unless another candidate without source gains as clearly over it. Among candidates within
    half a standard error of the best, the first in the list is taken.

    The chosen candidate is learned again from all pairs. For every relevance but "target" this is done from several
    random starts, and the one that finds most among the pairs themselves is kept. The result is one linear hash
    function; if ITQ is chosen, it is that of ``ITQ(n_bits, random_state=...)``. Target rows without a source
    (``target=`` of ``fit``) take part in learning, at most 1,000 of them on the folds. They are never queries, and the
    paper's methods do not use them.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code.
    relevance : {"target", "source", "labels", "groups"}, default="target"
        What is relevant to a query: items near in target space (within the mean distance to 1/30 of the pairs, at least
        5); items near in source space (likewise); items with the same class, or a common tag (needs ``y``); or items
        of the same group, for classes that are not known: near by diffusion over the neighbour graph of the source
        (likewise, 1/10).
    use_source : bool, default=True
        False withholds the source from all candidates; it still decides what is relevant.
    n_folds : int, default=3
    n_standard_errors : float, default=1.0
        Standard errors by which a gain must exceed half a percent of the score: half as many for the use of the source
        under target relevance, four times as many for methods that do not start at ITQ (the paper's).
    max_pairs : int, default=500
        Cross-validation learns from at most this many pairs, less one fold, drawn at random. Of more pairs, up to 500
        per fold are held out. The last fit uses all.
    max_unpaired : int, default=3000
        Uses at most this many unpaired source rows, drawn at random.
    n_starts : int or None, default=None
        Random starts per fold. None: 1 for more than 450 pairs, up to 5 for fewer, whose scores are noisier.
    n_jobs : int or None, default=None
        Candidates scored at a time (threads); the result does not depend on it.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    choice_, choice_params_, uses_source_ : str, dict, bool
        The chosen candidate in words, such as "NeighbourHash without source", its parameters, and whether it uses the
        source.
    candidates_ : list of dict
        One entry per candidate: name, method, params, uses_source, kernel, chosen, score (MAP in points), scores (per
        fold and start; of the first fold only for a costly method that did not lead there), gain over the best
        candidate without source, gain_low and gain_high (its 95 % interval). A costly method is not listed if a milder
        setting of it fell behind, or if the data do not allow this many bits.
    gain_, gain_interval_ : float, tuple of float
        Gain of the best candidate with source over the best without, in points of MAP, with its 95 % interval; 0 and
        (0, 0) if there is no source. With few folds the interval is a guide, not a guarantee.
    pairs_r2_ : float
        Share of one view of the pairs that ridge regression on the other explains (leave-one-out), the larger of both
        directions; 0 if there is no source. If it is not above 2 / n, the views are unrelated and the source is not
        used: is row i of both really the same item? ``fit`` warns then (:class:`thpi.auto.UnrelatedPairsWarning`).
    related_, relation_ : bool, str or None
        False if the views are unrelated; the same in words, None if there is no source.
    projection_, mean_, codes_
        The hash function and the codes of the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((300, 5)); X = S[:90] @ rng.standard_normal((5, 12)) + rng.standard_normal((90, 12))
    >>> hasher = AutoHasher(n_bits=8, relevance="source", random_state=0).fit(X, privileged=S[:90], source=S[90:])
    >>> hasher.choice_, hasher.choice_params_["source_weight"], hasher.gain_ > 0
    ('NeighbourHash with source', 8.0, True)
    """

    summary = "tries the others on the pairs, for your meaning of relevant; uses the source only if it clearly helps"
    uses_source = True
    uses_target = True
    uses_labels = True

    candidates_json_: str = field(init=False)
    gain_: float = field(init=False)
    gain_limits_: Array = field(init=False)
    pairs_r2_: float = field(init=False)

    relevance: str = parameter("target", str)
    use_source: bool = parameter(True, "boolean")
    n_folds: int = count(3, least=2)
    n_standard_errors: float = weight(1.0)
    max_pairs: int = count(500, least=LEAST_PAIRS)
    max_unpaired: int = count(3000, least=0)
    n_starts: int | None = parameter(None, Interval(Integral, 1, None, closed="left"), None)
    n_jobs: int | None = parameter(None, Integral, None)

    @property
    def candidates_(self) -> list[Entry]:
        """The evidence, best first among those that use no source, then among those that do."""
        found: list[Entry] = json.loads(self._fitted("candidates_json_"))
        return found

    @property
    def choice_(self) -> str:
        """The chosen candidate in words."""
        return str(self._chosen["name"])

    @property
    def choice_params_(self) -> dict[str, Any]:
        """Parameters of the chosen candidate."""
        return dict(self._chosen["params"])

    @property
    def uses_source_(self) -> bool:
        """Whether the chosen candidate uses the source."""
        return bool(self._chosen["uses_source"])

    @property
    def gain_interval_(self) -> tuple[float, float]:
        """The 95 % interval of ``gain_``."""
        low, high = self._fitted("gain_limits_")
        return float(low), float(high)

    @property
    def related_(self) -> bool:
        """False if the two views of the pairs have nothing to do with each other."""
        return relation_of(len(self.codes_), self._fitted("pairs_r2_"))[0]

    @property
    def relation_(self) -> str | None:
        """How closely the two views of the pairs are related, in words; None if there is no source."""
        return relation_of(len(self.codes_), self._fitted("pairs_r2_"))[1]

    @property
    def _chosen(self) -> Entry:
        return next(entry for entry in self.candidates_ if entry["chosen"])

    def _fitted(self, name: str) -> Any:
        if name not in vars(self):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet.")
        return vars(self)[name]

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        trial = self._trial(views, rng)
        chosen, evidence = self._decide(trial)
        if views.S is not None and not trial.related:
            # Seen from the caller of fit.
            warnings.warn(relation(views.X.shape[0], trial.r2), UnrelatedPairsWarning, stacklevel=3)
        return evidence | trial.learn(chosen)

    def _decide(self, trial: Trial) -> tuple[Candidate, Fitted]:
        """Return the chosen candidate and the evidence, as fitted attributes."""
        plan, n_errors = trial.plan, self.n_standard_errors
        chosen, found = decide(plan.candidates, trial.scores, plan.relevance, n_errors, may_use_source=trial.related)
        return chosen, found | {"pairs_r2_": trial.r2}

    def _trial(self, views: Views, rng: np.random.RandomState, *, scored: bool = True) -> Trial:
        return Trial(views, self._plan(views), rng, scored=scored)

    def _plan(self, views: Views) -> Plan:
        relevance = self._checked_relevance(views)
        has_source = views.S is not None and self.use_source
        return Plan(
            self.n_bits,
            relevance,
            candidates(relevance, has_source=has_source, has_labels=relevance.needs_labels),
            self.n_folds,
            self.max_pairs,
            self.max_unpaired,
            self.n_starts,
            self.n_jobs,
        )

    def _checked_relevance(self, views: Views) -> Relevance:
        relevance = find_relevance(self.relevance)
        if relevance.needs_source and views.S is None:
            raise ValueError(
                f"relevance={self.relevance!r} needs privileged=..., the source that decides what is relevant. "
                "GroupITQ and NeighbourHash keep groups and neighbours of the target rows."
            )
        if relevance.needs_labels and views.y is None:
            raise ValueError(f"relevance={self.relevance!r} needs y, the classes or tags of the rows of X; got y=None.")
        return relevance
