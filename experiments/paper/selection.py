"""Selection of the paper's parameters by cross-validation on the training pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from thpi import CCAITQ, CVH, BaseHasher, ITQPlus, LapITQPlus
from thpi._types import Array, Ints, MatrixLike, Seed
from thpi.base import some_rows
from thpi.evaluation import mean_average_precision, neighbour_radius, radius_relevance

_METHODS: dict[str, Callable[[], BaseHasher]] = {
    "ITQPlus": ITQPlus,
    "LapITQPlus": LapITQPlus,
    "CCAITQ": partial(CCAITQ, fill="pca"),
    "CVH": partial(CVH, fill="pca"),
}
LAMBDA_GRID = (0.0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.0)
"""The paper's range of both parameters."""
RIDGE_GRID = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
"""From CCA, whose ridge is small, to partial least squares, whose ridge is large."""


@dataclass(frozen=True)
class SelectionRule:
    """How the parameters are chosen.

    ``search="coordinate"`` tries lambda1 with lambda2 = 0, where LapITQ+ is ITQ+, and then lambda2 at the chosen
    lambda1; ``"full"`` tries all pairs for LapITQ+ (and lambda1 for ITQ+). Selection samples at most ``max_pairs``
    training pairs and ten times as many unpaired source rows, and stops fits after ``max_iter`` iterations, because it
    only ranks the candidates.

    >>> SelectionRule().describe()
    'one parameter after the other: lambda1 (lambda2 = 0), then lambda2; 3 folds, at most 300 pairs, 15 iterations'
    """

    search: Literal["coordinate", "full"] = "coordinate"
    grid: tuple[float, ...] = LAMBDA_GRID
    n_folds: int = 3
    max_pairs: int = 300
    max_iter: int = 15

    def describe(self) -> str:
        """Return the rule in words."""
        coordinate = "one parameter after the other: lambda1 (lambda2 = 0), then lambda2"
        order = coordinate if self.search == "coordinate" else "all pairs of lambda1 and lambda2"
        return f"{order}; {self.n_folds} folds, at most {self.max_pairs} pairs, {self.max_iter} iterations"

    def to_dict(self) -> dict[str, object]:
        """Return the rule as plain values, for the key of a result."""
        return asdict(self)


class Selected(NamedTuple):
    """Chosen parameters by method, and the scores of all candidates (mean MAP over folds)."""

    parameters: dict[str, dict[str, float]]
    scores: dict[str, float]


def select_lambdas(
    X: npt.ArrayLike,
    privileged: npt.ArrayLike,
    source: MatrixLike | None = None,
    *,
    n_bits: int,
    relevant_share: float,
    rule: SelectionRule | None = None,
    methods: tuple[str, ...] = ("ITQPlus", "LapITQPlus"),
    random_state: Seed = None,
) -> Selected:
    """Choose lambda1 for ITQ+ and lambda1, lambda2 for LapITQ+.

    Only the training pairs ``X``, ``privileged`` and the unpaired ``source`` rows (for LapITQ+) are used. The rows of a
    held-out fold are queries; the other pairs are training rows and database. A database row is relevant if it lies
    within the mean distance to the k-th neighbour in the target space of the database. Here k is ``relevant_share`` of
    the database, in (0, 1): 50 / number of database rows of the test. The score is mean average precision, expected
    under ties. Among equal scores the smallest parameter wins. So the parameters are tuned for nearness in target
    space, also where the results are then reported by class or by nearness in source space.

    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((60, 6)); X = S @ rng.standard_normal((6, 8))
    >>> rule = SelectionRule(grid=(0.0, 1.0), n_folds=2)
    >>> chosen = select_lambdas(X, S, n_bits=4, relevant_share=0.1, rule=rule, random_state=0)
    >>> sorted(chosen.parameters["LapITQPlus"])
    ['lambda1', 'lambda2']
    """
    rule = rule or SelectionRule()
    unknown = set(methods) - {"ITQPlus", "LapITQPlus"}
    if unknown:
        raise ValueError(f"methods has {sorted(unknown)}; only ITQPlus and LapITQPlus have these parameters.")
    scores = _scores(X, privileged, source, n_bits, relevant_share, rule, random_state)
    lambda1 = max(rule.grid, key=lambda value: (scores.of("ITQPlus", lambda1=value), -value))
    parameters: dict[str, dict[str, float]] = {"ITQPlus": {"lambda1": lambda1}}
    if "LapITQPlus" in methods:
        first = rule.grid if rule.search == "full" else (lambda1,)
        candidates = [{"lambda1": a, "lambda2": b} for a in first for b in rule.grid]
        parameters["LapITQPlus"] = max(
            candidates, key=lambda p: (scores.of("LapITQPlus", **p), -p["lambda2"], -p["lambda1"])
        )
    return Selected({method: parameters[method] for method in methods}, scores.found)


