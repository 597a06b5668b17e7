"""The bundled shop as tables and picture files, as a real shop might have them: for the tutorial."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from thpi._files import atomic_write
from thpi._types import PathLike
from thpi.datasets._example import write_table
from thpi.datasets._shop import ENTRY, FEATURE_STEP, SHOP_ROLES, load_shop

SHOP_TABLES = ("pictures.csv", "tags.csv", "later.csv", "new.csv", "categories.csv")
"""Tables that :func:`write_shop_tables` writes."""


def write_shop_tables(folder: PathLike) -> tuple[Path, ...]:
    """Write the bundled shop to an existing folder: five csv files with ids, and the folder ``thumbnails``.

    ``pictures.csv`` has 200 products, 1,280 features of MobileNetV2 each, from 0 to 255. ``tags.csv`` has the tags of
    these and of 600 more products, as 100 components of their tf-idf weights, in another order. ``later.csv`` has the
    pictures of those 600, ``new.csv`` 200 pictures to search with, and ``categories.csv`` the category of all 1,000, to
    check with. ``thumbnails`` has a WebP file per product, named after its id. An id begins with the category, so you
    see what a search found: ``animals-12``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_shop_tables(folder)]
    ['pictures.csv', 'tags.csv', 'later.csv', 'new.csv', 'categories.csv', 'thumbnails']
    """
    shop = load_shop()
    assert shop.labels is not None
    assert shop.pictures is not None
    known = np.arange(SHOP_ROLES["texts"].stop)
    _, tags = ENTRY.pipelines()
    source = np.asarray(tags.fit(shop.source[known]).transform(shop.source[known])).round(4)
    categories = np.array(shop.label_names)[shop.labels]
    # The first word of a category: "signs_and_symbols" becomes "signs".
    names = np.array([f"{category.split('_')[0]}-{row}" for row, category in enumerate(categories)])
    steps = np.rint(np.asarray(shop.target) / FEATURE_STEP).astype(int)
    features = {f"f{j}": column for j, column in enumerate(steps.T)}
    components = {f"t{j}": column for j, column in enumerate(source.T)}
    rows = np.arange(shop.n)
    tables = (
        (features, rows[SHOP_ROLES["pairs"]]),
        (components, np.random.RandomState(0).permutation(known)),
        (features, rows[SHOP_ROLES["texts"]]),
        (features, rows[SHOP_ROLES["queries"]]),
        ({"category": categories}, rows),
    )
    thumbnails = Path(folder) / "thumbnails"
    thumbnails.mkdir(exist_ok=True)
    for name, picture in zip(names, shop.pictures, strict=True):
        assert isinstance(picture, bytes)
        atomic_write(thumbnails / f"{name}.webp", picture)
    paths = tuple(Path(folder) / name for name in SHOP_TABLES)
    for path, (columns, items) in zip(paths, tables, strict=True):
        write_table(path, names, columns, items)
    return (*paths, thumbnails)
