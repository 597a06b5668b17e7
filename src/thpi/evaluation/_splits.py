"""Splits of the rows into training rows, queries and the others."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from thpi._types import Ints, Seed


class Split(NamedTuple):
    """Sorted row numbers; every row is in exactly one of the three.

    Training sees ``train`` in both domains, of ``rest`` only the source, and nothing of ``query``.
    """

    train: Ints
    query: Ints
    rest: Ints


def split_rows(n_rows: int, alpha: float, random_state: Seed = None, *, query_share: float = 0.1) -> Split:
    """Split rows as in the paper: ``n = round(alpha N)`` pairs, and 10 % of the others as queries.

    ``n_rows`` is N, the number of rows that exist in both domains, and ``alpha = n / (n + n_S)``, in (0, 1), the share
    of them whose target is known in training. ``query_share`` of the others are queries, at least one row.

    >>> split = split_rows(100, 0.5, random_state=0)
    >>> len(split.train), len(split.query), len(split.rest)
    (50, 5, 45)
    """
    for name, share in (("alpha", alpha), ("query_share", query_share)):
        if not 0 < share < 1:
            raise ValueError(f"{name}={share!r} must be greater than 0 and less than 1.")
    n_train = round(alpha * n_rows)
    n_query = max(1, round(query_share * (n_rows - n_train)))
    if n_train < 2 or n_train + n_query > n_rows:
        given = f"{n_train} training rows and {n_rows - n_train} others"
        raise ValueError(f"n_rows={n_rows} with alpha={alpha} gives {given}; at least 2 and 1 are needed.")
    order = check_random_state(random_state).permutation(n_rows).astype(np.int64)
    return Split(*(np.sort(part) for part in np.split(order, [n_train, n_train + n_query])))


def database_rows(split: Split, database: Literal["rest", "train", "all"]) -> Ints:
    """Rows to search in.

    - ``"rest"``: rows that are neither trained on nor queries, as in the paper (experiments/notes/errata.md);
    - ``"train"``: the training rows, as in the code of the paper's follow-up;
    - ``"all"``: all rows that are not queries, as in a shop.

    >>> split = split_rows(100, 0.5, random_state=0)
    >>> [len(database_rows(split, which)) for which in ("rest", "train", "all")]
    [45, 50, 95]
    """
    if database == "all":
        return np.sort(np.concatenate([split.train, split.rest]))
    if database not in ("rest", "train"):
        raise ValueError(f"database={database!r} must be 'rest', 'train' or 'all'.")
    return split.rest if database == "rest" else split.train
