"""A small shop that comes with the package: drawings, their tags, and which of them are known while learning."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from thpi.datasets._entry import DatasetInfo, Demo, pipelines
from thpi.datasets._paired import PairedDataset

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
    with np.load(ENTRY.folder_in(None) / "shop.npz", allow_pickle=False) as archive:
        steps, carried, counts, vocabulary = (archive[key] for key in ("features", "tags", "tag_counts", "vocabulary"))
        names, labels, label_names = (archive[key] for key in ("names", "labels", "label_names"))
        pictures, ends = archive["pictures"].tobytes(), np.cumsum(archive["picture_sizes"]).tolist()
    tags = sparse.csr_array(
        (np.ones(len(carried)), carried, np.concatenate([[0], np.cumsum(counts)])), shape=(len(names), len(vocabulary))
    )
    return PairedDataset(
        ENTRY.name,
        steps * FEATURE_STEP,
        tags,
        tuple(names.tolist()),
        labels.astype(np.int64),
        tuple(label_names.tolist()),
        tags=tags,
        tag_names=tuple(vocabulary.tolist()),
        pictures=tuple(pictures[start:end] for start, end in zip([0, *ends], ends, strict=False)),
    )


ENTRY = DatasetInfo(
    name="shop",
    title="A small shop: 1,000 drawings and their tags",
    home_page="https://openclipart.org/",
    licence="Public domain",
    licence_checked=True,  # SHOP_LICENSE.txt, beside the file
    citation="Open Clip Art Library, https://openclipart.org/",
    target="1,280 features of the drawing (MobileNetV2)",
    source="tags",
    loader=load_shop,
    preprocessing="target unchanged; source tf-idf, 100 components",
    pipelines=pipelines("unchanged", "tfidf_svd"),
    folder=None,
    demo=Demo(
        title="A small shop",
        description="Search by picture: 1,280 features that a network finds in it.",
        vector_name="features of MobileNetV2",
        class_name="category",
        rows=1_000,
        pairs=200,
        queries=200,
        ordered=True,
        pipelines=pipelines("unchanged", "tfidf_svd"),
        page="source",
        source_name="tags",
    ),
    files={"shop.npz": "67e4918b74306c044ba171f2fa132da492a771a09dc29abec1290ea3f7875519"},
)
