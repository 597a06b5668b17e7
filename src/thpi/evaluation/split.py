"""Which rows are paired training data, which are queries, and which give source data only."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

__all__ = ["Split", "database_rows", "split_rows"]

Rows = npt.NDArray[np.int64]


class Split(NamedTuple):
    """Row numbers, each sorted; no row is in two of them and every row is in one.

    ``train`` are seen in both domains; ``query`` are held back; of ``rest`` training sees the source alone.
    """

    train: Rows
    query: Rows
    rest: Rows


def split_rows(n_rows: int, alpha: float, random_state: Any = None, *, query_share: float = 0.1) -> Split:
    """Split rows as the paper does: ``n = round(alpha N)`` pairs, and 10 % of the others as queries.

    Parameters
    ----------
    n_rows : N, the number of rows that exist in both domains.
    alpha : share of the rows whose target is known in training, ``alpha = n / (n + n_S)``; in (0, 1).
    random_state : seed; the same seed gives the same split.
    query_share : share of the remaining rows that are queries; at least one is.

    >>> split = split_rows(100, 0.5, random_state=0)
    >>> len(split.train), len(split.query), len(split.rest)
    (50, 5, 45)
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha!r} must be greater than 0 and less than 1.")
    if not 0 < query_share < 1:
        raise ValueError(f"query_share={query_share!r} must be greater than 0 and less than 1.")
    n_train = round(alpha * n_rows)
    n_query = max(1, round(query_share * (n_rows - n_train)))
    if n_train < 2 or n_train + n_query > n_rows:
        raise ValueError(
            f"n_rows={n_rows} with alpha={alpha} gives {n_train} training rows and {n_rows - n_train} others; "
            "at least 2 and 1 are needed."
        )
    order = check_random_state(random_state).permutation(n_rows).astype(np.int64)
    return Split(
        train=np.sort(order[:n_train]),
        query=np.sort(order[n_train : n_train + n_query]),
        rest=np.sort(order[n_train + n_query :]),
    )


def database_rows(split: Split, database: Literal["train", "all"]) -> Rows:
    """Rows that are searched: the training rows (the paper), or all rows that are not queries (what a shop does).

    >>> database_rows(split_rows(100, 0.5, 0), "all").size
    95
    """
    if database not in ("train", "all"):
        raise ValueError(f"database={database!r} must be 'train' or 'all'.")
    return split.train if database == "train" else np.sort(np.concatenate([split.train, split.rest]))
