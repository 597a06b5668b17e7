"""The bundled shop as a task: what is learned from, and what is searched with what."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thpi._types import Array, Ints
from thpi.datasets._paired import PairedDataset
from thpi.datasets._shop import ENTRY, SHOP_ROLES, load_shop
from thpi.kernels._threads import small_products


class ShopTask(NamedTuple):
    """Target rows ``X`` and source rows ``S`` of all drawings, their labels, and the rows of each role.

    Learn from ``X[pairs]``, ``S[pairs]`` and ``S[texts]``. Search ``X[database]`` with ``X[queries]``; the database is
    pairs and texts.
    """

    shop: PairedDataset
    X: Array
    S: Array
    labels: Ints
    pairs: Ints
    texts: Ints
    queries: Ints
    database: Ints


def shop_task() -> ShopTask:
    """Load the shop with its tags as 100 numbers per drawing: tf-idf and principal components, without the queries.

    >>> task = shop_task()
    >>> task.X.shape, task.S.shape, len(task.pairs), len(task.texts), len(task.queries)
    ((1000, 1280), (1000, 100), 200, 600, 200)
    """
    shop = load_shop()
    assert shop.labels is not None
    pairs, texts, queries = (np.arange(shop.n)[SHOP_ROLES[role]] for role in ("pairs", "texts", "queries"))
    database = np.concatenate([pairs, texts])
    _, tags = ENTRY.pipelines()
    with small_products(shop.n):
        S = tags.fit(shop.source[database]).transform(shop.source)
    return ShopTask(shop, np.asarray(shop.target), np.asarray(S), shop.labels, pairs, texts, queries, database)
