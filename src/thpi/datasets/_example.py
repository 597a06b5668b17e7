"""A tiny shop in csv files, made of the bundled digits: for a first try of the commands."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from thpi._files import atomic_write
from thpi._types import Array, Ints, PathLike
from thpi.datasets._digits import load_digits_views

EXAMPLE_FILES = ("pictures.csv", "texts.csv", "kinds.csv", "new.csv")
"""What :func:`write_example` writes."""

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
    pictures = {f"p{j}": column for j, column in enumerate(np.asarray(digits.target).T.round(1))}
    texts = {f"t{j}": column for j, column in enumerate(np.asarray(digits.source).T.round(2))}
    tables = (
        (pictures, items[_PICTURES]),
        (texts, rng.permutation(items[_TEXTS])),
        ({"kind": kinds}, rng.permutation(items)),
        (pictures, items[_NEW]),
    )
    paths = tuple(Path(folder) / name for name in EXAMPLE_FILES)
    for path, (columns, rows) in zip(paths, tables, strict=True):
        write_table(path, names, columns, rows)
    return paths


def write_table(path: Path, names: Array, columns: dict[str, Array], items: Ints) -> None:
    """Write a csv file of some items: a column ``id`` with their names, and the columns given by name."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", *columns])
    writer.writerows(zip(names[items], *(column[items].tolist() for column in columns.values()), strict=True))
    atomic_write(path, text.getvalue())
