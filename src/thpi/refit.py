"""Learning anew from a collection that has grown: what changes, what search gains, and an index with the new codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from thpi._files import finish_replacing, replace_together
from thpi._types import MatrixLike, PathLike
from thpi.base import BaseHasher
from thpi.codes import paired_hamming_distances
from thpi.evaluation import evaluate, label_relevance, nearest_relevance, query_mean
from thpi.index import HammingIndex
from thpi.index._ids import IdPositions, IdsLike, check_ids

__all__ = ["Gain", "Refit", "finish_refit", "journal_of", "recoded", "refit", "save_refit"]

_MEASURES = ("average_precision", "recall@10")
_NEAR = 10
_MOST_QUERIES = 1000
_LEAST_ROWS = 2 * _NEAR + 5


class Gain(NamedTuple):
    """Search with the codes of the old and of a new model: means over queries that the new one did not learn from."""

    relevant: str
    n_queries: int
    n_database: int
    old: dict[str, float]
    new: dict[str, float]


class Refit(NamedTuple):
    """The new hasher, the share of bits in which the codes of the rows change, and what search gains."""

    hasher: BaseHasher
    bits_changed: float
    gain: Gain


def refit(
    old: BaseHasher,
    X: MatrixLike,
    y: Any = None,
    *,
    privileged: MatrixLike | None = None,
    source: MatrixLike | None = None,
    target: MatrixLike | None = None,
    n_old: int = 0,
    random_state: int = 0,
) -> Refit:
    """Learn anew, with the method and parameters of ``old``, from old and new rows together.

    The gain is measured on rows drawn at random, at most a fifth and 1,000: they are queries among the other rows, and
    a hasher that learned from the others only is compared with ``old``. Relevant are the 10 nearest rows by exact
    search in the space that the method was fitted for (of the source, if its relevance is "source" or "groups"), or
    rows of the same class. The hasher that is returned learned from all rows.

    The first ``n_old`` rows are those that the old model learned from. Queries are drawn from the others, which neither
    has seen, if these are at least 25; otherwise from all, which favours the old model.

    >>> import thpi
    >>> X = np.random.RandomState(0).standard_normal((500, 16)) * np.arange(1, 17)
    >>> found = refit(thpi.ITQ(n_bits=8, random_state=0).fit(X[:30]), X, n_old=30)
    >>> found.gain.new["recall@10"] > found.gain.old["recall@10"], found.hasher
    (True, ITQ(n_bits=8, random_state=0))
    """
    if old.is_two_sided:
        raise ValueError(
            f"this {old.method_name} is two-sided: its items are coded by source rows, which refit does not recode. "
            "Fit it anew, and encode the items anew (thpi encode --side source)."
        )
    n = int(np.shape(cast("Any", X))[0])
    if n < _LEAST_ROWS:
        raise ValueError(f"X has {n} rows; at least {_LEAST_ROWS} are needed to measure what search gains.")
    first = n_old if n - n_old >= _LEAST_ROWS else 0
    n_queries = min(_MOST_QUERIES, n // 5, (n - first) // 2)
    asked = np.sort(first + np.random.RandomState(random_state).permutation(n - first)[:n_queries])
    rest = np.setdiff1d(np.arange(n), asked)

    def some(rows: Any, values: Any) -> Any:
        return None if values is None else _safe_indexing(values, rows)

    unpaired = {"source": source, "target": target}
    trial = clone(old).fit(some(rest, X), some(rest, y), privileged=some(rest, privileged), **unpaired)
    space, relevant = _meaning(old, X, y, privileged)
    if relevant == "the same class":
        relevance = label_relevance(some(asked, space), some(rest, space))
    else:
        relevance = nearest_relevance(some(asked, space), some(rest, space), _NEAR)
    means = []
    for hasher in (old, trial):
        codes = hasher.transform(some(asked, X)), hasher.transform(some(rest, X))
        values = evaluate(*codes, relevance, hasher.n_bits, _MEASURES)
        means.append({name: query_mean(cast("Any", value)).value for name, value in values.items()})
    new = clone(old).fit(X, y, privileged=privileged, **unpaired)
    changed = paired_hamming_distances(old.transform(X), new.transform(X)).mean() / old.n_bits
    return Refit(new, float(changed), Gain(relevant, n_queries, len(rest), *means))


def _meaning(hasher: BaseHasher, X: Any, y: Any, privileged: Any) -> tuple[Any, str]:
    relevance = hasher.get_params().get("relevance", "target")
    if relevance == "labels" and y is not None and np.ndim(y) == 1:
        return np.asarray(y), "the same class"
    if relevance in ("source", "groups") and privileged is not None:
        return privileged, f"the {_NEAR} nearest by the source"
    return X, f"the {_NEAR} nearest rows"


def recoded(index: HammingIndex, hasher: BaseHasher, X: MatrixLike, ids: IdsLike | None = None) -> HammingIndex:
    """Return an index of the same items, in the same order, with the codes of another model.

    ``X`` has the rows of all items, and more if you like, under ``ids`` (default: 0, 1, ...). An item without a row is
    a ``KeyError`` that names it. An index with ``recall`` is tuned again when it is first searched.

    >>> import thpi
    >>> X = np.random.RandomState(0).standard_normal((50, 4))
    >>> one, other = (thpi.LSH(n_bits=8, random_state=seed).fit(X) for seed in (0, 1))
    >>> index = HammingIndex(8)
    >>> _ = index.add(one.transform(X[[7, 3]]), ids=[7, 3])
    >>> bool((recoded(index, other, X).codes == other.transform(X[[7, 3]])).all())
    True
    """
    n = int(np.shape(cast("Any", X))[0])
    known = check_ids(np.arange(n) if ids is None else ids, length=n, unique=True)
    rows = IdPositions(known).find_all(index.ids, "has no row") if len(index) else np.empty(0, dtype=np.int64)
    new = HammingIndex(hasher.n_bits, index.recall, random_state=index.random_state, model=hasher.fingerprint_)
    if len(rows):
        new.add(hasher.transform(_safe_indexing(X, rows)), index.ids)
    return new


def journal_of(model: PathLike) -> Path:
    """Name of the file that is there while a model and its index are being replaced."""
    path = Path(model)
    return path.with_name(f"{path.name}.refit")


def save_refit(
    model: PathLike, hasher: BaseHasher, index: HammingIndex | None = None, index_file: PathLike | None = None
) -> None:
    """Replace a model file and, if given, the file of the index of its codes, together.

    Both are written whole under other names before either is replaced. A kill leaves the old pair, or a file
    ``<model>.refit`` that says that the new pair is complete; :func:`finish_refit` then gives it its names.
    """
    if (index is None) != (index_file is None):
        raise ValueError(f"index_file={index_file!r}: index and index_file belong together.")
    writers: dict[Path, Callable[[Path], None]] = {Path(model): hasher.save}
    if index is not None and index_file is not None:
        writers[Path(index_file)] = index.save
    replace_together(journal_of(model), writers)


def finish_refit(model: PathLike) -> bool:
    """Finish a replacement that was interrupted; return whether there was one."""
    return finish_replacing(journal_of(model))
