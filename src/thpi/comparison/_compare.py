"""Which code for these vectors? Every method at equal bytes, measured on queries that no method has seen.

Let N_k(q) be the k rows nearest to the query q, and those tied with the k-th, and F_c(q) the first c rows found. Then

    recall(k, c) = mean over q of min(k, |N_k(q) & F_c(q)|) / k.

Recall at k is recall(k, k): what a search by the codes alone gives. Recall of the first k among c > k is what is left
after c candidates are put into the order of their vectors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import normalize
from sklearn.utils import check_array

from thpi._types import Array, Floats, Ints, check_numbers
from thpi.comparison._methods import METHODS, Coded, Method, Search, Training
from thpi.comparison._result import Comparison, Cut, Result
from thpi.evaluation import Measured, nearest_relevance, paired_difference

_SIZES = (4, 8, 16, 32, 64, 128, 256)
_LEAST_ROWS = 20
_RECALLS = (1, 10, 100)


class Truth:
    """The true nearest rows of each query, for the numbers of rows that the cuts ask for."""

    def __init__(self, queries: Array, database: Array, cuts: Sequence[Cut]) -> None:
        self.cuts, self.most = tuple(cuts), max(cut.candidates for cut in cuts)
        relevant = {k: nearest_relevance(queries, database, k) for k in {cut.k for cut in cuts}}
        self.near = {k: [np.flatnonzero(row) for row in rows] for k, rows in relevant.items()}

    def recalls(self, found: Ints) -> dict[Cut, Floats]:
        """Recall of each query, for each cut; ``found`` are the first ``most`` rows of each."""
        return {cut: self._recall(found[:, : cut.candidates], cut.k) for cut in self.cuts}

    def _recall(self, found: Ints, k: int) -> Floats:
        hits = [np.isin(rows, near).sum() for rows, near in zip(found, self.near[k], strict=True)]
        return np.minimum(hits, k) / k


def measured(values: Floats) -> Measured:
    """Mean over queries with its 95 % interval (Student's t).

    >>> [round(number, 3) for number in measured(np.array([1.0, 0.5, 0.6]))]
    [0.7, 0.043, 1.0]
    """
    mean, low, high, _ = paired_difference(values, np.zeros_like(values))
    return Measured(mean, max(low, 0.0), min(high, 1.0))


def compare(
    X: npt.ArrayLike,
    *,
    recall: float = 0.9,
    k: int = 10,
    candidates: int | None = None,
    n_bytes: Sequence[int] | None = None,
    methods: Sequence[str] | None = None,
    cosine: bool = False,
    unseen: bool = False,
    n_queries: int | None = None,
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
    n_bytes : sizes of codes, in bytes per row; None: 4 to 256. Each method takes its largest code that fits.
    methods : names of :data:`METHODS`; None: all.
    cosine : whether to divide every row by its length first, so that the order is that of cosines.
    unseen : whether to learn from one half of the database and search only the other, as rows that come later.
    n_queries : rows drawn as queries; None: 500, at most a fifth.
    random_state : seed of all draws.
    on_step : called with the name of each method.

    Examples
    --------
    >>> X = np.random.RandomState(0).standard_normal((400, 16)) * np.linspace(1, 0.2, 16)
    >>> found = compare(X, recall=0.8, n_bytes=[2, 16, 64], methods=["ITQ", "SQ 8", "float"])
    >>> [(result.name, result.n_bytes) for result in found.frontier]
    [('ITQ, asymmetric', 2), ('SQ 8, asymmetric', 16), ('float', 64)]
    """
    rows = check_array(
        check_numbers("X", X), dtype=np.float32, ensure_min_samples=_LEAST_ROWS, estimator="compare", input_name="X"
    )
    queries, training = _split(normalize(rows) if cosine else rows, n_queries, unseen, random_state)
    cut = Cut(k, k if candidates is None else candidates)
    sizes, chosen = _checked_sizes(n_bytes), _checked_methods(methods)
    if not 0 < recall <= 1:
        raise ValueError(f"recall={recall!r} must be greater than 0 and at most 1.")
    truth = Truth(queries, training.searched, _cuts(cut, len(training.searched)))
    results, left_out = _results(queries, training, truth, sizes, chosen, on_step)
    results.sort(key=lambda result: (result.n_bytes, -result.recalls[cut].value))
    shape = len(queries), len(training.searched), training.n_dims
    return Comparison(tuple(results), recall, cut, *shape, tuple(left_out), unseen)


def _results(
    queries: Array, rows: Training, truth: Truth, sizes: list[int], methods: list[str], on_step: Callable[[str], None]
) -> tuple[list[Result], list[str]]:
    """Return what is found by all codes, and the methods that cannot run, with the reason."""
    results, left_out = [], []
    for name in methods:
        on_step(name)
        try:
            for coded, seconds in _coded(METHODS[name], rows, sizes):
                for order, search in coded.searches.items():
                    found, milliseconds = _timed(search, queries, truth.most)
                    recalls = {cut: measured(values) for cut, values in truth.recalls(found).items()}
                    size = coded.n_bytes, coded.shared_bytes
                    results.append(Result(name, order, *size, recalls, milliseconds, seconds))
        except NotImplementedError as error:
            left_out.append(f"{name}: {error}")
    return results, left_out


def _timed(search: Search, queries: Array, k: int) -> tuple[Ints, float]:
    """What a search finds, and milliseconds of a query, in the faster of two runs over all of them."""
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        found = search(queries, k)
        seconds.append(time.perf_counter() - start)
    return found, 1e3 * min(seconds) / len(queries)


def _coded(method: Method, rows: Training, sizes: Sequence[int]) -> Iterator[tuple[Coded, float]]:
    """Code the rows in each size that the method has, each once, and say how long it takes."""
    known: set[int] = set()
    for most in sizes:
        start = time.perf_counter()
        coded = method(rows, most)
        if coded is not None and coded.n_bytes not in known:
            known.add(coded.n_bytes)
            yield coded, time.perf_counter() - start


def _split(rows: Array, n_queries: int | None, unseen: bool, random_state: int) -> tuple[Array, Training]:
    """Return queries, and rows to learn from and to search: the others, or one half and the other."""
    n = min(500, len(rows) // 5) if n_queries is None else n_queries
    if not 2 <= n <= len(rows) - 2:
        raise ValueError(f"n_queries={n_queries!r} must be from 2 to {len(rows) - 2}, two less than the rows.")
    # The database stays in random order: rows at equal distance are found in it.
    drawn = rows[np.random.RandomState(random_state).permutation(len(rows))]
    learned, searched = np.array_split(drawn[n:], 2) if unseen else (drawn[n:], drawn[n:])
    return drawn[:n], Training(learned, searched, random_state)


def _cuts(wished: Cut, n: int) -> list[Cut]:
    """Return the wished cut among the usual ones."""
    k, candidates = wished
    if not 1 <= k <= candidates <= n:
        raise ValueError(f"k={k!r} and candidates={candidates!r}: 1 <= k <= candidates <= {n} must hold, the database.")
    usual = [cut for cut in (*(Cut(each, each) for each in _RECALLS), Cut(10, 100)) if cut.candidates <= n]
    return sorted({wished, *usual}, key=lambda cut: (cut.candidates, cut.k))


def _checked_sizes(n_bytes: Sequence[int] | None) -> list[int]:
    sizes = sorted(set(_SIZES if n_bytes is None else n_bytes))
    if not sizes or sizes[0] < 1 or any(int(size) != size for size in sizes):
        raise ValueError(f"n_bytes={n_bytes!r} must be positive integers, at least one.")
    return sizes


def _checked_methods(methods: Sequence[str] | None) -> list[str]:
    for name in methods or ():
        if name not in METHODS:
            raise ValueError(f"methods has {name!r}; it must be one of {', '.join(METHODS)}.")
    return list(METHODS if methods is None else dict.fromkeys(methods))
