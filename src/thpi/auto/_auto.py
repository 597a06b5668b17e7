"""AutoHasher: no source, or the method that uses it best, by cross-validation on the pairs."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from thpi._types import Array, Fitted, InMemory, is_sparse
from thpi.auto._decision import Decision, Entry, decide, decide_sides
from thpi.auto._relevance import RELEVANCES, Candidate, Relevance, candidates, find_relevance
from thpi.auto._trial import LEAST_PAIRS, Plan, Trial
from thpi.base import BaseHasher, Views, count, dimension_limit, one_of, parameter, weight
from thpi.hashers import KernelKind
from thpi.pairing import UnrelatedLabelsWarning, UnrelatedPairsWarning, label_relation, relation, relation_of

LEAST_LANDMARKS = 30  # fewer do not make a kernel
SAME_ROWS = 1e-4  # correlation below which columns count as uncorrelated but for rounding


@dataclass(eq=False, repr=False, kw_only=True)
class AutoHasher(BaseHasher):
    """Try hashing with and without the source, and keep what retrieves best for your meaning of "relevant".

    Every candidate (:func:`thpi.auto.candidates`) is learned on folds of the training pairs. Held-out rows are then
    queries, and the score is their average precision, expected under ties, among the other held-out rows.

    Of the linear candidates within ``n_standard_errors`` of the best the first in the list is taken, and likewise of
    the kernel ones; the better of the two is chosen. The source is used only if the two views of the pairs are related
    (``pairs_r2_``), labels only if the target can tell them (``labels_p_``). If what decides about relevance is not to
    be trusted, the choice is a default: cautious :class:`~thpi.NeighbourHash` for neighbours, cautious
    :class:`~thpi.GroupITQ` for groups, ITQ for labels. Fewer than 12 pairs leave only ITQ.

    The hash function is linear, ``sgn((x - mean) P - b)``, or one of kernel features, ``sgn((k(x) - mean) P - b)`` with
    the kernel of a row and at most ``n_landmarks`` training rows (:mod:`thpi.hash_functions`): its boundaries are
    curved, and a code costs more.

    The chosen candidate is learned again from all pairs, from several random starts, and the one that finds most among
    the pairs themselves is kept. A chosen ITQ is that of ``ITQ(n_bits, random_state=...)``. Target rows without a
    source (``target=`` of ``fit``) take part in learning; they are never queries.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code; at most ``min(n_features, n_rows - 1)`` of all target rows, as for ITQ; with ``kernel=True``
        ``min(n_landmarks, n_rows - 1)``.
    relevance : {"target", "source", "labels", "groups"}, default="target"
        What is relevant to a query: items near in target space (within the mean distance to 1/30 of the pairs, at least
        5); items near in source space (likewise); items with the same class, or a common tag (needs ``y``); or items
        of the same group, for classes that are not known: near by diffusion over the neighbour graph of the source
        (likewise, 1/10).
    use_source : bool, default=True
        False withholds the source from all candidates; it still decides what is relevant.
    kernel : bool or "auto", default="auto"
        Whether the hash function is one of kernel features: always, never, or where it scores better and costs at most
        ``max_encode_cost``.
    max_encode_cost : float, default=50.0
        For ``kernel="auto"``: most products for a code, relative to a linear hash function. With m landmarks, d
        features and c bits they are ``m (d + c) / (d c)`` times as many.
    n_landmarks : int, default=500
        Uses at most this many landmarks, drawn at random.
    use_lengths : bool or "auto", default="auto"
        Whether new rows are as long as the training rows. They are shorter if the columns are principal components of
        these very rows, which "auto" recognises. If False, there are no offsets, and kernels look at directions only.
    sides : {"one", "two", "auto"}, default="one"
        "two" codes items by their source rows (``transform_source``) and queries by target rows that predict those
        codes: for items that still have the source when they are indexed. "auto" does so if the interval of its gain
        is above 0. Not for relevance "target".
    n_folds : int, default=3
    n_standard_errors : float, default=1.0
        Standard errors, of paired differences over queries, within which candidates count as alike.
    max_pairs : int, default=500
        Folds learn from at most this many pairs, less one fold, drawn at random; of more pairs, up to 500 per fold are
        held out. The last fit uses all.
    max_unpaired : int, default=3000
        Uses at most this many unpaired source rows, drawn at random.
    n_repeats : int or None, default=None
        Repetitions of the folds. None: 1 for more than 450 pairs, up to 5 for fewer, whose scores are noisier.
    n_jobs : int or None, default=None
        Candidates scored at a time (threads); the result does not depend on it.

    Attributes
    ----------
    gain_ : float
        Gain of the best candidate with source over the best without, in points of MAP; 0 if there is no source. Both
        are chosen for each fold by the rows outside it: it is not the gain of a lucky choice.
    pairs_r2_ : float
        Share of one view of the pairs that ridge regression on the other explains (leave-one-out), the larger of both
        directions; 0 if there is no source. If it is not above 2 / n, the views are unrelated and ``fit`` warns
        (:class:`thpi.auto.UnrelatedPairsWarning`): is row i of both really the same item?
    labels_p_ : float
        Probability that labels agree as well with the target by chance (permutation test); 0 if labels do not matter.
        Above 0.02 they are not used, and ``fit`` warns (:class:`thpi.auto.UnrelatedLabelsWarning`).
    sides_gain_ : float
        Unless ``sides`` is "one": gain of two-sided codes over one-sided ones by the asymmetric distance.
    landmarks_, centre_, gamma_, unit_gamma_ : array, array, float, float
        Of a kernel; see :mod:`thpi.hash_functions`.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((300, 5)); X = np.hstack([S[:90], 3 * rng.standard_normal((90, 20))])
    >>> hasher = AutoHasher(n_bits=8, relevance="source", random_state=0).fit(X, privileged=S[:90], source=S[90:])
    >>> hasher.choice_, hasher.gain_ > 0
    ('NeighbourHash with source', True)
    """

    summary = "tries the others on the pairs, for your meaning of relevant, and keeps one of the best"
    uses_source = True
    uses_target = True
    uses_labels = True

    hash_parts = (*BaseHasher.hash_parts, "landmarks_", "centre_", "gamma_", "unit_gamma_")

    landmarks_: InMemory = field(init=False)
    centre_: Array = field(init=False)
    gamma_: float = field(init=False)
    unit_gamma_: float = field(init=False)
    candidates_json_: str = field(init=False)
    gain_: float = field(init=False)
    gain_limits_: Array = field(init=False)
    pairs_r2_: float = field(init=False)
    labels_p_: float = field(init=False)
    sides_gain_: float = field(init=False)
    sides_gain_limits_: Array = field(init=False)

    relevance: str = parameter("target", str)
    use_source: bool = parameter(True, "boolean")
    n_folds: int = count(3, least=2)
    n_standard_errors: float = weight(1.0)
    max_pairs: int = count(500, least=LEAST_PAIRS)
    max_unpaired: int = count(3000, least=0)
    kernel: bool | Literal["auto"] = parameter("auto", "boolean", StrOptions({"auto"}))
    max_encode_cost: float = weight(50.0, closed="neither")
    n_landmarks: int = count(500)
    use_lengths: bool | Literal["auto"] = parameter("auto", "boolean", StrOptions({"auto"}))
    n_repeats: int | None = parameter(None, Interval(Integral, 1, None, closed="left"), None)
    n_jobs: int | None = parameter(None, Integral, None)
    sides: Literal["one", "two", "auto"] = one_of("one", "two", "auto")

    @property
    def candidates_(self) -> list[Entry]:
        """The evidence, best first among those that use no source, then among those that do.

        Of each candidate that can give this many bits: name, method, params, uses_source, kernel, chosen, score (MAP in
        points), scores (per fold; of the first repetition only if clearly behind), gain over the best candidate without
        source, gain_low and gain_high (its 95 % interval).
        """
        check_is_fitted(self, "candidates_json_")
        found: list[Entry] = json.loads(self.candidates_json_)
        return found

    @property
    def _chosen(self) -> Entry:
        return next(entry for entry in self.candidates_ if entry["chosen"])

    @property
    def choice_(self) -> str:
        """The chosen candidate in words, such as "kernel NeighbourHash without source"."""
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
    def is_kernel_(self) -> bool:
        """Whether the hash function is one of kernel features."""
        return bool(self._chosen["kernel"])

    @property
    def gain_interval_(self) -> tuple[float, float]:
        """The 95 % interval of ``gain_``."""
        return tuple(self.gain_limits_.tolist())

    @property
    def sides_(self) -> str:
        """How many sides have a code of their own: "one" or "two"."""
        return "two" if self.is_two_sided else "one"

    @property
    def sides_gain_interval_(self) -> tuple[float, float]:
        """The 95 % interval of ``sides_gain_``."""
        return tuple(self.sides_gain_limits_.tolist())

    @property
    def related_(self) -> bool:
        """False if the two views of the pairs have nothing to do with each other."""
        return relation_of(len(self.codes_), self.pairs_r2_)[0]

    @property
    def relation_(self) -> str | None:
        """How closely the two views of the pairs are related, in words; None if there is no source."""
        return relation_of(len(self.codes_), self.pairs_r2_)[1]

    def _repr_html_inner(self) -> str:
        # A notebook shows scikit-learn's diagram of what is not fitted, or not to be shown in HTML.
        if "candidates_json_" not in vars(self):
            return str(super()._repr_html_inner())
        from thpi.report import render

        # A model file may name a meaning that was registered elsewhere.
        meaning = RELEVANCES[self.relevance].title if self.relevance in RELEVANCES else self.relevance
        return render("notebook/auto.html", hasher=self, meaning=meaning)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        html = {"text/html": self._repr_html_()} if hasattr(self, "_repr_html_") else {}
        return {"text/plain": repr(self), **html}

    def _max_bits(self, views: Views) -> tuple[int, str]:
        """What ITQ and the defaults can give: directions of the rows or, if that is asked for, of kernel features."""
        if self.kernel is not True:
            return dimension_limit(views)
        m, n = self.n_landmarks, views.all_target.shape[0]
        return max(1, min(m, n - 1)), f"the smaller of n_landmarks={m} and n_samples - 1={n - 1}"

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        trial = self.trial(views, rng)
        decision = self.decide(trial)
        learned = {"pairs_r2_": trial.r2, "labels_p_": trial.labels_p} | trial.learn(decision.chosen)
        # Seen from the caller of fit.
        if views.S is not None and not trial.related:
            warnings.warn(relation(views.X.shape[0], trial.r2), UnrelatedPairsWarning, stacklevel=3)
        if not trial.labels_related:
            warnings.warn(label_relation(trial.labels_p), UnrelatedLabelsWarning, stacklevel=3)
        return decision.fitted | learned

    def decide(self, trial: Trial) -> Decision:
        plan, trust = trial.plan, {"may_use_source": trial.related, "trusted": trial.trusted}
        decision = decide(plan.candidates, trial.scores, plan.relevance, self.n_standard_errors, **trust)
        if not plan.two_sided:
            return decision
        forced = self.sides == "two"
        if not (trial.related and trial.trusted):
            if forced:
                needed = "a source that the target predicts, and labels that it can tell"
                raise ValueError(f"sides='two' needs {needed}; sides='auto' goes back to one side.")
            return decision
        scores = trial.sides_scores(decision.chosen)
        return decide_sides(decision, plan.two_sided, trial.best_two_sided(scores), scores, forced=forced)

    def trial(self, views: Views, rng: np.random.RandomState, *, scored: bool = True) -> Trial:
        return Trial(views, self._plan(views), rng, scored=scored)

    def _plan(self, views: Views) -> Plan:
        relevance = self._checked_relevance(views)
        has_source = views.S is not None and self.use_source
        listed = candidates(relevance, has_source=has_source, has_labels=relevance.needs_labels)
        lengths = not fitted_on_these_rows(views.all_target) if self.use_lengths == "auto" else bool(self.use_lengths)
        kernel = self._kernel_kind(views.X.shape[1], relevance, lengths)
        if self.kernel is True:
            default, last = (replace(candidate, kernel=True) for candidate in (relevance.default, listed[-1]))
            if relevance.default is listed[-1]:
                default = last
            relevance = replace(relevance, default=default)
            listed = (*(c for c in listed if c.kernel), *(() if default is last else (default,)), last)
        can = (c for c in listed if (kernel is not None if c.kernel else lengths or not c.params.get("offsets")))
        return Plan(self, relevance, tuple(can), kernel, lengths, self._two_sided(relevance, has_source, kernel))

    def _two_sided(self, relevance: Relevance, has_source: bool, kernel: KernelKind | None) -> tuple[Candidate, ...]:
        possible = bool(relevance.two_sided) and has_source
        if self.sides == "two" and not possible:
            meanings = ", ".join(name for name, each in RELEVANCES.items() if each.two_sided)
            raise ValueError(f"sides='two' needs privileged=..., use_source=True, and a relevance out of {meanings}.")
        if self.sides == "one" or not possible:
            return ()
        return tuple(c for c in relevance.two_sided if (kernel is not None if c.kernel else self.kernel is not True))

    def _kernel_kind(self, n_features: int, relevance: Relevance, lengths: bool) -> KernelKind | None:
        most = self.n_landmarks
        if self.kernel == "auto":
            most = affordable_landmarks(n_features, self.n_bits, self.max_encode_cost, most)
        if self.kernel is False or (self.kernel == "auto" and most < LEAST_LANDMARKS):
            return None
        return KernelKind(most, rows=lengths, directions=relevance.directions or not lengths)

    def _checked_relevance(self, views: Views) -> Relevance:
        relevance = find_relevance(self.relevance)
        if relevance.needs_source and views.S is None:
            raise ValueError(f"relevance={self.relevance!r} needs privileged=..., which decides what is relevant.")
        if relevance.needs_labels and views.y is None:
            raise ValueError(f"relevance={self.relevance!r} needs y, the classes or tags of the rows of X; got y=None.")
        return relevance


def affordable_landmarks(n_features: int, n_bits: int, max_encode_cost: float, most: int) -> int:
    """Number of landmarks with which a code costs at most ``max_encode_cost`` times a linear one, in products.

    Those are d c; with m landmarks they are m (d + c).
    """
    return min(most, int(max_encode_cost * n_features * n_bits / (n_features + n_bits)))


def fitted_on_these_rows(X: InMemory) -> bool:
    """Whether the columns look like principal components of these very rows: uncorrelated but for rounding.

    The axes were then turned towards these few rows, and new rows are shorter than they are. What depends on the length
    of a row, an offset or a kernel of distances, would take all new rows for rows of the core. Folds cannot show it.
    """
    n, d = X.shape
    if is_sparse(X) or not 2 <= d < n:
        return False
    rows = np.asarray(X, dtype=np.float64)
    return any(_diagonal(rows - middle) for middle in (rows.mean(axis=0), 0.0))


def _diagonal(rows: Array) -> bool:
    gram = rows.T @ rows
    scale = np.sqrt(np.maximum(gram.diagonal(), np.finfo(np.float64).tiny))
    return bool(np.abs(gram / scale[:, None] / scale - np.eye(len(gram))).max() < SAME_ROWS)
