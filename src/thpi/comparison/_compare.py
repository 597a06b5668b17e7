"""Which code for these vectors? Every method at equal bytes, measured on queries that no method has seen.

Let N_k(q) be the k rows nearest to the query q, and those tied with the k-th, and F_c(q) the first c rows found. Then

    recall(k, c) = mean over q of min(k, |N_k(q) & F_c(q)|) / k.

Recall at k is recall(k, k): what a search by the codes alone gives. Recall of the first k among c > k is what is left
after c candidates are put into the order of their vectors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import normalize
from sklearn.utils import check_array

from thpi._types import Array, Floats, Ints, check_numbers
from thpi.comparison._methods import METHODS, Coded, Method, Training
from thpi.evaluation import Measured, nearest_relevance, paired_difference

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIZES = (4, 8, 16, 32, 64, 128, 256)
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31", "#7B4173")
_MARKERS = "os^vD<>Pp"


class Cut(NamedTuple):
    """Recall of the first ``k`` among ``candidates``."""

    k: int
    candidates: int

    def __str__(self) -> str:
        return f"{self.k}" if self.k == self.candidates else f"{self.k} in {self.candidates}"


@dataclass(frozen=True)
class Result:
    """One code, searched in one order.

    ``recalls`` are those of exhaustive search: what is missing to 1 is lost by the code. All rows share the
    ``shared_bytes``. ``milliseconds`` are of a query, in the faster of two runs; ``fit_seconds`` to learn and code.
    """

    method: str
    order: str
    n_bytes: int
    shared_bytes: int
    recalls: dict[Cut, Measured]
    milliseconds: float
    fit_seconds: float

    @property
    def name(self) -> str:
        """Method and order in words."""
        return self.method if self.order == "exact" else f"{self.method}, {self.order}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        recalls = [cut._asdict() | recall._asdict() for cut, recall in self.recalls.items()]
        return asdict(self) | {"recalls": recalls}


@dataclass(frozen=True)
class Comparison:
    """All results by falling recall within rising bytes; what was wished, and of which rows.

    ``left_out`` are methods that could not run, with the reason. If ``unseen``, codes were learned from other rows.
    """

    results: tuple[Result, ...]
    wished: float
    cut: Cut
    n_queries: int
    n_database: int
    n_dims: int
    left_out: tuple[str, ...] = ()
    unseen: bool = False

    def recall(self, result: Result) -> float:
        """Recall of a result at the wished cut."""
        return result.recalls[self.cut].value

    @property
    def frontier(self) -> tuple[Result, ...]:
        """Results that no smaller or equal code surpasses, by rising bytes."""
        best: list[Result] = []
        for result in sorted(self.results, key=lambda r: (r.n_bytes, -self.recall(r))):
            if not best or self.recall(result) > self.recall(best[-1]):
                best.append(result)
        return tuple(best)

    @property
    def choice(self) -> Result | None:
        """The smallest code that reaches the wished recall; None if none does."""
        return next((result for result in self.frontier if self.recall(result) >= self.wished), None)

    @property
    def sentence(self) -> str:
        """The answer in words: which code, what it needs besides, and which rows it was learned from."""
        what = f"recall {100 * self.wished:g} % of the {self.cut.k} nearest"
        what += "" if self.cut.k == self.cut.candidates else f" among the first {self.cut.candidates}"
        best = self.choice or self.frontier[-1]
        value, low, high = (100 * number for number in best.recalls[self.cut])
        found = f"{best.n_bytes} bytes, recall {value:.1f} % ({low:.1f} to {high:.1f})"
        if self.choice is None:
            answer = f"No code reaches {what}. {best.name} comes nearest: {found}."
        else:
            answer = f"The smallest code with {what} is {best.name}: {found}."
            if best.shared_bytes > (codes := self.n_database * best.n_bytes):  # of few rows
                shared, all_codes = f"{best.shared_bytes / 1e6:.2f} MB", f"{codes / 1e6:.2f} MB"
                answer += f" Its centroids or projections take {shared} besides, more than all codes ({all_codes})."
        which = "the rows searched; of rows that come later they find fewer"
        return f"{answer} All codes were learned from {'other rows than those searched' if self.unseen else which}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        names = ("n_queries", "n_database", "n_dims", "wished", "sentence", "left_out", "unseen")
        facts = {name: getattr(self, name) for name in names} | self.cut._asdict()
        facts["choice"] = self.choice and self.choice.to_dict()
        facts["frontier"] = [{"method": r.method, "order": r.order, "n_bytes": r.n_bytes} for r in self.frontier]
        return facts | {"results": [result.to_dict() for result in self.results]}

    def to_html(self) -> str:
        """Return a page that needs no network and no script."""
        from thpi.report import render

        return render("comparison.html", found=self, draw_frontier=draw_frontier)

    def _repr_html_(self) -> str:
        from thpi.report import render

        return render("notebook/comparison.html", found=self)


class Truth:
    """The true nearest rows of each query, for the numbers of rows that the cuts ask for."""

    def __init__(self, queries: Array, database: Array, cuts: Sequence[Cut]) -> None:
        self.cuts, self.most = tuple(cuts), max(cut.candidates for cut in cuts)
        relevant = {k: nearest_relevance(queries, database, k) for k in {cut.k for cut in cuts}}
        self.near = {k: [np.flatnonzero(row) for row in rows] for k, rows in relevant.items()}

    def recalls(self, found: Ints) -> dict[Cut, Floats]:
        """Recall of each query, for each cut; ``found`` are the first ``most`` rows of each."""

        def recall(k: int, candidates: int) -> Floats:
            pairs = zip(found[:, :candidates], self.near[k], strict=True)
            return np.minimum([np.isin(rows, near).sum() for rows, near in pairs], k) / k

        return {cut: recall(*cut) for cut in self.cuts}


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
        check_numbers("X", X), dtype=np.float32, ensure_min_samples=20, estimator="compare", input_name="X"
    )
    queries, training = _split(normalize(rows) if cosine else rows, n_queries, unseen, random_state)
    cut = Cut(k, k if candidates is None else candidates)
    sizes, chosen = _checked(n_bytes, methods)
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
                    times = []
                    for _ in range(2):
                        start = time.perf_counter()
                        found = search(queries, truth.most)
                        times.append(time.perf_counter() - start)
                    recalls = {cut: measured(values) for cut, values in truth.recalls(found).items()}
                    milliseconds = 1e3 * min(times) / len(queries)
                    results.append(Result(name, order, *coded[:2], recalls, milliseconds, seconds))
        except NotImplementedError as error:
            left_out.append(f"{name}: {error}")
    return results, left_out


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
    usual = [cut for cut in (Cut(1, 1), Cut(10, 10), Cut(100, 100), Cut(10, 100)) if cut.candidates <= n]
    return sorted({wished, *usual}, key=lambda cut: (cut.candidates, cut.k))


def _checked(n_bytes: Sequence[int] | None, methods: Sequence[str] | None) -> tuple[list[int], list[str]]:
    sizes = sorted(set(_SIZES if n_bytes is None else n_bytes))
    if not sizes or sizes[0] < 1 or any(int(size) != size for size in sizes):
        raise ValueError(f"n_bytes={n_bytes!r} must be positive integers, at least one.")
    for name in methods or ():
        if name not in METHODS:
            raise ValueError(f"methods has {name!r}; it must be one of {', '.join(METHODS)}.")
    return sizes, list(METHODS if methods is None else dict.fromkeys(methods))


def draw_frontier(found: Comparison) -> Figure:
    """Plot recall at the wished cut against bytes a row."""
    from thpi.report import new_axes

    axis = new_axes(8.5, 4.6)
    line = [(r.n_bytes, 100 * found.recall(r)) for r in found.frontier]
    axis.plot(*zip(*line, strict=True), color="#bbbbbb", linewidth=6, alpha=0.6, solid_capstyle="round", zorder=0)
    for number, name in enumerate(dict.fromkeys(r.name for r in found.results)):
        points = [(r.n_bytes, 100 * found.recall(r)) for r in found.results if r.name == name]
        style: Any = {"color": _COLOURS[number % len(_COLOURS)], "marker": _MARKERS[number // 2 % len(_MARKERS)]}
        dash = "--" if name.endswith("Hamming") else "-"
        axis.plot(*zip(*points, strict=True), label=name, linestyle=dash, linewidth=1, markersize=5, **style)
    axis.axhline(100 * found.wished, color="#000000", linestyle=(0, (1, 2)), linewidth=1)
    axis.set_xscale("log", base=2)
    sizes = sorted({r.n_bytes for r in found.results})
    ticks = [2**power for power in range(0, 20) if sizes[0] <= 2**power <= sizes[-1]]
    axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axis.minorticks_off()
    axis.set(xlabel="bytes a row", ylabel=f"recall at {found.cut} (%)")
    axis.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    return axis.figure  # type: ignore[return-value]  # not of a subfigure
