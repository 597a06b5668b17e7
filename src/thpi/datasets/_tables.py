"""The bundled data as csv files, as a real shop might have them: for a first try of the commands, and the tutorial."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from thpi._files import atomic_write
from thpi._types import Array, Ints, PathLike
from thpi.datasets._sets import load_digits_views, shop_task

EXAMPLE_FILES = ("pictures.csv", "texts.csv", "kinds.csv", "new.csv")
"""Names of the files that :func:`write_example` writes."""

SHOP_TABLES = ("pictures.csv", "tags.csv", "later.csv", "new.csv", "categories.csv")
"""Names of the tables that :func:`write_shop_tables` writes."""

_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_PICTURES, _TEXTS, _NEW = slice(0, 160), slice(20, 200), slice(200, 210)


def write_example(folder: PathLike) -> tuple[Path, ...]:
    """Write a shop of 200 items to an existing folder, in four csv files whose rows have ids and are shuffled.

    ``pictures.csv`` has 160 items (64 columns, the target) and ``texts.csv`` 180 (76 columns, the source); 140 are in
    both. ``kinds.csv`` has the class of each item, and ``new.csv`` pictures of 10 further items. An item is named after
    what it shows, ``seven-1402``, so one sees what a search found. The digits are R. Duin's, CC BY 4.0.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_example(folder)]
    ['pictures.csv', 'texts.csv', 'kinds.csv', 'new.csv']
    """
    digits = load_digits_views(target="kar", source="fou")
    assert digits.labels is not None
    rng = np.random.RandomState(0)
    items = rng.permutation(digits.n)[: _NEW.stop]
    kinds = np.array(_NUMBERS)[digits.labels]
    names = np.array([f"{kind}-{i}" for i, kind in enumerate(kinds)])
    pictures = _columns("p", np.asarray(digits.target).round(1))
    tables = (
        (pictures, items[_PICTURES]),
        (_columns("t", np.asarray(digits.source).round(2)), rng.permutation(items[_TEXTS])),
        ({"kind": kinds}, rng.permutation(items)),
        (pictures, items[_NEW]),
    )
    return _write(folder, EXAMPLE_FILES, names, tables)


def write_shop_tables(folder: PathLike) -> tuple[Path, ...]:
    """Write the bundled shop to an existing folder: five csv files with ids, and the folder ``thumbnails``.

    ``pictures.csv`` has 200 products, 1,280 features of MobileNetV2 each, from 0 to 255. ``tags.csv`` has the tags of
    these and of 600 more products, as 100 components of their tf-idf weights, in another order. ``later.csv`` has the
    pictures of those 600, ``new.csv`` 200 pictures to search with, and ``categories.csv`` the category of all 1,000, to
    check with. ``thumbnails`` has a WebP file per product, named after its id. An id begins with the category, so you
    see what a search found: ``animals-12``.
    """
    task = shop_task()
    categories = np.array(task.shop.label_names)[task.labels]
    features = _columns("f", task.steps)
    tables = (
        (features, task.pairs),
        (_columns("t", task.S.round(4)), np.random.RandomState(0).permutation(task.database)),
        (features, task.texts),
        (features, task.queries),
        ({"category": categories}, np.arange(task.shop.n)),
    )
    thumbnails = Path(folder) / "thumbnails"
    thumbnails.mkdir(exist_ok=True)
    for name, picture in zip(task.ids, task.shop.pictures or (), strict=True):
        atomic_write(thumbnails / f"{name}.webp", bytes(picture))
    return (*_write(folder, SHOP_TABLES, task.ids, tables), thumbnails)


def _columns(letter: str, rows: Array) -> dict[str, Array]:
    return {f"{letter}{j}": column for j, column in enumerate(rows.T)}


def _write(
    folder: PathLike, files: tuple[str, ...], names: Array, tables: tuple[tuple[dict[str, Array], Ints], ...]
) -> tuple[Path, ...]:
    """Write csv files: a column ``id`` with the names of the items of each, and its columns by name."""
    paths = tuple(Path(folder) / file for file in files)
    for path, (columns, items) in zip(paths, tables, strict=True):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["id", *columns])
        writer.writerows(zip(names[items], *(column[items].tolist() for column in columns.values()), strict=True))
        atomic_write(path, text.getvalue())
    return paths
