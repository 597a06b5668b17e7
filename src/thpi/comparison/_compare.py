"""Which code for these vectors? Every method at equal bytes, measured on queries that no method has seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import normalize
from sklearn.utils import check_array

from thpi._numbers import check_numbers
from thpi._types import Array
from thpi.comparison._measure import Cut, Meaning, Truth, measured, near_in_source, same_label, timed
from thpi.comparison._method import Coded, Method, Training
from thpi.comparison._methods import METHODS, WITH_LABELS, WITH_SOURCE
from thpi.comparison._result import Comparison, Result
from thpi.index._exact import faiss_module

DEFAULT_BYTES = (4, 8, 16, 32, 64, 128, 256)
_LEAST_ROWS = 20
_RECALLS = (1, 10, 100)


def compare(
    X: npt.ArrayLike,
    *,
    recall: float = 0.9,
    k: int = 10,
    candidates: int | None = None,
    n_bytes: Sequence[int] = DEFAULT_BYTES,
    methods: Sequence[str] | None = None,
    privileged: npt.ArrayLike | None = None,
    labels: npt.ArrayLike | None = None,
    cosine: bool = False,
    unseen: bool = False,
    n_queries: int | None = None,
    index_recall: float | None = None,
    random_state: int = 0,
    on_step: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """Compare codes for the rows of ``X`` at equal bytes, and name the smallest that reaches the wished recall.

    Queries are drawn among the rows; the others are the database. All methods learn from the database, and none sees a
    query before it searches with it. True neighbours are the nearest in Euclidean distance.

    Parameters
    ----------
    X : dense rows.
    recall : wished recall, in (0, 1]: the share of the ``k`` nearest rows among the first ``candidates`` found.
    k, candidates : see ``recall``. None means ``k`` candidates; name more if they are reordered by their vectors.
    n_bytes : sizes of codes, in bytes per row. Each method takes its largest code that fits.
    methods : names of :data:`METHODS`; None: all.
    privileged : source rows, one per row of ``X``. AutoHasher also learns for nearness in source space, and every code
        is also measured by it.
    labels : one per row. The same for equal labels, in place of source nearness.
    cosine : whether to divide every row by its length first, so that the order is that of cosines.
    unseen : whether to learn from one half of the database and search only the other, as rows that come later.
    n_queries : rows drawn as queries; None: 500, at most a fifth.
    index_recall : also search binary codes by a :class:`thpi.index.HammingIndex` of this recall, and say what is lost.
    random_state : seed of all draws.
    on_step : called with the name of a method before each fit.

    Examples
    --------
    >>> X = np.random.RandomState(0).standard_normal((400, 16)) * np.linspace(1, 0.2, 16)
    >>> found = compare(X, recall=0.8, n_bytes=[2, 16, 64], methods=["ITQ", "SQ 8", "float"])
    >>> [(result.name, result.n_bytes) for result in found.frontier]
    [('ITQ, asymmetric', 2), ('SQ 8, asymmetric', 16), ('float', 64)]
    """
    rows = np.asarray(_checked(X, "X", dtype=np.float32, ensure_min_samples=_LEAST_ROWS))
    split = _split(normalize(rows) if cosine else rows, n_queries, unseen, privileged, labels, random_state)
    wish = _Wish(recall, Cut(k, k if candidates is None else candidates), _checked_sizes(n_bytes), index_recall)
    return _compared(split, wish, _checked_methods(methods, split), on_step)


@dataclass(frozen=True)
class _Split:
    """Queries, the rows that are learned from and searched, and what is known of them besides."""

    queries: Array
    training: Training
    unseen: bool
    meaning: Meaning | None


@dataclass(frozen=True)
class _Wish:
    """What is asked for."""

    recall: float
    cut: Cut
    sizes: Sequence[int]
    index_recall: float | None

    def __post_init__(self) -> None:
        if not 0 < self.recall <= 1:
            raise ValueError(f"recall={self.recall!r} must be greater than 0 and at most 1.")
        if self.index_recall is not None and not 0 < self.index_recall <= 1:
            raise ValueError(f"index_recall={self.index_recall!r} must be None or greater than 0 and at most 1.")


def _compared(split: _Split, wish: _Wish, methods: list[Method], on_step: Callable[[str], None]) -> Comparison:
    cut, n = wish.cut, len(split.training.searched)
    if not 1 <= cut.k <= cut.candidates <= n:
        raise ValueError(
            f"k={cut.k!r} and candidates={cut.candidates!r}: 1 <= k <= candidates <= {n} must hold, the rows searched."
        )
    usual = [*(Cut(each, each) for each in _RECALLS), Cut(10, 100)]
    cuts = sorted({cut, *(each for each in usual if each.candidates <= n)}, key=lambda each: each[::-1])
    truth = Truth(split.queries, split.training.searched, cuts)
    results: list[Result] = []
    left_out = []
    for method in methods:
        if method.needs is not None and not hasattr(faiss_module(), method.needs):
            left_out.append(f"{method.name}: this faiss has no {method.needs}")
            continue
        for coded, seconds in _coded(method, split.training, wish.sizes, on_step):
            results += _results(method, coded, seconds, split, truth, wish)
    results.sort(key=lambda r: (r.n_bytes, -r.recalls[cut].value))
    title = None if split.meaning is None else split.meaning.title
    shape = len(split.queries), n, split.training.n_dims
    return Comparison(tuple(results), wish.recall, cut, *shape, title, tuple(left_out), split.unseen)


def _coded(
    method: Method, rows: Training, sizes: Sequence[int], on_step: Callable[[str], None]
) -> Iterator[tuple[Coded, float]]:
    """Code the rows in each size that the method has, each once."""
    known: set[int] = set()
    for most in [*sizes, 2 * rows.n_dims, 4 * rows.n_dims] if method.name in ("half", "float") else sizes:
        on_step(f"{method.name}, {most} bytes")
        start = time.perf_counter()
        coded = method.code(rows, most)
        if coded is not None and coded.n_bytes not in known:
            known.add(coded.n_bytes)
            yield coded, time.perf_counter() - start


def _results(
    method: Method, coded: Coded, seconds: float, split: _Split, truth: Truth, wish: _Wish
) -> Iterator[Result]:
    last = list(coded.searches)[-1]
    for order, search in coded.searches.items():
        found, milliseconds = timed(search, split.queries, truth.most)
        recalls = truth.recalls(found)
        loss = index_milliseconds = None
        if wish.index_recall is not None and coded.approximate is not None and order == last:
            nearby, index_milliseconds = timed(coded.approximate(wish.index_recall), split.queries, truth.most)
            loss = measured(recalls[wish.cut] - truth.recalls(nearby)[wish.cut])
        yield Result(
            method.name,
            order,
            coded.n_bytes,
            coded.shared_bytes,
            {each: measured(values) for each, values in recalls.items()},
            milliseconds,
            seconds,
            None if split.meaning is None else measured(split.meaning.shares(found)),
            loss,
            index_milliseconds,
        )


def _split(rows: Array, n_queries: int | None, unseen: bool, privileged: Any, labels: Any, random_state: int) -> _Split:
    n_rows = len(rows)
    n = min(500, n_rows // 5) if n_queries is None else n_queries
    if not 2 <= n <= n_rows - 2:
        raise ValueError(f"n_queries={n_queries!r} must be from 2 to {n_rows - 2}, two less than the rows.")
    # The database stays in random order: rows at equal distance are found in it.
    order = np.random.RandomState(random_state).permutation(n_rows)
    queries, database = order[:n], order[n:]
    learned, searched = np.array_split(database, 2) if unseen else (database, database)
    meaning, S, y = None, None, None
    if privileged is not None:
        S = _checked(privileged, "privileged", dtype=np.float64)
        if len(S) != n_rows:
            raise ValueError(f"privileged has {len(S)} rows and X {n_rows}; row i must be the same item.")
        meaning = near_in_source(S[queries], S[searched], min(10, len(searched)))
        S = S[learned]
    if labels is not None:
        y = np.asarray(labels)
        if y.shape != (n_rows,):
            raise ValueError(f"labels must have one label per row, shape ({n_rows},), got {y.shape}.")
        meaning, y = same_label(y[queries], y[searched], 10), y[learned]
    training = Training(rows[learned], rows[searched], random_state, S, y)
    return _Split(rows[queries], training, unseen, meaning)


def _checked(X: Any, name: str, **options: Any) -> Array:
    return np.asarray(check_array(check_numbers(name, X), estimator="compare", input_name=name, **options))


def _checked_sizes(n_bytes: Sequence[int]) -> list[int]:
    sizes = sorted(set(n_bytes))
    if not sizes or sizes[0] < 1 or any(int(size) != size for size in sizes):
        raise ValueError(f"n_bytes={n_bytes!r} must be positive integers, at least one.")
    return sizes


def _checked_methods(methods: Sequence[str] | None, split: _Split) -> list[Method]:
    for name in methods or ():
        if name not in METHODS:
            raise ValueError(f"methods has {name!r}; it must be one of {', '.join(METHODS)}.")
    chosen = [METHODS[name] for name in (METHODS if methods is None else dict.fromkeys(methods))]
    if split.meaning is not None:
        chosen.append(WITH_SOURCE if split.training.labels is None else WITH_LABELS)
    return chosen