def select_ridge(
    X: npt.ArrayLike,
    privileged: npt.ArrayLike,
    *,
    method: Literal["CCAITQ", "CVH"],
    n_bits: int,
    relevant_share: float,
    grid: tuple[float, ...] = RIDGE_GRID,
    rule: SelectionRule | None = None,
    random_state: Seed = None,
) -> Selected:
    """Choose the ridge of CCA-ITQ or CVH on the folds of :func:`select_lambdas`; the rule's own grid is not used.

    Missing directions are filled by PCA. Among equal scores the largest ridge wins.

    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((60, 6)); X = S @ rng.standard_normal((6, 8))
    >>> sorted(select_ridge(X, S, method="CVH", n_bits=4, relevant_share=0.1, random_state=0).parameters["CVH"])
    ['ridge']
    """
    if method not in ("CCAITQ", "CVH"):
        raise ValueError(f"method={method!r} must be 'CCAITQ' or 'CVH'.")
    scores = _scores(X, privileged, None, n_bits, relevant_share, rule or SelectionRule(), random_state)
    ridge = max(grid, key=lambda value: (scores.of(method, ridge=value), value))
    return Selected({method: {"ridge": ridge}}, scores.found)


def _scores(
    X: npt.ArrayLike,
    privileged: npt.ArrayLike,
    source: MatrixLike | None,
    n_bits: int,
    relevant_share: float,
    rule: SelectionRule,
    random_state: Seed,
) -> _Scores:
    """Draw the folds on which candidates are scored."""
    if not 0 < relevant_share < 1:
        raise ValueError(f"relevant_share={relevant_share!r} must be greater than 0 and less than 1.")
    rng = check_random_state(random_state)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    target, paired = np.asarray(X), np.asarray(privileged)
    if len(target) > rule.max_pairs:
        kept = np.sort(rng.choice(len(target), rule.max_pairs, replace=False))
        target, paired = target[kept], paired[kept]
    if source is not None:
        source = some_rows(source, 10 * rule.max_pairs)
    divisions = KFold(rule.n_folds, shuffle=True, random_state=seed).split(target)
    folds = [_Fold(target, paired, source, train, held, relevant_share) for train, held in divisions]
    return _Scores(folds, {"n_bits": n_bits, "max_iter": rule.max_iter, "random_state": seed})


class _Fold:
    def __init__(self, X: Array, S: Array, source: MatrixLike | None, train: Ints, held: Ints, share: float) -> None:
        # The source of the held-out rows is left out as well, as it is for the queries of the test.
        self.X, self.S, self.source, self.queries = X[train], S[train], source, X[held]
        k = min(len(train) - 1, max(1, round(share * len(train))))
        self.relevance = radius_relevance(self.queries, self.X, neighbour_radius(self.X, k=k))

    def score(self, method: str, options: Mapping[str, object]) -> float:
        hasher = _METHODS[method]()
        known = hasher.get_params()
        hasher.set_params(**{name: value for name, value in options.items() if name in known})
        hasher.fit(self.X, privileged=self.S, source=self.source)
        queries, database = hasher.transform(self.queries), hasher.transform(self.X)
        found = mean_average_precision(queries, database, self.relevance, hasher.n_bits)
        return found.value if found.n_empty < found.n_queries else 0.0


class _Scores:
    """Mean score of each candidate over the folds, computed once."""

    def __init__(self, folds: list[_Fold], options: dict[str, object]) -> None:
        self.folds, self.options = folds, options
        self.found: dict[str, float] = {}

    def of(self, method: str, **parameters: float) -> float:
        # LapITQ+ without its graph is ITQ+, so one fit serves both.
        if parameters.get("lambda2") == 0:
            method, parameters = "ITQPlus", {"lambda1": parameters["lambda1"]}
        name = f"{method} " + " ".join(f"{key}={value:g}" for key, value in parameters.items())
        if name not in self.found:
            options = {**self.options, **parameters}
            self.found[name] = float(np.mean([fold.score(method, options) for fold in self.folds]))
        return self.found[name]
