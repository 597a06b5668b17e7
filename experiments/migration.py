"""Moving to a new embedding model without embedding the documents again.

Documents keep the codes of their old embeddings; queries come from the new model, and a map that was learned from pairs
(the same item embedded by both) turns them into projections of the old codes. That is a two-sided code. What it loses
depends on the two models, so it is measured on items that are held out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from thpi._types import Array, Bools, Floats, MatrixLike
from thpi.codes import n_bytes
from thpi.evaluation import nearest_relevance
from thpi.hashers import ITQ, TwoSidedITQ
from thpi.index import asymmetric_distances
from thpi.solvers.loo_ridge import loo_ridge

__all__ = ["Found", "Migration", "Way", "migrate"]

_RESAMPLES = 2000
_LEAST_ITEMS = 50


class Found(NamedTuple):
    """A share, with its 95 % interval."""

    value: float
    low: float
    high: float


class Way(NamedTuple):
    """One way to search after the change: bytes per item, and shares of the two models' nearest items it finds."""

    words: str
    bytes_per_item: int
    of_new: Found
    of_old: Found


class Migration(NamedTuple):
    """What keeping the documents' old codes costs; :func:`migrate` measures it.

    ``kept`` is the share of the recall of codes of re-embedded documents that old codes with mapped queries have, both
    with as many bits; ``hasher`` is the two-sided model, learned from all rows.
    """

    ways: tuple[Way, ...]
    kept: Found
    least: float
    n_queries: int
    n_items: int
    n_near: int
    n_listed: int
    hasher: TwoSidedITQ

    @property
    def worth_it(self) -> bool:
        """Whether the share that is kept is clearly at least the wished one."""
        return self.kept.low >= self.least

    def __str__(self) -> str:
        share = f"{100 * self.kept.value:.1f} % ({100 * self.kept.low:.1f} to {100 * self.kept.high:.1f})"
        kept = f"Old codes keep {share} of the recall of a full re-embedding"
        if self.worth_it:
            return f"{kept}: keep them."
        return f"{kept}; {100 * self.least:g} % were wished: re-embed."


