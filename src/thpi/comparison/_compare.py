"""Which code for these vectors? Every method at equal bytes, measured on queries that no method has seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from thpi._types import Array, Ints, PathLike, check_numbers
from thpi.comparison._measure import Cut, Meaning, Truth, measured, near_in_source, same_label, timed
from thpi.comparison._method import Coded, Method, Training
from thpi.comparison._methods import METHODS, WITH_LABELS, WITH_SOURCE
from thpi.comparison._result import Comparison, Result

DEFAULT_BYTES = (4, 8, 16, 32, 64, 128, 256)
_LEAST_ROWS = 20
_RECALLS = (1, 10, 100)


class _Rows(NamedTuple):
    """Queries and database, and what is known of both besides."""

    queries: Array
    training: Training
    meaning: Meaning | None


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
    >>> found.choice.name
    'SQ 8, asymmetric'
    """
    rows = _checked(X)
    sizes, chosen = _checked_sizes(n_bytes), _checked_methods(methods)
    if not 0 < recall <= 1:
        raise ValueError(f"recall={recall!r} must be greater than 0 and at most 1.")
    if index_recall is not None and not 0 < index_recall <= 1:
        raise ValueError(f"index_recall={index_recall!r} must be None or greater than 0 and at most 1.")
    if cosine:
        rows = _of_length_one(rows)
    order, n = _drawn(len(rows), n_queries, random_state)
    m = len(rows) - n
    cut = Cut(k, k if candidates is None else candidates)
    if not 1 <= cut.k <= cut.candidates <= m:
        raise ValueError(f"k={k!r} and candidates={candidates!r}: 1 <= k <= candidates <= {m} must hold, the database.")
    split = _split(rows, order, n, privileged, labels, random_state)
    if split.meaning is not None:
        chosen.append(WITH_SOURCE if labels is None else WITH_LABELS)
    cuts = [cut, *(Cut(each, each) for each in _RECALLS if each <= m), *([Cut(10, 100)] if m >= 100 else [])]
    cuts.sort(key=lambda each: (each.candidates, each.k))
    truth = Truth(split.queries, split.training.X, list(dict.fromkeys(cuts)))
    results: list[Result] = []
    left_out = []
    for method in chosen:
        if method.needs is not None and not _faiss_has(method.needs):
            left_out.append(f"{method.name}: this faiss has no {method.needs}")
            continue
        for coded, seconds in _sizes(method, split.training, sizes, on_step):
            results += _results(method, coded, seconds, split, truth, cut, index_recall)
    results.sort(key=lambda r: (r.n_bytes, -r.recalls[cut].value))
    title = None if split.meaning is None else split.meaning.title
    return Comparison(tuple(results), recall, cut, n, m, rows.shape[1], title, tuple(left_out))


def write_code(
    path: PathLike,
    X: npt.ArrayLike,
    method: str,
    n_bytes: int,
    *,
    privileged: npt.ArrayLike | None = None,
    labels: npt.ArrayLike | None = None,
    cosine: bool = False,
    random_state: int = 0,
) -> str:
    """Learn a code from all rows and write it beside ``path``; return the name of the file.

    ``method`` and ``n_bytes`` are those of a result. Hashers are written as a model, ``path.thpi``, for ``thpi encode``
    and ``thpi index``; the others as an index of faiss with all rows in it, ``path.faiss``, by row number.

    >>> import tempfile
    >>> X = np.random.RandomState(0).standard_normal((300, 16))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_code(f"{folder}/best", X, "SQ 8", 16).removeprefix(folder)
    '/best.faiss'
    """
    rows = _checked(X)
    if cosine:
        rows = _of_length_one(rows)
    known = METHODS | {each.name: each for each in (WITH_LABELS, WITH_SOURCE)}
    if method not in known:
        raise ValueError(f"method={method!r} must be one of {', '.join(known)}.")
    coded = known[method].code(Training(rows, random_state, privileged, labels), n_bytes)
    if coded is None:
        raise ValueError(f"n_bytes={n_bytes!r}: {method} has no code that small for these rows.")
    file = f"{path}{coded.suffix}"
    coded.write(file)
    return file


def _sizes(
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
    method: Method,
    coded: Coded,
    seconds: float,
    rows: _Rows,
    truth: Truth,
    cut: Cut,
    index_recall: float | None,
) -> Iterator[Result]:
    for number, (order, search) in enumerate(coded.searches.items(), start=1):
        found, milliseconds = timed(search, rows.queries, truth.most)
        recalls = truth.recalls(found)
        loss = index_milliseconds = None
        if index_recall is not None and coded.approximate is not None and number == len(coded.searches):
            nearby, index_milliseconds = timed(coded.approximate(index_recall), rows.queries, truth.most)
            loss = measured(recalls[cut] - truth.recalls(nearby)[cut])
        yield Result(
            method.name,
            order,
            coded.n_bytes,
            coded.shared_bytes,
            {each: measured(values) for each, values in recalls.items()},
            milliseconds,
            seconds,
            None if rows.meaning is None else measured(rows.meaning.shares(found)),
            loss,
            index_milliseconds,
        )


def _drawn(n_rows: int, n_queries: int | None, seed: int) -> tuple[Ints, int]:
    n = min(500, n_rows // 5) if n_queries is None else n_queries
    if not 2 <= n <= n_rows - 2:
        raise ValueError(f"n_queries={n_queries!r} must be from 2 to {n_rows - 2}, two less than the rows.")
    # The database stays in random order: rows at equal distance are found in it.
    return np.random.RandomState(seed).permutation(n_rows), n


def _checked(X: Any) -> Array:
    options = {"dtype": np.float32, "ensure_min_samples": _LEAST_ROWS, "estimator": "compare", "input_name": "X"}
    return np.asarray(check_array(check_numbers("X", X), **options))


def _split(rows: Array, order: Ints, n: int, privileged: Any, labels: Any, seed: int) -> _Rows:
    queries, database = order[:n], order[n:]
    meaning, S, y = None, None, None
    if labels is not None:
        y = np.asarray(labels)
        if y.shape != (len(rows),):
            raise ValueError(f"labels must have one label per row, shape ({len(rows)},), got {y.shape}.")
        meaning, y = same_label(y[queries], y[database], 10), y[database]
    if privileged is not None:
        S = check_array(check_numbers("privileged", privileged), dtype=np.float64, input_name="privileged")
        if len(S) != len(rows):
            raise ValueError(f"privileged has {len(S)} rows and X {len(rows)}; row i must be the same item.")
        if labels is None:
            meaning = near_in_source(S[queries], S[database], min(10, len(database)))
        S = S[database]
    return _Rows(rows[queries], Training(np.ascontiguousarray(rows[database]), seed, S, y), meaning)


def _of_length_one(rows: Array) -> Array:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def _checked_sizes(n_bytes: Sequence[int]) -> list[int]:
    sizes = sorted(set(n_bytes))
    if not sizes or sizes[0] < 1 or any(int(size) != size for size in sizes):
        raise ValueError(f"n_bytes={n_bytes!r} must be positive integers, at least one.")
    return sizes


def _checked_methods(methods: Sequence[str] | None) -> list[Method]:
    for name in methods or ():
        if name not in METHODS:
            raise ValueError(f"methods has {name!r}; it must be one of {', '.join(METHODS)}.")
    return [METHODS[name] for name in (METHODS if methods is None else dict.fromkeys(methods))]


def _faiss_has(name: str) -> bool:
    import faiss

    return hasattr(faiss, name)
