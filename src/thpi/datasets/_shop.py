"""A small shop that comes with the package: drawings, their tags, and which of them are known while learning."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from thpi._types import Array, Ints
from thpi.datasets._paired import BUNDLED, PairedDataset
from thpi.kernels.threads import small_products

# How shop.npz keeps a feature: MobileNetV2's last layer lies between 0 and 6, in 255 steps.
FEATURE_STEP = 6 / 255

SHOP_ROLES = {"pairs": slice(0, 200), "texts": slice(200, 800), "queries": slice(800, 1000)}
"""Rows of the shop by what is known of them while learning: picture and tags, tags alone, nothing."""


def load_shop() -> PairedDataset:
    """Load 1,000 drawings: 1,280 features of MobileNetV2 (target), tags (source), 8 categories, WebP thumbnails.

    Of the first 200 rows picture and tags are known while learning (the pairs), of the next 600 the tags alone. The
    last 200 are new: they are the queries, and the database is all others. :data:`SHOP_ROLES` has these slices.

    The drawings are from the Open Clip Art Library, public domain: 125 of each of the eight categories with the most
    drawings, chosen at random and put in random order. Drawings that are in more than one category were left out, and
    so was every copy of a drawing but the first. Features are rounded to 1/255 of their range.

    >>> shop = load_shop()
    >>> shop.target.shape, len(shop.label_names), len(shop.names)
    ((1000, 1280), 8, 1000)
    >>> shop.show(0).tags
    ('animal', 'bird', 'silhouette')
    """
    with np.load(BUNDLED / "shop.npz", allow_pickle=False) as archive:
        steps, carried, counts, vocabulary = (archive[key] for key in ("features", "tags", "tag_counts", "vocabulary"))
        names, labels, label_names = (archive[key] for key in ("names", "labels", "label_names"))
        pictures, ends = archive["pictures"].tobytes(), np.cumsum(archive["picture_sizes"]).tolist()
    tags = sparse.csr_array(
        (np.ones(len(carried)), carried, np.concatenate([[0], np.cumsum(counts)])), shape=(len(names), len(vocabulary))
    )
    classes = labels.astype(np.int64), tuple(label_names.tolist())
    drawings = tuple(pictures[start:end] for start, end in zip([0, *ends], ends, strict=False))
    known = {"tags": tags, "tag_names": tuple(vocabulary.tolist()), "pictures": drawings}
    return PairedDataset("shop", steps * FEATURE_STEP, tags, tuple(names.tolist()), *classes, **known)


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

    @property
    def ids(self) -> Array:
        """Names of the drawings, by the first word of their category: "signs-17" is of "signs_and_symbols"."""
        kinds = [self.shop.label_names[label].split("_")[0] for label in self.labels]
        return np.array([f"{kind}-{row}" for row, kind in enumerate(kinds)])

    @property
    def steps(self) -> Array:
        """Target rows as whole numbers from 0 to 255."""
        return np.rint(self.X / FEATURE_STEP).astype(int)


def shop_task() -> ShopTask:
    """Load the shop with its tags as 100 numbers per drawing: tf-idf and principal components, without the queries.

    >>> task = shop_task()
    >>> task.X.shape, task.S.shape, len(task.pairs), len(task.texts), len(task.queries), str(task.ids[0])
    ((1000, 1280), (1000, 100), 200, 600, 200, 'animals-0')
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer

    shop = load_shop()
    assert shop.labels is not None
    pairs, texts, queries = (np.arange(shop.n)[SHOP_ROLES[role]] for role in ("pairs", "texts", "queries"))
    database = np.concatenate([pairs, texts])
    weights = TfidfTransformer().fit(shop.source[database]).transform(shop.source)
    with small_products(shop.n):  # the same components with any number of threads
        S = TruncatedSVD(100, n_iter=2, random_state=0).fit(weights[database]).transform(weights)
    return ShopTask(shop, np.asarray(shop.target), np.asarray(S), shop.labels, pairs, texts, queries, database)