def migrate(
    old: MatrixLike,
    new: MatrixLike,
    *,
    n_bits: int = 256,
    least: float = 0.95,
    n_near: int = 10,
    n_listed: int = 100,
    n_queries: int | None = None,
    random_state: int = 0,
) -> Migration:
    """Measure what is kept if documents stay in the codes of their old embeddings and queries come from a new model.

    Rows of ``old`` and ``new`` are the same items, embedded by both models: a sample of the collection, the larger the
    better. Some rows are drawn as queries. The others are items, and all that is learned is learned from them. Nearest
    is by Euclidean distance; for cosine, scale rows to length 1 before.

    Parameters
    ----------
    old, new : array-like of shapes (n_items, d_old) and (n_items, d_new)
    n_bits : length of the codes
    least : wished share of the recall of a full re-embedding
    n_near, n_listed : recall is the share of the ``n_near`` nearest items that are among the first ``n_listed``
    n_queries : rows drawn as queries; by default a fifth, at most 500
    random_state : of the draw, of the codes and of the intervals

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> old = rng.standard_normal((600, 16)); new = old @ np.linalg.qr(rng.standard_normal((24, 16)))[0].T
    >>> found = migrate(old, new, n_bits=64, n_listed=30, random_state=0)
    >>> [way.bytes_per_item for way in found.ways], found.kept.value > 0.9
    ([96, 8, 64, 8], True)
    """
    rows = [np.asarray(view, dtype=np.float64) for view in (old, new)]
    _check(rows, least, n_near, n_listed)
    n = len(rows[0])
    rng = np.random.RandomState(random_state)
    order = rng.permutation(n)
    count = min(500, n // 5) if n_queries is None else n_queries
    if not 1 <= count <= n - max(_LEAST_ITEMS, n_listed):
        most = n - max(_LEAST_ITEMS, n_listed)
        raise ValueError(f"n_queries={count} must be between 1 and {most}: the other rows are searched.")
    asked, items = order[:count], np.sort(order[count:])
    queries, documents = [view[asked] for view in rows], [view[items] for view in rows]
    truths = [np.asarray(nearest_relevance(q, d, n_near)) for q, d in zip(queries, documents, strict=True)]

    def recalls(distances: Array) -> list[Floats]:
        listed = np.zeros(distances.shape, dtype=np.bool_)
        np.put_along_axis(listed, np.argsort(distances, axis=1, kind="stable")[:, :n_listed], True, axis=1)
        return [_recall(listed, truth) for truth in reversed(truths)]

    both = TwoSidedITQ(n_bits, random_state=random_state).fit(documents[1], privileged=documents[0])
    again = ITQ(n_bits, random_state=random_state) if n_bits <= _itq_limit(documents[1]) else None
    measured = [
        ("re-embed, float", 4 * rows[1].shape[1], recalls(euclidean_distances(queries[1], documents[1]))),
        ("re-embed, codes", n_bytes(n_bits), recalls(_by_codes(again, both, queries[1], documents[1]))),
        ("keep, float", 4 * rows[0].shape[1], recalls(_mapped(queries[1], documents))),
        (
            "keep, codes",
            n_bytes(n_bits),
            recalls(asymmetric_distances(both.decision_function(queries[1]), both.transform_source(documents[0]))),
        ),
    ]
    resamples = rng.randint(count, size=(_RESAMPLES, count))
    ways = [
        Way(words, size, *(_interval(values.mean(), values[resamples].mean(axis=1)) for values in found))
        for words, size, found in measured
    ]
    full, kept = measured[1][2][0], measured[3][2][0]
    ratios = kept[resamples].mean(axis=1) / np.maximum(full[resamples].mean(axis=1), 1e-12)
    hasher = TwoSidedITQ(n_bits, random_state=random_state).fit(rows[1], privileged=rows[0])
    share = _interval(kept.mean() / max(full.mean(), 1e-12), ratios)
    return Migration(tuple(ways), share, least, count, len(items), n_near, n_listed, hasher)


def _check(rows: list[Array], least: float, n_near: int, n_listed: int) -> None:
    for name, view in zip(("old", "new"), rows, strict=True):
        if view.ndim != 2 or not np.isfinite(view).all():
            raise ValueError(f"{name} has shape {view.shape}; it must be 2-D, one row per item, of finite numbers.")
    if len(rows[0]) != len(rows[1]):
        raise ValueError(f"old has {len(rows[0])} rows and new {len(rows[1])}; row i must be the same item.")
    if not 0 < least <= 1:
        raise ValueError(f"least={least!r} must be above 0 and at most 1.")
    if not 1 <= n_near <= n_listed:
        raise ValueError(f"n_near={n_near!r} must be between 1 and n_listed={n_listed!r}.")
    if len(rows[0]) < n_listed + _LEAST_ITEMS:
        raise ValueError(f"old and new have {len(rows[0])} rows; at least {n_listed + _LEAST_ITEMS} are needed.")


def _itq_limit(X: Array) -> int:
    return int(min(X.shape[1], len(X) - 1))


def _by_codes(itq: ITQ | None, both: TwoSidedITQ, queries: Array, documents: Array) -> Array:
    """Asymmetric distances to the codes of re-embedded documents; with more bits than dimensions, those of a frame."""
    coder: Any = itq
    if coder is None:
        coder = TwoSidedITQ(both.n_bits, random_state=both.random_state)
        coder.fit(documents, privileged=documents)
        return asymmetric_distances(coder.source_side.decision_function(queries), coder.transform_source(documents))
    coder.fit(documents)
    return asymmetric_distances(coder.decision_function(queries), coder.transform(documents))


def _mapped(queries: Array, documents: list[Array]) -> Array:
    """Distances of float documents to queries that ridge regression maps to the old space: no codes at all."""
    old, new = documents
    means = old.mean(axis=0), new.mean(axis=0)
    W = loo_ridge(new - means[1], old - means[0]).W
    return np.asarray(euclidean_distances((queries - means[1]) @ W + means[0], old))


def _recall(listed: Bools, near: Bools) -> Floats:
    return np.asarray((listed & near).sum(axis=1) / near.sum(axis=1), dtype=np.float64)


def _interval(value: float, resampled: Array) -> Found:
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Found(float(value), float(low), float(high))
