"""Does the source help on these pairs, for your meaning of "relevant"? By cross-validation on the pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from thpi._input import Views, Whole
from thpi._types import Floats, Ints, MatrixLike, Seed
from thpi.auto import RELEVANCES, AutoHasher, candidates, find_relevance
from thpi.auto._trial import Trial
from thpi.diagnosis._answer import Answer, Diagnosis
from thpi.diagnosis._folds import Fold, divide
from thpi.diagnosis._learning_curve import learning_curve
from thpi.evaluation import PairedDifference
from thpi.kernels._threads import n_threads, own_threads, run_in_order
from thpi.pairing._relation import least_r2

CURVE_FOLDS = 3
"""Folds of the learning curve: its fits are many, and it needs its shape, not an interval."""


def diagnose(
    X: MatrixLike,
    privileged: MatrixLike,
    source: MatrixLike | Whole | None = None,
    y: Any = None,
    *,
    target: MatrixLike | Whole | None = None,
    relevances: Sequence[str] | None = None,
    n_bits: int = 32,
    n_folds: int = 5,
    share: float = 0.05,
    max_pairs: int = 2_000,
    random_state: Seed = None,
    on_step: Callable[[str], None] = lambda text: None,
) -> Diagnosis:
    """Answer whether the source helps, for each meaning of "relevant".

    The pairs are divided into folds. The rows of a fold are queries; the others are training rows and database. The
    best method with source and the best without are chosen on the training rows alone, by the cross-validation of
    :class:`thpi.AutoHasher`, and both are then evaluated on the queries, which neither choice nor fit has seen. The
    reported candidates and choice are those of ``AutoHasher`` with the same ``random_state`` on all pairs.

    Parameters
    ----------
    X, privileged : the pairs; row i of both is one item.
    source : source rows without target, or None.
    y : labels of the pairs (1-D), or tags (2-D, nonzero where a row has a tag), or None.
    target : target rows without source, or None; all methods use them but the paper's with source.
    relevances : meanings to ask about, by name; None: target, source and, with ``y``, labels.
    n_bits : length of the codes.
    n_folds : folds; at least 2.
    share : for nearness and groups, this share of the database is relevant to a query (at least 3 rows).
    max_pairs : the folds use at most this many pairs, drawn at random.
    random_state : seed; the same seed gives the same answer.
    on_step : called with a few words as the work goes on.

    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((60, 3)); X = np.hstack([S, rng.standard_normal((60, 5))])
    >>> found = diagnose(X, S, relevances=["source"], n_bits=4, n_folds=2, random_state=0)
    >>> found.answers[0].verdict in ("helps", "makes no difference", "hurts")
    True
    """
    names = _checked_names(relevances, y)
    if privileged is None:
        raise ValueError("privileged=None; diagnose needs the source rows paired with the rows of X.")
    if not 0 < share < 1:
        raise ValueError(f"share={share!r} must be greater than 0 and less than 1.")
    seed = random_state if isinstance(random_state, Integral) else check_random_state(random_state).randint(2**31 - 1)
    hashers = [AutoHasher(n_bits, relevance=name, random_state=int(seed)) for name in names]
    views = [hasher._check_views(X, y, privileged, source, target) for hasher in hashers]
    n = views[0].X.shape[0]
    if not 2 <= n_folds <= n // 4:
        raise ValueError(f"n_folds={n_folds!r} must be from 2 to a quarter of the {n} pairs.")
    kept = np.sort(np.random.RandomState(int(seed)).permutation(n)[:max_pairs])
    with own_threads():  # one per fold: products of a few hundred rows are too small to be divided among threads
        pairs = zip(hashers, views, strict=True)
        found = [_answer(hasher, rows, kept, n_folds, share, on_step) for hasher, rows in pairs]
    answers, r2 = tuple(answer for answer, _ in found), max(r2 for _, r2 in found)
    n_source, n_target = (0 if rows is None else rows.shape[0] for rows in (views[0].S_U, views[0].X_more))
    return Diagnosis(n, n_source, n_target, n_bits, n_folds, r2, r2 > least_r2(n), answers)


def _checked_names(relevances: Sequence[str] | None, y: Any) -> tuple[str, ...]:
    names = (
        (("target", "source") if y is None else ("target", "labels", "source")) if relevances is None else relevances
    )
    if not names:
        raise ValueError(f"relevances={relevances!r} must name at least one of {', '.join(RELEVANCES)}.")
    for name in names:
        if find_relevance(name).needs_labels and y is None:
            raise ValueError(f"relevances has {name!r}, which needs y, the labels of the pairs.")
        if not any(candidate.uses_source for candidate in candidates(name)):
            raise ValueError(f"relevances has {name!r}, for which no candidate uses the source.")
    return tuple(names)


def _answer(
    hasher: AutoHasher, views: Views, kept: Ints, n_folds: int, share: float, on_step: Callable[[str], None]
) -> tuple[Answer, float]:
    """Return the answer for one relevance, and how much of one view of the pairs the other explains."""
    relevance = find_relevance(hasher.relevance)
    seed = int(hasher.random_state)  # type: ignore[arg-type]  # set by diagnose
    on_step(f"{relevance.title}: candidates on all pairs")
    trial = hasher._trial(views, np.random.RandomState(seed))
    chosen, evidence = hasher._decide(trial)
    folds = list(divide(hasher, views.take(kept), relevance, n_folds, share))

    def tasks() -> Iterator[Callable[[], tuple[Floats, Floats]]]:
        for number, fold in enumerate(folds, 1):
            on_step(f"{relevance.title}: fold {number} of {n_folds}")
            yield partial(_fold_scores, fold)

    scores = run_in_order(tasks(), n_threads())
    without, with_source = (np.concatenate(parts) for parts in zip(*scores, strict=True))
    fold_of = np.repeat(np.arange(n_folds), [len(part) for part, _ in scores])
    on_step(f"{relevance.title}: quality against the number of pairs")
    best, alone = trial.best(uses_source=True), trial.best(uses_source=False)
    hasher._set_fitted(views, evidence)
    return Answer(
        relevance=relevance.name,
        title=relevance.title,
        gain=_gain(with_source - without, fold_of),
        no_source=float(np.nanmean(without)),
        with_source=float(np.nanmean(with_source)),
        choice=str(chosen),
        choice_params=dict(chosen.params),
        best_with_source=str(best),
        best_without=str(alone),
        candidates=tuple(_by_score(hasher.candidates_)),
        curve=learning_curve(folds[:CURVE_FOLDS], best, alone, seed),
    ), trial.r2


def _fold_scores(fold: Fold) -> tuple[Floats, Floats]:
    """Average precisions of the queries by the best candidate without source and by the best with it."""
    trial: Trial = fold.trial(fold.training)
    without, with_source = (fold.precisions(trial, trial.best(uses_source=used)) for used in (False, True))
    return without, with_source


def _gain(differences: Floats, fold_of: Ints) -> PairedDifference:
    """Mean over queries; queries of one fold share a fit, so their own spread may underestimate the error."""
    known = ~np.isnan(differences)
    values, folds = differences[known], fold_of[known]
    if len(values) < 2:
        return PairedDifference(0.0, -np.inf, np.inf, len(values))
    means = np.array([values[folds == fold].mean() for fold in np.unique(folds)])
    of_queries = values.std(ddof=1) / np.sqrt(len(values))
    of_folds = means.std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else 0.0
    mean, reach = float(values.mean()), 1.96 * float(max(of_queries, of_folds))
    return PairedDifference(mean, mean - reach, mean + reach, len(values))


def _by_score(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Candidates for the table, best first; those that were scored on the first fold only come last."""
    most = max(len(entry["scores"]) for entry in entries)
    shown = [entry | {"on_all_folds": len(entry["scores"]) == most} for entry in entries]
    return sorted(shown, key=lambda e: (not e["on_all_folds"], 0.0 if e["score"] is None else -e["score"]))
