"""Rows of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thpi._types import Array, PathLike
from thpi.rows._rows import Rows, as_floats

_BLOCK = 2**24


class Parquet(Rows):
    """Rows of a Parquet file, or of all ``*.parquet`` files in a folder, ordered by name.

    ``columns`` are the features, in this order; by default all. It may be one column of lists (one vector per row).
    """

    def __init__(self, path: PathLike, columns: Sequence[str] | None = None) -> None:
        self.files = _parquet_files(Path(path))
        self.columns = None if columns is None else list(columns)

    @cached_property
    def shape(self) -> tuple[int, int]:
        return sum(self.open(file).metadata.num_rows for file in self.files), self.n_columns

    @property
    def names(self) -> list[str]:
        return list(self.open(self.files[0]).schema_arrow.names)

    def blocks(self) -> Iterator[Array]:
        for path in self.files:
            file = self.open(path)
            width = max(1, len(self.columns or file.schema_arrow.names))
            # One column may hold long lists; the row groups also limit how much is read at once.
            rows = max(1, _BLOCK // (8 * (1024 if width == 1 else width)))
            for batch in file.iter_batches(rows, columns=self.columns):
                block = as_floats(record_values(batch, self.columns, str(path)))
                if not np.isfinite(block).all():
                    raise ValueError(f"{str(path)!r} holds a null, NaN or infinity among its features.")
                yield block

    def open(self, path: Path) -> Any:
        """Open one of the files."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            file = pq.ParquetFile(path)
        except pa.ArrowException as error:
            raise ValueError(f"{str(path)!r} is not a Parquet file ({error}).") from None
        if missing := [name for name in self.columns or [] if name not in file.schema_arrow.names]:
            raise ValueError(f"{str(path)!r} has no column {missing[0]!r}.")
        return file


def _parquet_files(path: Path) -> list[Path]:
    """Return the file itself, or the Parquet files of a folder by name."""
    if not path.exists():
        raise ValueError(f"{str(path)!r} does not exist.")
    files = sorted(file for file in path.glob("*.parquet") if file.is_file()) if path.is_dir() else [path]
    if not files:
        raise ValueError(f"{str(path)!r} has no *.parquet files in it.")
    return files


def record_values(batch: Any, columns: Sequence[str] | None, where: str) -> Array:
    """Return the numbers of a record batch (n x d): one feature per column, or one column of equally long lists."""
    from pyarrow import types

    names = list(columns or batch.schema.names)
    kinds = [batch.schema.field(name).type for name in names]
    if len(names) == 1 and (types.is_list(kinds[0]) or types.is_fixed_size_list(kinds[0])):
        column = batch.column(names[0])
        values = column.flatten().to_numpy(zero_copy_only=False)
        uneven = types.is_list(kinds[0]) and len(np.unique(np.diff(column.offsets.to_numpy()))) > 1
        if uneven or column.null_count or len(batch) == 0 or len(values) % len(batch):
            raise ValueError(f"{where!r} column {names[0]!r} has lists of different lengths, or nulls.")
        return np.asarray(values.reshape(len(batch), -1))
    for name, kind in zip(names, kinds, strict=True):
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise ValueError(f"{where!r} column {name!r} holds {kind}, not numbers.")
    return np.column_stack([as_floats(batch.column(name).to_numpy(zero_copy_only=False)) for name in names])
