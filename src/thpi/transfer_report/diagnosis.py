"""Does the source help on these pairs, for what the user means by relevant? By cross-validation on the pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import _num_samples

from thpi._checks import gathered
from thpi.base import TooManyBitsError, Whole
from thpi.evaluation import PairedDifference
from thpi.hashers import HASHERS
from thpi.kernels._threads import n_threads, own_threads, run_in_order
from thpi.transfer import RELEVANCES
from thpi.transfer._relation import least_r2
from thpi.transfer_report.answer import MEANINGS, Answer, Diagnosis
from thpi.transfer_report.folds import Fold, Pairs, divide
from thpi.transfer_report.learning_curve import learning_curve

__all__ = ["Diagnosis", "diagnose"]

Floats = npt.NDArray[np.float64]

CURVE_FOLDS = 3
"""Folds of the learning curve, whose fits are many and which needs its shape, not an interval."""


def diagnose(
    X: Any,
    privileged: Any,
    source: Any = None,
    y: Any = None,
    *,
    target: Any = None,
    relevances: Sequence[str] | None = None,
    n_bits: int = 32,
    n_folds: int = 5,
    share: float = 0.05,
    max_pairs: int = 2_000,
    random_state: Any = None,
    on_step: Callable[[str], None] = lambda text: None,
) -> Diagnosis:
    """Say whether the source helps, for each meaning of relevant.

    The pairs are divided into folds. The rows of a fold are queries, the others are training rows and database. On
    the training rows alone the best method with source and the best without are chosen (by AutoHasher's
    own cross-validation), and both are then measured on the queries. So neither the choice nor the fit has seen what
    it is judged by.

    Parameters
    ----------
    X, privileged : the pairs; row i of both is one item.
    source : source rows without target, or None.
    y : labels of the pairs (1-D), or tags (2-D, nonzero where a row has a tag); None: labels are not asked about.
    target : target rows without source, or None; the paper's methods with source cannot use them, all others do.
    relevances : meanings to ask about, of target, source, labels and groups; None: target, source and, with ``y``,
        labels.
    n_bits : length of the codes.
    n_folds : outer folds; at least 2.
    share : where nearness is meant, or groups, the nearest ``share`` of the training rows are relevant (at least 3).
    max_pairs : of more pairs than these a random sample is used.
    random_state : seed; the same seed gives the same answer.
    on_step : called with a few words as the work goes on.

    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((60, 3)); X = np.hstack([S, rng.standard_normal((60, 5))])
    >>> found = diagnose(X, S, relevances=["source"], n_bits=4, n_folds=2, random_state=0)
    >>> found.answers[0].verdict in ("helps", "makes no difference", "hurts")
    True
    """
    pairs, kinds = _checked(X, privileged, source, y, target, relevances, n_folds, share)
    rng = check_random_state(random_state)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    n = pairs.X.shape[0]
    if n > max_pairs:
        pairs = pairs.take(np.sort(rng.choice(n, max_pairs, replace=False)))
    with own_threads():  # one a fold: the products of a few hundred rows are too small to be shared out
        found = [_answer(pairs, kind, n_bits, n_folds, share, seed, on_step) for kind in kinds]
    n = pairs.X.shape[0]
    known = max(r2 for _, r2 in found)  # of the same pairs in the same coordinates
    return Diagnosis(
        n_pairs=n,
        n_source=0 if pairs.source is None else pairs.source.shape[0],
        n_target=0 if pairs.target is None else pairs.target.shape[0],
        n_bits=n_bits,
        n_folds=n_folds,
        pairs_r2=known,
        related=known > least_r2(n),
        answers=tuple(answer for answer, _ in found),
    )


def _checked(
    X: Any,
    privileged: Any,
    source: Any,
    y: Any,
    target: Any,
    relevances: Sequence[str] | None,
    n_folds: int,
    share: float,
) -> tuple[Pairs, tuple[str, ...]]:
    known = ("target", "source") if y is None else ("target", "labels", "source")
    kinds = known if relevances is None else tuple(relevances)
    if not kinds:
        raise ValueError(f"relevances={relevances!r} must name at least one of {', '.join(RELEVANCES)}.")
    for kind in kinds:
        if kind not in RELEVANCES:
            raise ValueError(f"relevances has {kind!r}; it must be one of {', '.join(RELEVANCES)}.")
    if "labels" in kinds and y is None:
        raise ValueError("relevances has 'labels', which needs y, the labels of the pairs.")
    X, S = (
        check_array(rows, accept_sparse="csr", input_name=name) for name, rows in (("X", X), ("privileged", privileged))
    )
    if X.shape[0] != S.shape[0]:
        raise ValueError(f"privileged has {S.shape[0]} rows and X {X.shape[0]}; row i of both must be one item.")
    source = _unpaired("source", source, "privileged", S)
    target = _unpaired("target", target, "X", X)
    if y is not None:
        y = sparse.csr_array(y) if sparse.issparse(y) else np.asarray(y)
        check_consistent_length(X, y)
    if not 2 <= n_folds <= X.shape[0] // 4:
        raise ValueError(f"n_folds={n_folds!r} must be from 2 to a quarter of the {X.shape[0]} pairs.")
    if not 0 < share < 1:
        raise ValueError(f"share={share!r} must be greater than 0 and less than 1.")
    return Pairs(X, S, source, y, target), kinds


def _unpaired(name: str, rows: Any, of: str, paired: Any) -> Any:
    """Check rows without counterpart, which have the columns of those with one; none where there are no rows."""
    if isinstance(rows, Whole):
        rows = rows.array
    if rows is None or _num_samples(rows) == 0:
        return None
    rows = check_array(gathered(rows), accept_sparse="csr", input_name=name)
    if rows.shape[1] != paired.shape[1]:
        raise ValueError(f"{name} has {rows.shape[1]} columns and {of} {paired.shape[1]}; they must agree.")
    return rows


def _answer(
    pairs: Pairs, kind: str, n_bits: int, n_folds: int, share: float, seed: int, on_step: Callable[[str], None]
) -> tuple[Answer, float]:
    """Give the answer, and how much of one view the other tells."""
    on_step(f"{MEANINGS[kind]}: candidates on all pairs")
    auto = _auto(pairs, kind, n_bits, seed)
    folds = list(divide(pairs, kind, n_folds, share, seed))

    def tasks() -> Iterator[Callable[[], tuple[Floats, Floats]]]:
        for number, fold in enumerate(folds, 1):
            on_step(f"{MEANINGS[kind]}: fold {number} of {n_folds}")
            yield partial(_fold_scores, fold, kind, n_bits, seed)

    scores = run_in_order(tasks(), n_threads())
    without, with_source = (np.concatenate(parts) for parts in zip(*scores, strict=True))
    fold_of = np.repeat(np.arange(n_folds), [len(part) for part, _ in scores])
    best, alone = (_best(auto.candidates_, uses_source) for uses_source in (True, False))
    on_step(f"{MEANINGS[kind]}: quality against the number of pairs")
    curve = learning_curve(
        folds[:CURVE_FOLDS],
        lambda: _hasher(best, n_bits, seed),
        lambda: _hasher(alone, n_bits, seed),
        seed,
    )
    answer = Answer(
        relevance=kind,
        gain=_gain(with_source - without, fold_of),
        no_source=float(np.nanmean(without)),
        with_source=float(np.nanmean(with_source)),
        choice=auto.choice_,
        best_with_source=best["name"],
        best_without=alone["name"],
        candidates=tuple(_shown(auto)),
        curve=curve,
    )
    return answer, auto.pairs_r2_


def _auto(pairs: Pairs, kind: str, n_bits: int, seed: int) -> Any:
    hasher = HASHERS["AutoHasher"](n_bits=n_bits, relevance=kind, random_state=seed)
    return (pairs if kind == "labels" else pairs._replace(y=None)).fit(hasher)


def _gain(differences: Floats, fold_of: npt.NDArray[np.int64]) -> PairedDifference:
    """Mean over queries; queries of one fold share a fit, so that their own spread may be too small a measure."""
    known = ~np.isnan(differences)
    values, folds = differences[known], fold_of[known]
    if len(values) < 2:
        return PairedDifference(0.0, -np.inf, np.inf, len(values))
    means = np.array([values[folds == fold].mean() for fold in np.unique(folds)])
    of_queries = values.std(ddof=1) / np.sqrt(len(values))
    of_folds = means.std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else 0.0
    mean, reach = float(values.mean()), 1.96 * float(max(of_queries, of_folds))
    return PairedDifference(mean, mean - reach, mean + reach, len(values))


def _fold_scores(fold: Fold, kind: str, n_bits: int, seed: int) -> tuple[Floats, Floats]:
    """Average precisions of the held-out queries by the best candidate without source and by the best with it."""
    candidates = _auto(fold.training, kind, n_bits, seed).candidates_
    found = []
    for uses_source in (False, True):
        values = fold.precisions(_hasher(_best(candidates, uses_source), n_bits, seed), uses_source=uses_source)
        if values is None:
            raise TooManyBitsError(
                f"n_bits={n_bits} is too many for the {fold.training.X.shape[0]} training rows of a fold, which have "
                f"{fold.training.X.shape[1]} columns."
            )
        found.append(values)
    return found[0], found[1]


def _best(candidates: Sequence[dict[str, Any]], uses_source: bool) -> dict[str, Any]:
    eligible = [c for c in candidates if bool(c["uses_source"]) == uses_source and _is_whole(c, candidates)]
    # Without a score, on very few pairs, the first of the list stands for the others.
    return max(eligible, key=lambda candidate: -np.inf if candidate["score"] is None else float(candidate["score"]))


def _is_whole(candidate: dict[str, Any], candidates: Sequence[dict[str, Any]]) -> bool:
    """Whether it was scored on all folds; a costly one that did not lead on the first was not tried on the others."""
    return len(candidate["scores"]) == max(len(c["scores"]) for c in candidates)


def _hasher(candidate: dict[str, Any], n_bits: int, seed: int) -> Any:
    return HASHERS[candidate["method"]](n_bits=n_bits, random_state=seed, **candidate["params"])


def _shown(auto: Any) -> list[dict[str, Any]]:
    """Give the candidates for the table, best first, those of one fold after them; what was not scored has NaN."""
    keys = ("score", "gain", "gain_low", "gain_high")
    found = auto.candidates_

    def row(c: dict[str, Any]) -> dict[str, Any]:
        name = c["name"] if _is_whole(c, found) else f"{c['name']}, first fold"
        about = {"name": name, "uses_source": bool(c["uses_source"]), "chosen": c["name"] == auto.choice_}
        return about | {key: np.nan if c[key] is None else float(c[key]) for key in keys}

    def order(c: dict[str, Any]) -> tuple[bool, float]:
        return not _is_whole(c, found), np.inf if c["score"] is None else -float(c["score"])

    return [row(c) for c in sorted(found, key=order)]
