"""Make shop.npz from the files of openclipart (see SHOP_LICENSE.txt beside it).

    python -m tools.make_shop FOLDER_OF_DATA_SETS src/thpi/datasets/_bundled/shop.npz

The rule, which looks at no result: drawings that are in more than one category are left out, and so is every copy of a
drawing but the first. Of the eight categories with the most drawings left, 125 each are chosen at random. All of them
are put in random order; :data:`thpi.datasets.SHOP_ROLES` says what the places mean. Thumbnails are copied as they are.
"""

from __future__ import annotations

import hashlib
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from experiments.datasets import load_openclipart_mobilenet, take
from thpi._files import atomic_write
from thpi._types import Array, Ints
from thpi.datasets import PairedDataset
from thpi.datasets._sets import FEATURE_STEP

CATEGORIES, EACH, SEED = 8, 125, 0


def make(folder: Path, path: Path) -> None:
    """Read the files of openclipart below ``folder`` and write ``path``."""
    clipart = load_openclipart_mobilenet(data_home=folder)
    shop = take(clipart, chosen_rows(clipart))
    assert shop.labels is not None
    tags = sparse.csr_array(shop.source)
    used = np.unique(tags.indices)  # tags that some drawing of the shop carries
    carried = tags[:, used].tocsr()
    carried.sort_indices()
    kept, labels = np.unique(shop.labels, return_inverse=True)
    pictures = list(shop.pictures or ())
    arrays: dict[str, Any] = {
        "features": np.rint(np.asarray(shop.target) / FEATURE_STEP).astype(np.uint8),
        "tags": carried.indices.astype(np.uint16),
        "tag_counts": np.diff(carried.indptr).astype(np.uint8),
        "vocabulary": np.array([shop.tag_names[j] for j in used]),
        "names": np.array(shop.names),
        "labels": labels.astype(np.uint8),
        "label_names": np.array([shop.label_names[label] for label in kept]),
        "pictures": np.frombuffer(b"".join(pictures), dtype=np.uint8),
        "picture_sizes": np.array([len(picture) for picture in pictures], dtype=np.uint16),
    }
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    atomic_write(path, file.getvalue())


def chosen_rows(clipart: PairedDataset) -> Ints:
    """Return the rows of the shop, in its order."""
    assert clipart.labels is not None
    assert clipart.pictures is not None
    digests = np.array([hashlib.sha256(bytes(picture)).hexdigest() for picture in clipart.pictures])
    first, copies = np.unique(digests, return_index=True, return_inverse=True)[1:]
    categories: Array = np.zeros((len(first), len(clipart.label_names)), dtype=bool)
    categories[copies, clipart.labels] = True
    rows = np.sort(first[categories.sum(axis=1) == 1])
    sizes = np.bincount(clipart.labels[rows], minlength=len(clipart.label_names))
    rng = np.random.RandomState(SEED)
    parts = [
        rng.permutation(rows[clipart.labels[rows] == label])[:EACH]
        for label in np.sort(np.argsort(-sizes, kind="stable")[:CATEGORIES])
    ]
    return rng.permutation(np.concatenate(parts))


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]))
