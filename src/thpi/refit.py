"""Learning anew from a collection that has grown: what changes, what search gains, and new codes for all items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from thpi._types import MatrixLike
from thpi.base import BaseHasher
from thpi.codes import paired_hamming_distances
from thpi.collection import Collection, evidence_of
from thpi.evaluation import Judged, evaluate, find_truth, query_mean
from thpi.index import IdsLike, check_ids

__all__ = ["Gain", "Refit", "refit", "refit_collection"]

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
    a hasher that learned from the others only is compared with ``old``. Relevant is what the method was fitted for:
    rows of the same label, or the 10 nearest (in source space, if its relevance is "groups").

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
            "Build the collection anew."
        )
    n = _num_samples(X)
    if n < _LEAST_ROWS:
        raise ValueError(f"X has {n} rows; at least {_LEAST_ROWS} are needed to measure what search gains.")
    first = n_old if n - n_old >= _LEAST_ROWS else 0
    n_queries = min(_MOST_QUERIES, n // 5, (n - first) // 2)
    asked = np.sort(first + np.random.RandomState(random_state).permutation(n - first)[:n_queries])
    views: tuple[Any, ...] = (X, None if y is None else np.asarray(y), privileged)
    unpaired = {"source": source, "target": target}
    queries, database = (
        Judged(*[cast("Any", view if view is None else _safe_indexing(view, rows)) for view in views])
        for rows in (asked, np.setdiff1d(np.arange(n), asked))
    )
    trial = clone(old).fit(database.X, database.labels, privileged=database.source, **unpaired)
    meaning = old.get_params().get("relevance", "target")
    # Of a whole collection the groups would take too long.
    truth = find_truth("source" if meaning == "groups" else meaning, queries, database, neighbours=_NEAR)
    means = []
    for hasher in (old, trial):
        codes = hasher.transform(queries.X), hasher.transform(database.X)
        values = evaluate(*codes, truth.relevant, hasher.n_bits, _MEASURES)
        means.append({name: query_mean(cast("Any", value)).value for name, value in values.items()})
    new = clone(old).fit(X, y, privileged=privileged, **unpaired)
    changed = paired_hamming_distances(old.transform(X), new.transform(X)).mean() / old.n_bits
    return Refit(new, float(changed), Gain(truth.words, n_queries, n - n_queries, *means))


def refit_collection(
    shop: Collection,
    X: MatrixLike,
    y: Any = None,
    *,
    ids: IdsLike | None = None,
    target: MatrixLike | None = None,
    target_ids: IdsLike | None = None,
    write: bool = True,
    about: Mapping[str, Any] | None = None,
    **options: Any,
) -> Refit:
    """Learn anew, and put the new model and new codes of all items into the collection, in one transaction.

    ``X`` and ``target`` together have the rows of all items, and more if you like, under ``ids`` and ``target_ids``
    (default: 0, 1, ...). An item without a row is an error that names it, before any work. Texts and pictures of items
    stay. Without ``write`` the collection stays as it is. ``about`` are facts for the ``about`` of the collection, such
    as the tables. See :func:`refit` for further ``options``.

    >>> import tempfile, thpi
    >>> X = np.random.RandomState(0).standard_normal((300, 16)) * np.arange(1, 17)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shop = thpi.build(f"{folder}/shop.thpi", X[:100], bits=8)
    ...     _ = shop.add(X[100:])
    ...     found = refit_collection(shop, X, n_old=100)
    ...     shop.model == found.hasher.fingerprint_, len(shop)
    (True, 300)
    """
    old, items = shop.estimator(), shop.ids.tolist()
    n, more = (0 if rows is None else _num_samples(rows) for rows in (X, target))
    known: Sequence[Any] = range(n + more)
    if ids is not None:
        others = [] if target_ids is None else check_ids(target_ids, length=more).tolist()
        known = check_ids([*check_ids(ids, length=n).tolist(), *others], length=n + more, unique=True).tolist()
    place = {item: row for row, item in enumerate(known)}
    missing = [item for item in items if item not in place]
    if write and missing:
        few = ", ".join(map(str, missing[:3])) + (", ..." if len(missing) > 3 else ".")
        raise ValueError(f"X has no row for {len(missing):,} items of the collection: {few}")
    # Arrays have no names of columns; the new model keeps those of the old one.
    names = None if hasattr(X, "columns") else old.__dict__.pop("feature_names_in_", None)
    found = refit(old, X, y, target=target, **options)
    if not write:
        return found
    codes = np.vstack([found.hasher.transform(rows) for rows in (X, target) if rows is not None])
    if names is not None:
        found.hasher.feature_names_in_ = names
    ours = codes[[place[item] for item in items]]
    shop.replace(found.hasher, ours, shop.ids, evidence=evidence_of(found.hasher), **(about or {}))
    return found
