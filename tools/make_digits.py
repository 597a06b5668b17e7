"""Make digits.npz from the six csv files of UCI Multiple Features (see DIGITS_LICENSE.txt beside it).

    python -m tools.make_digits FOLDER_OF_CSV_FILES src/thpi/datasets/_bundled/digits.npz

Each ``mfeat-<view>.csv`` has a header line, 2,000 rows in the same order, and the digit in the last column.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from thpi._types import Array
from thpi.datasets._sets import DECIMALS, FIXED_POINT_TYPE, INTEGER_TYPES, VIEWS


def make(folder: Path, path: Path) -> None:
    """Read the csv files of ``folder`` and write ``path``."""
    arrays: dict[str, Array] = {}
    for view in VIEWS:
        table = np.loadtxt(folder / f"mfeat-{view}.csv", delimiter=",", skiprows=1)
        features, labels = table[:, :-1], table[:, -1].astype(np.uint8)
        if "labels" in arrays and not np.array_equal(arrays["labels"], labels):
            raise ValueError(f"mfeat-{view}.csv does not have its rows in the order of the other files.")
        arrays["labels"] = labels
        integers: Array
        if view in INTEGER_TYPES:
            integers = features.astype(INTEGER_TYPES[view])
            if not np.array_equal(integers, features):
                raise ValueError(f"mfeat-{view}.csv must hold integers of type {INTEGER_TYPES[view]}.")
        else:
            integers = np.rint(features * 10**DECIMALS).astype(FIXED_POINT_TYPE)
        # Bytes of equal significance of one feature lie together, which makes the compressed file a tenth smaller.
        columns = np.ascontiguousarray(integers.T)
        raw = columns.view(np.uint8).reshape(*columns.shape, columns.itemsize)
        arrays[view] = np.ascontiguousarray(np.moveaxis(raw, -1, 0))
    temporary = path.with_name(path.name + ".part.npz")
    np.savez_compressed(temporary, **arrays)  # type: ignore[arg-type]
    temporary.replace(path)


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]))
